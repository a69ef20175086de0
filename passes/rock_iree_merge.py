"""Puts IREE's kernels in the place of rocMLIR's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from hipgraft import host_ops
from hipgraft.bindings import func_d, ir
from hipgraft.global_constants import GlobalConstants
from hipgraft.host_builder import HostBuilder, Region
from hipgraft.ir_io import walk
from hipgraft.migraphx_to_hipdnn import is_kernel
from hipgraft.migraphx_to_hipdnn.function import Border
from hipgraft.naming import unique_name
from hipgraft.pass_base import Pass, PassState, option
from hipgraft.rock import export
from hipgraft.rock.binaries import kernel_names, object_arrays, replaced_objects
from hipgraft.rock.export import Exported
from hipgraft.rock.launches import emit_steps, launch_arguments, replace_launch
from hipgraft.rock.settings import Settings

_OF_THE_OLD_FUNCTION = frozenset(
    {"arg_attrs", "function_type", "res_attrs", "sym_name", "sym_visibility"}
)


def _symbol(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["sym_name"]).value


def _top_level(module: ir.Module, name: str) -> list[ir.Operation]:
    return [op.operation for op in module.body.operations if op.operation.name == name]


def _launches_of(module: ir.Module, binary: str) -> Iterator[ir.Operation]:
    for op in walk(module.operation):
        if op.name == "gpu.launch_func" and _path_of(op)[0] == binary:
            yield op


def _path_of(launch: ir.Operation) -> list[str]:
    """The symbols of the binary and of the kernel."""
    return list(ir.SymbolRefAttr(launch.attributes["kernel"]).value)


class _Merge:
    """One run on one module."""

    def __init__(self, module: ir.Module, results: list[Exported], state: PassState):
        self.module = module
        self.state = state
        self.results = {exported.function: exported for exported in results}
        self.constants = GlobalConstants(module)

    def run(self) -> None:
        """Replaces what has a result."""
        binaries = _top_level(self.module, "gpu.binary")
        # The prototype's results name no function: they are for the one kernel that there is.
        for binary in binaries:
            launches = list(_launches_of(self.module, _symbol(binary)))
            names = dict.fromkeys([*kernel_names(binary), *(_path_of(op)[-1] for op in launches)])
            exported = self._result(list(names), len(binaries))
            reason = self._declines(exported, list(names), launches)
            if exported is None or reason is not None:
                self.state.missed(binary, "not-merged", f"'gpu.binary' op stays: {reason}")
                continue
            self._merge_binary(binary, exported, launches)
        for function in _top_level(self.module, "func.func"):
            if is_kernel(function) and not binaries and _symbol(function) in self.results:
                self._make_host(function, self.results[_symbol(function)])

    def _result(self, names: list[str], binaries: int) -> Exported | None:
        for name in names:
            if name in self.results:
                return self.results[name]
        return self.results.get("") if binaries == 1 else None

    def _declines(
        self, exported: Exported | None, names: list[str], launches: list[ir.Operation]
    ) -> str | None:
        """Why a binary stays, None if it does not."""
        if exported is None:
            return "there is no result for its kernels"
        if len(names) > 1:
            return f"it holds {len(names)} kernels, expected one"
        wanted = exported.inputs + exported.results
        for launch in launches:
            found = len(launch_arguments(launch))
            if found != wanted and exported.function:
                return f"a launch passes {found} arguments, expected {wanted}"
        if exported.single is None and not launches:
            return "its result takes several launches, but nothing launches it"
        return None

    def _merge_binary(
        self, binary: ir.Operation, exported: Exported, launches: list[ir.Operation]
    ) -> None:
        arrays = replaced_objects(binary, exported)
        names = self._create_binaries(binary, _symbol(binary), arrays)
        for launch in launches:
            replace_launch(launch, names, exported, self.constants)
        self.state.passed(binary, "merged", f"'{_symbol(binary)}' is IREE's")
        self.state.count("merged-binaries")
        self.state.count("merged-launches", len(launches))

    def _create_binaries(
        self, like: ir.Operation, name: str, arrays: list[ir.Attribute]
    ) -> list[str]:
        """Gives the first array to `like` if it is a binary; makes binaries for the others."""
        taken = {_symbol(op.operation) for op in self.module.body.operations
                 if "sym_name" in op.operation.attributes}  # fmt: skip
        names: list[str] = []
        for array in arrays:
            if like.name == "gpu.binary" and not names:
                like.attributes["objects"] = array
                names.append(name)
                continue
            names.append(unique_name(name, taken))
            taken.add(names[-1])
            with ir.InsertionPoint(like):
                ir.Operation.create(
                    "gpu.binary",
                    attributes={"sym_name": ir.StringAttr.get(names[-1]), "objects": array,
                                "offloadingHandler": ir.Attribute.parse("#gpu.select_object")},
                    loc=like.location,
                )  # fmt: skip
        return names

    def _make_host(self, function: ir.Operation, exported: Exported) -> None:
        """Makes the function one that launches its own kernels, on flat memory."""
        kind = Border.of(function, flat=True).type()
        tensors = [ir.RankedTensorType(each) for each in (*kind.inputs, *kind.results)]
        types = [ir.MemRefType.get(each.shape, each.element_type) for each in tensors]
        architecture = export.architecture(self.module.operation.attributes[export.NAME])
        target = export.target_attribute(architecture)
        arrays = object_arrays(exported, target, [str(each) for each in types])
        names = self._create_binaries(function, f"{_symbol(function)}_module", arrays)
        attributes = host_ops.attributes_of(function)
        with ir.InsertionPoint(function):
            host = func_d.FuncOp(
                _symbol(function), ir.FunctionType.get(types, []), loc=function.location
            )
            for name, attribute in attributes.items():
                if name not in _OF_THE_OLD_FUNCTION:
                    host.operation.attributes[name] = attribute
        i64 = ir.IntegerType.get_signless(64)
        host.operation.attributes["hipgraft.results"] = ir.IntegerAttr.get(i64, exported.results)
        host.operation.attributes["hipgraft.targets"] = ir.ArrayAttr.get(
            [ir.StringAttr.get(architecture.chip)]
        )
        entry = host.add_entry_block()
        with ir.InsertionPoint(entry):
            builder = HostBuilder(host.operation, self.constants, function.location)
            emit_steps(builder, names, exported, [Region(value) for value in entry.arguments])
            builder.finish()
        function.erase()
        self.state.count("host-functions")


@dataclass(frozen=True)
class RockIreeMergePass(Pass):
    """Replaces rocMLIR's kernels by those in `iree.export`.

    Each `gpu.binary` whose kernel has a result gets IREE's code object, with the launch sizes in
    its metadata. Each of its launches gets IREE's grid, block and kernel, and its arguments in
    the order of IREE's kernel, without those that it does not read. Shared memory is static in
    IREE's kernels, so none is passed. A result of several launches becomes a chain of them, with
    its transients in a `gpu.alloc`. In a module without binaries, each kernel function becomes a
    host function on memory of one dimension, results last, that launches its kernels.

    Before:
        ```mlir
        module attributes {gpu.container_module, iree.export = #gpu.object<...>} {
          gpu.binary @m [#gpu.object<#rocdl.target<chip = "gfx942">, kernels = <[
            #gpu.kernel_metadata<"mlir_sub", ...>]>, bin = "...">]
          func.func @host(%a: memref<64xf32>, %unused: memref<64xf32>, %out: memref<64xf32>) {
            gpu.launch_func @m::@mlir_sub blocks in (%c12, %c1, %c1) threads in (%c256, %c1, %c1)
                dynamic_shared_memory_size %c1024 args(%a : memref<64xf32>,
                %unused : memref<64xf32>, %out : memref<64xf32>)

    Return:
          }
        }
        ```

    After:
        ```mlir
        module attributes {gpu.container_module} {
          gpu.binary @m [#gpu.object<#rocdl.target<chip = "gfx942">, kernels = <[
            #gpu.kernel_metadata<"main_dispatch_0", ..., metadata = {block_size = 64 : i32,
              grid_size = 1 : i32, lds_size = 0 : i64, original_func = @mlir_sub,
              workgroup_count = array<i64: 1, 1, 1>, workgroup_sizes = array<i64: 64, 1, 1>}>
            ]>, bin = "...">]
          func.func @host(%a: memref<64xf32>, %unused: memref<64xf32>, %out: memref<64xf32>) {
            gpu.launch_func @m::@main_dispatch_0 blocks in (%c1, %c1, %c1)
                threads in (%c64, %c1, %c1) args(%a : memref<64xf32>, %out : memref<64xf32>)
            return
          }
        }
        ```

    Requires:
        A module after `gpu-module-to-binary`, or one after `migraphx-iree-gen`. Launches pass the
        function's arguments, then its results.

    Ensures:
        Of `iree.export` the reasons of failures are left. What has no result stays as it was, as
        a missed remark that names the reason; so does everything with `IREE_DISABLE=1`.
        `block_size` and `grid_size` are integers where the launch has one dimension, which is
        what `mlirGetKernelAttrs` reads, and arrays where it has more.

    Errors:
        None.

    Source:
        own; as in fabianmcg/rocMLIR, IREEMerge.cpp, which passes arguments in the function's
        order and static shared memory as dynamic.
    """

    name: ClassVar[str] = "rock-iree-merge"

    iree_debug: int = option(-1, "0, 1 or 2: how much to tell; by default IREE_DEBUG's")
    iree_disable: bool = option(False, "do nothing; IREE_DISABLE=1 does the same")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Merges all results."""
        settings = Settings.read(iree_debug=self.iree_debug, iree_disable=self.iree_disable)
        attributes = module.operation.attributes
        if settings.disabled or export.NAME not in attributes:
            return
        for reason in export.failures(attributes[export.NAME]):
            settings.tell(1, f"Error[iree-merge]: {reason}")
            state.missed(module.operation, "no-result", f"a kernel has no result: {reason}")
        _Merge(module, export.read(attributes[export.NAME]), state).run()
        rest = export.without_kernels(attributes[export.NAME])
        if rest is None:
            del attributes[export.NAME]
        else:
            attributes[export.NAME] = rest
        if _top_level(module, "gpu.binary"):
            attributes["gpu.container_module"] = ir.UnitAttr.get()
        settings.tell(2, "[iree-merge]: success")

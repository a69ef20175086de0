"""hipdnn-merge: grafts the compiled kernels into the host program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from hipgraft import host_ops
from hipgraft.bindings import gpu_d, ir
from hipgraft.codegen.kernel import Copy, Dispatch, Fill, Kernel, variants
from hipgraft.diagnostics import PassFailure
from hipgraft.element_types import byte_width
from hipgraft.global_constants import GlobalConstants
from hipgraft.host_builder import HostBuilder, Region
from hipgraft.pass_base import Pass, PassState, option

_BINARY_FORMAT = 3  # gpu.object's `bin`


@dataclass(frozen=True)
class _Grafted:
    """A kernel and the `gpu.binary` symbol of each of its code objects."""

    kernel: Kernel
    binaries: tuple[str, ...]

    @property
    def schedule(self) -> tuple[object, ...]:
        """All that a host function says of it; targets that agree share the function."""
        return (self.binaries, self.kernel.steps, self.kernel.workspace_size)


@dataclass(frozen=True)
class _Graph:
    """An executable's kernels by target."""

    op: ir.Operation
    name: str
    kernels: dict[str, Kernel]

    @staticmethod
    def read(op: ir.Operation) -> _Graph:
        """Reads a `hipdnn.executable`."""
        name = ir.StringAttr(op.attributes["sym_name"]).value
        return _Graph(op, name, {kernel.target: kernel for kernel in variants(op)})

    def kernel(self, target: str) -> Kernel:
        """The kernel for `target`.

        Raises:
            PassFailure: there is none, or it is no code object for a GPU.
        """
        kernel = self.kernels.get(target)
        if kernel is None:
            have = ", ".join(self.kernels) or "none"
            raise PassFailure(
                f"'hipdnn.executable' op '@{self.name}' has no variant for '{target}'; "
                f"it has {have}",
                self.op,
            )
        if kernel.format != "hsaco":
            raise PassFailure(
                f"'hipdnn.executable' op '@{self.name}' has a variant of format "
                f"'{kernel.format}' for '{target}', which cannot be merged; expected 'hsaco'",
                self.op,
            )
        return kernel


def _grouped(targets: Sequence[str], keys: Iterable[object]) -> list[list[str]]:
    """Groups targets with equal keys, in order of first appearance."""
    groups: dict[object, list[str]] = {}
    for target, key in zip(targets, keys, strict=True):
        groups.setdefault(key, []).append(target)
    return list(groups.values())


def _suffixes(groups: Sequence[Sequence[str]]) -> list[str]:
    """Symbol suffixes: the first group keeps the plain name, others name their first target."""
    return [f"_{group[0]}" if position else "" for position, group in enumerate(groups)]


def _binary_key(kernel: Kernel) -> object:
    launches = frozenset((step.object, step.kernel, step.block) for step in kernel.dispatches)
    return (len(kernel.objects), launches)


def _graft(graph: _Graph, targets: Sequence[str]) -> dict[str, _Grafted]:
    """Makes the graph's `gpu.binary` ops; targets whose kernels agree share them."""
    grafted: dict[str, _Grafted] = {}
    groups = _grouped(targets, (_binary_key(graph.kernel(target)) for target in targets))
    for group, suffix in zip(groups, _suffixes(groups), strict=True):
        count = len(graph.kernel(group[0]).objects)
        names = [f"{graph.name}{suffix}" + (f"_{i}" if i else "") for i in range(count)]
        launched = {step.object for step in graph.kernel(group[0]).dispatches}
        for index in sorted(launched):
            _create_binary(graph, names[index], index, group)
        grafted |= {target: _Grafted(graph.kernel(target), tuple(names)) for target in group}
    return grafted


def _create_binary(graph: _Graph, name: str, index: int, targets: Sequence[str]) -> None:
    objects = [_object(graph.kernel(target), target, index) for target in targets]
    attributes: dict[str, ir.Attribute] = {
        "sym_name": ir.StringAttr.get(name),
        "objects": ir.ArrayAttr.get(objects),
        "offloadingHandler": ir.Attribute.parse("#gpu.select_object"),
    }
    ir.Operation.create("gpu.binary", attributes=attributes, loc=graph.op.location)


def _object(kernel: Kernel, target: str, index: int) -> ir.Attribute:
    chip = ir.Attribute.parse(f'#rocdl.target<chip = "{target}">')
    return gpu_d.ObjectAttr.get(
        chip, _BINARY_FORMAT, kernel.objects[index], kernels=_kernel_table(kernel, index)
    )


def _kernel_table(kernel: Kernel, index: int) -> ir.Attribute:
    """Signatures and block sizes of one code object's kernels."""
    launches = {step.kernel: step for step in kernel.dispatches if step.object == index}
    entries = [_kernel_metadata(launches[name]) for name in sorted(launches)]
    return ir.Attribute.parse(f"#gpu.kernel_table<[{', '.join(entries)}]>")


def _kernel_metadata(step: Dispatch) -> str:
    types = ["!llvm.ptr"] * len(step.bindings) + ["i32"] * len(step.constants)
    block = ", ".join(map(str, step.block))
    name = ir.StringAttr.get(step.kernel)
    return (
        f"#gpu.kernel_metadata<{name}, ({', '.join(types)}) -> (), "
        f"metadata = {{workgroup_size = array<i32: {block}>}}>"
    )


@dataclass
class _HostFunction:
    """Builds one host function from a function on buffers, which is only read."""

    old: ir.Operation
    kernels: dict[str, _Grafted]
    builder: HostBuilder
    regions: dict[ir.Value, Region] = field(default_factory=dict[ir.Value, Region])
    shifts: dict[ir.Value, int] = field(default_factory=dict[ir.Value, int])

    def convert(self, op: ir.Operation) -> None:
        """Appends what `op` becomes.

        Raises:
            PassFailure: `op` is not of stage `hipdnn-buffers`.
        """
        self.builder.location = op.location
        match op.name:
            case "hipdnn.execute":
                self._execute(op)
            case "memref.alloc":
                nbytes = ir.MemRefType(op.results[0].type).shape[0]
                self.regions[op.results[0]] = Region(host_ops.alloc(nbytes, op.location))
            case "memref.get_global":
                name = ir.FlatSymbolRefAttr(op.attributes["name"]).value
                memref = host_ops.get_global(name, op.results[0].type, op.location)
                self.regions[op.results[0]] = Region(memref)
            case "memref.view":
                shift = self.shifts[op.operands[1]]
                self.regions[op.results[0]] = self.regions[op.operands[0]].at(shift)
            case "memref.reinterpret_cast":
                self.regions[op.results[0]] = self._cast(op)
            case "arith.constant":
                self.shifts[op.results[0]] = ir.IntegerAttr(op.attributes["value"]).value
            case "func.return":
                self.builder.finish()
            case _:
                raise PassFailure(f"'{op.name}' op is unexpected among buffers", op)

    def _cast(self, op: ir.Operation) -> Region:
        (offset,) = ir.DenseI64ArrayAttr(op.attributes["static_offsets"])
        width = byte_width(ir.MemRefType(op.results[0].type).element_type) or 0
        return self.regions[op.operands[0]].at(offset * width)

    def _execute(self, op: ir.Operation) -> None:
        grafted = self.kernels[_callee(op)]
        buffers = [self.regions[operand] for operand in op.operands]
        if grafted.kernel.workspace_size:
            buffers.append(Region(host_ops.alloc(grafted.kernel.workspace_size, op.location)))
        for step in grafted.kernel.steps:
            match step:
                case Fill():
                    self.builder.fill(step, buffers)
                case Copy():
                    self.builder.copy(step, buffers)
                case Dispatch():
                    self.builder.launch(grafted.binaries[step.object], step, buffers)


def _callee(execute: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(execute.attributes["callee"]).value


def _body(function: ir.Operation) -> Iterator[ir.Operation]:
    for op in function.regions[0].blocks[0].operations:
        yield op.operation


def _callees(function: ir.Operation, graphs: dict[str, _Graph]) -> list[str]:
    """Symbols of the executables that a function calls."""
    executes = [op for op in _body(function) if op.name == "hipdnn.execute"]
    for op in executes:
        if _callee(op) not in graphs:
            raise PassFailure(f"'hipdnn.execute' op callee '@{_callee(op)}' is no executable", op)
    return [_callee(op) for op in executes]


def _create_function(
    old: ir.Operation,
    name: str,
    targets: Sequence[str],
    kernels: dict[str, _Grafted],
    constants: GlobalConstants,
) -> None:
    attributes = {named.name: named.attr for named in _named_attributes(old)}
    attributes["sym_name"] = ir.StringAttr.get(name)
    attributes["hipgraft.targets"] = ir.ArrayAttr.get([ir.StringAttr.get(t) for t in targets])
    new = ir.Operation.create("func.func", attributes=attributes, regions=1, loc=old.location)
    arguments = list(old.regions[0].blocks[0].arguments)
    types = [argument.type for argument in arguments]
    block = new.regions[0].blocks.append(*types, arg_locs=[a.location for a in arguments])
    with ir.InsertionPoint(block):
        host = _HostFunction(old, kernels, HostBuilder(new, constants, old.location))
        host.regions = {
            before: Region(after) for before, after in zip(arguments, block.arguments, strict=True)
        }
        for op in _body(old):
            host.convert(op)


def _named_attributes(op: ir.Operation) -> Iterator[ir.NamedAttribute]:
    for position in range(len(op.attributes)):
        yield op.attributes[position]


@dataclass(frozen=True)
class HipdnnMergePass(Pass):
    """Turns executables into `gpu.binary` and their calls into launches, fills and copies.

    Before:
        ```mlir
        func.func @main(%x: memref<64xf16>, %y: memref<64xf16>)
            attributes {hipgraft.results = 1 : i64} {
          "hipdnn.execute"(%x, %y) {callee = @gelu_0} : (memref<64xf16>, memref<64xf16>) -> ()
          func.return
        }
        "hipdnn.executable"() {
          sym_name = "gelu_0", variants = [{target = "gfx942", ...}]
        } : () -> ()
        ```

    After:
        ```mlir
        gpu.binary @gelu_0 [
          #gpu.object<#rocdl.target<chip = "gfx942">, kernels = <[...]>, bin = "...">]
        func.func @main(%x: memref<64xf16>, %y: memref<64xf16>)
            attributes {hipgraft.results = 1 : i64, hipgraft.targets = ["gfx942"]} {
          %t0 = gpu.wait async
          %t1 = gpu.launch_func async [%t0] @gelu_0::@kernel blocks in (%c1, %c1, %c1)
              threads in (%c64, %c1, %c1) args(%x : memref<64xf16>, %y : memref<64xf16>)
          gpu.wait [%t1]
          func.return
        }
        ```

    Requires:
        Stage `hipdnn-buffers`, executables with AMDGPU code objects.

    Ensures:
        Upstream ops only. All device ops of a function form one chain of async tokens, so
        they run in program order. Every memref that a kernel gets has offset 0: a range inside
        a byte buffer is a `memref.view`; one inside an argument is rebuilt from its pointer
        (`memref.extract_aligned_pointer_as_index`, `llvm.inttoptr`, a descriptor), because
        upstream's lowering drops memref offsets. Buffers and workspaces are `memref.alloc`,
        which `hipdnn-plan-memory` turns into device memory. Targets whose kernels agree in name
        and block size share one `gpu.binary`, which has an object for each; targets with equal
        schedules share one function, and others get a function with the suffix of their first
        target. `hipgraft.targets` says which function is for which.

        The result lowers with `expand-strided-metadata`, `finalize-memref-to-llvm`,
        `convert-func-to-llvm`, `gpu-to-llvm{use-bare-pointers-for-kernels=1
        intersperse-sizes-for-kernels=0}`, `convert-arith-to-llvm`, `convert-index-to-llvm` and
        `reconcile-unrealized-casts`, in this order.

    Errors:
        An executable without a variant for a target, or with one that is no code object; a
        call of something else; an op that is not of stage `hipdnn-buffers`.

    Source:
        own
    """

    name: ClassVar[str] = "hipdnn-merge"
    requires: ClassVar[str | None] = "hipdnn-buffers"
    ensures: ClassVar[str | None] = "host"

    target: tuple[str, ...] = option((), "architectures to merge; by default all that are there")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Replaces executables and their calls."""
        operations = [op.operation for op in module.body.operations]
        executables = [op for op in operations if op.name == "hipdnn.executable"]
        if not executables:
            return
        graphs = {graph.name: graph for graph in map(_Graph.read, executables)}
        functions = [op for op in operations if op.name == "func.func" and op.regions[0].blocks]
        called = {op: _callees(op, graphs) for op in functions}
        targets = self.target or tuple(next(iter(graphs.values())).kernels)
        with ir.InsertionPoint.at_block_begin(module.body):
            grafted = {name: _graft(graph, targets) for name, graph in graphs.items()}
        constants = GlobalConstants(module)
        for function in functions:
            if called[function]:
                _merge_function(function, called[function], targets, grafted, constants)
                state.count("functions-merged")
        for op in [*executables, *(op for op in functions if called[op])]:
            op.erase()
        module.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
        state.count("graphs-merged", len(graphs))


def _merge_function(
    function: ir.Operation,
    called: Sequence[str],
    targets: Sequence[str],
    grafted: dict[str, dict[str, _Grafted]],
    constants: GlobalConstants,
) -> None:
    """Writes one host function per distinct schedule in front of the old function."""
    kernels = {target: {name: grafted[name][target] for name in called} for target in targets}
    keys = [tuple(one.schedule for one in kernels[target].values()) for target in targets]
    groups = _grouped(targets, keys)
    name = ir.StringAttr(function.attributes["sym_name"]).value
    with ir.InsertionPoint(function):
        for group, suffix in zip(groups, _suffixes(groups), strict=True):
            _create_function(function, name + suffix, group, kernels[group[0]], constants)

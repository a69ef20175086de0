"""Replaces rocMLIR's binaries and launches, or whole functions, by compiled kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hipgraft.integrations.rocmlir.arch import Architecture
from hipgraft.integrations.rocmlir.binaries import object_arrays, read_binary
from hipgraft.integrations.rocmlir.export import Exported, target_attribute
from hipgraft.integrations.rocmlir.launches import (
    LaunchMismatch,
    check_launch,
    emit_steps,
    replace_launch,
)
from hipgraft.ir import builders
from hipgraft.ir.bindings import func_d, ir
from hipgraft.ir.io import walk
from hipgraft.ir.symbols import symbol_of, symbols_of, unique_name
from hipgraft.passmanager.base import PassState
from hipgraft.transforms.global_constants import GlobalConstants
from hipgraft.transforms.host_builder import HostBuilder, Region
from hipgraft.transforms.migraphx_to_hipdnn import is_kernel
from hipgraft.transforms.migraphx_to_hipdnn.function import Signature

_OF_THE_OLD_FUNCTION = frozenset(
    {"arg_attrs", "function_type", "res_attrs", "sym_name", "sym_visibility"}
)

Launches = Mapping[str, Sequence[ir.Operation]]


class Merger:
    """One module and the kernels that were compiled for it.

    Args:
        module: module to change; nested modules are ignored.
        results: compiled kernels.
        architecture: architecture of the kernels.
        state: receives a remark for each kernel that is replaced or stays.
    """

    def __init__(
        self,
        module: ir.Operation,
        results: Sequence[Exported],
        architecture: Architecture,
        state: PassState,
    ):
        self._module = module
        self._results = {exported.function: exported for exported in results}
        self._architecture = architecture
        self._state = state
        self._constants = GlobalConstants(module)

    def run(self) -> None:
        """Replaces all kernels that have a result; without binaries, the kernel functions."""
        binaries = self._named("gpu.binary")
        launches = {symbol_of(binary): self._launches_of(binary) for binary in binaries}
        # A result without a function name, as in the prototype's, is for the only kernel.
        alone = sum(map(len, launches.values())) == 1
        for binary in binaries:
            self._merge_binary(binary, launches[symbol_of(binary)], alone)
        for function in self._named("func.func"):
            if is_kernel(function) and not binaries and symbol_of(function) in self._results:
                self._make_host(function, self._results[symbol_of(function)])
        if self._named("gpu.binary"):
            self._module.attributes["gpu.container_module"] = ir.UnitAttr.get()

    def _named(self, name: str) -> list[ir.Operation]:
        return [op for op in symbols_of(self._module) if op.name == name]

    def _launches_of(self, binary: ir.Operation) -> dict[str, list[ir.Operation]]:
        """Returns the launches of each kernel of a binary; some kernels may have none."""
        launches: dict[str, list[ir.Operation]] = {name: [] for name in read_binary(binary).kernels}
        for op in walk(self._module):
            if op.name == "gpu.launch_func":
                path = list(ir.SymbolRefAttr(op.attributes["kernel"]).value)
                if path[0] == symbol_of(binary):
                    launches.setdefault(path[-1], []).append(op)
        return launches

    def _merge_binary(self, binary: ir.Operation, launches: Launches, alone: bool) -> None:
        """Replaces the kernels that have a result, and the binary itself if all have one."""
        found = {
            name: exported
            for name in launches
            if (exported := self._results.get(name) or (self._results.get("") if alone else None))
        }
        if not found:
            self._state.missed(
                binary, "not-merged", "'gpu.binary' op stays: there is no result for its kernels"
            )
        merged = {
            name: exported
            for name, exported in found.items()
            if self._fits(binary, name, exported, launches[name])
        }
        is_whole = bool(merged) and merged.keys() == launches.keys()
        binaries = self._replacements(binary, merged, is_whole)
        for name, exported in merged.items():
            for launch in launches[name]:
                replace_launch(launch, binaries[name], exported, self._constants)
            self._state.passed(binary, "merged", f"kernel '{name}' is IREE's")
            self._state.count("merged-kernels")
            self._state.count("merged-launches", len(launches[name]))

    def _fits(
        self,
        binary: ir.Operation,
        name: str,
        exported: Exported,
        launches: Sequence[ir.Operation],
    ) -> bool:
        try:
            read_binary(binary).check_architecture(exported.kernel.target)
            if exported.single is None and not launches:
                raise LaunchMismatch("its result takes several launches, but nothing launches it")
            for launch in launches:
                check_launch(launch, exported)
        except LaunchMismatch as reason:
            self._state.missed(binary, "not-merged", f"kernel '{name}' stays: {reason}")
            return False
        return True

    def _replacements(
        self, binary: ir.Operation, merged: Mapping[str, Exported], is_whole: bool
    ) -> dict[str, list[str]]:
        """Builds binaries of the kernels; the first one replaces the old binary if possible.

        Returns:
            The symbols of each kernel's binaries, one for each of its code objects.
        """
        old = read_binary(binary)
        target = old.target or target_attribute(self._architecture)
        names: dict[str, list[str]] = {}
        replaced: ir.Operation | None = binary if is_whole else None
        for name, exported in merged.items():
            arrays = object_arrays(exported, target, old.signature(name), old.properties)
            names[name] = self._create_binaries(binary, symbol_of(binary), arrays, replaced)
            replaced = None if arrays else replaced
        if replaced is not None:
            binary.erase()  # the kernel consists of copies and fills only
        return names

    def _create_binaries(
        self,
        before: ir.Operation,
        name: str,
        arrays: Sequence[ir.Attribute],
        replaced: ir.Operation | None = None,
    ) -> list[str]:
        """Builds a binary from each array; the first one replaces `replaced` if that is given."""
        names: list[str] = []
        for array in arrays:
            if replaced is not None and not names:
                replaced.attributes["objects"] = array
                replaced.attributes["offloadingHandler"] = _handler()
                names.append(symbol_of(replaced))
                continue
            names.append(unique_name(name, self._taken()))
            attributes = {
                "sym_name": ir.StringAttr.get(names[-1]),
                "objects": array,
                "offloadingHandler": _handler(),
            }
            with ir.InsertionPoint(before):
                ir.Operation.create("gpu.binary", attributes=attributes, loc=before.location)
        return names

    def _taken(self) -> set[str]:
        return {symbol_of(op) for op in symbols_of(self._module) if "sym_name" in op.attributes}

    def _make_host(self, function: ir.Operation, exported: Exported) -> None:
        """Converts the function to one that launches its own kernels, on flat memory."""
        kind = Signature.of(function, flat=True).type()
        tensors = [ir.RankedTensorType(each) for each in (*kind.inputs, *kind.results)]
        types = [ir.MemRefType.get(each.shape, each.element_type) for each in tensors]
        target = target_attribute(self._architecture)
        arrays = object_arrays(exported, target, [str(each) for each in types])
        names = self._create_binaries(function, f"{symbol_of(function)}_module", arrays)
        host = self._host_function(function, types, exported)
        with ir.InsertionPoint(host.add_entry_block()):
            builder = HostBuilder(host.operation, self._constants, function.location)
            regions = [Region(value) for value in host.entry_block.arguments]
            emit_steps(builder, names, exported, regions)
            builder.finish()
        function.erase()
        self._state.count("host-functions")

    def _host_function(
        self, function: ir.Operation, types: Sequence[ir.Type], exported: Exported
    ) -> func_d.FuncOp:
        """Returns a function on memory with the attributes of the old one."""
        with ir.InsertionPoint(function):
            host = func_d.FuncOp(
                symbol_of(function), ir.FunctionType.get(list(types), []), loc=function.location
            )
        for name, attribute in builders.attributes_of(function).items():
            if name not in _OF_THE_OLD_FUNCTION:
                host.operation.attributes[name] = attribute
        i64 = ir.IntegerType.get_signless(64)
        host.operation.attributes["hipgraft.results"] = ir.IntegerAttr.get(i64, exported.results)
        host.operation.attributes["hipgraft.targets"] = ir.ArrayAttr.get(
            [ir.StringAttr.get(self._architecture.chip)]
        )
        return host


def _handler() -> ir.Attribute:
    """Returns a handler that selects the only object."""
    return ir.Attribute.parse("#gpu.select_object")

"""Writes host programs for kernels with dynamic shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.codegen.iree import dynamic_functions
from hipgraft.codegen.kernel import Kernel
from hipgraft.dialects import hipdnn
from hipgraft.ir import builders
from hipgraft.ir.bindings import ir
from hipgraft.ir.entry_points import ELEMENTS, EXTENTS, NAMES, RANGES, SYMBOLS, symbols
from hipgraft.transforms.grafting import CompiledGraph, graft


@dataclass(frozen=True)
class DynamicProgram:
    """The host program of one function for one target; it is written before the function.

    Attributes:
        old: the function, with its constants as its last arguments.
        name: symbol of the host function.
        constants: symbols of its constants.
    """

    old: ir.Operation
    name: str
    constants: Sequence[str]

    def write(self, kernel: Kernel) -> None:
        """Writes the ops that run a kernel."""
        host = ir.Module.parse(kernel.host)
        functions = symbols(host)
        extents = self._place(functions[dynamic_functions.EXTENTS], f"{self.name}_extents")
        extents.attributes["sym_visibility"] = ir.StringAttr.get("private")
        main = self._place(functions[dynamic_functions.MAIN], self.name)
        if kernel.format == "vmfb":
            self._call(main, kernel)
        else:
            self._graft(main, kernel)
        for function in (main, extents):
            self._hold_constants(function)
        self._describe(main, kernel)

    def _place(self, function: ir.Operation, name: str) -> ir.Operation:
        """Moves a function here, and copies the names of the old function and its arguments."""
        function.attributes["sym_name"] = ir.StringAttr.get(name)
        function.detach_from_parent()
        ir.InsertionPoint(self.old).insert(function)
        function.walk(self._locate)
        arguments = function.regions[0].blocks[0].arguments
        for new, old in zip(arguments, self.old.regions[0].blocks[0].arguments, strict=False):
            new.set_location(old.location)
        return function

    def _locate(self, op: ir.Operation) -> ir.WalkResult:
        op.location = self.old.location
        return ir.WalkResult.ADVANCE

    def _graft(self, main: ir.Operation, kernel: Kernel) -> None:
        graph = CompiledGraph(self.old, f"{self.name}_kernels", {kernel.target: kernel})
        with ir.InsertionPoint(main):
            binaries = graft(graph, [kernel.target])[kernel.target].binaries
        objects = {one.kernel: binaries[one.object] for one in kernel.dispatches}
        for op in [op.operation for op in main.regions[0].blocks[0].operations]:
            if op.name == "gpu.launch_func":
                symbol = ir.SymbolRefAttr(op.attributes["kernel"]).value[-1]
                op.attributes["kernel"] = ir.SymbolRefAttr.get([objects[symbol], symbol])
        if main.parent is not None:
            main.parent.attributes["gpu.container_module"] = ir.UnitAttr.get()

    def _call(self, main: ir.Operation, kernel: Kernel) -> None:
        """Makes a function call a kernel that runs the whole graph."""
        symbol, block = f"{self.name}_kernel", main.regions[0].blocks[0]
        tensors = [_tensor(argument.type) for argument in block.arguments]
        count = len(tensors) - self._result_count
        with ir.InsertionPoint(main):
            hipdnn.executable(
                symbol, tensors[:count], tensors[count:], [kernel.to_attr()], loc=main.location
            )
        with ir.InsertionPoint.at_block_begin(block):
            hipdnn.execute(list(block.arguments), [], callee=symbol, loc=main.location)

    @property
    def _result_count(self) -> int:
        kind = ir.FunctionType(ir.TypeAttr(self.old.attributes["function_type"]).value)
        return len(kind.results)

    def _hold_constants(self, function: ir.Operation) -> None:
        """Removes the constants from the arguments."""
        block = function.regions[0].blocks[0]
        first = len(self.old.regions[0].blocks[0].arguments) - len(self.constants)
        for name in self.constants:
            argument = block.arguments[first]
            if any(True for _ in argument.uses):
                with ir.InsertionPoint.at_block_begin(block):
                    held = builders.get_global(name, argument.type, function.location)
                argument.replace_all_uses_with(held)
            block.erase_argument(first)
        kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        taken = [argument.type for argument in block.arguments]
        function.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get(taken, kind.results)
        )

    def _describe(self, main: ir.Operation, kernel: Kernel) -> None:
        number = ir.IntegerType.get_signless(64)
        main.attributes["hipgraft.results"] = ir.IntegerAttr.get(number, self._result_count)
        main.attributes[EXTENTS] = ir.StringAttr.get(f"{self.name}_extents")
        if kernel.format != "vmfb":
            targets = ir.ArrayAttr.get([ir.StringAttr.get(kernel.target)])
            main.attributes["hipgraft.targets"] = targets
        for noted in (SYMBOLS, RANGES, NAMES, ELEMENTS):
            if noted in self.old.attributes:
                main.attributes[noted] = self.old.attributes[noted]


def _tensor(memref: ir.Type) -> ir.Type:
    kind = ir.MemRefType(memref)
    return ir.RankedTensorType.get(kind.shape, kind.element_type)

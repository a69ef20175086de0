"""hipgraft-compile-dynamic: functions of dynamic shapes become host programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field
from typing import ClassVar

from hipgraft import host_ops
from hipgraft.bindings import asm, ir
from hipgraft.codegen.entry import find_entry
from hipgraft.codegen.provider import compile_schedule, make_kernel
from hipgraft.codegen.schedule import Schedule, read_exports
from hipgraft.codegen.target import Target
from hipgraft.diagnostics import CodegenError, PassFailure
from hipgraft.dynamic_host import Commands, Numbers, write_extents
from hipgraft.global_constants import GlobalConstants
from hipgraft.grafting import CompiledGraph, graft, suffixes
from hipgraft.pass_base import Pass, PassState, option
from hipgraft.runtime.entry import EXTENTS, SYMBOLS
from hipgraft.torch_to_hipdnn.constants import literal_attribute
from hipgraft.torch_to_hipdnn.converter import builtin_tensor_type

_LITERAL = "torch.vtensor.literal"
_OTHER_WAY = "compile it for given extents by --specialize"


def _is_dynamic(function: ir.Operation) -> bool:
    """Whether `function` takes or returns torch tensors of dynamic shapes."""
    if function.name != "func.func" or not function.regions[0].blocks:
        return False
    text = str(function.attributes["function_type"])
    return "!torch." in text and "?" in text


def _hoist_constants(function: ir.Operation) -> list[ir.Attribute]:
    """Makes literals of several numbers arguments, behind the others; returns their values."""
    block = function.regions[0].blocks[0]
    values: list[ir.Attribute] = []
    for op in [op.operation for op in block.operations if op.operation.name == _LITERAL]:
        value = literal_attribute(op, builtin_tensor_type(op.result.type))
        if isinstance(value, ir.DenseElementsAttr) and value.is_splat:
            continue
        values.append(value)
        op.result.replace_all_uses_with(block.add_argument(op.result.type, op.location))
        op.erase()
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    types = [argument.type for argument in block.arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, kind.results))
    return values


def _compiler_input(function: ir.Operation) -> str:
    copy = function.clone(ip=False).operation
    copy.attributes["sym_name"] = ir.StringAttr.get("main")
    return f"module {{\n{asm(copy)}\n}}\n"


def _memrefs(tensors: Sequence[ir.Type]) -> list[ir.Type]:
    """The same in the current context."""
    return [ir.Type.parse(str(one).replace("tensor", "memref", 1)) for one in tensors]


@dataclass
class _HostProgram:
    """Writes the host functions of one function for one target, in front of it.

    Attributes:
        old: the function, with its constants as last arguments.
        name: symbol of the host function.
        constants: symbols of its constants.
        function: the host function, when it is written.
        dispatches: its launches.
    """

    old: ir.Operation
    name: str
    constants: Sequence[str]
    function: ir.Operation = field(init=False)

    def write(self, module: ir.Module, kind: ir.FunctionType) -> Schedule:
        """Writes what a schedule runs, which is in another context."""
        entry, location = find_entry(module), self.old.location
        operands, results = _memrefs(kind.inputs), _memrefs(kind.results)
        count = len(operands) - len(self.constants)
        self._write_extents(operands[:count], entry)
        self.function = self._create(self.name, [*operands[:count], *results])
        block = self.function.regions[0].blocks[0]
        with ir.InsertionPoint(block):
            held = [
                host_ops.get_global(name, type_, location)
                for name, type_ in zip(self.constants, operands[count:], strict=True)
            ]
            arguments = list(block.arguments)
            buffers = [*arguments[:count], *held, *arguments[count:]]
            commands = Commands(module, buffers, len(operands), location)
            commands.write_function(entry)
        _erase_unused(block)
        sizes = {name: export.subgroup_size for name, export in read_exports(module)}
        return Schedule(tuple(commands.dispatches), 0, sizes)

    def _write_extents(self, inputs: Sequence[ir.Type], entry: ir.Operation) -> None:
        """Writes the function that returns the extents of the results."""
        function = self._create(f"{self.name}_extents", inputs)
        block = function.regions[0].blocks[0]
        with ir.InsertionPoint(block):
            extents = write_extents(Numbers(list(block.arguments), self.old.location), entry)
            ir.Operation.create("func.return", operands=extents, loc=self.old.location)
        kind = ir.FunctionType.get(list(inputs), [one.type for one in extents])
        function.attributes["function_type"] = ir.TypeAttr.get(kind)
        function.attributes["sym_visibility"] = ir.StringAttr.get("private")
        _erase_unused(block)

    def _create(self, name: str, types: Sequence[ir.Type]) -> ir.Operation:
        attributes: dict[str, ir.Attribute] = {
            "sym_name": ir.StringAttr.get(name),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(list(types), [])),
        }
        with ir.InsertionPoint(self.old):
            function = ir.Operation.create(
                "func.func", attributes=attributes, regions=1, loc=self.old.location
            )
        names = [one.location for one in self.old.regions[0].blocks[0].arguments]
        places = [*names, *[self.old.location] * len(types)][: len(types)]
        function.regions[0].blocks.append(*types, arg_locs=places)
        return function


def _erase_unused(block: ir.Block) -> None:
    """Erases numbers that only memory of other shapes would need, last first."""
    for op in reversed([op.operation for op in block.operations]):
        is_number = op.name.startswith(("arith.", "affine.", "memref."))
        if is_number and not any(True for result in op.results for _ in result.uses):
            op.erase()


def _name_binaries(function: ir.Operation, binaries: dict[str, str]) -> None:
    """Tells each launch the `gpu.binary` that has its kernel."""
    for op in [op.operation for op in function.regions[0].blocks[0].operations]:
        if op.name == "gpu.launch_func":
            kernel = ir.SymbolRefAttr(op.attributes["kernel"]).value[-1]
            op.attributes["kernel"] = ir.SymbolRefAttr.get([binaries[kernel], kernel])


@dataclass(frozen=True)
class HipgraftCompileDynamicPass(Pass):
    """Compiles functions that have dynamic shapes, each as a whole, into host programs.

    hipDNN's graphs are of static shapes, so there are none here: IREE forms the kernels. What it
    leaves to the host, workgroup counts, sizes of memory and the constants that kernels take, is
    arithmetic on the extents of the arguments.

    Before:
        ```mlir
        func.func @main(%x: !torch.vtensor<[?,8],f32>) -> !torch.vtensor<[?,8],f32> {
          %y = torch.aten.relu %x : !torch.vtensor<[?,8],f32> -> !torch.vtensor<[?,8],f32>
          return %y : !torch.vtensor<[?,8],f32>
        }
        ```

    After:
        ```mlir
        gpu.binary @main_kernels [#gpu.object<#rocdl.target<chip = "gfx942">, ...>]
        func.func private @main_extents(%x: memref<?x8xf32>) -> (index, index)
        func.func @main(%x: memref<?x8xf32>, %y: memref<?x8xf32>)
            attributes {hipgraft.extents = "main_extents", hipgraft.results = 1 : i64,
                        hipgraft.targets = ["gfx942"]} {
          %n = memref.dim %x, %c0 : memref<?x8xf32>
          %word = arith.index_castui %n : index to i32
          %t0 = gpu.wait async
          %grid = affine.min affine_map<()[s0] -> (s0 ceildiv 8, 2147483647)>()[%n]
          %t1 = gpu.launch_func async [%t0] @main_kernels::@kernel blocks in (%grid, %c1, %c1)
              threads in (%c64, %c1, %c1)
              args(%x : memref<?x8xf32>, %y : memref<?x8xf32>, %word : i32)
          gpu.wait [%t1]
          func.return
        }
        ```

    Requires:
        Torch functions in torch-mlir's backend form.

    Ensures:
        Functions of static shapes are left as they are. A dynamic one becomes a host function for
        each target; `hipgraft.extents` names the function that returns the extents of its results.
        Intermediates are in one allocation, laid out by IREE.

    Errors:
        A function does not compile, or its schedule needs more than launches and copies, at the
        function.

    Source:
        own
    """

    name: ClassVar[str] = "hipgraft-compile-dynamic"

    target: tuple[str, ...] = option(MISSING, "architectures to compile for: gfx942, ...")
    extra_flags: tuple[str, ...] = option((), "compiler flags after each target's own")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Compiles the functions of dynamic shapes."""
        functions = [op.operation for op in module.body.operations]
        constants = GlobalConstants(module.operation)
        for function in [op for op in functions if _is_dynamic(op)]:
            try:
                self._compile(function, constants)
            except CodegenError as error:
                name = ir.StringAttr(function.attributes["sym_name"]).value
                raise PassFailure(
                    f"'func.func' op '@{name}' has dynamic shapes and does not compile: "
                    f"{error.message}",
                    function,
                    notes=(*error.notes, _OTHER_WAY),
                ) from None
            function.erase()
            module.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
            state.count("functions-compiled")

    def _compile(self, function: ir.Operation, constants: GlobalConstants) -> None:
        values = _hoist_constants(function)
        names = [constants.name(one, function, function.location) for one in values]
        text = _compiler_input(function)
        for target, suffix in zip(
            self.target, suffixes([[one] for one in self.target]), strict=True
        ):
            self._compile_for(Target.parse(target), text, function, suffix, names)

    def _compile_for(
        self, target: Target, text: str, old: ir.Operation, suffix: str, constants: Sequence[str]
    ) -> None:
        name = ir.StringAttr(old.attributes["sym_name"]).value + suffix
        flags = (*target.device_flags, *target.default_flags, *self.extra_flags)
        host = _HostProgram(old, name, constants)
        schedule, objects = compile_schedule(text, target, flags, host.write)
        kernel = make_kernel(target, objects, schedule)
        graph = CompiledGraph(old, f"{name}_kernels", {target.name: kernel})
        with ir.InsertionPoint(host.function):
            binaries = graft(graph, [target.name])[target.name].binaries
        _name_binaries(
            host.function, {one.kernel: binaries[one.object] for one in kernel.dispatches}
        )
        results = len(ir.FunctionType(ir.TypeAttr(old.attributes["function_type"]).value).results)
        number = ir.IntegerType.get_signless(64)
        host.function.attributes["hipgraft.results"] = ir.IntegerAttr.get(number, results)
        targets = ir.ArrayAttr.get([ir.StringAttr.get(target.name)])
        host.function.attributes["hipgraft.targets"] = targets
        host.function.attributes[EXTENTS] = ir.StringAttr.get(f"{name}_extents")
        if SYMBOLS in old.attributes:
            host.function.attributes[SYMBOLS] = old.attributes[SYMBOLS]

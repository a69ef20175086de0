"""hipdnn-bufferize: converts the tensors between kernels to memrefs and views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from hipgraft.dialects import hipdnn
from hipgraft.ir import builders
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import PassFailure
from hipgraft.ir.element_types import byte_size
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import element_type_of
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.transforms.buffers import (
    Storage,
    compiled_layouts,
    memref_type,
    ranked,
    result_layouts,
    same_strides,
    view_of,
    window_memref,
    window_of,
)
from hipgraft.transforms.global_constants import GlobalConstants


def _returned_results(terminator: ir.Operation) -> dict[ir.Value, int]:
    """Maps each returned execute result, which may be reshaped, to its position."""
    positions: dict[ir.Value, int] = {}
    for position, value in enumerate(terminator.operands):
        if 0 in ir.RankedTensorType(value.type).shape:  # nothing is written
            continue
        result = _whole(value)
        owner = builders.defining_op(result)
        if owner is None or owner.name != "hipdnn.execute" or result in positions:
            raise PassFailure(
                f"'func.return' op operand #{position} is not a distinct result of a "
                "'hipdnn.execute', or a row-major view of all of one",
                terminator,
            )
        positions[result] = position
    return positions


def _whole(value: ir.Value) -> ir.Value:
    """Returns the tensor that `value` reshapes without a copy; else `value` itself."""
    view = view_of(value)
    if view is None:
        return value
    covers = window_of(view).covers(ir.RankedTensorType(view.base.type).shape)
    return view.base if covers else value


@dataclass
class _Function:
    """Rebuilds one function on memrefs; the old function stays unchanged."""

    old: ir.Operation
    executables: dict[str, hipdnn.ExecutableOp]
    constants: GlobalConstants
    storage: dict[ir.Value, Storage] = field(default_factory=dict[ir.Value, Storage])
    returned: dict[ir.Value, int] = field(default_factory=dict[ir.Value, int])
    layouts: dict[ir.Value, StridedView] = field(default_factory=dict[ir.Value, StridedView])
    outputs: Sequence[ir.Value] = ()

    def build(self) -> None:
        """Creates the function before the old one, with the same name."""
        body = self.old.regions[0].blocks[0]
        terminator = list(body.operations)[-1].operation
        for op in body.operations:
            if op.operation.name == hipdnn.ExecuteOp.OP_NAME:
                self._find_layouts(op.operation)
        inputs = [
            memref_type(ranked(argument, self.old), self.layouts.get(argument))
            for argument in body.arguments
        ]
        outputs = [
            memref_type(ranked(value, terminator), self.layouts.get(value))
            for value in terminator.operands
        ]
        new = self._declare([*inputs, *outputs], len(outputs))
        block = new.regions[0].blocks.append(
            *inputs, *outputs, arg_locs=self._argument_locations(terminator)
        )
        arguments = list(block.arguments)
        for old, memref in zip(body.arguments, arguments, strict=False):
            element_type = element_type_of(old)
            self.storage[old] = Storage(memref, element_type)
        self.outputs = arguments[len(inputs) :]
        self.returned = _returned_results(terminator)
        with ir.InsertionPoint(block):
            for op in body.operations:
                self._convert(op.operation)

    def _find_layouts(self, op: ir.Operation) -> None:
        """Records the layouts of arguments that kernels read unchanged, and of results."""
        executable = self._executable(op)
        for value, layout in zip(op.operands, compiled_layouts(op, executable), strict=True):
            if isinstance(value.owner, ir.Block) and layout.offset == 0:
                self.layouts.setdefault(value, layout)
        self.layouts.update(zip(op.results, result_layouts(op, executable), strict=True))

    def _declare(self, arguments: list[ir.MemRefType], results: int) -> ir.Operation:
        attributes = builders.attributes_of(self.old)
        merged = _merge_dictionaries(self.old, len(arguments) - results, results)
        for key in ("arg_attrs", "res_attrs"):
            attributes.pop(key, None)
        if merged is not None:
            attributes["arg_attrs"] = merged
        attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(arguments, []))
        attributes["hipgraft.results"] = ir.IntegerAttr.get(
            ir.IntegerType.get_signless(64), results
        )
        with ir.InsertionPoint(self.old):
            return ir.Operation.create(
                "func.func", attributes=attributes, regions=1, loc=self.old.location
            )

    def _argument_locations(self, terminator: ir.Operation) -> list[ir.Location]:
        arguments = self.old.regions[0].blocks[0].arguments
        return [argument.location for argument in arguments] + [terminator.location] * len(
            terminator.operands
        )

    def _convert(self, op: ir.Operation) -> None:
        if op.name == "arith.constant":
            self._convert_constant(op)
        elif op.name == "hipdnn.execute":
            self._convert_execute(op)
        elif op.name == "func.return":
            builders.return_(op.location)
        elif op.name != "hipdnn.view":  # views are created where they are used
            raise PassFailure(
                f"'{op.name}' op cannot be bufferized; expected only 'hipdnn.execute', "
                "'hipdnn.view' and 'arith.constant'",
                op,
            )

    def _convert_constant(self, op: ir.Operation) -> None:
        tensor = ranked(op.results[0], op)
        if 0 in tensor.shape:
            return
        name = self.constants.name(op.attributes["value"], self.old, op.location)
        memref = builders.get_global(name, memref_type(tensor), op.location)
        self.storage[op.results[0]] = Storage(memref, tensor.element_type)

    def _convert_execute(self, op: ir.Operation) -> None:
        layouts = compiled_layouts(op, self._executable(op))
        operands = [self._operand(position, layout, op) for position, layout in enumerate(layouts)]
        operands += [self._result(value, op) for value in op.results]
        ir.Operation.create(
            op.name, operands=operands, attributes=builders.attributes_of(op), loc=op.location
        )

    def _executable(self, op: ir.Operation) -> hipdnn.ExecutableOp:
        name = hipdnn.ExecuteOp(op).callee
        if name not in self.executables:
            raise PassFailure(f"'hipdnn.execute' op callee '@{name}' is no executable", op)
        return self.executables[name]

    def _operand(self, position: int, compiled: StridedView, op: ir.Operation) -> ir.Value:
        """Returns the memref from which the kernel finds the operand in its compiled layout."""
        value = op.operands[position]
        view = view_of(value)
        base = value if view is None else view.base
        found = self._layout(value) if view is None else window_of(view)
        if view is not None and not self._layout(base).is_dense:
            raise PassFailure("'hipdnn.view' op looks at a tensor with gaps", op)
        if compiled.offset not in (0, found.offset) or not same_strides(found, compiled):
            raise PassFailure(
                f"'hipdnn.execute' op operand #{position} lies at offset {found.offset} with "
                f"strides {list(found.strides)}, but its executable was compiled for offset "
                f"{compiled.offset} with strides {list(compiled.strides)}",
                op,
            )
        storage = self.storage[base]
        kernel_adds_offset = compiled.offset != 0
        if kernel_adds_offset:
            found = self._layout(base)
        if view is None and storage.memref.type == memref_type(ranked(value, op), found):
            return storage.memref
        return window_memref(storage, found, op.location)

    def _layout(self, base: ir.Value) -> StridedView:
        dense = StridedView.of_shape(ir.RankedTensorType(base.type).shape)
        return self.layouts.get(base, dense)

    def _result(self, value: ir.Value, op: ir.Operation) -> ir.Value:
        tensor = ranked(value, op)
        if value in self.returned:
            storage = Storage(self.outputs[self.returned[value]], tensor.element_type)
        else:
            nbytes = byte_size([self._layout(value).span], tensor.element_type) or 0
            memref = builders.alloc(nbytes, op.location)
            storage = Storage(memref, tensor.element_type, is_bytes=True)
        self.storage[value] = storage
        if storage.memref.type == memref_type(tensor, self._layout(value)):
            return storage.memref
        return window_memref(storage, self._layout(value), op.location)


def _merge_dictionaries(function: ir.Operation, inputs: int, outputs: int) -> ir.ArrayAttr | None:
    """Returns argument attributes followed by those of results, which become arguments."""
    dictionaries: list[ir.DictAttr] = []
    for key, count in (("arg_attrs", inputs), ("res_attrs", outputs)):
        if key in function.attributes:
            dictionaries += [ir.DictAttr(one) for one in ir.ArrayAttr(function.attributes[key])]
        else:
            dictionaries += [ir.DictAttr.get({})] * count
    return ir.ArrayAttr.get(list(dictionaries)) if any(map(len, dictionaries)) else None


def _wants_buffers(op: ir.Operation) -> bool:
    """Whether `op` is a public function with a body on tensors."""
    if op.name != "func.func" or "sym_visibility" in op.attributes:
        return False
    if not op.regions[0].blocks:
        return False
    signature = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
    return any(isinstance(t, ir.RankedTensorType) for t in (*signature.inputs, *signature.results))


@dataclass(frozen=True)
class HipdnnBufferizePass(Pass):
    """Turns the tensors of a compiled program into memrefs, and views into memref views.

    Before:
        ```mlir
        func.func @main(%x: tensor<4x8xf16>) -> tensor<32xf16> {
          %0 = "hipdnn.execute"(%x) {callee = @a} : (tensor<4x8xf16>) -> tensor<4x8xf16>
          %1 = "hipdnn.view"(%0) {offset = 8 : i64, strides = array<i64: 8, 1>}
               : (tensor<4x8xf16>) -> tensor<2x8xf16>
          %2 = "hipdnn.execute"(%1) {callee = @b} : (tensor<2x8xf16>) -> tensor<32xf16>
          func.return %2 : tensor<32xf16>
        }
        ```

    After:
        ```mlir
        func.func @main(%x: memref<4x8xf16>, %y: memref<32xf16>)
            attributes {hipgraft.results = 1 : i64} {
          %buffer = memref.alloc() : memref<64xi8>
          %0 = memref.view %buffer[%c0][] : memref<64xi8> to memref<4x8xf16>
          "hipdnn.execute"(%x, %0) {callee = @a} : (memref<4x8xf16>, memref<4x8xf16>) -> ()
          %1 = memref.view %buffer[%c16][] : memref<64xi8> to memref<2x8xf16>
          "hipdnn.execute"(%1, %y) {callee = @b} : (memref<2x8xf16>, memref<32xf16>) -> ()
          func.return
        }
        ```

    Requires:
        Public functions in the form of stage `hipdnn-executables`; each returned value is a
        distinct result of a `hipdnn.execute`, or a row-major view of all of one.

    Ensures:
        Results are trailing arguments, counted by the function's attribute `hipgraft.results`;
        nothing is copied. An operand whose executable adds the offset itself (`arg_offsets`) is
        passed as its whole buffer. Any other operand points at its first element: `memref.view`
        at the byte offset into a byte buffer, then `memref.reinterpret_cast` with offset 0 if it
        is not row-major. Results, and arguments that kernels read unchanged, have the layout that
        the kernels were compiled for (`strided<...>`). An intermediate that is also returned is
        stored in the result's argument; only views of such an intermediate have an offset in their
        type. Equal constants share one `memref.global`.

    Errors:
        An op other than executes, views and constants; dynamic shapes or packed elements (i4);
        a returned value of another origin; a callee that is not an executable; an operand whose
        layout differs from the one that its executable was compiled for; a view of a tensor with
        gaps.

    Source:
        own
    """

    name: ClassVar[str] = "hipdnn-bufferize"
    requires: ClassVar[str | None] = "hipdnn-executables"
    ensures: ClassVar[str | None] = "hipdnn-buffers"

    def run(self, module: ir.Module, state: PassState) -> None:
        """Rebuilds each public function on memrefs."""
        operations = [op.operation for op in module.body.operations]
        named = [hipdnn.ExecutableOp(op) for op in operations if op.name == "hipdnn.executable"]
        executables = {executable.sym_name: executable for executable in named}
        functions = [op for op in operations if _wants_buffers(op)]
        constants = GlobalConstants(module.operation)
        for function in functions:
            _Function(function, executables, constants).build()
            state.count("functions-bufferized")
        for function in functions:
            function.erase()

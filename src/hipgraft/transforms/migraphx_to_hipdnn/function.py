"""Converts a kernel function: its signature on memory tensors, and its body."""

from __future__ import annotations

from dataclasses import dataclass

from hipgraft.dialects.migraphx import MemoryLayout, ShapedType, ShapedTypeError
from hipgraft.dialects.migraphx.types import PREFIX
from hipgraft.ir.bindings import func_d, ir
from hipgraft.ir.diagnostics import Declined, PassFailure
from hipgraft.ir.io import return_of
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.symbols import symbol_of
from hipgraft.transforms.migraphx_to_hipdnn.converter import Converter, element_type
from hipgraft.transforms.tensor_builder import Tensor

_WRITTEN = "writing to tensors with broadcasts is unsupported"


@dataclass(frozen=True)
class Signature:
    """The memory layouts of arguments and results.

    Attributes:
        arguments: layouts of the function's arguments, in order.
        results: layouts of the function's results, in order.
        flat: whether memory is passed as one-dimensional tensors.
    """

    arguments: tuple[MemoryLayout, ...]
    results: tuple[MemoryLayout, ...]
    flat: bool

    @classmethod
    def of(cls, function: ir.Operation, flat: bool) -> Signature:
        """Reads a function's type.

        Raises:
            PassFailure: a type has no layout in memory, or a result cannot be written.
        """
        kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        try:
            arguments = tuple(MemoryLayout.of(_shaped(each)) for each in kind.inputs)
            results = tuple(MemoryLayout.of(_shaped(each)) for each in kind.results)
            if any(result.is_broadcast for result in results):
                raise ShapedTypeError(_WRITTEN)
        except ShapedTypeError as error:
            raise PassFailure(f"'func.func' op {error}", function) from None
        return cls(arguments, results, flat)

    def type(self) -> ir.FunctionType:
        """Returns the type of the function on memory."""
        return ir.FunctionType.get(
            [self.memory_type(layout) for layout in self.arguments],
            [self.memory_type(layout) for layout in self.results],
        )

    def memory_type(self, layout: MemoryLayout) -> ir.RankedTensorType:
        """Returns the packed tensor of an argument or result."""
        if layout.kind.bits == 4:
            # Two elements share a byte; a last half byte is padding.
            byte = ir.IntegerType.get_signless(8)
            return ir.RankedTensorType.get([(layout.elements + 1) // 2], byte)
        shape = [layout.elements] if self.flat else layout.shape
        return ir.RankedTensorType.get(shape, element_type(layout.kind))


def is_kernel(function: ir.Operation) -> bool:
    """Whether a function has shaped values and a body."""
    if function.name != "func.func" or not function.regions[0].blocks:
        return False
    if PREFIX in str(function.attributes["function_type"]):
        return True
    # Older modules have builtin tensors; so do functions that were converted before.
    names = [op.operation.name for op in function.regions[0].blocks[0].operations]
    uses = any(name.startswith("migraphx.") for name in names)
    return uses and not any(name.startswith("migraphx.mlir.") for name in names)


def build_function(function: ir.Operation, converter: Converter, flat: bool) -> func_d.FuncOp:
    """Writes the function on memory before `function`, which stays unchanged.

    Raises:
        PassFailure: an op cannot be converted, or a tensor of the signature has no layout; located.
    """
    blocks = list(function.regions[0].blocks)
    if len(blocks) != 1:
        raise PassFailure("'func.func' op expected one block", function)
    return_of(blocks[0])  # raises if a function ends in another op
    signature = Signature.of(function, flat)
    name = symbol_of(function)
    made = func_d.FuncOp(
        name, signature.type(), ip=ir.InsertionPoint(function), loc=function.location
    )
    entry = made.add_entry_block([argument.location for argument in blocks[0].arguments])
    with ir.InsertionPoint(entry):
        converter.location = function.location
        for old, new, layout in zip(
            blocks[0].arguments, entry.arguments, signature.arguments, strict=True
        ):
            converter.define(old, _read(converter, new, layout))
        results = converter.convert_block(blocks[0])
        if len(results) != len(signature.results):
            message = f"'func.func' op returns {len(results)} values, not {len(signature.results)}"
            raise PassFailure(message, function)
        written = [
            _write(converter, tensor, layout, signature)
            for tensor, layout in zip(results, signature.results, strict=True)
        ]
        func_d.ReturnOp(written, loc=converter.location)
    return made


def _read(converter: Converter, memory: ir.Value, layout: MemoryLayout) -> Tensor:
    """Returns the logical tensor in an argument's memory."""
    if layout.kind.bits == 4:
        return converter.unpacked(memory, layout.kind)
    pairs = zip(layout.kind.extents, layout.kind.steps, strict=True)
    steps = tuple(0 if extent == 1 else step for extent, step in pairs)
    return Tensor(memory, StridedView(layout.kind.extents, steps))


def _write(
    converter: Converter, tensor: Tensor, layout: MemoryLayout, signature: Signature
) -> ir.Value:
    """Returns the memory that holds a result: its dimensions in the order of its strides."""
    ordered = tensor.through(tensor.view.permute(layout.order))
    if layout.is_padded:
        ordered = _padded(converter, ordered, layout)
    memory = signature.memory_type(layout)
    shape = [layout.elements] if layout.kind.bits == 4 else memory.shape
    try:
        rows = ordered.reshape(shape)
    except Declined:
        rows = converter.copied(ordered).reshape(shape)
    if layout.kind.bits == 4:
        return converter.packed(rows, layout.kind, memory)
    return converter.materialize(rows)


def _padded(converter: Converter, tensor: Tensor, layout: MemoryLayout) -> Tensor:
    """Pads with zeros where the result's strides leave gaps."""
    room = [whole - used for whole, used in zip(layout.shape, tensor.shape, strict=True)]
    return converter.pad(tensor, layout.kind, room)


def _shaped(kind: ir.Type) -> ShapedType:
    found = ShapedType.of(kind)
    if found is None:
        raise ShapedTypeError(f"expected values of type '{PREFIX}', but found {kind}")
    return found

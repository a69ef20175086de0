"""Converts views, which cost nothing if strides can express them, and constants."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hipgraft.dialects.migraphx import (
    BroadcastOp,
    ConstantOp,
    MigraphxOp,
    MultibroadcastOp,
    SliceOp,
    TransposeOp,
)
from hipgraft.dialects.migraphx.ops.views import slice_end
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.transforms.migraphx_to_hipdnn.converter import Conversion, Converter, tensor_type
from hipgraft.transforms.migraphx_to_hipdnn.elementwise import in_shape
from hipgraft.transforms.tensor_builder import Tensor

_ELEMENT = re.compile(r"(?<=[x<])[a-wyz]\w*(?=>$)")


def _input(converter: Converter, op: MigraphxOp) -> Tensor:
    return converter.tensor(op.operation.operands[0])


def _transpose(converter: Converter, op: TransposeOp) -> Sequence[Tensor]:
    tensor = _input(converter, op)
    return [tensor.through(tensor.view.permute(op.permutation))]


def _reshape(converter: Converter, op: MigraphxOp) -> Sequence[Tensor]:
    """Reshapes a copy if strides cannot express the reshape."""
    return [in_shape(converter, _input(converter, op), op.output_type())]


def _slice(converter: Converter, op: SliceOp) -> Sequence[Tensor]:
    tensor = _input(converter, op)
    view = tensor.view
    axes, starts, ends = op.axes, op.starts, op.ends
    for axis, start, end in zip(axes, starts, ends, strict=True):
        view = view.slice(axis, start, slice_end(end, view.shape[axis]))
    return [tensor.through(view)]


def _broadcast(converter: Converter, op: BroadcastOp) -> Sequence[Tensor]:
    tensor, lengths, axis = _input(converter, op), op.out_lens, op.axis
    trailing = len(lengths) - axis - len(tensor.shape)
    if axis < 0 or trailing < 0:
        raise Declined("axis", f"axis {axis} leaves no room for the input's dimensions")
    padded = tensor.reshape((*tensor.shape, *[1] * trailing))
    return [padded.through(padded.view.expand(lengths))]


def _multibroadcast(converter: Converter, op: MultibroadcastOp) -> Sequence[Tensor]:
    tensor, lengths = _input(converter, op), op.out_lens
    if len(lengths) < len(tensor.shape):
        raise Declined("rank", "MultiBroadcastOp shouldn't reduce rank")
    return [tensor.through(tensor.view.expand(lengths))]


def _literal(converter: Converter, op: ConstantOp) -> Sequence[Tensor]:
    attribute = op.value
    kind = tensor_type(op.output_type())
    # Builtin arithmetic has no signed types, so only the type's sign is dropped.
    text = _ELEMENT.sub(str(kind.element_type), str(attribute))
    value = ir.Attribute.parse(text)
    if isinstance(value, ir.DenseElementsAttr) and value.is_splat:
        value = ir.DenseElementsAttr.get_splat(kind, value.get_splat_value())
    return [converter.constant(value, converter.location)]


def _code_object(converter: Converter, op: MigraphxOp) -> Sequence[Tensor]:
    raise Declined("compiled", "is a compiled kernel, which the module does not hold")


VIEWS: dict[str, Conversion] = {
    "broadcast": _broadcast,
    "code_object": _code_object,
    "constant": _literal,
    "flatten": _reshape,
    "literal": _literal,
    "multibroadcast": _multibroadcast,
    "reshape": _reshape,
    "slice": _slice,
    "transpose": _transpose,
}
"""The conversions by mnemonic."""

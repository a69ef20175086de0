"""Rewrites quantised operators as the arithmetic that defines them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto, helper

from hipgraft.frontends.onnx.legalization.byte_products import (
    Factor,
    is_product_of_bytes,
    product_of_bytes,
)
from hipgraft.frontends.onnx.legalization.narrow import SMALL_FLOATS, TYPES
from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer
from hipgraft.ir.diagnostics import Declined

_FLOAT, _INT8, _INT32 = TensorProto.FLOAT, TensorProto.INT8, TensorProto.INT32
_PARTS_OF_BYTES = (TensorProto.INT4, TensorProto.UINT4, TensorProto.INT2, TensorProto.UINT2)
_EXACT_F32 = 1 << 24


def _quantize(writer: Writer) -> None:
    """Writes `saturate(round(x / scale) + zero point)`."""
    x, scale = writer.node.input[:2]
    target = _quantized_type(writer)
    if target not in TYPES and target not in (_INT8, TensorProto.INT16):
        raise Refused(f"to {_name(target)} is not supported")
    block = _Blocks(writer, x, scale)
    precision = writer.attribute("precision", 0) or writer.element(scale)
    if precision == _INT32:  # integers have a fractional quotient too
        precision = _FLOAT
    quotient = writer.op(
        "Div", writer.cast(block.spread(x), precision), writer.cast(block.small(scale), precision)
    )
    wide = writer.cast(quotient, _FLOAT)
    if target in SMALL_FLOATS:
        saturate = int(writer.attribute("saturate", 1))
        y = writer.op("Cast", wide, to=target, saturate=saturate)
    else:
        y = whole_number(writer, wide, target, _zero_point(writer, block, 2))
    writer.result(block.joined(y))


def _dynamic_quantize(writer: Writer) -> None:
    """Quantises `x` to bytes, by a scale and zero point for the range of `x` and 0."""
    x = writer.node.input[0]
    zero, most = writer.like(0, _FLOAT), writer.like(255, _FLOAT)
    extremes = [writer.op(f"Reduce{name}", x, keepdims=0) for name in ("Min", "Max")]
    least = writer.op("Min", extremes[0], zero)
    extent = writer.op("Sub", writer.op("Max", extremes[1], zero), least)
    # As in onnxruntime; ONNX's own function divides zero by zero.
    is_flat = writer.op("Equal", extent, zero)
    scale = writer.op("Where", is_flat, writer.like(1, _FLOAT), writer.op("Div", extent, most))
    shift = writer.op("Round", writer.op("Div", writer.op("Neg", least), scale))
    # Not `Min`: for infinite numbers the shift is NaN, and the zero point the largest.
    shift = writer.op("Where", writer.op("Less", shift, most), shift, most)
    point = writer.cast(shift, TensorProto.UINT8)
    writer.result(writer.op("QuantizeLinear", x, scale, point))
    writer.result(scale, 1)
    writer.result(point, 2)


def _quantized_type(writer: Writer) -> int:
    if writer.has_input(2):
        return writer.element(writer.node.input[2])
    return int(writer.attribute("output_dtype", 0)) or TensorProto.UINT8


def _zero_point(writer: Writer, block: _Blocks, index: int) -> str:
    """Returns the zero point as f32, or an empty name."""
    if not writer.has_input(index):
        return ""
    return writer.cast(block.small(writer.node.input[index]), _FLOAT)


def whole_number(writer: Writer, x: str, target: int, zero: str) -> str:
    """Writes `saturate(round(x) + zero)` for f32 numbers, a zero point or "", and an integer type.

    Numbers are clamped first, so they are small, and a sum with 1.5 · 2²³ rounds them half to even.
    hipDNN has no op that rounds.
    """
    bounds = [writer.const(np.float32(bound)) for bound in _range(target)]
    if zero:
        bounds = [writer.op("Sub", bound, zero) for bound in bounds]
    clipped = writer.op("Min", writer.op("Max", x, bounds[0]), bounds[1])
    ones = writer.const(np.float32(1.5 * 2**23))
    rounded = writer.op("Sub", writer.op("Add", clipped, ones), ones)
    whole = writer.op("Add", rounded, zero) if zero else rounded
    return writer.cast(whole if target == _INT8 else writer.cast(whole, _INT32), target)


def _range(element: int) -> tuple[int, int]:
    kind = TYPES.get(element)
    if kind is None:
        info = np.iinfo(helper.tensor_dtype_to_np_dtype(element))
        return int(info.min), int(info.max)
    if kind.name.startswith("u"):
        return 0, (1 << kind.bits) - 1
    return -(1 << (kind.bits - 1)), (1 << (kind.bits - 1)) - 1


def _dequantize(writer: Writer) -> None:
    """Writes `(x - zero point) · scale`."""
    x, scale = writer.node.input[:2]
    quantized = writer.element(x)
    block = _Blocks(writer, x, scale)
    result = writer.element(writer.node.output[0])
    # 32-bit differences are not exact in f32.
    carrier = _INT32 if quantized == _INT32 else _FLOAT
    stored = writer.mapped_data(x) if quantized in _PARTS_OF_BYTES else None
    if stored is not None:  # kernels then need no sign extension
        x = writer.const(stored.astype(np.int8))
    value = writer.cast(block.spread(x), carrier)
    if writer.has_input(2) and may_differ_from_zero(writer, writer.node.input[2]):
        zero = writer.cast(block.small(writer.node.input[2]), carrier)
        value = writer.op("Sub", value, zero)
    wide = writer.cast(block.small(scale), _FLOAT)
    y = writer.op("Mul", writer.cast(value, _FLOAT), wide)
    writer.result(writer.cast(block.joined(y), result))


def may_differ_from_zero(writer: Writer, name: str) -> bool:
    """Returns whether zero points are not known to be 0."""
    elements = writer.graph.constants.get(name)
    return elements is None or bool(np.any(elements != 0))


class _Blocks:
    """Aligns scales with the tensor that they scale: one for all, per axis index, or per block."""

    def __init__(self, writer: Writer, x: str, scale: str):
        self._writer = writer
        self._shape = writer.needed_shape(x, "of this form")
        self._scales = writer.needed_shape(scale, "of this form")
        self._axis = int(writer.attribute("axis", 1))
        self._block = int(writer.attribute("block_size", 0))
        if self._block and not self._shape:
            raise Refused("of blocks of a scalar is not supported")
        if self._block:
            self._axis %= len(self._shape)
            if self._shape[self._axis] % self._block:
                raise Refused("of blocks that do not divide the axis is not supported")

    def spread(self, x: str) -> str:
        """The tensor with a separate dimension for the elements that share a scale."""
        if not self._block:
            return x
        blocks = self._shape[self._axis] // self._block
        inner = [blocks, self._block]
        shape = [*self._shape[: self._axis], *inner, *self._shape[self._axis + 1 :]]
        return self._writer.reshape(x, shape)

    def small(self, scale: str) -> str:
        """Scales, or zero points, in a shape that broadcasts to that tensor."""
        if self._block:
            shape = [*self._scales[: self._axis + 1], 1, *self._scales[self._axis + 1 :]]
            return self._writer.reshape(scale, shape)
        if np.prod(self._scales) == 1:
            return self._writer.reshape(scale, [])
        axis = self._axis % len(self._shape)
        shape = [1] * len(self._shape)
        shape[axis] = self._shape[axis]
        return self._writer.reshape(scale, shape)

    def joined(self, x: str) -> str:
        """The result in the tensor's own shape."""
        return self._writer.reshape(x, self._shape) if self._block else x


def _matmul_integer(writer: Writer) -> None:
    a, b = writer.node.input[:2]
    _check_parameters(writer, (2,), -2)
    _check_parameters(writer, (3,), -1)
    zeros = [writer.node.input[index] if writer.has_input(index) else "" for index in (2, 3)]
    if not any(zeros) and {writer.element(a), writer.element(b)} == {_INT8}:
        raise Declined("supported", "it is lowered rightly")
    if zeros[0]:  # one for the tensor, or one per row
        zeros[0] = _along(writer, zeros[0], 2, 0)
    if is_product_of_bytes(writer, a, b):
        writer.result(product_of_bytes(writer, Factor(a, zeros[0]), Factor(b, zeros[1])))
    else:
        factors = [_shifted32(writer, x, zero) for x, zero in zip((a, b), zeros, strict=True)]
        writer.result(writer.op("MatMul", *factors))


def _check_parameters(writer: Writer, indices: Sequence[int], axis: int) -> None:
    """Checks that inputs are scales or zero points of rows (-2) or columns (-1) of matrices."""
    for index in indices:
        name = writer.node.input[index] if writer.has_input(index) else ""
        shape = writer.needed_shape(name, "of this form") if name else []
        if len(shape) > 1 and shape[-1 if axis == -2 else -2] != 1:
            raise Refused(f"with '{name}' of shape {shape} is invalid")


def _shifted32(writer: Writer, x: str, zero: str) -> str:
    """Writes integers in 32 bits minus their zero point, if there is one."""
    wide = writer.cast(x, _INT32)
    return writer.op("Sub", wide, writer.cast(zero, _INT32)) if zero else wide


def _qlinear_matmul(writer: Writer) -> None:
    """Rewrites the operator on `(a, a scale, a zero, b, b scale, b zero, y scale, y zero)`."""
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = writer.node.input
    _check_parameters(writer, (1, 2), -2)
    _check_parameters(writer, (4, 5), -1)
    if is_product_of_bytes(writer, a, b):
        left, right = (_along(writer, name, 2, 0) for name in (a_zero, a_scale))
        whole = product_of_bytes(writer, Factor(a, left), Factor(b, b_zero))
        scale = writer.op("Mul", writer.cast(right, _FLOAT), writer.cast(b_scale, _FLOAT))
        product = writer.op("Mul", writer.cast(whole, _FLOAT), scale)
        _requantize(writer, product, y_scale, y_zero)
        return
    factors = [
        _dequantized(writer, a, a_scale, a_zero, -2),
        _dequantized(writer, b, b_scale, b_zero, -1),
    ]
    product = writer.op("MatMul", *factors)
    _requantize(writer, product, y_scale, y_zero)


def _dequantized(writer: Writer, x: str, scale: str, zero: str, axis: int) -> str:
    small = [
        _along(writer, name, len(writer.needed_shape(x, "of this form")), axis)
        for name in (scale, zero)
    ]
    whole = writer.op("Sub", writer.cast(x, _INT32), writer.cast(small[1], _INT32))
    return writer.op("Mul", writer.cast(whole, _FLOAT), writer.cast(small[0], _FLOAT))


def _along(writer: Writer, name: str, rank: int, axis: int) -> str:
    """Reshapes a vector to extend along an axis; a scalar stays."""
    shape = writer.needed_shape(name, "of this form")
    if len(shape) != 1 or shape[0] == 1:
        return writer.reshape(name, []) if len(shape) == 1 else name
    aligned = [1] * rank
    aligned[axis] = shape[0]
    return writer.reshape(name, aligned)


def _requantize(writer: Writer, x: str, scale: str, zero: str) -> None:
    quotient = writer.op("Div", x, writer.cast(scale, _FLOAT))
    zero_point = writer.cast(zero, _FLOAT)
    writer.result(whole_number(writer, quotient, writer.element(zero), zero_point))


def _conv_integer(writer: Writer) -> None:
    x, w = writer.node.input[:2]
    weights = writer.needed_shape(w, "of this form")
    exact = _exact_float(weights)
    zero = writer.node.input[2] if writer.has_input(2) else ""
    data = writer.cast(_shifted32(writer, x, zero), exact)
    filters = writer.cast(w, _INT32)
    if writer.has_input(3):
        zero = _along(writer, writer.node.input[3], len(weights), 0)
        filters = writer.op("Sub", filters, writer.cast(zero, _INT32))
    y = writer.op("Conv", data, writer.cast(filters, exact), **writer.attributes())
    writer.result(writer.cast(y, _INT32))


def _exact_float(weights: Sequence[int]) -> int:
    """Returns the float type in which sums of products of two bytes are exact."""
    terms = int(np.prod(weights[1:]))
    return _FLOAT if terms * 255 * 255 < _EXACT_F32 else TensorProto.DOUBLE


def _qlinear_conv(writer: Writer) -> None:
    """Rewrites `(x, x scale, x zero, w, w scale, w zero, y scale, y zero, bias)`."""
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, *_ = writer.node.input
    rank = len(writer.needed_shape(w, "of this form"))
    operands = [
        shifted(writer, x, _along(writer, x_zero, rank, 1)),
        shifted(writer, w, _along(writer, w_zero, rank, 0)),
    ]
    if writer.has_input(8):
        operands.append(writer.cast(writer.node.input[8], _FLOAT))
    y = writer.op("Conv", *operands, **writer.attributes())
    scale = writer.op("Mul", x_scale, _along(writer, w_scale, rank, 1))
    _requantize(writer, writer.op("Mul", y, scale), y_scale, y_zero)


def shifted(writer: Writer, x: str, zero: str) -> str:
    """Writes bytes minus their zero point in f32; the zero point may be omitted."""
    wide = writer.cast(x, _FLOAT)
    return writer.op("Sub", wide, writer.cast(zero, _FLOAT)) if zero else wide


def _name(element: int) -> str:
    return helper.tensor_dtype_to_string(element).removeprefix("TensorProto.").lower()


QUANTIZATION: dict[str, Rewrite] = {
    "ConvInteger": _conv_integer,
    "DequantizeLinear": _dequantize,
    "DynamicQuantizeLinear": _dynamic_quantize,
    "MatMulInteger": _matmul_integer,
    "QLinearConv": _qlinear_conv,
    "QLinearMatMul": _qlinear_matmul,
    "QuantizeLinear": _quantize,
}
"""The rewrites, by operator."""

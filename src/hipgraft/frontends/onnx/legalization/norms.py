"""Rewrites norms: Lp pooling and normalization, and norms of 16-bit floats."""

from __future__ import annotations

import math

from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.functions import expand
from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer, axis_of
from hipgraft.ir.diagnostics import Declined

_NARROW = (TensorProto.FLOAT16, TensorProto.BFLOAT16)


def _normalization(writer: Writer) -> None:
    """Divides `x` by its norm along an axis; zeros give 0, where torch-mlir gives NaN."""
    (x,) = writer.node.input
    rank = len(writer.needed_shape(x, "a norm"))
    order, axis = int(writer.attribute("p", 2)), axis_of(writer, -1, rank)
    if order not in (1, 2):
        raise Refused(f"of order {order} is not supported, 1 and 2 are")
    norm = writer.reduce("ReduceL1" if order == 1 else "ReduceL2", x, [axis])
    element = writer.element(x)
    is_zero = writer.op("Equal", norm, writer.like(0, element))
    divisor = writer.op("Where", is_zero, writer.like(1, element), norm)
    writer.result(writer.op("Div", x, divisor))


def _pool(writer: Writer) -> None:
    """Takes roots of sums of powers: average pooling times the elements of a window."""
    (x,) = writer.node.input
    if writer.attribute("ceil_mode", 0):
        raise Refused("with rounded-up extents is not supported")
    order, element = _order(writer), writer.element(x)
    kept = {name: value for name, value in writer.attributes().items() if name != "p"}
    powers = writer.op("Pow", writer.op("Abs", x), writer.like(order, element))
    mean = writer.op("AveragePool", powers, count_include_pad=1, **kept)
    size = math.prod(writer.attribute("kernel_shape"))
    total = writer.op("Mul", mean, writer.like(size, element))
    writer.result(writer.op("Pow", total, writer.like(1 / order, element)))


def _global_pool(writer: Writer) -> None:
    _order(writer)
    raise Declined("supported", "it is lowered rightly")


def _order(writer: Writer) -> float:
    order = float(writer.attribute("p", 2))
    if not order:  # the root of a sum of ones is infinite
        raise Refused("of order 0 is not supported")
    return order


def _group(writer: Writer) -> None:
    """Declares 16-bit statistics for 16-bit floats: torch-mlir rejects f32, but computes in f32."""
    element = writer.element(writer.node.input[0])
    is_wide = int(writer.attribute("stash_type", 1)) == TensorProto.FLOAT
    if writer.graph.opset < 21 or element not in _NARROW or not is_wide:
        raise Declined("supported", "it is lowered rightly")
    writer.again(list(writer.node.input), stash_type=element)


def _mean_variance(writer: Writer) -> None:
    """Computes in f32, as squares of 16-bit floats may overflow."""
    element = writer.element(writer.node.input[0])
    if element not in _NARROW:
        expand(writer)
        return
    x = writer.cast(writer.node.input[0], TensorProto.FLOAT)
    y = writer.op(writer.node.op_type, x, **writer.attributes())
    writer.result(writer.cast(y, element))


NORMS: dict[str, Rewrite] = {
    "GlobalLpPool": _global_pool,
    "GroupNormalization": _group,
    "LpNormalization": _normalization,
    "LpPool": _pool,
    "MeanVarianceNormalization": _mean_variance,
}
"""The rewrites, by operator."""

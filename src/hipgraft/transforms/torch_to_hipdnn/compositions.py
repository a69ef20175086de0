"""Converts ATen ops that take several hipDNN ops, most of them elementwise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.transforms.tensor_builder import Tensor
from hipgraft.transforms.tensor_reductions import wide_type
from hipgraft.transforms.torch_to_hipdnn.converter import Conversion, Converter, TorchOp
from hipgraft.transforms.torch_to_hipdnn.pointwise import numbers, scaled

# From this x on, softplus(x) equals x in f32.
_LARGE = 17.0


def _boolean() -> ir.Type:
    return ir.IntegerType.get_signless(1)


def _floats(converter: Converter, op: TorchOp) -> list[Tensor]:
    """Returns the first two operands as floating-point tensors; one may be a scalar."""
    given = [op.optional_tensor(index) for index in range(2)]
    like = next((tensor for tensor in given if tensor is not None and tensor.is_float), None)
    if like is None:
        raise Declined("integer-arithmetic", "the operands have integer elements")
    return [
        converter.scalar(float(op.constant(index)), like)
        if tensor is None
        else op.float_tensor(index)
        for index, tensor in enumerate(given)
    ]


def _binary(mode: str, converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """Converts to a mode with two operands, either of which may be a scalar."""
    return [converter.pointwise(mode, _floats(converter, op), op.result_element())]


def _remainder(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """Converts the remainder of i32 by a positive constant, with the divisor's sign.

    A sum with the divisor must not overflow.
    """
    element = op.result_element()
    if element != ir.IntegerType.get_signless(32) or op.tensor(0).is_float:
        raise Declined("no-mode", "hipDNN has no mode for it")
    x, divisor = numbers("mod", converter, op)
    divisors = op.literal(1) if op.optional_tensor(1) else [op.constant(1)]
    if min(divisors) <= 0 or max(divisors) > 1 << 30:
        raise Declined("no-mode", "hipDNN has no mode for divisors that may be negative or large")
    small = converter.pointwise("mod", [x, divisor], element)  # with the sign of x
    positive = converter.pointwise("add", [small, divisor], element)
    return [converter.pointwise("mod", [positive, divisor], element)]


def _exp2(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    x = op.float_tensor(0)
    return [converter.pointwise("pow", [converter.scalar(2.0, x), x], op.result_element())]


def _log_of_base(base: float, converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    x = op.float_tensor(0)
    log = converter.pointwise("log", [x], wide_type(x))
    factor = converter.scalar(1 / math.log(base), x)
    return [converter.pointwise("mul", [log, factor], op.result_element())]


def _sign(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """Converts to 1 and -1 by comparison; zeros and NaN stay."""
    x, element = op.float_tensor(0), op.result_element()
    result = x
    for mode, number in (("cmp_lt", -1.0), ("cmp_gt", 1.0)):
        test = converter.pointwise(mode, [x, converter.scalar(0.0, x)], _boolean())
        branches = [test, converter.scalar(number, x), result]
        result = converter.pointwise("binary_select", branches, element)
    return [result]


def _truncated(converter: Converter, x: Tensor, element: ir.Type) -> Tensor:
    """Rounds towards zero."""
    negative = converter.pointwise("cmp_lt", [x, converter.scalar(0.0, x)], _boolean())
    up = converter.pointwise("ceil", [x], element)
    down = converter.pointwise("floor", [x], element)
    return converter.pointwise("binary_select", [negative, up, down], element)


def _trunc(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    return [_truncated(converter, op.float_tensor(0), op.result_element())]


def _rounded_quotient(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`div(a, b, rounding_mode)`."""
    rounding, element = op.constant(2), op.result_element()
    if rounding not in (None, "trunc"):
        raise Declined("rounding-mode", f"rounding mode '{rounding}' is not hipDNN's")
    operands = _floats(converter, op)
    if rounding is None:
        return [converter.pointwise("div", operands, element)]
    quotient = converter.pointwise("div", operands, element)
    return [_truncated(converter, quotient, element)]


def _softplus(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`x if beta · x > threshold else softplus(x, beta)`."""
    beta, threshold = float(op.constant(1)), float(op.constant(2))
    x, element = op.float_tensor(0), op.result_element()
    smooth = converter.pointwise("softplus_fwd", [x], element, softplus_beta=beta)
    if threshold >= _LARGE and str(x.element_type) != "f64":
        return [smooth]
    product = scaled(converter, x, beta)
    bound = converter.scalar(threshold, product)
    above = converter.pointwise("cmp_gt", [product, bound], _boolean())
    return [converter.pointwise("binary_select", [above, x, smooth], element)]


def _mish(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`x · tanh(softplus(x))`."""
    x = op.float_tensor(0)
    gate = converter.pointwise("softplus_fwd", [x], wide_type(x))
    gate = converter.pointwise("tanh_fwd", [gate], wide_type(x))
    return [converter.pointwise("mul", [x, gate], op.result_element())]


def _log_sigmoid(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`-softplus(-x)`."""
    x = op.float_tensor(0)
    negated = converter.pointwise("neg", [x], wide_type(x))
    gate = converter.pointwise("softplus_fwd", [negated], wide_type(x))
    return [converter.pointwise("neg", [gate], op.result_element())]


def _prelu(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`prelu(x, slope)`: a slope for each channel, or one for all."""
    x, slope = op.float_tensor(0), op.float_tensor(1)
    channels = slope.view.elements
    slope = slope.reshape((1, channels, *[1] * (len(x.shape) - 2)) if channels > 1 else (1,))
    positive = converter.pointwise("cmp_gt", [x, converter.scalar(0.0, x)], _boolean())
    below = converter.pointwise("mul", [x, slope], wide_type(x))
    return [converter.pointwise("binary_select", [positive, x, below], op.result_element())]


def _is_nan(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    x = op.float_tensor(0)
    return [converter.pointwise("cmp_neq", [x, x], _boolean())]


def _is_inf(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    x = op.float_tensor(0)
    size = converter.pointwise("abs", [x], x.element_type)
    return [converter.pointwise("cmp_eq", [size, converter.scalar(math.inf, x)], _boolean())]


def _masked_fill(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`masked_fill(x, mask, value)`."""
    x, mask = op.float_tensor(0), op.tensor(1)
    given = op.optional_tensor(2)
    value = converter.scalar(float(op.constant(2)), x) if given is None else op.float_tensor(2)
    return [converter.pointwise("binary_select", [mask, value, x], op.result_element())]


def _declined(name: str, reason: str) -> Conversion:
    def decline(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
        raise Declined(name, reason)

    return decline


_NO_MODE = _declined("no-mode", "hipDNN has no mode for it")
_CANCELS = _declined("cancels", "hipDNN's exponential and logarithm lose all digits near 0")

COMPOSITIONS: dict[str, Conversion] = {
    "torch.aten.pow.Tensor_Tensor": partial(_binary, "pow"),
    "torch.aten.pow.Scalar": partial(_binary, "pow"),
    "torch.aten.fmod.Tensor": partial(_binary, "mod"),
    "torch.aten.fmod.Scalar": partial(_binary, "mod"),
    "torch.aten.div.Tensor_mode": _rounded_quotient,
    "torch.aten.div.Scalar_mode": _rounded_quotient,
    "torch.aten.exp2": _exp2,
    "torch.aten.log2": partial(_log_of_base, 2),
    "torch.aten.log10": partial(_log_of_base, 10),
    "torch.aten.sign": _sign,
    "torch.aten.sgn": _sign,
    "torch.aten.trunc": _trunc,
    "torch.aten.softplus": _softplus,
    "torch.aten.mish": _mish,
    "torch.aten.log_sigmoid": _log_sigmoid,
    "torch.aten.prelu": _prelu,
    "torch.aten.isnan": _is_nan,
    "torch.aten.isinf": _is_inf,
    "torch.aten.masked_fill.Scalar": _masked_fill,
    "torch.aten.masked_fill.Tensor": _masked_fill,
    "torch.aten.remainder.Scalar": _remainder,
    "torch.aten.remainder.Tensor": _remainder,
    "torch.aten.expm1": _CANCELS,
    "torch.aten.log1p": _CANCELS,
    **{
        f"torch.aten.{name}": _NO_MODE
        for name in (
            *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cosh", "sinh"),
            *("erfinv", "round"),
        )
    },
}
"""Conversions by torch op name."""

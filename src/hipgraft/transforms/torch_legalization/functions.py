"""Functions of floats that torch-mlir decomposes wrongly for some numbers."""

from __future__ import annotations

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import PassFailure
from hipgraft.ir.torch_dialect import (
    aten_name,
    cast,
    constant_bool,
    constant_float,
    constant_int,
    constant_none,
    scalar_literal,
    torch_op,
    vtensor_type,
)
from hipgraft.transforms.torch_legalization.operands import constant, number_operand, tensor, view
from hipgraft.transforms.torch_to_hipdnn.constants import is_constant

FLOATS = frozenset({"f64", "f32", "f16", "bf16"})
"""The element types of floats that PyTorch computes on."""


def fmod(op: ir.Operation) -> ir.Value | None:
    """Rewrites `fmod(x, y)` of a scalar to that of tensors, which is exact."""
    x, divisor = op.operands
    element = tensor(x)[1]
    if element not in FLOATS or not is_constant(divisor):
        return None
    number = scalar_literal(number_operand(op, 1), element)
    return torch_op("aten.fmod.Tensor", [x, number], [op.result.type]).result


def soft_shrink(op: ir.Operation) -> ir.Value | None:
    """Rewrites `softshrink(x, limit)`, because torch-mlir subtracts `limit` on both sides of 0.

    Numbers between the limits become 0, but NaN stays, as in PyTorch.
    """
    x, limit = op.operands
    one, kind = constant_int(1), op.result.type
    negative = constant_float(-number_operand(op, 1))
    nothing = torch_op("aten.mul.Scalar", [x, constant_int(0)], [kind]).result
    above = torch_op("aten.sub.Scalar", [x, limit, one], [kind]).result
    below = torch_op("aten.sub.Scalar", [x, negative, one], [kind]).result
    inner = torch_op("aten.where.self", [_compared("lt", x, negative), below, nothing], [kind])
    outer = [_compared("gt", x, limit), above, inner.result]
    return torch_op("aten.where.self", outer, [kind]).result


def hard_shrink(op: ir.Operation) -> ir.Value | None:
    """Rewrites `hardshrink(x, limit)`, because torch-mlir turns NaN into 0."""
    x, limit = op.operands
    size = torch_op("aten.abs", [x], [x.type]).result
    options = [_compared("le", size, limit), constant_int(0)]
    return torch_op("aten.masked_fill.Scalar", [x, *options], [op.result.type]).result


def log_sum_exp(op: ir.Operation) -> ir.Value | None:
    """Rewrites `logsumexp(x, dims, keepdim)`, which torch-mlir makes NaN if a maximum is infinite.

    The maximum is subtracted where it is finite.
    """
    x, dims, _ = op.operands
    (shape, element), given = tensor(x), constant(op, 1)
    axes = given if isinstance(given, list) and shape else []
    reduced = [dim % len(shape) for dim in axes] or range(len(shape))
    kept = [1 if dim in reduced else extent for dim, extent in enumerate(shape)]
    kind, keeps = vtensor_type(kept, element), constant_bool(True)
    peak = torch_op("aten.amax", [x, dims, keeps], [kind]).result
    size = torch_op("aten.abs", [peak], [kind]).result
    is_infinite = _compared("eq", size, constant_float(float("inf")))
    base = torch_op("aten.masked_fill.Scalar", [peak, is_infinite, constant_int(0)], [kind]).result
    rest = torch_op("aten.sub.Tensor", [x, base, constant_int(1)], [x.type]).result
    powers = torch_op("aten.exp", [rest], [x.type]).result
    options = [dims, keeps, constant_none()]
    total = torch_op("aten.sum.dim_IntList", [powers, *options], [kind]).result
    log = torch_op("aten.log", [total], [kind]).result
    result = torch_op("aten.add.Tensor", [log, base, constant_int(1)], [kind]).result
    return view(result, *tensor(op.result))


def refused_log_cum_sum_exp(op: ir.Operation) -> ir.Value | None:
    """Refuses `logcumsumexp`, whose exponentials overflow in torch-mlir's form."""
    message = "is not supported: torch-mlir's sum of exponentials overflows"
    raise PassFailure(f"'{aten_name(op)}' {message}", op)


def softplus(op: ir.Operation) -> ir.Value | None:
    """Makes `beta` and `threshold` of `softplus(x, beta, threshold)` floats.

    torch-mlir does not terminate if it compares a float constant with an integer.
    """
    options = [constant(op, index) for index in (1, 2)]
    if all(isinstance(one, float) for one in options):
        return None
    numbers = [constant_float(number_operand(op, index)) for index in (1, 2)]
    return torch_op("aten.softplus", [op.operands[0], *numbers], [op.result.type]).result


def trunc(op: ir.Operation) -> ir.Value | None:
    """Rewrites `trunc(x)`; torch-mlir compares x with an integer, as for `softplus`."""
    return _truncated(op) if tensor(op.operands[0])[1] in FLOATS else None


def frac(op: ir.Operation) -> ir.Value | None:
    """Rewrites `frac(x)`, which torch-mlir decomposes to `trunc`."""
    operands = [op.operands[0], _truncated(op), constant_int(1)]
    return torch_op("aten.sub.Tensor", operands, [op.result.type]).result


def _truncated(op: ir.Operation) -> ir.Value:
    x, kind = op.operands[0], [op.result.type]
    ends = [torch_op(f"aten.{name}", [x], kind).result for name in ("ceil", "floor")]
    is_below = _compared("lt", x, constant_float(0.0))
    return torch_op("aten.where.self", [is_below, *ends], kind).result


def threshold(op: ir.Operation) -> ir.Value | None:
    """Rewrites `threshold(x, limit, value)`, because torch-mlir turns NaN into `value`."""
    x, limit, value = op.operands
    options = [_compared("le", x, limit), value]
    return torch_op("aten.masked_fill.Scalar", [x, *options], [op.result.type]).result


def rounded_to_decimals(op: ir.Operation) -> ir.Value | None:
    """Lets `round(x, decimals)` compute in f32: x times a power of ten may exceed 16-bit floats."""
    x, decimals = op.operands
    shape, element = tensor(x)
    if element not in ("f16", "bf16"):
        return None
    operands, kind = [cast(x, "f32"), decimals], vtensor_type(shape, "f32")
    return cast(torch_op("aten.round.decimals", operands, [kind]).result, element)


def is_finite(op: ir.Operation) -> ir.Value | None:
    """Rewrites `isfinite(x)`, which torch-mlir lacks."""
    x = op.operands[0]
    if tensor(x)[1] not in FLOATS:
        return torch_op("aten.eq.Tensor", [x, x], [op.result.type]).result
    size = torch_op("aten.abs", [x], [x.type]).result
    return _compared("lt", size, constant_float(float("inf")))


def _compared(name: str, x: ir.Value, scalar: ir.Value) -> ir.Value:
    kind = vtensor_type(tensor(x)[0], "i1")
    return torch_op(f"aten.{name}.Scalar", [x, scalar], [kind]).result

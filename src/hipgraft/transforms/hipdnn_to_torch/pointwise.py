"""Pointwise modes as ATen ops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hipgraft.dialects.hipdnn import HipdnnOp, PointwiseOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.tensors import shape_of
from hipgraft.transforms.hipdnn_to_torch.expressions import Torch
from hipgraft.transforms.hipdnn_to_torch.writer import Constant
from hipgraft.transforms.torch_to_hipdnn.pointwise import COMPARE, UNARY

_Composed = Callable[[Torch, PointwiseOp, Sequence[ir.Value]], ir.Value]


def _relu(t: Torch, op: PointwiseOp, operands: Sequence[ir.Value]) -> ir.Value:
    """`slope · (x - low) + low` up to the lower clip, the upper clip beyond that, else x."""
    x, (low, high, slope) = operands[0], _clips(op)
    if not slope:
        return t.unary("clamp", x, low, high)
    if not low and high is None:
        return t.unary("leaky_relu", x, slope)
    line = t.add(t.mul(t.sub(x, low), slope), low)
    above = x if high is None else t.unary("clamp", x, None, high)
    return t.where(t.test("le", x, low), line, above)


def _relu_bwd(t: Torch, op: PointwiseOp, operands: Sequence[ir.Value]) -> ir.Value:
    """The gradient times the slope up to the lower clip, nothing above the upper one."""
    (dy, x), (low, high, slope) = operands, _clips(op)
    result = t.where(t.test("le", x, low), t.mul(dy, slope), dy)
    return result if high is None else t.where(t.test("gt", x, high), 0.0, result)


def _clips(op: PointwiseOp) -> tuple[float, float | None, float]:
    return (
        _or(op.relu_lower_clip, 0.0),
        op.relu_upper_clip,
        _or(op.relu_lower_clip_slope, 0.0),
    )


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _add_square(t: Torch, _: PointwiseOp, operands: Sequence[ir.Value]) -> ir.Value:
    a, b = operands
    return t.add(a, t.mul(b, b))


def _div(t: Torch, op: PointwiseOp, operands: Sequence[ir.Value]) -> ir.Value:
    a, b = operands
    if t.wide.startswith("f"):
        return t.binary("div", a, b)
    return t.op("aten.div.Tensor_mode", [a, b, "trunc"], shape_of(op.out_0))


def _select(t: Torch, _: PointwiseOp, operands: Sequence[ir.Value]) -> ir.Value:
    mask, on_true, on_false = operands
    return t.where(t.test("ne", mask, 0), on_true, on_false)


def _elu(t: Torch, op: PointwiseOp, operands: Sequence[ir.Value]) -> ir.Value:
    return t.unary("elu", operands[0], _or(op.elu_alpha, 1.0), 1, 1)


def _elu_bwd(t: Torch, op: PointwiseOp, operands: Sequence[ir.Value]) -> ir.Value:
    dy, x = operands
    power = t.unary("exp", t.unary("clamp", x, None, 0.0))
    slope = t.where(t.test("gt", x, 0.0), 1.0, t.mul(power, _or(op.elu_alpha, 1.0)))
    return t.mul(dy, slope)


def _softplus(t: Torch, op: PointwiseOp, operands: Sequence[ir.Value]) -> ir.Value:
    # Above its threshold torch returns x, from which the result then differs by less than an ulp.
    return t.unary("softplus", operands[0], _or(op.softplus_beta, 1.0), 20.0)


def _softplus_bwd(t: Torch, op: PointwiseOp, operands: Sequence[ir.Value]) -> ir.Value:
    dy, x = operands
    return t.mul(dy, t.sigmoid(x, op.softplus_beta))


def _swish(t: Torch, op: PointwiseOp, operands: Sequence[ir.Value]) -> ir.Value:
    x = operands[0]
    return t.mul(x, t.sigmoid(x, op.swish_beta))


def _swish_bwd(t: Torch, op: PointwiseOp, operands: Sequence[ir.Value]) -> ir.Value:
    """`dy · s · (1 + beta · x · (1 - s))` with the sigmoid s."""
    dy, x = operands
    s = t.sigmoid(x, op.swish_beta)
    slope = t.product(t.mul(x, t.sub(1.0, s)), [op.swish_beta])
    return t.mul(dy, t.mul(s, t.add(slope, 1.0)))


def _sigmoid_bwd(t: Torch, _: PointwiseOp, operands: Sequence[ir.Value]) -> ir.Value:
    dy, x = operands
    s = t.sigmoid(x)
    return t.mul(dy, t.mul(s, t.sub(1.0, s)))


def _tanh_bwd(t: Torch, _: PointwiseOp, operands: Sequence[ir.Value]) -> ir.Value:
    dy, x = operands
    y = t.unary("tanh", x)
    return t.mul(dy, t.sub(1.0, t.mul(y, y)))


_ROOT = math.sqrt(2 / math.pi)
_CUBIC = 0.044715


def _bend(t: Torch, x: ir.Value) -> ir.Value:
    """`tanh(√(2/π) · (x + 0.044715 · x³))`."""
    cube = t.mul(t.mul(x, x), x)
    return t.unary("tanh", t.mul(t.add(x, t.mul(cube, _CUBIC)), _ROOT))


def _gelu_tanh(t: Torch, _: PointwiseOp, operands: Sequence[ir.Value]) -> ir.Value:
    # torch-mlir's own lowering has another constant for the root, which is right to 4 digits.
    x = operands[0]
    return t.mul(t.mul(x, 0.5), t.add(_bend(t, x), 1.0))


def _gelu_tanh_bwd(t: Torch, _: PointwiseOp, operands: Sequence[ir.Value]) -> ir.Value:
    dy, x = operands
    bend = _bend(t, x)
    inner = t.add(t.mul(t.mul(x, x), 3 * _CUBIC * _ROOT), _ROOT)
    rise = t.mul(t.mul(t.sub(1.0, t.mul(bend, bend)), inner), x)
    return t.mul(dy, t.mul(t.add(t.add(bend, rise), 1.0), 0.5))


def _gen_index(t: Torch, op: PointwiseOp, _: Sequence[ir.Value]) -> ir.Value:
    shape = shape_of(op.out_0)
    return t.expand(t.positions(shape, op.axis or 0), shape)


_COMPOSED: dict[str, _Composed] = {
    "add_square": _add_square,
    "binary_select": _select,
    "div": _div,
    "elu_fwd": _elu,
    "elu_bwd": _elu_bwd,
    "gelu_approx_tanh_fwd": _gelu_tanh,
    "gelu_approx_tanh_bwd": _gelu_tanh_bwd,
    "gen_index": _gen_index,
    "relu_fwd": _relu,
    "relu_bwd": _relu_bwd,
    "sigmoid_bwd": _sigmoid_bwd,
    "softplus_fwd": _softplus,
    "softplus_bwd": _softplus_bwd,
    "swish_fwd": _swish,
    "swish_bwd": _swish_bwd,
    "tanh_bwd": _tanh_bwd,
}

# The op and what follows its tensors.
_NAMED: dict[str, tuple[str, tuple[Constant, ...]]] = {
    **{mode: (name, ()) for name, mode in UNARY.items()},
    "add": ("add.Tensor", (1,)),
    "sub": ("sub.Tensor", (1,)),
    "mul": ("mul.Tensor", ()),
    "mod": ("fmod.Tensor", ()),
    "pow": ("pow.Tensor_Tensor", ()),
    "max_op": ("maximum", ()),
    "min_op": ("minimum", ()),
    "gelu_fwd": ("gelu", ("none",)),
    "gelu_bwd": ("gelu_backward", ("none",)),
}

_TESTS = {
    **{mode: f"{name}.Tensor" for name, mode in COMPARE.items()},
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "logical_not": "logical_not",
}


def pointwise(t: Torch, op: HipdnnOp) -> Sequence[ir.Value]:
    """A mode in the arithmetic's type, as hipDNN computes it."""
    assert isinstance(op, PointwiseOp)
    if op.mode == "identity":
        return [t.read(op.in_0, wide=False)]
    mode, shape = op.mode, shape_of(op.out_0)
    operands = [t.read(value) for value in op.inputs]
    if mode in _COMPOSED:
        return [_COMPOSED[mode](t, op, operands)]
    if mode in _NAMED:
        name, constants = _NAMED[mode]
        return [t.op(f"aten.{name}", [*operands, *constants], shape)]
    if mode in _TESTS:
        return [t.op(f"aten.{_TESTS[mode]}", operands, shape, "i1")]
    raise Declined("mode", f"torch has no op for mode '{mode}'")

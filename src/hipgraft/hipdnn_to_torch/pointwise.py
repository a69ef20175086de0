"""Pointwise modes as ATen ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hipgraft.bindings import ir
from hipgraft.dialects.hipdnn import HipdnnOp, PointwiseOp
from hipgraft.hipdnn_to_torch.writer import Constant, NoForm, Writer, shape_of
from hipgraft.torch_to_hipdnn.pointwise import COMPARE, UNARY

_Operand = ir.Value | Constant


class _Arithmetic:
    """Elementwise ops of one shape."""

    def __init__(self, writer: Writer, op: PointwiseOp):
        self.writer = writer
        self.op = op
        self.shape = shape_of(op.out_0)

    def one(self, name: str, *operands: _Operand) -> ir.Value:
        """An ATen op with a floating-point result."""
        return self.writer.op(f"aten.{name}", operands, self.shape)

    def test(self, name: str, *operands: _Operand) -> ir.Value:
        """An ATen op with a boolean result."""
        return self.writer.op(f"aten.{name}", operands, self.shape, "i1")

    def mul(self, a: ir.Value, b: _Operand) -> ir.Value:
        """A product with a tensor or a number."""
        return self.one("mul.Tensor" if isinstance(b, ir.Value) else "mul.Scalar", a, b)

    def add(self, a: ir.Value, b: _Operand) -> ir.Value:
        """A sum with a tensor or a number."""
        return self.one("add.Tensor" if isinstance(b, ir.Value) else "add.Scalar", a, b, 1)

    def one_minus(self, a: ir.Value) -> ir.Value:
        """1 - a."""
        return self.one("rsub.Scalar", a, 1.0, 1)

    def sigmoid(self, x: ir.Value, beta: float | None) -> ir.Value:
        """The sigmoid of `beta · x`."""
        return self.one("sigmoid", x if beta in (None, 1.0) else self.mul(x, beta))


_Composed = Callable[[_Arithmetic, Sequence[ir.Value]], ir.Value]


def _relu(m: _Arithmetic, operands: Sequence[ir.Value]) -> ir.Value:
    low, high, slope = _clips(m.op)
    if slope and (low or high is not None):
        raise NoForm("a slope with clips")
    if slope:
        return m.one("leaky_relu", operands[0], slope)
    return m.one("clamp", operands[0], low, high)


def _relu_bwd(m: _Arithmetic, operands: Sequence[ir.Value]) -> ir.Value:
    """The gradient times the slope up to the lower clip, nothing above the upper one."""
    dy, x = operands
    low, high, slope = _clips(m.op)
    below = m.test("le.Scalar", x, low)
    result = m.one("where.self", below, m.mul(dy, slope), dy)
    if high is None:
        return result
    return m.one("where.ScalarSelf", m.test("gt.Scalar", x, high), 0.0, result)


def _clips(op: PointwiseOp) -> tuple[float, float | None, float]:
    return (
        _or(op.relu_lower_clip, 0.0),
        op.relu_upper_clip,
        _or(op.relu_lower_clip_slope, 0.0),
    )


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _add_square(m: _Arithmetic, operands: Sequence[ir.Value]) -> ir.Value:
    a, b = operands
    square = m.writer.op("aten.mul.Tensor", [b, b], shape_of(m.op.inputs[1]))
    return m.add(a, square)


def _select(m: _Arithmetic, operands: Sequence[ir.Value]) -> ir.Value:
    mask, *branches = operands
    test = m.writer.op("aten.ne.Scalar", [mask, 0], shape_of(m.op.inputs[0]), "i1")
    return m.one("where.self", test, *branches)


def _elu(m: _Arithmetic, operands: Sequence[ir.Value]) -> ir.Value:
    return m.one("elu", operands[0], _or(m.op.elu_alpha, 1.0), 1, 1)


def _softplus(m: _Arithmetic, operands: Sequence[ir.Value]) -> ir.Value:
    # Above its threshold torch returns x, from which the result then differs by less than an ulp.
    return m.one("softplus", operands[0], _or(m.op.softplus_beta, 1.0), 20.0)


def _softplus_bwd(m: _Arithmetic, operands: Sequence[ir.Value]) -> ir.Value:
    dy, x = operands
    return m.mul(dy, m.sigmoid(x, m.op.softplus_beta))


def _swish(m: _Arithmetic, operands: Sequence[ir.Value]) -> ir.Value:
    x = operands[0]
    return m.mul(x, m.sigmoid(x, m.op.swish_beta))


def _swish_bwd(m: _Arithmetic, operands: Sequence[ir.Value]) -> ir.Value:
    """`dy · s · (1 + beta · x · (1 - s))` with the sigmoid s."""
    dy, x = operands
    s = m.sigmoid(x, m.op.swish_beta)
    slope = m.mul(m.mul(x, m.one_minus(s)), _or(m.op.swish_beta, 1.0))
    return m.mul(dy, m.mul(s, m.add(slope, 1.0)))


def _sigmoid_bwd(m: _Arithmetic, operands: Sequence[ir.Value]) -> ir.Value:
    dy, x = operands
    s = m.sigmoid(x, None)
    return m.mul(m.mul(dy, s), m.one_minus(s))


def _tanh_bwd(m: _Arithmetic, operands: Sequence[ir.Value]) -> ir.Value:
    dy, x = operands
    t = m.one("tanh", x)
    return m.mul(dy, m.one_minus(m.mul(t, t)))


_COMPOSED: dict[str, _Composed] = {
    "add_square": _add_square,
    "binary_select": _select,
    "elu_fwd": _elu,
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
    "div": ("div.Tensor", ()),
    "mod": ("fmod.Tensor", ()),
    "pow": ("pow.Tensor_Tensor", ()),
    "max_op": ("maximum", ()),
    "min_op": ("minimum", ()),
    "gelu_fwd": ("gelu", ("none",)),
    "gelu_approx_tanh_fwd": ("gelu", ("tanh",)),
    "gelu_bwd": ("gelu_backward", ("none",)),
}

_TESTS = {
    **{mode: f"{name}.Tensor" for name, mode in COMPARE.items()},
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "logical_not": "logical_not",
}


def pointwise(writer: Writer, op: HipdnnOp) -> Sequence[ir.Value]:
    """A mode in the arithmetic's type, as hipDNN computes it."""
    assert isinstance(op, PointwiseOp)
    if op.mode == "identity":
        return [writer.read(op.in_0, wide=False)]
    if any(_is_integer(value) for value in op.inputs):
        raise NoForm("its operands are integers")
    m, mode = _Arithmetic(writer, op), op.mode
    operands = [writer.read(value) for value in op.inputs]
    if mode in _COMPOSED:
        return [_COMPOSED[mode](m, operands)]
    if mode in _NAMED:
        name, constants = _NAMED[mode]
        return [m.one(name, *operands, *constants)]
    if mode in _TESTS:
        return [m.test(_TESTS[mode], *operands)]
    raise NoForm(f"torch has no op for mode '{mode}'")


def _is_integer(value: ir.Value) -> bool:
    element = ir.RankedTensorType(value.type).element_type
    return isinstance(element, ir.IntegerType) and element.width > 1

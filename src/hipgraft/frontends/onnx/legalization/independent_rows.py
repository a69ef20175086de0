"""Tells which operators process the rows of a tensor independently of each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from onnx import NodeProto, helper

from hipgraft.frontends.onnx.legalization.graph_info import Array

_FREE = frozenset(
    {"Abs", "Acos", "Acosh", "Add", "And", "ArgMax", "ArgMin", "Asin", "Asinh", "Atan", "Atanh",
     "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast", "CastLike", "Ceil", "Celu",
     "Clip", "Concat", "Cos", "Cosh", "DequantizeLinear", "Div", "Einsum", "Elu", "Equal", "Erf",
     "Exp", "Expand", "Floor", "Gelu", "Gemm", "Greater", "GreaterOrEqual", "HardSigmoid",
     "HardSwish", "Identity", "IsInf", "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log",
     "MatMul", "MatMulInteger", "Max", "Mean", "Min", "Mish", "Mod", "Mul", "Neg", "Not", "OneHot",
     "Or", "PRelu", "Pow", "QLinearMatMul", "QuantizeLinear", "Reciprocal", "ReduceL1", "ReduceL2",
     "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
     "ReduceSum", "ReduceSumSquare", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Sinh",
     "Softplus", "Softsign", "Split", "Sqrt", "Sub", "Sum", "Swish", "Tan", "Tanh", "RoiAlign",
     "ThresholdedRelu", "Transpose", "Where", "Xor"}
)  # fmt: skip
"""Operators that are independent if each operand has rows in at most one dimension, and so has the
result: a sum, product or selection over rows would not have them."""

_ALONG_AXIS = {
    "GatherElements": 0, "Hardmax": -1, "LogSoftmax": -1, "LpNormalization": -1,
    "ScatterElements": 0, "Softmax": -1, "TopK": -1, "Gather": 0,
}  # fmt: skip
"""Operators that mix the elements of one dimension, and the default of their attribute."""

_FROM_AXIS = frozenset({"LayerNormalization", "RMSNormalization"})
"""Operators that mix the elements of an axis and of all later ones."""

_RESHAPES = frozenset({"Flatten", "Reshape", "Squeeze", "Unsqueeze"})

_OF_BATCHES = frozenset(
    {"AveragePool", "BatchNormalization", "Conv", "ConvInteger", "ConvTranspose",
     "GlobalAveragePool", "GlobalMaxPool", "GroupNormalization", "InstanceNormalization", "MaxPool",
     "Resize"}
)  # fmt: skip
"""Operators that process the first dimension of their first operand element by element."""


def axes_of(shape: Sequence[int], rows: int) -> list[int]:
    """Returns the dimensions of a shape that consist of rows.

    Args:
        shape: extents; a prime stands for the number of rows.
        rows: that prime, which divides no other extent.
    """
    return [axis for axis, extent in enumerate(shape) if extent and extent % rows == 0]


def why_mixed(
    node: NodeProto,
    rows: int,
    shapes: Mapping[str, Sequence[int]],
    constants: Mapping[str, Array],
) -> str:
    """Returns why a node does not process rows independently; empty if it does.

    Args:
        node: a node of opset 13 or later.
        rows: the prime that stands for the number of rows, see `axes_of`.
        shapes: shapes of its operands and results, by name.
        constants: elements of operands that are constant, by name.
    """
    inside = [shapes[name] for name in (*node.input, *node.output) if name]
    found = [axes_of(shape, rows) for shape in inside]
    if any(len(axes) > 1 for axes in found):
        return "combines pairs of rows"
    axis_sizes = [shape[axis] for shape, axes in zip(inside, found, strict=True) for axis in axes]
    if any(extent != rows for extent in axis_sizes):
        return "joins rows with another dimension"
    if not all(axes_of(shapes[name], rows) for name in node.output if name):
        return "combines rows"
    if node.op_type in _FREE:
        return ""
    check = _CHECKS.get(node.op_type)
    if check is None:
        return "is not known to process rows independently"
    return check(_Checked(node, rows, shapes, constants))


class _Checked:
    """A node, and the dimensions of its operands and results that consist of rows."""

    def __init__(
        self,
        node: NodeProto,
        rows: int,
        shapes: Mapping[str, Sequence[int]],
        constants: Mapping[str, Array],
    ):
        self.node = node
        self.shapes: list[Sequence[int]] = [shapes[name] if name else () for name in node.input]
        self.axes = [next(iter(axes_of(shape, rows)), None) for shape in self.shapes]
        self.result = shapes[next(name for name in node.output if name)]
        self.result_axis = axes_of(self.result, rows)[0]
        self._constants = constants

    def attribute(self, name: str, default: int) -> int:
        for one in self.node.attribute:
            if one.name == name:
                return int(helper.get_attribute_value(one))
        return default

    def others_have_rows(self) -> bool:
        """Whether operands after the first have rows."""
        return any(axis is not None for axis in self.axes[1:])

    def ints(self, index: int, default: Sequence[int] | None = None) -> list[int] | None:
        """Returns the elements of an operand; None if it is not constant."""
        if index >= len(self.node.input) or not self.node.input[index]:
            return None if default is None else list(default)
        array = self._constants.get(self.node.input[index])
        return None if array is None else [int(one) for one in array.reshape(-1)]


def _along_axis(one: _Checked) -> str:
    rank = len(one.shapes[0])
    if one.axes[0] is None:
        return "combines rows"
    axis = one.attribute("axis", _ALONG_AXIS[one.node.op_type]) % rank
    # Elements are matched by index, so an operand without rows would be matched by row numbers.
    others = one.axes[0] if "Elements" in one.node.op_type else None
    is_apart = axis != one.axes[0] and all(other == others for other in one.axes[1:])
    return "" if is_apart else "combines rows"


def _batches_of_points(one: _Checked) -> str:
    is_apart = one.attribute("batch_dims", 0) > 0 and one.axes[:2] == [0, 0]
    return "" if is_apart else "combines rows"


def _cumulated(one: _Checked) -> str:
    axis = one.ints(1)
    if axis is None or one.axes[0] is None:
        return "has an axis that is not constant"
    return "combines rows" if axis[0] % len(one.shapes[0]) == one.axes[0] else ""


def _from_axis(one: _Checked) -> str:
    axis = one.attribute("axis", -1) % len(one.shapes[0])
    is_apart = one.axes[0] is not None and one.axes[0] < axis and not one.others_have_rows()
    return "" if is_apart else "combines rows"


def _reshape(one: _Checked) -> str:
    """Checks that the operand and the result have equal numbers of elements before their rows.

    Then each row keeps its elements, because a reshape keeps their order.
    """
    before, after = one.shapes[0], one.result
    if one.axes[0] is None:
        return "makes rows of other elements"
    sizes = [math.prod(before[: one.axes[0]]), math.prod(after[: one.result_axis])]
    return "" if sizes[0] == sizes[1] else "combines rows"


def _of_batch(one: _Checked) -> str:
    is_apart = one.axes[0] == 0 == one.result_axis and not one.others_have_rows()
    return "" if is_apart and not one.attribute("training_mode", 0) else "combines rows"


def _slice(one: _Checked) -> str:
    """Checks that rows are neither left out nor reversed."""
    starts, ends = one.ints(1), one.ints(2)
    if starts is None or ends is None or one.axes[0] is None:
        return "takes parts by bounds that are not constant"
    axes = one.ints(3, range(len(starts)))
    steps = one.ints(4, [1] * len(starts))
    if axes is None or steps is None:
        return "takes parts by bounds that are not constant"
    rank = len(one.shapes[0])
    for axis, start, step in zip(axes, starts, steps, strict=True):
        if axis % rank == one.axes[0] and (start, step) != (0, 1):
            return "combines rows"
    return ""


def _pad(one: _Checked) -> str:
    amounts = one.ints(1)
    rank = len(one.shapes[0])
    if amounts is None or one.axes[0] is None:
        return "has amounts that are not constant"
    axes = one.ints(3, range(rank))
    if axes is None:
        return "has axes that are not constant"
    for index, axis in enumerate(axes):
        pair = amounts[index], amounts[index + len(axes)]
        if axis % rank == one.axes[0] and any(pair):
            return "combines rows"
    return ""


_CHECKS: dict[str, Callable[[_Checked], str]] = {
    **dict.fromkeys(_ALONG_AXIS, _along_axis),
    **dict.fromkeys(_FROM_AXIS, _from_axis),
    **dict.fromkeys(_RESHAPES, _reshape),
    **dict.fromkeys(_OF_BATCHES, _of_batch),
    "CumProd": _cumulated,
    "CumSum": _cumulated,
    "GatherND": _batches_of_points,
    "Pad": _pad,
    "Slice": _slice,
}

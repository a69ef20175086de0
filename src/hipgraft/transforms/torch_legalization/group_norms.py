"""Rewrites group and instance norms as layer norms."""

from __future__ import annotations

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import PassFailure
from hipgraft.ir.torch_dialect import (
    aten_name,
    constant_int,
    constant_none,
    list_of_ints,
    torch_op,
    vtensor_type,
)
from hipgraft.transforms.torch_legalization.operands import (
    constant,
    extent_of,
    int_operand,
    is_tensor,
    owner,
    sizes,
    tensor,
    view,
)


def _groups(op: ir.Operation, index: int) -> tuple[int, int]:
    """Returns the number of groups in an operand, and the number of channels of each."""
    groups, channels = int_operand(op, index), extent_of(op, 1)
    if groups < 1 or channels % groups:
        message = f"'{aten_name(op)}' expects groups of equal size, found {groups} of {channels}"
        raise PassFailure(f"{message} channels", op)
    return groups, channels // groups


def group_norm(op: ir.Operation) -> ir.Value | None:
    """Rewrites `group_norm(x, groups, weight, bias, epsilon, cudnn_enabled)`."""
    x, _, weight, bias, epsilon, *_ = op.operands
    return _normalised_groups(x, _groups(op, 1), weight, bias, epsilon)


def native_group_norm(op: ir.Operation) -> ir.Value | None:
    """Rewrites `native_group_norm(x, weight, bias, n, c, hw, groups, epsilon)`."""
    if any(True for result in list(op.results)[1:] for _ in result.uses):
        return None
    x, weight, bias = list(op.operands)[:3]
    return _normalised_groups(x, _groups(op, 6), weight, bias, op.operands[7])


def instance_norm(op: ir.Operation) -> ir.Value | None:
    """Rewrites `instance_norm(x, weight, bias, mean, var, input_stats, momentum, epsilon, cudnn)`.

    ONNX exporters write a group norm as reshape, instance norm without scale, reshape. The result
    has the outer shape, in which the following scale can be fused with the norm.
    """
    if not constant(op, 5):
        return None
    x, weight, bias = list(op.operands)[:3]
    shape, element = tensor(x)
    groups = extent_of(op, 1)
    outer = _shape_read_in(op) or []
    # Only the first dynamic extents of both shapes are known to correspond.
    is_known = outer[:1] == shape[:1] and None not in (*outer[1:], *shape[1:])
    each = (outer[1] or 0) // groups if is_known else 0
    if not each or outer[1] != each * groups or not _is_plain(weight, bias):
        return _normalised_groups(x, (groups, 1), weight, bias, op.operands[7])
    none = constant_none()
    y = _normalised_groups(view(x, outer, element), (groups, each), none, none, op.operands[7])
    return view(y, shape, element)


def _shape_read_in(op: ir.Operation) -> list[int | None] | None:
    """Returns the shape in which the only reader of `op` views it."""
    users = [use.owner.operation for use in op.results[0].uses]
    if len(users) != 1 or aten_name(users[0]) not in ("aten.view", "aten.reshape"):
        return None
    shape = tensor(users[0].results[0])[0]
    return shape if len(shape) > 2 else None


def _is_plain(weight: ir.Value, bias: ir.Value) -> bool:
    return _is_splat(weight, 1.0) and _is_splat(bias, 0.0)


def _is_splat(value: ir.Value, expected: float) -> bool:
    literal = owner(value)
    if literal is None or literal.name != "torch.vtensor.literal":
        return False
    elements = literal.attributes["value"]
    if not isinstance(elements, ir.DenseElementsAttr) or not elements.is_splat:
        return False
    return ir.FloatAttr(elements.get_splat_value()).value == expected


def _normalised_groups(
    x: ir.Value, channels: tuple[int, int], weight: ir.Value, bias: ir.Value, epsilon: ir.Value
) -> ir.Value:
    """Writes the group norm of `x` [N, C, ...] as layer norm; `channels`: groups, and size of each.

    A group's mean and variance are those of a layer norm over the group's elements. torch-mlir's
    decomposition instead sums squares in the element type, which overflows in f16.
    """
    shape, element = tensor(x)
    inner = shape[2:]
    grouped_shape = [shape[0], *channels, *inner]
    grouped = view(x, grouped_shape, element)
    none = constant_none()
    statistics = vtensor_type([shape[0], channels[0], 1, *([1] * len(inner))], element)
    y = torch_op(
        "aten.native_layer_norm",
        [grouped, list_of_ints(sizes(grouped, grouped_shape)[2:]), none, none, epsilon],
        [grouped.type, statistics, statistics],
    ).results[0]
    per_channel = [*channels, *([1] * len(inner))]
    if is_tensor(weight):
        y = torch_op("aten.mul.Tensor", [y, view(weight, per_channel, element)], [y.type]).result
    if is_tensor(bias):
        shifted = [y, view(bias, per_channel, element), constant_int(1)]
        y = torch_op("aten.add.Tensor", shifted, [y.type]).result
    return view(y, shape, element)

"""Stores constant filters in the order in which convolutions read images."""

from __future__ import annotations

from itertools import count
from math import prod

import numpy as np

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import arith_d, ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.element_types import bit_width
from hipgraft.ir.resources import constant_bytes, elements_of
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import element_of, element_type_of, shape_of
from hipgraft.transforms.outlining import set_operand_layouts
from hipgraft.transforms.recognition.values import make_window, window

LEAST_CHANNELS = 16
"""With fewer channels, convolutions of f32 do not gain from contiguous channels."""

_NARROW_BITS = 16


def convolution_of(graph: hipdnn.GraphOp) -> ir.Operation | None:
    """Returns the first convolution of a graph."""
    ops = (op.operation for op in graph.body.operations)
    return next((op for op in ops if op.name == hipdnn.ConvFpropOp.OP_NAME), None)


def is_narrow(anchor: ir.Operation) -> bool:
    """Returns whether a convolution's elements have at most 16 bits."""
    return (bit_width(element_of(anchor.operands[0])) or 0) <= _NARROW_BITS


def is_depthwise(anchor: ir.Operation) -> bool:
    """Returns whether each filter of a convolution has a channel of its own."""
    x, w = (shape_of(value) for value in anchor.operands)
    return x[1] == w[0] and w[1] == 1


def is_permutable(weights: ir.Value) -> bool:
    """Returns whether filters are part of a constant, so that they can be stored in any order."""
    owner = defining_op(window(weights)[0])
    return owner is not None and owner.name == "arith.constant"


class FilterStorage:
    """Stores constant filters by channel; stores each of them at most once more."""

    def __init__(self) -> None:
        self._filters: dict[tuple[ir.Attribute, StridedView, int], ir.Attribute] = {}

    def store(self, graph: hipdnn.GraphOp) -> None:
        """Stores constant filters of a convolution by channel if its channels are contiguous.

        These are the channels of the image, or of a depthwise convolution's result.
        """
        anchor = convolution_of(graph)
        if anchor is None or graph.engine not in (None, "iree"):
            return
        read = dict[ir.Value, int](zip(graph.body.arguments, count()))
        image, index = (read.get(operand) for operand in anchor.operands)
        if index is None or not is_permutable(graph.inputs[index]):
            return
        weights = graph.inputs[index]
        shape = shape_of(weights)
        if is_depthwise(anchor):
            strides = [one for one in graph.result_strides or [] if one is not None]
        else:
            is_fast = shape[1] >= LEAST_CHANNELS or is_narrow(anchor)
            strides = (
                [] if image is None or not is_fast else [window(graph.inputs[image])[1].strides]
            )
        if prod(shape[2:]) == 1 or all(tuple(one[1:2]) != (1,) for one in strides):
            return
        # Each filter of a depthwise convolution belongs to a channel.
        outer, inner = (1, 0) if is_depthwise(anchor) else (0, 1)
        order = [outer, *range(2, len(shape)), inner]
        stored = StridedView.of_shape([shape[dim] for dim in order])
        stored = stored.permute([order.index(dim) for dim in range(len(shape))])
        base, view = window(weights)
        owner = defining_op(base)
        assert owner is not None  # of permutable filters
        if view == stored:
            return
        key = owner.attributes["value"], view, outer
        if key not in self._filters:
            self._filters[key] = _permuted(owner, view.permute(order))
        with ir.InsertionPoint(graph.operation):
            made = arith_d.ConstantOp(
                self._filters[key].type, self._filters[key], loc=owner.location
            )
            graph.operation.operands[index] = make_window(made.result, stored, owner.location)
        for value in dict.fromkeys((weights, base)):  # a view before what it shows
            op = defining_op(value)
            if op is not None and next(iter(value.uses), None) is None:
                op.erase()
        set_operand_layouts(graph)


def _permuted(op: ir.Operation, view: StridedView) -> ir.Attribute:
    """Returns the elements of a constant that a view shows, as a row-major constant."""
    data, shape = constant_bytes(op), shape_of(op.results[0])
    words = np.frombuffer(data, f"u{len(data) // prod(shape)}")
    steps = [stride * words.itemsize for stride in view.strides]
    shown = np.lib.stride_tricks.as_strided(
        words[view.offset :], view.shape, steps, writeable=False
    )
    kind = ir.RankedTensorType.get(view.shape, element_type_of(op.results[0]))
    return elements_of(shown, kind, "channels_last")

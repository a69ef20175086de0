"""The orders in which graphs may store tensors with channels and positions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import shape_of
from hipgraft.transforms.buffers import same_strides
from hipgraft.transforms.filter_storage import convolution_of
from hipgraft.transforms.recognition.values import readers, window

_MATRIX = 2
_RANKS = (_MATRIX, 3, 4, 5)


def has_layouts(shape: Sequence[int]) -> bool:
    """Returns whether a tensor has both channels and positions, so that their order matters."""
    first = channel_dim(shape)
    return len(shape) in _RANKS and shape[first] > 1 and prod(shape[first + 1 :]) > 1


def channel_dim(shape: Sequence[int]) -> int:
    """Returns the dim of a tensor's channels, which are the rows of a matrix."""
    return 0 if len(shape) == _MATRIX else 1


def channels_last(shape: Sequence[int], channels: int = 1) -> StridedView:
    """Returns the window on a tensor [N, C, spatial...] that is stored [N, spatial..., C].

    The rows of a matrix are its channels.

    Args:
        shape: extents of the tensor.
        channels: number of dims of the channels, more than one if they are in groups.
    """
    if len(shape) == _MATRIX:
        return StridedView.of_shape(shape[::-1]).permute((1, 0))
    first = 1 + channels
    stored = StridedView.of_shape([shape[0], *shape[first:], *shape[1:first]])
    spatial = len(shape) - first
    return stored.permute([0, *range(1 + spatial, len(shape)), *range(1, 1 + spatial)])


def is_last(view: StridedView) -> bool:
    """Returns whether a window [N, C, spatial...] is packed, with its channels innermost."""
    return view.offset == 0 and same_strides(view, channels_last(view.shape))


def stored_last(value: ir.Value) -> StridedView:
    """Returns the window on a result that is stored channels last.

    A convolution may see channels that are in groups, as those of a group norm, as one dim.
    """
    for op in readers(value):
        if op.name == hipdnn.ViewOp.OP_NAME and _is_image(op.results[0]):
            _, view = window(op.results[0])
            if view.covers(shape_of(value)) and is_grouped(shape_of(value), view.shape):
                return channels_last(shape_of(value), 1 + len(shape_of(value)) - len(view.shape))
    return channels_last(shape_of(value))


def is_grouped(shape: Sequence[int], image: Sequence[int]) -> bool:
    """Returns whether a tensor has the same dims as an image but for groups of channels."""
    spatial = len(image) - 2
    return len(shape) > len(image) and (*shape[:1], *shape[-spatial:]) == (*image[:1], *image[2:])


def _is_image(value: ir.Value) -> bool:
    """Whether a graph convolves a tensor."""
    graphs = [hipdnn.GraphOp(op) for op in readers(value) if op.name == hipdnn.GraphOp.OP_NAME]
    return any(convolves(graph, value) for graph in graphs)


def convolves(graph: hipdnn.GraphOp, value: ir.Value) -> bool:
    """Returns whether a graph convolves a tensor that it reads, as it is."""
    image = convolved(graph)
    return image is not None and image == value


def convolved(graph: hipdnn.GraphOp) -> ir.Value | None:
    """Returns the tensor that a graph reads and convolves as it is."""
    anchor = convolution_of(graph)
    read = dict[ir.Value, ir.Value](zip(graph.body.arguments, graph.inputs, strict=True))
    return None if anchor is None else read.get(anchor.operands[0])

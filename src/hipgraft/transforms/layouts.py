"""Chooses the order in which graphs store tensors with channels and spatial dimensions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import prod
from typing import Any, cast

import numpy as np

from hipgraft.codegen.chips import Gpu
from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import arith_d, ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.element_types import bit_width, byte_size
from hipgraft.ir.resources import constant_bytes, elements_of
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import element_of, element_type_of, shape_of
from hipgraft.transforms.fusion import NORMS
from hipgraft.transforms.outlining import set_operand_layouts
from hipgraft.transforms.partition.cost import Roofline
from hipgraft.transforms.partition.reader import ProgramReader
from hipgraft.transforms.recognition.values import make_window, readers, window

_CONVOLUTION = hipdnn.ConvFpropOp.OP_NAME
_WALKERS = frozenset({"hipdnn.pointwise", "hipdnn.resample_fwd", "hipdnn.reduction"})
_RANKS = (4, 5)

# The time that a dense convolution of 16-bit elements takes longer if its image is channels first,
# estimated on gfx942 and gfx1100 for the convolutions of ResNet-50 with batch 1. A lane loads
# adjacent elements: channels first, these are positions, which windows, strides, and rows that end
# within a tile interrupt. On CDNA this holds for f32, too, because wavefronts share sums of images
# that are channels last. A layer from or to 3 channels takes longer if its image is channels last.
_EXTRA, _LITTLE = 0.6, 0.05
_TILE = 16
_NARROW_BITS = 16
_LEAST_CHANNELS = 16
_PICOSECONDS = 1e12


def channels_last(shape: Sequence[int]) -> StridedView:
    """Returns the window on a tensor [N, C, spatial...] that is stored [N, spatial..., C]."""
    rank = len(shape)
    stored = StridedView.of_shape([shape[0], *shape[2:], shape[1]])
    return stored.permute([0, rank - 1, *range(1, rank - 1)])


@dataclass
class Layouts:
    """The layouts of a block's tensors, as a cut of least cost.

    Attributes:
        last: results of graphs to store channels last.
        gains: seconds that results save in the convolutions and norms that read them, channels
            last.
        kept: results that stay channels first although a reader would gain, and why.
    """

    last: list[ir.Value] = field(default_factory=list[ir.Value])
    gains: dict[ir.Value, float] = field(default_factory=dict[ir.Value, float])
    kept: dict[ir.Value, str] = field(default_factory=dict[ir.Value, str])


class LayoutCosts:
    """The seconds that graphs take longer in one layout or the other.

    Args:
        gpu: GPU that runs the graphs.
    """

    def __init__(self, gpu: Gpu):
        self._gpu = gpu
        self._shares_sums = Target.parse(gpu.architecture).is_gfx9
        self._reader = ProgramReader(gpu, {})
        self._model = Roofline(gpu)

    def choose(self, graphs: Sequence[ir.Operation]) -> Layouts:
        """Returns the layouts of least cost for the results of graphs; prefers channels first."""
        found = Layouts()
        containers = [hipdnn.GraphOp(op) for op in graphs]
        images = {graph.operation: self._image(graph) for graph in containers}
        costs = [cost for cost in images.values() if cost is not None]
        for graph in containers:
            costs += self._of_rows(graph) + self._of_columns(graph)
        for cost in costs:
            if cost.first > cost.last:
                gained = found.gains.get(cost.value, 0.0) + cost.first - cost.last
                found.gains[cost.value] = gained
        if not found.gains:
            return found
        yielded = [value for graph in containers for value in graph.outputs]
        reasons = {
            value: _fixed(graph, index)
            for graph in containers
            for index, value in enumerate(graph.outputs)
        }
        free = {value for value, reason in reasons.items() if reason is None}
        cut = LayoutCut()
        for cost in costs:
            if cost.value in free:
                cut.add(cost.value, first=cost.first, last=cost.last)
        for graph in containers:
            self._relate(graph, images[graph.operation], free, cut)
        last = cut.last()
        found.last = [value for value in yielded if value in last]
        for value in found.gains:
            if value not in last and value in reasons:
                found.kept[value] = reasons[value] or "other kernels would lose more"
        return found

    def _of_rows(self, graph: hipdnn.GraphOp) -> list[_Cost]:
        """Returns the costs of tensors that a norm copies if channels, its rows, lie apart."""
        if not _normalizes_rows(graph):
            return []
        bases = [base for base, view in map(window, graph.inputs) if view.strides[-1:] > (1,)]
        return [_Cost(base, self._copy(base), 0.0) for base in bases if has_layouts(shape_of(base))]

    def _of_columns(self, graph: hipdnn.GraphOp) -> list[_Cost]:
        """Returns the costs of images that reductions over positions copy if these lie apart."""
        shapes: set[tuple[int, ...]] = set()
        for op in graph.body.operations:
            if op.operation.name == "hipdnn.reduction":
                x, y = (shape_of(value) for value in (op.operands[0], op.results[0]))
                if x[1:2] == y[1:2] and x[2:] != y[2:]:
                    shapes.add(x)
        images = [value for value in graph.inputs if shape_of(value) in shapes]
        return [
            _Cost(image, 0.0, self._copy(image)) for image in images if has_layouts(shape_of(image))
        ]

    def _image(self, graph: hipdnn.GraphOp) -> _Cost | None:
        """Returns the image that a convolution's graph reads.

        None if the graph computes it, or if the convolution is depthwise and reads either order.
        """
        ops = [op.operation for op in graph.body.operations][:-1]
        anchor = convolution_of(graph)
        read = dict[ir.Value, ir.Value](zip(graph.body.arguments, graph.inputs, strict=True))
        image = None if anchor is None else read.get(anchor.operands[0])
        if anchor is None or image is None or _is_depthwise(anchor):
            return None
        program, kept = self._reader.read([((op,), True) for op in ops], [])
        time = self._model.time(program, kept)
        copied = _Cost(image, 0.0, time.launch + 2 * time.memory)
        x, w = (shape_of(value) for value in anchor.operands)
        if x[1] != w[1]:  # IREE has grouped convolutions for channels first only
            return copied
        weights = read.get(anchor.operands[1])
        is_window = prod(w[2:]) > 1
        if is_window and (weights is None or not is_permutable(weights)):
            return copied
        if is_window and min(x[1], w[0]) < _LEAST_CHANNELS:
            return _Cost(image, 0.0, _EXTRA * time.seconds)
        if not _is_narrow(anchor) and not self._shares_sums:
            return _Cost(image, 0.0, 0.0)
        y = shape_of(anchor.results[0])
        is_interrupted = is_window or y[2:] != x[2:] or prod(y[2:]) % _TILE > 0
        return _Cost(image, (_EXTRA if is_interrupted else _LITTLE) * time.seconds, 0.0)

    def _relate(
        self,
        graph: hipdnn.GraphOp,
        image: _Cost | None,
        free: Collection[ir.Value],
        cut: LayoutCut,
    ) -> None:
        """Adds the costs of tensors of one graph whose orders differ."""
        # A convolution may write another order than it reads; addends have the order of the result.
        tensors = [
            value
            for value in (*graph.outputs, *graph.inputs)
            if has_layouts(shape_of(value)) and (image is None or value != image.value)
        ]
        for other in tensors[1:]:
            seconds = self._seconds(other)
            chosen = [value for value in (tensors[0], other) if value in free]
            if len(chosen) == 2:
                cut.relate(chosen[0], chosen[1], seconds)
            elif chosen:
                cut.add(chosen[0], first=0.0, last=seconds)

    def _copy(self, value: ir.Value) -> float:
        """Returns how long a kernel takes that copies a tensor."""
        return self._gpu.kernel_seconds + self._gpu.gap_seconds + 2 * self._seconds(value)

    def _seconds(self, value: ir.Value) -> float:
        """Returns how long it takes to move a tensor."""
        nbytes = byte_size(shape_of(value), element_type_of(value)) or 0
        gpu = self._gpu
        return nbytes / (gpu.far_bandwidth if nbytes <= gpu.far_size else gpu.memory_bandwidth)


@dataclass(frozen=True)
class _Cost:
    """A tensor, and the seconds that it costs a graph that reads it: channels first, and last."""

    value: ir.Value
    first: float
    last: float


def convolution_of(graph: hipdnn.GraphOp) -> ir.Operation | None:
    """Returns the first convolution of a graph."""
    ops = (op.operation for op in graph.body.operations)
    return next((op for op in ops if op.name == _CONVOLUTION), None)


def has_layouts(shape: Sequence[int]) -> bool:
    """Returns whether a tensor has both channels and positions, so that their order matters."""
    return len(shape) in _RANKS and shape[1] > 1 and prod(shape[2:]) > 1


def is_permutable(weights: ir.Value) -> bool:
    """Returns whether filters are a constant, so that they can be stored in another order."""
    owner = defining_op(weights)
    return owner is not None and owner.name == "arith.constant"


def _fixed(graph: hipdnn.GraphOp, index: int) -> str | None:
    """Returns why a result is stored channels first; None if it need not be."""
    value = graph.outputs[index]
    shape = shape_of(value)
    if not has_layouts(shape):
        return "it has no channels or no positions"
    if (graph.result_strides or [None] * len(graph.outputs))[index] is not None:
        return "its layout is given"
    if graph.engine not in (None, "iree"):
        return f"engine '{graph.engine}' writes it"
    stored = channels_last(shape)
    for use in value.uses:
        owner = use.owner.operation
        if owner.name == hipdnn.ViewOp.OP_NAME:
            _, view = window(owner.results[0])
            view = view.on_copied(stored)
            if view is None:
                return "a view of it has no strides in that order"
            readers = [each.owner.operation for each in owner.results[0].uses]
        else:
            view, readers = None, [owner]
        for reader in readers:
            if reader.name != hipdnn.GraphOp.OP_NAME:
                return f"'{reader.name}' op reads it"
            if not _is_taken(hipdnn.GraphOp(reader), view):
                return f"graph '{hipdnn.GraphOp(reader).name}' reads it"
    return None


def _is_taken(graph: hipdnn.GraphOp, view: StridedView | None) -> bool:
    """Returns whether a graph can read a tensor, or a view of it, in the other order."""
    names = {op.operation.name for op in graph.body.operations} - {"hipdnn.yield", "arith.constant"}
    if graph.engine not in (None, "iree"):
        return False
    if view is None:
        return names <= _WALKERS | {_CONVOLUTION}
    return names <= _WALKERS or (view.strides[-1:] == (1,) and _normalizes_rows(graph))


def _normalizes_rows(graph: hipdnn.GraphOp) -> bool:
    """Whether a graph normalizes over the last dim, and has no other anchor."""
    ops = [op.operation for op in graph.body.operations][:-1]
    norms = [op for op in ops if op.name in NORMS]
    others = {op.name for op in ops if op not in norms} - {"arith.constant"}
    rows = [cast("hipdnn.LayernormOp | hipdnn.RmsnormOp", hipdnn.wrap(op)) for op in norms]
    are_last = all(list(op.dims) == [len(shape_of(op.x)) - 1] for op in rows)
    return bool(norms) and are_last and others <= _WALKERS


class LayoutAssigner:
    """Stores tensors and filters channels last; stores each constant at most once more."""

    def __init__(self) -> None:
        self._filters: dict[tuple[ir.Attribute, int], ir.Attribute] = {}

    def store_last(self, value: ir.Value) -> None:
        """Lets the graph that yields a tensor store it channels last, and its readers read that."""
        graph = hipdnn.GraphOp(cast(ir.OpView, value.owner).operation)
        stored = channels_last(shape_of(value))
        layouts = list(graph.result_strides or [None] * len(graph.outputs))
        layouts[ir.OpResult(value).result_number] = list(stored.strides)
        graph.result_strides = layouts
        for op in readers(value):
            if op.name == hipdnn.ViewOp.OP_NAME:
                _, view = window(op.results[0])
                moved = view.on_copied(stored)
                assert moved is not None  # otherwise the layout would be fixed
                shown = hipdnn.ViewOp(op)
                shown.strides, shown.offset = list(moved.strides), moved.offset
                for reader in readers(op.results[0]):
                    set_operand_layouts(hipdnn.GraphOp(reader))
            else:
                self._read_last(hipdnn.GraphOp(op), value, stored)

    def _read_last(self, graph: hipdnn.GraphOp, value: ir.Value, stored: StridedView) -> None:
        with ir.InsertionPoint(graph.operation):
            view = make_window(value, stored, graph.operation.location)
        for index, operand in enumerate(graph.inputs):
            if operand == value:
                graph.operation.operands[index] = view
        set_operand_layouts(graph)

    def store_filters(self, graph: hipdnn.GraphOp) -> None:
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
        if _is_depthwise(anchor):
            strides = [one for one in graph.result_strides or [] if one is not None]
        else:
            is_fast = shape[1] >= _LEAST_CHANNELS or _is_narrow(anchor)
            strides = (
                [] if image is None or not is_fast else [window(graph.inputs[image])[1].strides]
            )
        if prod(shape[2:]) == 1 or all(tuple(one[1:2]) != (1,) for one in strides):
            return
        # Each filter of a depthwise convolution belongs to a channel.
        outer, inner = (1, 0) if _is_depthwise(anchor) else (0, 1)
        order = [outer, *range(2, len(shape)), inner]
        stored = StridedView.of_shape([shape[dim] for dim in order])
        op = cast(ir.OpView, weights.owner).operation
        key = op.attributes["value"], outer
        if key not in self._filters:
            self._filters[key] = _permuted(op, order)
        with ir.InsertionPoint(graph.operation):
            made = arith_d.ConstantOp(self._filters[key].type, self._filters[key], loc=op.location)
            graph.operation.operands[index] = make_window(
                made.result,
                stored.permute([order.index(dim) for dim in range(len(shape))]),
                op.location,
            )
        if next(iter(weights.uses), None) is None:
            op.erase()
        set_operand_layouts(graph)


def _is_narrow(anchor: ir.Operation) -> bool:
    return (bit_width(element_of(anchor.operands[0])) or 0) <= _NARROW_BITS


def _is_depthwise(anchor: ir.Operation) -> bool:
    x, w = (shape_of(value) for value in anchor.operands)
    return x[1] == w[0] and w[1] == 1


def _permuted(op: ir.Operation, order: Sequence[int]) -> ir.Attribute:
    """Returns the elements of filters with their dims in another order."""
    shape = shape_of(op.results[0])
    kind = ir.RankedTensorType.get([shape[dim] for dim in order], element_type_of(op.results[0]))
    data = constant_bytes(op)
    words = np.frombuffer(data, f"u{len(data) // prod(shape)}").reshape(shape)
    return elements_of(np.transpose(words, order), kind, "channels_last")


class LayoutCut:
    """Tensors, the costs of their layouts, and the costs of pairs with different layouts.

    The minimum cut separates channels-last tensors from channels-first ones. Costs are whole
    numbers, so that the result does not depend on the order of additions.
    """

    _LAST, _FIRST = "last", "first"

    def __init__(self) -> None:
        import networkx as nx  # few programs need it, and it is slow to import

        self._cut: Any = nx.minimum_cut
        self._graph: Any = nx.DiGraph()
        self._graph.add_nodes_from((self._LAST, self._FIRST))

    def add(self, value: ir.Value, *, first: float, last: float) -> None:
        """Adds the seconds that a tensor costs channels first, and last."""
        self._connect(value, self._LAST, first)
        self._connect(self._FIRST, value, last)

    def relate(self, left: ir.Value, right: ir.Value, seconds: float) -> None:
        """Adds the seconds that two tensors cost if their layouts differ."""
        self._connect(left, right, seconds)
        self._connect(right, left, seconds)

    def last(self) -> set[ir.Value]:
        """Returns the tensors to store channels last: as few as possible of all best choices."""
        # The second part of the cut reaches the sink, and is the smallest such set.
        last = cast(set[ir.Value], self._cut(self._graph, self._FIRST, self._LAST)[1][1])
        return {value for value in last if value != self._LAST}

    def _connect(self, source: object, target: object, seconds: float) -> None:
        known = self._graph.get_edge_data(source, target, {"capacity": 0})["capacity"]
        self._graph.add_edge(source, target, capacity=known + round(_PICOSECONDS * seconds))

"""Chooses the order in which graphs store tensors with channels and spatial dimensions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import cast

from hipgraft.codegen.chips import Gpu
from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.element_types import byte_size
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import element_type_of, shape_of
from hipgraft.transforms.filter_storage import (
    LEAST_CHANNELS,
    convolution_of,
    is_depthwise,
    is_narrow,
    is_permutable,
)
from hipgraft.transforms.fusion import NORMS
from hipgraft.transforms.layout_cut import LayoutCut
from hipgraft.transforms.layout_orders import (
    channel_dim,
    convolved,
    convolves,
    has_layouts,
    is_last,
    stored_last,
)
from hipgraft.transforms.outlining import set_operand_layouts
from hipgraft.transforms.partition.cost import Roofline
from hipgraft.transforms.partition.reader import ProgramReader
from hipgraft.transforms.recognition.values import make_window, readers, window

_CONVOLUTION = hipdnn.ConvFpropOp.OP_NAME
ELEMENTWISE = frozenset(
    {
        *("hipdnn.batchnorm_inference", "hipdnn.batchnorm_inference_variance_ext"),
        *("hipdnn.pointwise", "hipdnn.resample_fwd"),
    }
)
"""Ops that read images in any order, with gaps between rows or without."""

_MATMUL = hipdnn.MatmulOp.OP_NAME
_WALKERS = ELEMENTWISE | {"hipdnn.reduction"}
_WRITERS = _WALKERS | {_CONVOLUTION, _MATMUL}

# The time that a dense convolution of 16-bit elements takes longer if its image is channels first,
# estimated on gfx942 and gfx1100 for the convolutions of ResNet-50 with batch 1. A lane loads
# adjacent elements: channels first, these are positions, which windows, strides, and rows that end
# within a tile interrupt. On CDNA this holds for f32, too, because wavefronts share sums of images
# that are channels last. A layer from or to 3 channels takes longer if its image is channels last.
_EXTRA, _LITTLE = 0.6, 0.05
_TILE = 16
_IMAGE_RANK = 4


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

    def choose(self, ops: Sequence[ir.Operation]) -> Layouts:
        """Returns the layouts of least cost for the results of containers among ops of a block.

        It prefers channels first.
        """
        found = Layouts()
        containers = [hipdnn.GraphOp(op) for op in ops if op.name == hipdnn.GraphOp.OP_NAME]
        writers = [
            *containers,
            *(hipdnn.FallbackOp(op) for op in ops if op.name == hipdnn.FallbackOp.OP_NAME),
        ]
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
        yielded = [value for writer in writers for value in writer.outputs]
        reasons = {
            value: _fixed(writer, index)
            for writer in writers
            for index, value in enumerate(writer.outputs)
        }
        free = {value for value, reason in reasons.items() if reason is None}
        cut = LayoutCut()
        for cost in costs:
            if cost.value in free:
                cut.add(cost.value, first=cost.first, last=cost.last)
        for writer in writers:
            self._relate(writer, images.get(writer.operation), free, cut)
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
                first = channel_dim(x) + 1
                if x[first:] != y[first:]:
                    shapes.add(x)
        shown = [window(value) for value in graph.inputs if shape_of(value) in shapes]
        bases = [base for base, view in shown if view.covers(shape_of(base))]
        return [_Cost(base, 0.0, self._copy(base)) for base in bases if has_layouts(shape_of(base))]

    def _image(self, graph: hipdnn.GraphOp) -> _Cost | None:
        """Returns the image that a convolution's graph reads.

        None if the graph computes it, or if the convolution is depthwise and reads either order.
        """
        ops = [op.operation for op in graph.body.operations][:-1]
        anchor = convolution_of(graph)
        read = dict[ir.Value, ir.Value](zip(graph.body.arguments, graph.inputs, strict=True))
        image = convolved(graph)
        if anchor is None or image is None or is_depthwise(anchor):
            return None
        base, view = window(image)
        image = base if view.covers(shape_of(base)) else image
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
        if is_window and min(x[1], w[0]) < LEAST_CHANNELS:
            return _Cost(image, 0.0, _EXTRA * time.seconds)
        if not is_narrow(anchor) and not self._shares_sums:
            return _Cost(image, 0.0, 0.0)
        y = shape_of(anchor.results[0])
        is_interrupted = is_window or y[2:] != x[2:] or prod(y[2:]) % _TILE > 0
        return _Cost(image, (_EXTRA if is_interrupted else _LITTLE) * time.seconds, 0.0)

    def _relate(
        self,
        graph: hipdnn.ContainerOp,
        image: _Cost | None,
        free: Collection[ir.Value],
        cut: LayoutCut,
    ) -> None:
        """Adds the costs of tensors of one graph whose orders differ."""
        # A contraction may write another order than it reads; addends have the order of the result.
        factors = [value for value in graph.inputs if not _adds(graph, value)]
        tensors = [
            value
            for value in (*graph.outputs, *graph.inputs)
            if has_layouts(shape_of(value))
            and value not in factors
            and (image is None or window(value)[0] != image.value)
        ]
        for other in tensors[1:]:
            # IREE writes results of different orders by kernels of their own.
            is_apart = other in graph.outputs and tensors[0] in graph.outputs
            seconds = self._copy(other) if is_apart else self._seconds(other)
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


def engine_of(container: hipdnn.ContainerOp) -> str:
    """Returns the engine that runs a container."""
    return (container.engine if isinstance(container, hipdnn.GraphOp) else None) or "iree"


def _fixed(container: hipdnn.ContainerOp, index: int) -> str | None:
    """Returns why a result is stored channels first; None if it need not be."""
    value = container.outputs[index]
    if not has_layouts(shape_of(value)):
        return "it has no channels or no positions"
    if (container.result_strides or [None] * len(container.outputs))[index] is not None:
        return "its layout is given"
    if engine_of(container) != "iree":
        return f"engine '{engine_of(container)}' writes it"
    last = defining_op(list(container.body.operations)[-1].operation.operands[index])
    is_graph = isinstance(container, hipdnn.GraphOp)
    if not is_graph and (last is None or last.name not in ELEMENTWISE):
        return "it is concatenated or gathered"  # often without a copy, channels first
    if len(shape_of(value)) < _IMAGE_RANK and not _names(container) <= _WRITERS:
        return "its graph computes rows"
    return _needed_first(value)


def _needed_first(value: ir.Value) -> str | None:
    """Returns why the readers of a result need it channels first; None if they do not."""
    stored = stored_last(value)
    for use in value.uses:
        owner = use.owner.operation
        if owner.name == hipdnn.ViewOp.OP_NAME:
            _, view = window(owner.results[0])
            view = view.on_copied(stored)
            if view is None:
                return "a view of it has no strides in that order"
            shown = owner.results[0]
        else:
            view, shown = None, value
        for reader in [owner] if view is None else readers(shown):
            if reader.name != hipdnn.GraphOp.OP_NAME:
                return f"'{reader.name}' op reads it"
            if not _is_taken(hipdnn.GraphOp(reader), shown, view):
                return f"graph '{hipdnn.GraphOp(reader).name}' reads it"
    return None


def _is_taken(graph: hipdnn.GraphOp, shown: ir.Value, view: StridedView | None) -> bool:
    """Returns whether a graph can read a tensor, or a view of it, in the other order."""
    names = _names(graph)
    if engine_of(graph) != "iree":
        return False
    if _MATMUL in names and names <= _WRITERS:
        return _adds(graph, shown)
    if view is None or (convolves(graph, shown) and is_last(view)):
        return names <= _WALKERS | {_CONVOLUTION}
    return names <= _WALKERS or (view.strides[-1:] == (1,) and _normalizes_rows(graph))


def _names(container: hipdnn.ContainerOp) -> set[str]:
    """Returns the names of the ops of a container's body that compute something."""
    names = {op.operation.name for op in container.body.operations}
    return names - {"hipdnn.yield", "arith.constant"}


def _adds(container: hipdnn.ContainerOp, shown: ir.Value) -> bool:
    """Whether no product of matrices depends on an operand of a container."""
    read = zip(container.body.arguments, container.inputs, strict=True)
    pending = [cast(ir.Value, argument) for argument, value in read if value == shown]
    seen = set[ir.Value]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        found = readers(value)
        if any(op.name == _MATMUL for op in found):
            return False
        pending.extend(result for op in found for result in op.results)
    return True


def _normalizes_rows(graph: hipdnn.GraphOp) -> bool:
    """Whether a graph normalizes over the last dim, and has no other anchor."""
    ops = [op.operation for op in graph.body.operations][:-1]
    norms = [op for op in ops if op.name in NORMS]
    others = {op.name for op in ops if op not in norms} - {"arith.constant"}
    rows = [cast("hipdnn.LayernormOp | hipdnn.RmsnormOp", hipdnn.wrap(op)) for op in norms]
    are_last = all(list(op.dims) == [len(shape_of(op.x)) - 1] for op in rows)
    return bool(norms) and are_last and others <= _WALKERS


def container_of(value: ir.Value) -> hipdnn.ContainerOp:
    """Returns the container that yields a value."""
    return cast(hipdnn.ContainerOp, hipdnn.wrap(ir.OpResult(value).owner))


def store_last(value: ir.Value) -> None:
    """Lets the graph that yields a tensor store it channels last, and its readers read that."""
    graph = container_of(value)
    stored = stored_last(value)
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
            _read_last(hipdnn.GraphOp(op), value, stored)


def _read_last(graph: hipdnn.GraphOp, value: ir.Value, stored: StridedView) -> None:
    with ir.InsertionPoint(graph.operation):
        view = make_window(value, stored, graph.operation.location)
    for index, operand in enumerate(graph.inputs):
        if operand == value:
            graph.operation.operands[index] = view
    set_operand_layouts(graph)

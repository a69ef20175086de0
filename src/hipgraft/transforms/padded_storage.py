"""Stores results inside the padding of the convolutions that read them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from hipgraft.codegen.iree.shared_sums import shares_windows
from hipgraft.codegen.lowering.conv.direct import is_read_directly
from hipgraft.codegen.lowering.conv.geometry import ConvParams
from hipgraft.codegen.lowering.conv.scalar import is_tiled_depthwise
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn
from hipgraft.dialects.hipdnn import PaddingMode, ResampleMode
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import element_of, element_type_of, shape_of
from hipgraft.transforms.filter_storage import convolution_of, is_depthwise
from hipgraft.transforms.layout_orders import channels_last, is_grouped, is_last
from hipgraft.transforms.layouts import ELEMENTWISE, container_of, engine_of
from hipgraft.transforms.outlining import set_operand_layouts
from hipgraft.transforms.recognition.values import make_window, readers, window

_FALLBACK = hipdnn.FallbackOp.OP_NAME


@dataclass(frozen=True)
class PaddedImage:
    """A result that a convolution reads with padding.

    Attributes:
        value: the result, whose channels may be in groups.
        shape: its shape [N, C, spatial...] as convolutions see it.
        before: zeros before it, per spatial dim.
        after: zeros after it, per spatial dim.
        is_last: whether its channels are stored last.
    """

    value: ir.Value
    shape: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    is_last: bool

    @property
    def channels(self) -> int:
        """Number of dims of the result's channels."""
        return 1 + len(shape_of(self.value)) - len(self.shape)

    @property
    def padded(self) -> StridedView:
        """The window on the result with its border, as convolutions see it."""
        spatial = zip(self.before, self.shape[2:], self.after, strict=True)
        shape = (*self.shape[:2], *map(sum, spatial))
        return channels_last(shape) if self.is_last else StridedView.of_shape(shape)

    def is_whole(self, view: StridedView) -> bool:
        """Returns whether a window shows all of the result without its border, as it is stored."""
        return view.shape == self.shape and (is_last(view) if self.is_last else view.is_row_major)

    @property
    def inside(self) -> StridedView:
        """The window on the result inside its border."""
        strides = self.padded.strides
        steps = zip(self.before, strides[2:], strict=True)
        return StridedView(self.shape, strides, sum(count * step for count, step in steps))


def padded_image(graph: hipdnn.GraphOp, target: Target) -> PaddedImage | None:
    """Returns the image that a graph convolves faster if its padding is in memory.

    None if the graph does not, or if no graph computes the image.
    """
    anchor = convolution_of(graph)
    if anchor is None or engine_of(graph) != "iree":
        return None
    read = dict[ir.Value, ir.Value](zip(graph.body.arguments, graph.inputs, strict=True))
    convolution = hipdnn.ConvFpropOp(anchor)
    if convolution.x not in read or convolution.w not in read:
        return None
    base, view = window(read[convolution.x])
    before, after = tuple(convolution.pre_padding), tuple(convolution.post_padding)
    is_deep, owner = not is_depthwise(anchor), defining_op(base)
    # What a fallback stores channels first may be a concatenation, without a copy.
    is_graph = owner is not None and owner.name == hipdnn.GraphOp.OP_NAME
    is_computed = is_graph or (is_deep and owner is not None and owner.name == _FALLBACK)
    if not is_computed or not any((*before, *after)) or min(*before, *after) < 0:
        return None
    _, filters = window(read[convolution.w])
    is_tiled = not is_deep and _is_tiled(graph, convolution, target)
    is_stored_last = is_deep or (is_last(view) and not is_tiled)
    image = PaddedImage(base, view.shape, before, after, is_stored_last)
    is_alike = view.shape == shape_of(base) or (is_deep and is_grouped(shape_of(base), view.shape))
    if not is_alike or not image.is_whole(view) or view.offset:
        return None
    if is_deep:
        gains = _shares_sums(convolution, filters, target)
    else:
        x, w = _tensors(convolution.x, convolution.w)
        gains = is_tiled or not is_read_directly(ConvParams.of(convolution), x, w, target)
    return image if gains else None


def _shares_sums(convolution: hipdnn.ConvFpropOp, filters: StridedView, target: Target) -> bool:
    """Whether wavefronts share the sums of a dense convolution without padding."""
    x, y = shape_of(convolution.x), shape_of(convolution.y)
    if x[1] != filters.shape[1] or prod(filters.shape[2:]) == 1 or not is_last(filters):
        return False
    return shares_windows(target, element_of(convolution.x), filters.shape, y[-1])


def _is_tiled(graph: hipdnn.GraphOp, convolution: hipdnn.ConvFpropOp, target: Target) -> bool:
    """Whether a depthwise convolution computes adjacent results, and stores channels first."""
    y = shape_of(convolution.y)
    pairs = zip(graph.outputs, graph.result_strides or [None] * len(graph.outputs), strict=True)
    if any(strides is not None for value, strides in pairs if shape_of(value) == y):
        return False
    x, w, result = _tensors(convolution.x, convolution.w, convolution.y)
    return is_tiled_depthwise(ConvParams.of(convolution), x, w, result, range(len(y)), target)


def _tensors(*values: ir.Value) -> list[Tensor]:
    return [Tensor.logical("", shape_of(value), element_of(value)) for value in values]


def check_padding(image: PaddedImage) -> None:
    """Checks that all graphs that read a result can do so if it lies inside a border.

    Raises:
        Declined: they cannot, or the result is stored in another order than they read.
    """
    graph = container_of(image.value)
    stored = channels_last(shape_of(image.value), image.channels) if image.is_last else None
    index = ir.OpResult(image.value).result_number
    if engine_of(graph) != "iree":
        raise Declined("padding", f"engine '{engine_of(graph)}' writes it")
    strides = (graph.result_strides or [None] * (index + 1))[index]
    if strides != (stored and list(stored.strides)):
        order = "last" if image.is_last else "first"
        raise Declined("padding", f"its image is not stored channels {order}")
    for value in _shown(image):
        if not image.is_whole(window(value)[1]):
            name = _reading(value)[0].name if value == image.value else hipdnn.ViewOp.OP_NAME
            raise Declined("padding", f"'{name}' op reads its image in another order")
        for reader in _reading(value):
            _check_reader(reader, value, image)


def _reading(value: ir.Value) -> list[ir.Operation]:
    """Returns the ops that read a value without a view."""
    return [op for op in readers(value) if op.name != hipdnn.ViewOp.OP_NAME]


def _shown(image: PaddedImage) -> list[ir.Value]:
    """Returns the views of a result, and the result itself if it is read without one."""
    views = [op for op in readers(image.value) if op.name == hipdnn.ViewOp.OP_NAME]
    whole = [image.value] if _reading(image.value) else []
    return [*(op.results[0] for op in views), *whole]


def _check_reader(reader: ir.Operation, value: ir.Value, image: PaddedImage) -> None:
    if reader.name != hipdnn.GraphOp.OP_NAME:
        raise Declined("padding", f"'{reader.name}' op reads its image")
    graph = hipdnn.GraphOp(reader)
    if engine_of(graph) != "iree":
        raise Declined("padding", f"engine '{graph.engine}' reads its image")
    for argument in _arguments(graph, value):
        others = [op for op in readers(argument) if not _is_padded_by(op, argument, image)]
        for op in others:
            if op.name not in ELEMENTWISE:
                raise Declined("padding", f"'{op.name}' op of '{graph.name}' reads its image")
        if 0 < len(others) < len(readers(argument)):
            raise Declined("padding", f"'{graph.name}' reads its image without padding, too")


def _arguments(graph: hipdnn.GraphOp, value: ir.Value) -> list[ir.Value]:
    pairs = zip(graph.body.arguments, graph.inputs, strict=True)
    return [argument for argument, operand in pairs if operand == value]


def _is_padded_by(op: ir.Operation, argument: ir.Value, image: PaddedImage) -> bool:
    """Whether an op convolves an argument with the padding of an image."""
    if op.name != hipdnn.ConvFpropOp.OP_NAME:
        return False
    convolution = hipdnn.ConvFpropOp(op)
    padding = tuple(convolution.pre_padding), tuple(convolution.post_padding)
    return (
        convolution.x == argument
        and convolution.w != argument
        and padding == (image.before, image.after)
    )


def store_padded(image: PaddedImage) -> None:
    """Lets a graph store its result inside a border of zeros, and its readers read that."""
    shown = _shown(image)
    _add_border(image)
    for old in shown:
        for reader in _reading(old):
            _read_padded(hipdnn.GraphOp(reader), old, image)
        if old != image.value:
            ir.OpResult(old).owner.erase()


def _add_border(image: PaddedImage) -> None:
    """Pads a result of a graph."""
    graph = container_of(image.value)
    index = ir.OpResult(image.value).result_number
    terminator = list(graph.body.operations)[-1].operation
    groups = [0] * (image.channels - 1)
    ones = [1] * (len(groups) + len(image.before))
    with ir.InsertionPoint(terminator), terminator.location:
        bordered = hipdnn.resample_fwd(
            terminator.operands[index],
            pre_padding=[*groups, *image.before],
            post_padding=[*groups, *image.after],
            stride=ones,
            window=ones,
            resample_mode=ResampleMode.AVGPOOL_INCLUDE_PADDING,
            padding_mode=PaddingMode.ZERO_PAD,
        )
    terminator.operands[index] = bordered
    image.value.set_type(bordered.type)
    if not image.is_last:
        return
    layouts = list(graph.result_strides or [None] * len(graph.outputs))
    layouts[index] = list(channels_last(shape_of(image.value), image.channels).strides)
    graph.result_strides = layouts


def _read_padded(graph: hipdnn.GraphOp, old: ir.Value, image: PaddedImage) -> None:
    """Lets a graph read a result with its border if it pads it, and else what is inside."""
    for index, (argument, operand) in enumerate(
        zip(graph.body.arguments, list(graph.inputs), strict=True)
    ):
        if operand != old:
            continue
        padding = [op for op in readers(argument) if _is_padded_by(op, argument, image)]
        with ir.InsertionPoint(graph.operation):
            view = image.padded if padding else image.inside
            graph.operation.operands[index] = make_window(image.value, view, graph.location)
        if padding:
            argument.set_type(ir.RankedTensorType.get(image.padded.shape, element_type_of(old)))
        for op in padding:
            convolution = hipdnn.ConvFpropOp(op)
            convolution.pre_padding = convolution.post_padding = [0] * len(image.before)
    set_operand_layouts(graph)

"""Converts metadata-only ATen ops, each of which changes the window on its operand's storage."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.ir.diagnostics import Declined, PassFailure
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import shape_of
from hipgraft.transforms.tensor_builder import Tensor, counted_dims
from hipgraft.transforms.torch_to_hipdnn.converter import Conversion, Converter, TorchOp


def _reshape(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """Converts to a window if strides can express it, else to a row-major copy."""
    tensor = op.tensor(0)
    if tensor.is_float and tensor.view.reshape(op.result_shape()) is None:
        tensor = converter.copied(tensor)
    return [tensor.reshape(op.result_shape())]


def _identity(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    return [op.tensor(0)]


def _expand(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    tensor = op.tensor(0)
    return [tensor.through(tensor.view.expand(op.result_shape()))]


def _as_strided(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """Views a window on the operand's storage, which is row-major if the operand is no view.

    PyTorch reads the storage behind a view, but value tensors do not record whether a view was
    copied since, and torch-mlir reads the view's own elements. So no other path may compile it.
    """
    tensor = op.tensor(0)
    if not tensor.view.covers(shape_of(tensor.base)):
        raise PassFailure("'torch.aten.as_strided' op reads the storage of a view", op.operation)
    shape, strides, offset = op.integers(1), op.integers(2), op.constant(3)
    if len(shape) != len(strides) or min([*shape, *strides, offset or 0]) < 0:
        raise Declined("window", "its window is not well-formed")
    view = StridedView(tuple(shape), tuple(strides), offset or 0)
    if view.offset + view.span > tensor.view.elements:
        end = view.offset + view.span
        raise Declined("window", f"its window ends at {end} of {tensor.view.elements} elements")
    return [tensor.through(view)]


def _permute(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    tensor = op.tensor(0)
    dims = counted_dims(op.integers(1), len(tensor.shape))
    if len(dims) != len(tensor.shape):
        raise Declined("dims", f"{len(dims)} dimensions are no order of {len(tensor.shape)}")
    return [tensor.through(tensor.view.permute(dims))]


def _transpose(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    tensor = op.tensor(0)
    dims = list(range(len(tensor.shape)))
    first, second = (_dim(op.constant(i), tensor) for i in (1, 2))
    dims[first], dims[second] = dims[second], dims[first]
    return [tensor.through(tensor.view.permute(dims))]


def _reverse(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    tensor = op.tensor(0)
    return [tensor.through(tensor.view.permute(tuple(reversed(range(len(tensor.shape))))))]


def _slice(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    tensor = op.tensor(0)
    dim = _dim(op.constant(1), tensor)
    extent, step = tensor.shape[dim], op.constant(4)
    if step < 1:
        raise Declined("step", f"expected a positive step, but found {step}")
    start = _clamped(op.constant(2) or 0, extent)
    end = op.constant(3)
    stop = _clamped(extent if end is None else end, extent)
    if stop <= start:
        raise Declined("empty-slice", f"the slice {start}:{stop} is empty")
    return [tensor.through(tensor.view.slice(dim, start, stop, step))]


def _clamped(index: int, extent: int) -> int:
    return min(max(index + extent if index < 0 else index, 0), extent)


def _select(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    tensor = op.tensor(0)
    dim, index = _dim(op.constant(1), tensor), op.constant(2)
    extent = tensor.shape[dim]
    if not -extent <= index < extent:
        raise Declined("index", f"index {index} is out of range of extent {extent}")
    return [tensor.through(tensor.view.select(dim, index % extent))]


def _narrow(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    tensor = op.tensor(0)
    dim, start, length = _dim(op.constant(1), tensor), op.constant(2), op.constant(3)
    extent = tensor.shape[dim]
    start += extent if start < 0 else 0
    if not 0 <= start < start + length <= extent:
        raise Declined("index", f"{start} to {start + length} are not in an extent of {extent}")
    return [tensor.through(tensor.view.slice(dim, start, start + length))]


def _dim(given: int, tensor: Tensor) -> int:
    (dim,) = counted_dims([given], len(tensor.shape))
    return dim


def _index_select(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    return [_selected(op.tensor(0), op.constant(1), op.literal(2))]


def _gather(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`gather(x, dim, indices)`, where only the position in `dim` decides the index."""
    tensor, shape, indices = op.tensor(0), op.result_shape(), op.literal(2)
    if len(shape) != len(tensor.shape) or len(indices) != math.prod(shape):
        raise Declined("signature", "its result does not have the shape of its indices")
    dim = _dim(op.constant(1), tensor)
    inner, count = math.prod(shape[dim + 1 :]), shape[dim]
    along = indices[: inner * count : inner]
    if any(index != along[at // inner % count] for at, index in enumerate(indices)):
        raise Declined("gather-rank", "each element has an index of its own")
    view = tensor.view
    for other, (extent, most) in enumerate(zip(shape, tensor.shape, strict=True)):
        if other != dim:
            if extent > most:
                raise Declined("index", f"{extent} elements are not in an extent of {most}")
            view = view.slice(other, 0, extent)
    return [_selected(tensor.through(view), dim, along)]


def _embedding(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    return [_selected(op.tensor(0), 0, op.literal(1)).reshape(op.result_shape())]


def _selected(tensor: Tensor, dim: int, indices: Sequence[int]) -> Tensor:
    """Returns the window on evenly spaced indices of a dimension."""
    dim = _dim(dim, tensor)
    first, last, count = indices[0], indices[-1], len(indices)
    step = indices[1] - first if count > 1 else 1
    is_even = list(indices) == [first + step * position for position in range(count)]
    if step < 0 or not is_even or first < 0 or last >= tensor.shape[dim]:
        raise Declined("uneven-indices", "the indices do not rise evenly within the dimension")
    if step:
        return tensor.through(tensor.view.slice(dim, first, last + 1, step))
    shape = (*tensor.shape[:dim], count, *tensor.shape[dim + 1 :])
    return tensor.through(tensor.view.slice(dim, first, first + 1).expand(shape))


VIEWS: dict[str, Conversion] = {
    "torch.aten.view": _reshape,
    "torch.aten.reshape": _reshape,
    "torch.aten._unsafe_view": _reshape,
    "torch.aten._reshape_alias": _reshape,
    "torch.aten.flatten.using_ints": _reshape,
    "torch.aten.unflatten.int": _reshape,
    "torch.aten.squeeze": _reshape,
    "torch.aten.squeeze.dim": _reshape,
    "torch.aten.squeeze.dims": _reshape,
    "torch.prims.squeeze": _reshape,
    "torch.prims.collapse": _reshape,
    "torch.prims.split_dim": _reshape,
    "torch.aten.unsqueeze": _reshape,
    "torch.aten.expand": _expand,
    "torch.aten.broadcast_to": _expand,
    "torch.aten.expand_as": _expand,
    "torch.aten.as_strided": _as_strided,
    "torch.aten.permute": _permute,
    "torch.aten.transpose.int": _transpose,
    "torch.aten.t": _reverse,
    "torch.aten.numpy_T": _reverse,
    "torch.aten.slice.Tensor": _slice,
    "torch.aten.select.int": _select,
    "torch.aten.narrow": _narrow,
    "torch.aten.index_select": _index_select,
    "torch.aten.gather": _gather,
    "torch.aten.embedding": _embedding,
    "torch.aten.clone": _identity,
    "torch.aten.contiguous": _identity,
    "torch.aten.detach": _identity,
    "torch.aten.alias": _identity,
    "torch.aten.lift_fresh_copy": _identity,
    "torch.tensor_static_info_cast": _identity,
}
"""Conversions by torch op name."""

"""Lets containers write results in the order in which their readers read them."""

from __future__ import annotations

from typing import cast

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import shape_of
from hipgraft.transforms.buffers import view_of
from hipgraft.transforms.fusion import BY_ELEMENT
from hipgraft.transforms.recognition.values import window
from hipgraft.transforms.split_dims import split_dims

_CONTAINERS = (hipdnn.GraphOp.OP_NAME, hipdnn.FallbackOp.OP_NAME)


def written_strides(tensor: StridedView, window: StridedView) -> list[int] | None:
    """Returns the strides of a tensor for which `window` on its storage is row-major.

    Args:
        tensor: shape and strides of the tensor so far.
        window: window on all of the storage, each element once.

    Returns:
        A stride for each dimension; None if the tensor or the window has another form, or the
        window splits a dimension.
    """
    stored, dims = tensor.storage_order(tensor.shape), window.storage_order(tensor.shape)
    if stored is None or dims is None:
        return None
    order = StridedView.of_shape(window.shape).permute(dims)
    extents = [tensor.shape[dim] for dim in stored]
    written = StridedView.of_shape(extents).on_copied(order)
    if written is None:
        return None
    strides = dict(zip(stored, written.strides, strict=True))
    return [strides.get(dim, 1) for dim in range(len(tensor.shape))]


def write_in_order(copied: ir.Value, op: ir.Operation) -> ir.Value:
    """Lets the container that yields what `op` copies write it in the copy's order; returns it.

    Raises:
        Declined: `copied` is not a permutation of a container's result that only `op` reads.
    """
    if view_of(copied) is None:
        raise Declined("no-window", f"'{op.name}' op copies a whole tensor")
    base, seen = window(copied)
    owner = defining_op(base)
    if owner is not None and owner.name == hipdnn.GraphOp.OP_NAME and _is_own(copied, base):
        graph = hipdnn.GraphOp(owner)
        if written_strides(_stored(graph, base), seen) is None:
            split_dims(graph, base, seen)
    container, strides = order_for(copied, seen, op)
    _set_strides(container, base, strides)
    return base


def _is_own(copied: ir.Value, base: ir.Value) -> bool:
    """Whether one op reads each of a copied window and the tensor behind it."""
    return all(len(list(value.uses)) == 1 for value in (base, copied))


def order_for(
    copied: ir.Value, seen: StridedView, op: ir.Operation
) -> tuple[hipdnn.ContainerOp, list[int]]:
    """Returns the container that yields what `op` copies, and the strides for it to write.

    Args:
        copied: an operand of `op`, perhaps a view.
        seen: the window on the storage of `copied` that is to be row-major.
        op: the copy, for messages.

    Raises:
        Declined: `seen` is not a permutation of a container's result that only `op` reads.
    """
    base, _ = window(copied)
    owner = base.owner
    if isinstance(owner, ir.Block) or owner.name not in _CONTAINERS:
        raise Declined("no-graph", f"'{op.name}' op copies what no graph or fallback yields")
    if owner.name == hipdnn.FallbackOp.OP_NAME and not _is_by_element(base):
        raise Declined("torch-op", f"'{op.name}' op copies what a torch op yields in its own order")
    container = cast(hipdnn.ContainerOp, hipdnn.wrap(owner.operation))
    strides = written_strides(_stored(container, base), seen)
    if strides is None:
        raise Declined("no-permutation", f"'{op.name}' op copies no permutation of a tensor")
    if not _is_own(copied, base):
        raise Declined("read-elsewhere", f"'{op.name}' op copies a tensor that others read")
    return container, strides


def _stored(producer: hipdnn.ContainerOp, result: ir.Value) -> StridedView:
    """Returns the shape and strides in which a container writes a result."""
    layouts = producer.result_strides or [None] * len(producer.outputs)
    strides = layouts[ir.OpResult(result).result_number]
    whole = StridedView.of_shape(shape_of(result))
    return whole if strides is None else StridedView(whole.shape, tuple(strides))


def _is_by_element(value: ir.Value) -> bool:
    """Whether a fallback computes each element of a result independently, hence in any order."""
    container = hipdnn.FallbackOp(cast(ir.OpView, value.owner).operation)
    terminator = list(container.body.operations)[-1]
    cast_op = defining_op(terminator.operands[ir.OpResult(value).result_number])
    if cast_op is None or cast_op.name != "torch_c.to_builtin_tensor":
        return False
    torch_op = defining_op(cast_op.operands[0])
    return torch_op is not None and torch_op.name in BY_ELEMENT


def _set_strides(producer: hipdnn.ContainerOp, result: ir.Value, strides: list[int]) -> None:
    """Sets the strides of one result of a graph or fallback."""
    layouts = list(producer.result_strides or [None] * len(producer.outputs))
    layouts[ir.OpResult(result).result_number] = strides
    attributes = [
        ir.UnitAttr.get() if layout is None else ir.DenseI64ArrayAttr.get(layout)
        for layout in layouts
    ]
    producer.operation.attributes["result_strides"] = ir.ArrayAttr.get(attributes)

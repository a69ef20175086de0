"""Lets containers write their results in the order in which they are read, to avoid copies."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, cast

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.io import collect
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import shape_of
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.transforms.buffers import view_of, window_of
from hipgraft.transforms.fusion import BY_ELEMENT
from hipgraft.transforms.torch_to_hipdnn.constants import constant_value, is_constant

_CONTAINERS = (hipdnn.GraphOp.OP_NAME, hipdnn.FallbackOp.OP_NAME)


def _is_copy(graph: hipdnn.GraphOp) -> bool:
    """Whether a graph only copies its operand."""
    ops = [op.operation for op in graph.body.operations]
    if len(ops) != 2 or ops[0].name != "hipdnn.pointwise":
        return False
    mode = ir.StringAttr(ops[0].attributes["mode"]).value
    types = [ir.RankedTensorType(value.type) for value in (*graph.inputs, *graph.outputs)]
    return mode == "identity" and types[0].element_type == types[1].element_type


def written_strides(tensor: StridedView, window: StridedView) -> list[int] | None:
    """Returns the strides of a tensor for which `window` on its storage is row-major.

    Args:
        tensor: shape and strides of the tensor so far.
        window: window on all of the storage, each element once.

    Returns:
        A stride for each dimension; None if the tensor or the window is no such thing, or the
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


def _readers(value: ir.Value) -> list[ir.Operation]:
    return list(dict.fromkeys(use.owner.operation for use in value.uses))


def _fold(op: ir.Operation) -> None:
    """Folds the copy `op` into the graph whose result it copies, or raises `Declined`."""
    copy = hipdnn.GraphOp(op)
    base = _write_in_order(copy.inputs[0], op)
    _read_storage(copy.outputs[0], base, op)


def _fold_part(op: ir.Operation, index: int) -> None:
    """Makes operand `index` of a concatenation row-major, or raises `Declined`."""
    container, old = hipdnn.FallbackOp(op), op.operands[index]
    base = _write_in_order(old, op)
    with ir.InsertionPoint(op):
        new = hipdnn.view(base, ir.RankedTensorType(old.type), loc=op.location)
    op.operands[index] = new
    layouts = list(container.arg_strides or [])
    layouts[index] = None
    container.arg_strides = layouts
    cast(ir.OpView, old.owner).operation.erase()


def _write_in_order(copied: ir.Value, op: ir.Operation) -> ir.Value:
    """Lets the container that yields what `op` copies write it in the copy's order; returns it.

    Raises:
        Declined: `copied` is no permutation of a container's result that only `op` reads.
    """
    view = view_of(copied)
    if view is None:
        raise Declined("no-window", f"'{op.name}' op copies a whole tensor")
    owner = view.base.owner
    if isinstance(owner, ir.Block) or owner.name not in _CONTAINERS:
        raise Declined("no-graph", f"'{op.name}' op copies what no graph or fallback yields")
    if owner.name == hipdnn.FallbackOp.OP_NAME and not _is_by_element(view.base):
        raise Declined("torch-op", f"'{op.name}' op copies what a torch op yields in its own order")
    container = cast(hipdnn.ContainerOp, hipdnn.wrap(owner.operation))
    strides = written_strides(_stored(container, view.base), window_of(view))
    if strides is None:
        raise Declined("no-permutation", f"'{op.name}' op copies no permutation of a tensor")
    if len(_readers(view.base)) > 1 or len(list(view.window.uses)) > 1:
        raise Declined("read-elsewhere", f"'{op.name}' op copies a tensor that others read")
    _set_strides(container, view.base, strides)
    return view.base


def _stored(producer: hipdnn.ContainerOp, result: ir.Value) -> StridedView:
    """Returns the shape and strides in which a container writes a result."""
    layouts = producer.result_strides or [None] * len(producer.outputs)
    strides = layouts[ir.OpResult(result).result_number]
    whole = StridedView.of_shape(shape_of(result))
    return whole if strides is None else StridedView(whole.shape, tuple(strides))


def _is_by_element(value: ir.Value) -> bool:
    """Whether a fallback computes each element of a result separately, so in any order."""
    container = hipdnn.FallbackOp(cast(ir.OpView, value.owner).operation)
    terminator = list(container.body.operations)[-1]
    cast_op = defining_op(terminator.operands[ir.OpResult(value).result_number])
    if cast_op is None or cast_op.name != "torch_c.to_builtin_tensor":
        return False
    torch_op = defining_op(cast_op.operands[0])
    return torch_op is not None and torch_op.name in BY_ELEMENT


def _parts(op: ir.Operation) -> list[int]:
    """Returns which strided operands a fallback only concatenates, to a contiguous part each."""
    container, found = hipdnn.FallbackOp(op), list[int]()
    for index, layout in enumerate(container.arg_strides or []):
        if layout is None:
            continue
        argument = container.body.arguments[index]
        reader: ir.Operation | None = _only_reader(argument, "torch_c.from_builtin_tensor")
        for name in ("torch.prim.ListConstruct", "torch.aten.cat"):
            reader = reader and _only_reader(reader.results[0], name)
        shape = shape_of(argument)
        if reader is None or not shape or not is_constant(reader.operands[1]):
            continue
        if math.prod(shape[: constant_value(reader.operands[1]) % len(shape)]) == 1:
            found.append(index)
    return found


def _only_reader(value: ir.Value, name: str) -> ir.Operation | None:
    readers = [use.owner.operation for use in value.uses]
    return readers[0] if len(readers) == 1 and readers[0].name == name else None


def _set_strides(producer: hipdnn.ContainerOp, result: ir.Value, strides: list[int]) -> None:
    """Sets the strides of one result of a graph or fallback."""
    layouts = list(producer.result_strides or [None] * len(producer.outputs))
    layouts[ir.OpResult(result).result_number] = strides
    attributes = [
        ir.UnitAttr.get() if layout is None else ir.DenseI64ArrayAttr.get(layout)
        for layout in layouts
    ]
    producer.operation.attributes["result_strides"] = ir.ArrayAttr.get(attributes)


def _read_storage(copied: ir.Value, base: ir.Value, copy: ir.Operation) -> None:
    """Lets readers of the copy read the storage of `base`, and erases copy and window."""
    old_view = cast(ir.OpView, copy.operands[0].owner).operation
    for reader in _readers(copied):
        if reader.name == hipdnn.ViewOp.OP_NAME:
            reader.operands[0] = base
    if next(iter(copied.uses), None) is not None:
        with ir.InsertionPoint(copy):
            whole = hipdnn.view(base, ir.RankedTensorType(copied.type), loc=copy.location)
        copied.replace_all_uses_with(whole)
    copy.erase()
    old_view.erase()


@dataclass(frozen=True)
class HipdnnFoldCopiesPass(Pass):
    """Folds copies that only reorder dimensions into the containers that make the copied tensors.

    A graph that only copies a permuted window of the result of another graph, or of a fallback that
    computes each element separately, is erased. The other one writes its result in the copy's order
    (`result_strides`), and readers read that storage.

    Likewise, a graph or fallback whose result is only concatenated, as a permuted window, writes it
    in the order of the concatenation's part. The part can then be copied as one piece, or needs no
    copy, because memory planning lets it write to the part's place.

    Before:
        ```mlir
        %0 = "hipdnn.graph"(%q, %k, %v) ({...})
             : (...) -> tensor<1x4x16x8xf32>
        %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 512, 8, 128, 1>}
             : (tensor<1x4x16x8xf32>) -> tensor<1x16x4x8xf32>
        %2 = "hipdnn.graph"(%1) ({... identity ...}) {arg_strides = ...}
             : (tensor<1x16x4x8xf32>) -> tensor<1x16x4x8xf32>
        %3 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 32, 1>}
             : (tensor<1x16x4x8xf32>) -> tensor<16x32xf32>
        ```

    After:
        ```mlir
        %0 = "hipdnn.graph"(%q, %k, %v) ({...}) {result_strides = [array<i64: 512, 8, 32, 1>]}
             : (...) -> tensor<1x4x16x8xf32>
        %3 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 32, 1>}
             : (tensor<1x4x16x8xf32>) -> tensor<16x32xf32>
        ```

    Requires:
        Stage `hipdnn-graphs`.

    Ensures:
        Stage `hipdnn-graphs`. A copy that stays gets a missed remark that names the reason.

    Errors:
        None.

    Source:
        own.
    """

    name: ClassVar[str] = "hipdnn-fold-copies"
    requires: ClassVar[str | None] = "hipdnn-graphs"
    ensures: ClassVar[str | None] = "hipdnn-graphs"

    def run(self, module: ir.Module, state: PassState) -> None:
        """Folds the copies of every function."""
        graphs = collect(module, [hipdnn.GraphOp.OP_NAME])
        for op in [op for op in graphs if _is_copy(hipdnn.GraphOp(op))]:
            _attempt(state, op, "folded-copies", partial(_fold, op))
        for op in collect(module, [hipdnn.FallbackOp.OP_NAME]):
            for index in _parts(op):
                _attempt(state, op, "folded-parts", partial(_fold_part, op, index))


def _attempt(state: PassState, op: ir.Operation, counter: str, fold: Callable[[], None]) -> None:
    try:
        fold()
        state.count(counter)
    except Declined as declined:
        state.missed(op, declined.name, declined.reason)

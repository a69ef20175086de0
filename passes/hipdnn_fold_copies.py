"""Lets containers write their results in the order in which they are read, to avoid copies."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, cast

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.io import collect
from hipgraft.ir.tensors import shape_of
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.transforms.outer_concatenations import concatenate_outermost, inner_concatenation
from hipgraft.transforms.outlining import set_operand_layouts
from hipgraft.transforms.recognition.values import readers
from hipgraft.transforms.torch_to_hipdnn.constants import constant_value, is_constant
from hipgraft.transforms.written_order import write_in_order


def _is_copy(graph: hipdnn.GraphOp) -> bool:
    """Whether a graph only copies its operand."""
    ops = [op.operation for op in graph.body.operations]
    if len(ops) != 2 or ops[0].name != "hipdnn.pointwise":
        return False
    mode = ir.StringAttr(ops[0].attributes["mode"]).value
    types = [ir.RankedTensorType(value.type) for value in (*graph.inputs, *graph.outputs)]
    return mode == "identity" and types[0].element_type == types[1].element_type


def _fold(op: ir.Operation) -> None:
    """Folds the copy `op` into the graph whose result it copies, or raises `Declined`."""
    copy = hipdnn.GraphOp(op)
    base = write_in_order(copy.inputs[0], op)
    _read_storage(copy.outputs[0], base, op)


def _fold_part(op: ir.Operation, index: int) -> None:
    """Makes operand `index` of a concatenation row-major, or raises `Declined`."""
    container, old = hipdnn.FallbackOp(op), op.operands[index]
    base = write_in_order(old, op)
    with ir.InsertionPoint(op):
        new = hipdnn.view(base, ir.RankedTensorType(old.type), loc=op.location)
    op.operands[index] = new
    set_operand_layouts(container)
    cast(ir.OpView, old.owner).operation.erase()


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


def _read_storage(copied: ir.Value, base: ir.Value, copy: ir.Operation) -> None:
    """Lets readers of the copy read the storage of `base`, and erases copy and window."""
    old_view = cast(ir.OpView, copy.operands[0].owner).operation
    for reader in readers(copied):
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
    (`result_strides`), and readers read that storage. If the window also splits dimensions, as the
    windows of Swin transformers split rows and columns, a graph of elementwise ops and norms
    computes with split dimensions.

    Likewise, a graph or fallback whose result is only concatenated, as a permuted window, writes it
    in the order of the concatenation's part. The part can then be copied as one piece, or needs no
    copy, because memory planning lets it write to the part's place. For that, a small concatenation
    of an inner dimension gets its result with this dimension outermost in memory, if graphs can
    write all operands, and read the result, in that order.

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
            if (found := inner_concatenation(op)) is not None:
                move = partial(concatenate_outermost, found)
                _attempt(state, op, "outermost-concatenations", move)
            for index in _parts(op):
                _attempt(state, op, "folded-parts", partial(_fold_part, op, index))


def _attempt(state: PassState, op: ir.Operation, counter: str, fold: Callable[[], None]) -> None:
    try:
        fold()
        state.count(counter)
    except Declined as declined:
        state.missed(op, declined.name, declined.reason)

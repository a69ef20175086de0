"""Removes conversions that the ops of a graph do not need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.dialects.hipdnn import GraphOp
from hipgraft.dialects.hipdnn.container import connected_parts
from hipgraft.ir.bindings import ir
from hipgraft.ir.io import walk
from hipgraft.ir.unused import erase_unused
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.transforms.recognition.exactness import merge_equal, skip_bytes, skip_widening


def _skip_widenings(graph: GraphOp) -> int:
    """Removes conversions to f32 unless they connect the ops of a graph; returns how many."""
    ops = [op.operation for op in graph.body.operations][:-1]
    removed = 0
    for op in ops:
        readers = skip_widening(op)
        if not readers:
            continue
        live = [one for one in ops if any(True for result in one.results for _ in result.uses)]
        if connected_parts(live, by_factor=graph.connects_products) == 1:
            removed += 1
            continue
        for reader, number in readers:
            reader.operands[number] = op.results[0]
    return removed


@dataclass(frozen=True)
class HipdnnFoldConversionsPass(Pass):
    """Lets ops of a graph read numbers before these are converted to types that hold them, too.

    Quantised models convert each result to bytes and back. Where one graph does both, nothing needs
    the bytes, and their conversion would end a kernel: IREE computes the wide numbers in the kernel
    that reads them.

    Ops that compute in f32 read f16 and bf16 before these are converted to f32. Ops that then
    compute the same, such as a mean of a tensor and one of its f32 form, are merged.

    Graphs for engines other than `iree` stay as they are: rules of an engine may require the types.

    Before:
        ```mlir
        // %0 holds whole numbers from -128 to 127.
        %1 = "hipdnn.pointwise"(%0) {mode = "identity"} : (tensor<8xf32>) -> tensor<8xi8>
        %2 = "hipdnn.pointwise"(%1) {mode = "identity"} : (tensor<8xi8>) -> tensor<8xf16>
        ```

    After:
        ```mlir
        %2 = "hipdnn.pointwise"(%0) {mode = "identity"} : (tensor<8xf32>) -> tensor<8xf16>
        ```

    Requires:
        Stage `hipdnn-graphs`.

    Ensures:
        Stage `hipdnn-graphs`.

    Errors:
        None.

    Source:
        own.
    """

    name: ClassVar[str] = "hipdnn-fold-conversions"
    requires: ClassVar[str | None] = "hipdnn-graphs"
    ensures: ClassVar[str | None] = "hipdnn-graphs"

    def run(self, module: ir.Module, state: PassState) -> None:
        """Folds the conversions of every graph."""
        for op in walk(module.operation):
            if op.name != GraphOp.OP_NAME:
                continue
            graph = GraphOp(op)
            if graph.engine not in (None, "iree"):
                continue
            block = graph.body
            folded = sum(skip_bytes(inner.operation) for inner in block.operations)
            folded += _skip_widenings(graph)
            if folded:
                state.count("folded-conversions", folded)
                state.count("merged-ops", merge_equal(block, lambda _: True))
                erase_unused(block, "hipdnn.", "arith.constant")

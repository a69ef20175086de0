"""Removes conversions to bytes and back inside of graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.dialects.hipdnn import GraphOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.io import walk
from hipgraft.ir.unused import erase_unused
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.transforms.recognition.exactness import skip_bytes


@dataclass(frozen=True)
class HipdnnFoldConversionsPass(Pass):
    """Lets ops of a graph read whole numbers before these are converted to bytes.

    Quantised models convert each result to bytes and back. Where one graph does both, nothing needs
    the bytes, and their conversion would end a kernel: IREE computes the wide numbers in the kernel
    that reads them.

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
            block = op.regions[0].blocks[0]
            folded = sum(skip_bytes(inner.operation) for inner in block.operations)
            if folded:
                state.count("folded-conversions", folded)
                erase_unused(block, "hipdnn.", "arith.constant")

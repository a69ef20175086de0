"""hipdnn-raise-dequantization: dequantizes factors where their products read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.io import function_blocks
from hipgraft.ir.unused import erase_unused
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.transforms.dequantization import raise_view, store_columns
from hipgraft.transforms.partition.kindred import PRODUCT


@dataclass(frozen=True)
class HipdnnRaiseDequantizationPass(Pass):
    """Dequantizes right factors in the order in which products with few rows read them.

    The kernel of a product with up to 16 rows, no fewer columns, and sums of 256 elements or more
    reads each element of the right factor once. If no view separates it from the ops that
    dequantize this factor, and columns are contiguous, they can share its kernel.
    Transposes are moved before these ops. Scales that blocks of elements share become
    `hipdnn.block_scale_dequantize`. A constant that is stored row by row, and that nothing else
    reads, is stored column by column.

    Before:
        ```mlir
        %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<6x256xi8>) -> tensor<6x256xf32>
        %1 = "hipdnn.pointwise"(%0, %s) {mode = "mul"}
            : (tensor<6x256xf32>, tensor<6x1xf32>) -> tensor<6x256xf32>
        %2 = "hipdnn.view"(%1) {offset = 0 : i64, strides = array<i64: 1, 256>}
            : (tensor<6x256xf32>) -> tensor<256x6xf32>
        %3 = "hipdnn.matmul"(%x, %2) : (tensor<2x256xf32>, tensor<256x6xf32>) -> tensor<2x6xf32>
        ```

    After:
        ```mlir
        %0 = "hipdnn.view"(%w) {offset = 0 : i64, strides = array<i64: 1, 256>}
            : (tensor<6x256xi8>) -> tensor<256x6xi8>
        %1 = "hipdnn.pointwise"(%0) {mode = "identity"} : (tensor<256x6xi8>) -> tensor<256x6xf32>
        %2 = "hipdnn.view"(%s) {offset = 0 : i64, strides = array<i64: 0, 1>}
            : (tensor<6x1xf32>) -> tensor<1x6xf32>
        %3 = "hipdnn.pointwise"(%1, %2) {mode = "mul"}
            : (tensor<256x6xf32>, tensor<1x6xf32>) -> tensor<256x6xf32>
        %4 = "hipdnn.matmul"(%x, %3) : (tensor<2x256xf32>, tensor<256x6xf32>) -> tensor<2x6xf32>
        ```

    Requires:
        Stage `hipdnn-ops`.

    Ensures:
        Stage `hipdnn-ops`. Results are the same, bit for bit. A factor that stays gets a missed
        remark that names the reason.

    Errors:
        A constant's resource is missing.

    Source:
        own; IREE clones ops that dequantize into the dispatches that read them.
    """

    name: ClassVar[str] = "hipdnn-raise-dequantization"
    requires: ClassVar[str | None] = "hipdnn-ops"
    ensures: ClassVar[str | None] = "hipdnn-ops"

    def run(self, module: ir.Module, state: PassState) -> None:
        """Raises the views of every function."""
        for block in function_blocks(module):
            ops = [op.operation for op in block.operations if op.operation.name == PRODUCT]
            raised = [op for op in ops if self._raises(op, state)]
            if not raised:
                continue
            state.count("dequantized-factors", len(raised))
            erase_unused(block, "hipdnn.view", "hipdnn.pointwise", "arith.constant")
            for op in filter(store_columns, raised):
                state.passed(op, "transposed", "the constant is stored column by column")
                state.count("transposed-constants")
            erase_unused(block, "arith.constant")

    def _raises(self, op: ir.Operation, state: PassState) -> bool:
        try:
            if not raise_view(op):
                return False
        except Declined as declined:
            message = f"the right factor is dequantized by a kernel of its own: {declined.reason}"
            state.missed(op, declined.name, message)
            return False
        state.passed(op, "raised", "the kernel can dequantize the right factor")
        return True

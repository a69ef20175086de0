"""Joins products of one matrix with constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.io import function_blocks
from hipgraft.ir.unused import erase_unused
from hipgraft.passmanager.base import Pass, PassState, option
from hipgraft.transforms.batched_products import join, joinable
from hipgraft.transforms.column_storage import store_transposed, transposable
from hipgraft.transforms.recognition.values import readers


@dataclass(frozen=True)
class HipdnnBatchProductsPass(Pass):
    """Multiplies a matrix by a batch of constants, for example for q, k and v of attention.

    The constants become one, and so do the biases that are added to the products. The products'
    readers read parts of the result. If the matrix has one row, the constants' columns are joined
    instead. A constant that nothing else reads is stored column by column if it multiplies few
    rows.

    Only products are joined that `hipdnn-outline` does not join: those with one row, or with a
    number of rows that is not a multiple of 16. Views alone may read them, such as those of heads:
    an activation could no longer share the product's kernel.

    Before:
        ```mlir
        %0 = "hipdnn.matmul"(%x, %wq) : (tensor<5x8xf16>, tensor<8x8xf16>) -> tensor<5x8xf16>
        %1 = "hipdnn.matmul"(%x, %wk) : (tensor<5x8xf16>, tensor<8x8xf16>) -> tensor<5x8xf16>
        %q = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 4, 8, 1>}
            : (tensor<5x8xf16>) -> tensor<2x5x4xf16>
        %k = "hipdnn.view"(%1) {offset = 0 : i64, strides = array<i64: 4, 8, 1>}
            : (tensor<5x8xf16>) -> tensor<2x5x4xf16>
        ```

    After:
        ```mlir
        %0 = "hipdnn.matmul"(%x, %w) : (tensor<1x5x8xf16>, tensor<2x8x8xf16>) -> tensor<2x5x8xf16>
        %q = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 4, 8, 1>}
            : (tensor<2x5x8xf16>) -> tensor<2x5x4xf16>
        %k = "hipdnn.view"(%0) {offset = 40 : i64, strides = array<i64: 4, 8, 1>}
            : (tensor<2x5x8xf16>) -> tensor<2x5x4xf16>
        ```

    Requires:
        Stage `hipdnn-ops`.

    Ensures:
        Stage `hipdnn-ops`. At most one contraction comes between two products that are joined, so
        that results do not occupy memory for long.

    Errors:
        A constant's resource is missing.

    Source:
        own; MIGraphX joins the columns of such constants.
    """

    name: ClassVar[str] = "hipdnn-batch-products"
    requires: ClassVar[str | None] = "hipdnn-ops"
    ensures: ClassVar[str | None] = "hipdnn-ops"

    max_bytes: int = option(256 << 20, "largest constant to make, in bytes")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Joins the products of every function."""
        for block in function_blocks(module):
            groups = list(joinable(block, self.max_bytes))
            for members in groups:
                first, message = members[0].op, f"{len(members)} products of one matrix are one"
                state.passed(first, "batched", message, products=str(len(members)))
                state.count("batched-products", len(members))
                join(members)
            if groups:
                erase_unused(block, "hipdnn.", "arith.constant")
            rows = transposable(block, self.max_bytes)
            for right in rows:
                op = readers(right)[0]
                state.passed(op, "transposed", "the constant is stored column by column")
                state.count("transposed-constants")
                store_transposed(right)
            if rows:
                erase_unused(block, "hipdnn.", "arith.constant")

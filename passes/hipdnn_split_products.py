"""Splits products whose columns elementwise ops read in parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.io import function_blocks
from hipgraft.ir.unused import erase_unused
from hipgraft.passmanager.base import Pass, PassState, option
from hipgraft.transforms.product_parts import parted_products, split


@dataclass(frozen=True)
class HipdnnSplitProductsPass(Pass):
    """Splits a product whose columns elementwise ops read in equal parts.

    The gates of an LSTM or a GRU are such parts, and so are the halves of a gated linear unit
    whose weights are one matrix. A kernel cannot combine columns that other workgroups compute,
    but it can compute several products of one matrix: `hipdnn-outline` puts the parts into one
    graph with the ops that combine them, which is one launch. Ops between the product and the
    views of its parts, such as the sum with a bias, are split too.

    The pass splits products with up to 8 rows if the columns of the right factor are contiguous,
    and products of 16-bit elements if the number of rows is a multiple of 16. With up to 8 rows,
    a constant right factor that only such products read is stored column by column.

    Before:
        ```mlir
        %0 = "hipdnn.matmul"(%x, %w) : (tensor<16x8xf16>, tensor<8x8xf16>) -> tensor<16x8xf16>
        %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 8, 1>}
            : (tensor<16x8xf16>) -> tensor<16x4xf16>
        %2 = "hipdnn.view"(%0) {offset = 4 : i64, strides = array<i64: 8, 1>}
            : (tensor<16x8xf16>) -> tensor<16x4xf16>
        %y = "hipdnn.pointwise"(%1, %2) {mode = "mul"}
            : (tensor<16x4xf16>, tensor<16x4xf16>) -> tensor<16x4xf16>
        ```

    After:
        ```mlir
        %a = "hipdnn.view"(%w) {offset = 0 : i64, strides = array<i64: 8, 1>}
            : (tensor<8x8xf16>) -> tensor<8x4xf16>
        %0 = "hipdnn.matmul"(%x, %a) : (tensor<16x8xf16>, tensor<8x4xf16>) -> tensor<16x4xf16>
        %b = "hipdnn.view"(%w) {offset = 4 : i64, strides = array<i64: 8, 1>}
            : (tensor<8x8xf16>) -> tensor<8x4xf16>
        %1 = "hipdnn.matmul"(%x, %b) : (tensor<16x8xf16>, tensor<8x4xf16>) -> tensor<16x4xf16>
        %y = "hipdnn.pointwise"(%0, %1) {mode = "mul"}
            : (tensor<16x4xf16>, tensor<16x4xf16>) -> tensor<16x4xf16>
        ```

    Requires:
        Stage `hipdnn-ops`.

    Ensures:
        Stage `hipdnn-ops`.

    Errors:
        A constant's resource is missing.

    Source:
        own.
    """

    name: ClassVar[str] = "hipdnn-split-products"
    requires: ClassVar[str | None] = "hipdnn-ops"
    ensures: ClassVar[str | None] = "hipdnn-ops"

    max_bytes: int = option(256 << 20, "largest constant to store column by column, in bytes")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Splits the products of every function."""
        for block in function_blocks(module):
            found = parted_products(block, self.max_bytes)
            for product in found:
                message = f"the columns are {product.count} products, which one kernel combines"
                state.passed(product.op, "split", message, products=str(product.count))
                state.count("split-products")
                split(product)
            if found:
                erase_unused(block, "hipdnn.", "arith.constant")

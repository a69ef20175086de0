"""Computes transposed convolutions of constant filters as convolutions of their input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.io import function_blocks
from hipgraft.ir.unused import erase_unused
from hipgraft.passmanager.base import Pass, PassState, option
from hipgraft.transforms.subpixel_convolutions import compute, subpixel_convolution


@dataclass(frozen=True)
class HipdnnSubpixelConvolutionsPass(Pass):
    """Computes transposed convolutions of constant filters as convolutions of their input.

    By definition, a transposed convolution convolves its input with zeros between the elements,
    and reversed filters. But with stride `s`, only each `s`-th element of a window meets a nonzero
    element. The results whose positions leave the same remainder, a phase, are a convolution of the
    input itself with the filters' elements of that phase. The pass makes one convolution of all
    phases, with a channel for each, and a copy that interleaves them, which fuses with the ops that
    follow. The filters are arranged at compile time, with zeros where an element of the input adds
    to some phases only.

    Transposed convolutions whose windows do not overlap stay: their kernels compute single
    products.

    Before:
        ```mlir
        %w = arith.constant dense<[[[1.0, 2.0, 3.0, 4.0]]]> : tensor<1x1x4xf32>
        %0 = "hipdnn.conv_dgrad"(%x, %w) {dilation = array<i64: 1>, post_padding = array<i64: 1>,
             pre_padding = array<i64: 1>, stride = array<i64: 2>}
             : (tensor<1x1x8xf32>, tensor<1x1x4xf32>) -> tensor<1x1x16xf32>
        ```

    After:
        ```mlir
        %w = arith.constant dense<[[[4.0, 2.0, 0.0]], [[0.0, 3.0, 1.0]]]> : tensor<2x1x3xf32>
        %0 = "hipdnn.conv_fprop"(%x, %w) {dilation = array<i64: 1>, post_padding = array<i64: 1>,
             pre_padding = array<i64: 1>, stride = array<i64: 1>}
             : (tensor<1x1x8xf32>, tensor<2x1x3xf32>) -> tensor<1x2x8xf32>
        %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 16, 16, 1, 8>}
             : (tensor<1x2x8xf32>) -> tensor<1x1x8x2xf32>
        %2 = "hipdnn.pointwise"(%1) {mode = "identity"}
             : (tensor<1x1x8x2xf32>) -> tensor<1x1x8x2xf32>
        %3 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 16, 16, 1>}
             : (tensor<1x1x8x2xf32>) -> tensor<1x1x16xf32>
        ```

    Requires:
        Stage `hipdnn-ops`.

    Ensures:
        Stage `hipdnn-ops`. Results are the same but for the order of sums. A transposed
        convolution of constant filters that stays gets a missed remark that gives the reason.

    Errors:
        A constant's resource is missing.

    Source:
        W. Shi et al., "Is the deconvolution layer the same as a convolutional layer?", 2016.
    """

    name: ClassVar[str] = "hipdnn-subpixel-convolutions"
    requires: ClassVar[str | None] = "hipdnn-ops"
    ensures: ClassVar[str | None] = "hipdnn-ops"

    max_bytes: int = option(256 << 20, "largest filters to make, in bytes")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Rewrites the transposed convolutions of every function."""
        for block in function_blocks(module):
            ops = [op.operation for op in block.operations]
            found = [op for op in ops if op.name == hipdnn.ConvDgradOp.OP_NAME]
            if sum(self._rewrites(op, state) for op in found):
                erase_unused(block, "arith.constant", "hipdnn.view")

    def _rewrites(self, op: ir.Operation, state: PassState) -> bool:
        try:
            made = subpixel_convolution(hipdnn.ConvDgradOp(op), self.max_bytes)
        except Declined as declined:
            state.missed(op, declined.name, f"its zeros are multiplied: {declined.reason}")
            return False
        if made is None:
            return False
        state.passed(op, "subpixel", "phases are channels of one convolution")
        state.count("subpixel-convolutions")
        compute(made)
        return True

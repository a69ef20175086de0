"""Lets graphs store tensors channels last if the convolutions and norms that read them gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.codegen.chips import GPUS, find_gpu
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.io import function_blocks
from hipgraft.passmanager.base import Pass, PassState, option
from hipgraft.transforms.filter_storage import FilterStorage
from hipgraft.transforms.layouts import LayoutCosts, store_last


@dataclass(frozen=True)
class HipdnnAssignLayoutsPass(Pass):
    """Stores tensors between graphs channels last where the program then takes less time.

    Dense convolutions of 16-bit elements, on CDNA also of f32, read images faster if the channels
    of a position are contiguous, and norms over channels copy rows that are not. The pass weighs
    these gains against what other graphs lose that read or write tensors of different orders, and
    takes the assignment of least estimated time (a minimum cut). Arguments and results of functions
    keep their layouts, and so do operands of fallbacks and the concatenations that fallbacks yield.
    Groups of channels that a convolution sees as one dim, as those of a group norm, are stored as
    one. The rows of a matrix count as its channels: a product whose columns a norm reads is stored
    transposed. Constant filters are stored in the same order as the images they are applied to.

    Before:
        ```mlir
        %0 = "hipdnn.graph"(%x, %v, %b) ({... conv_fprop, relu_fwd ...})
             : (...) -> tensor<1x64x56x56xf16>
        %w = arith.constant dense_resource<w> : tensor<64x64x3x3xf16>
        %1 = "hipdnn.graph"(%0, %w) ({... conv_fprop ...})
             : (tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16>
        ```

    After:
        ```mlir
        %0 = "hipdnn.graph"(%x, %v, %b) ({... conv_fprop, relu_fwd ...})
             {result_strides = [array<i64: 200704, 1, 3584, 64>]}
             : (...) -> tensor<1x64x56x56xf16>
        %w = arith.constant dense_resource<channels_last> : tensor<64x3x3x64xf16>
        %2 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 200704, 1, 3584, 64>}
             : (tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16>
        %3 = "hipdnn.view"(%w) {offset = 0 : i64, strides = array<i64: 576, 1, 192, 64>}
             : (tensor<64x3x3x64xf16>) -> tensor<64x64x3x3xf16>
        %1 = "hipdnn.graph"(%2, %3) ({... conv_fprop ...})
             {arg_strides = [array<i64: 200704, 1, 3584, 64>, array<i64: 576, 1, 192, 64>]}
             : (tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16>
        ```

    Requires:
        Stage `hipdnn-graphs`.

    Ensures:
        Stage `hipdnn-graphs`. Results are the same but for the order of sums. A graph whose result
        is stored channels last gets a passed remark; one whose result stays channels first although
        a reader would gain gets a missed remark that gives the reason.

    Errors:
        A constant's resource is missing.

    Source:
        own; MIOpen and cuDNN prefer channels last for the same reason.
    """

    name: ClassVar[str] = "hipdnn-assign-layouts"
    requires: ClassVar[str | None] = "hipdnn-graphs"
    ensures: ClassVar[str | None] = "hipdnn-graphs"

    gpu: str = option("", "GPU that times are estimated for, e.g. 'mi325x'; MI300X if empty")

    def __post_init__(self) -> None:
        if self.gpu and self.gpu not in GPUS:
            raise ValueError(f"unknown GPU '{self.gpu}'; expected one of {', '.join(GPUS)}")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Assigns the layouts of every function."""
        costs, filters = LayoutCosts(find_gpu(self.gpu)), FilterStorage()
        for block in function_blocks(module):
            ops = [op.operation for op in block.operations]
            graphs = [op for op in ops if op.name == hipdnn.GraphOp.OP_NAME]
            found = costs.choose(ops)
            for value in found.last:
                store_last(value)
                _report(state, value, found.gains.get(value, 0.0))
            state.count("channels-last", len(found.last))
            for op in graphs:
                filters.store(hipdnn.GraphOp(op))
            for value, reason in found.kept.items():
                message = f"result is stored channels first, because {reason}"
                state.missed(ir.OpResult(value).owner, "channels-first", message)


def _report(state: PassState, value: ir.Value, seconds: float) -> None:
    gain = f"; its readers gain about {1e6 * seconds:.2f} us" if seconds else ""
    state.passed(ir.OpResult(value).owner, "channels-last", f"result is stored channels last{gain}")

"""Stores results inside the padding of the convolutions that read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.io import function_blocks
from hipgraft.passmanager.base import Pass, PassState, option
from hipgraft.transforms.padded_storage import check_padding, padded_image, store_padded


@dataclass(frozen=True)
class HipdnnPlaceInPaddingPass(Pass):
    """Stores results inside the padding of the convolutions that read them.

    On CDNA, a dense convolution without padding takes about half the time if channels are last:
    matrix instructions read its windows directly, and their sums are split over wavefronts. A
    depthwise convolution with a large window, channels first, would copy its image to pad it. So a
    graph that computes such an image stores it inside a border of zeros, which its kernel writes as
    well. The convolution then reads the image with its border; other graphs read what is inside.

    Before:
        ```mlir
        %0 = "hipdnn.graph"(%x, %v) ({
          ...
          "hipdnn.yield"(%r) : (tensor<1x64x14x14xf16>) -> ()
        }) {result_strides = [array<i64: 12544, 1, 896, 64>]}
           : (...) -> tensor<1x64x14x14xf16>
        %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 12544, 1, 896, 64>}
             : (tensor<1x64x14x14xf16>) -> tensor<1x64x14x14xf16>
        %2 = "hipdnn.graph"(%1, %w) ({
          ...
          %c = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 1, 1>, ...}
          ...
        }) {...} : (tensor<1x64x14x14xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x14x14xf16>
        ```

    After:
        ```mlir
        %0 = "hipdnn.graph"(%x, %v) ({
          ...
          %p = "hipdnn.resample_fwd"(%r) {pre_padding = array<i64: 1, 1>, window = array<i64: 1, 1>,
               resample_mode = "AVGPOOL_INCLUDE_PADDING", padding_mode = "ZERO_PAD", ...}
          "hipdnn.yield"(%p) : (tensor<1x64x16x16xf16>) -> ()
        }) {result_strides = [array<i64: 16384, 1, 1024, 64>]}
           : (...) -> tensor<1x64x16x16xf16>
        %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 16384, 1, 1024, 64>}
             : (tensor<1x64x16x16xf16>) -> tensor<1x64x16x16xf16>
        %2 = "hipdnn.graph"(%1, %w) ({
          ...
          %c = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 0, 0>, ...}
          ...
        }) {...} : (tensor<1x64x16x16xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x14x14xf16>
        ```

    Requires:
        Stage `hipdnn-graphs`.

    Ensures:
        Stage `hipdnn-graphs`. Results are the same but for the order of sums. A graph whose result
        gets a border gets a passed remark; a convolution that would gain although the image that a
        graph computes gets none gets a missed remark that gives the reason.

    Errors:
        None.

    Source:
        own
    """

    name: ClassVar[str] = "hipdnn-place-in-padding"
    requires: ClassVar[str | None] = "hipdnn-graphs"
    ensures: ClassVar[str | None] = "hipdnn-graphs"

    target: str = option("gfx942", "architecture or product that runs the graphs")

    def __post_init__(self) -> None:
        Target.parse(self.target)

    def run(self, module: ir.Module, state: PassState) -> None:
        """Places the results of every function."""
        target = Target.parse(self.target)
        for block in function_blocks(module):
            ops = [op.operation for op in block.operations]
            for op in [op for op in ops if op.name == hipdnn.GraphOp.OP_NAME]:
                _place(op, target, state)


def _place(op: ir.Operation, target: Target, state: PassState) -> None:
    """Places the image that a graph convolves."""
    image = padded_image(hipdnn.GraphOp(op), target)
    if image is None:
        return
    try:
        check_padding(image)
    except Declined as reason:
        state.missed(op, reason.name, f"convolution pads its image itself, because {reason}")
        return
    store_padded(image)
    message = "result is stored inside the padding of its reader"
    state.passed(ir.OpResult(image.value).owner, "padding", message)
    state.count("results-padded")

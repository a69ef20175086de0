"""Recognises hipDNN nodes in the arithmetic that programs decompose them to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.io import function_blocks
from hipgraft.ir.unused import erase_unused
from hipgraft.passmanager.base import Pass, PassState, option
from hipgraft.transforms.recognition import Pattern, Rules, patterns_of
from hipgraft.transforms.recognition.values import mode_of


def _recognize(
    op: ir.Operation, patterns: Mapping[str, Pattern], rules: Rules, state: PassState
) -> None:
    pattern = patterns.get(mode_of(op) or op.name)
    if pattern is None or not _is_used(op):
        return
    try:
        made = pattern(op, rules)
    except Declined as reason:
        state.missed(op, reason.name, f"'{op.name}' op is not recognised: {reason}")
        return
    if made is not None:
        state.count("recognised-nodes")
        state.passed(op, "recognised", f"recognised {made}")


def _is_used(op: ir.Operation) -> bool:
    return any(True for result in op.results for _ in result.uses)


@dataclass(frozen=True)
class HipdnnRecognizePass(Pass):
    """Replaces the arithmetic of normalisations, attention and activations by their nodes.

    It recognises RMS and layer normalisation with constant epsilon; attention with a constant scale
    on the queries, the keys or the scores, with additive or selecting masks, and with a guard
    against rows that see no key; GELU by the error function or the hyperbolic tangent, with its
    factors in any order; and swish with any beta. If keys and values are copied for each head of a
    group, or operands to join batch and heads, the node reads the originals. Products and sums with
    constants per channel after a convolution with constant filters, such as batch normalisation
    with constant statistics, are folded into the filters and a bias, and a constant low-rank
    adapter (LoRA) is added to the constant matrix that it adapts. Each of these families can run by
    itself.

    Before:
        ```mlir
        %0 = "hipdnn.pointwise"(%x) {mode = "sigmoid_fwd"} : (tensor<8xf32>) -> tensor<8xf32>
        %1 = "hipdnn.pointwise"(%x, %0) {mode = "mul"}
             : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
        ```

    After:
        ```mlir
        %1 = "hipdnn.pointwise"(%x) {mode = "swish_fwd"} : (tensor<8xf32>) -> tensor<8xf32>
        ```

    Requires:
        Stage `hipdnn-ops`.

    Ensures:
        Stage `hipdnn-ops`. Results are rounded to their types as before; intermediates of f16 and
        bf16 are f32, as they are inside a graph, unless `drop-roundings` is false. Arithmetic
        that almost matches a node gets a missed remark that names the reason.

    Errors:
        The resource of a convolution's constant filters is missing.

    Source:
        own; the forms are those that PyTorch's decompositions and ONNX exporters write.
    """

    name: ClassVar[str] = "hipdnn-recognize"
    requires: ClassVar[str | None] = "hipdnn-ops"
    ensures: ClassVar[str | None] = "hipdnn-ops"

    drop_roundings: bool = option(True, "compute f16 and bf16 intermediates of a node in f32")

    families: tuple[str, ...] = option(
        (),
        "recognise only these: 'attention', 'norms', 'activations', 'convolutions', 'adapters'; "
        "all if empty",
    )

    def __post_init__(self) -> None:
        patterns_of(self.families)

    def run(self, module: ir.Module, state: PassState) -> None:
        """Recognises nodes in every function."""
        rules, patterns = Rules(self.drop_roundings), patterns_of(self.families)
        for block in function_blocks(module):
            for op in [op.operation for op in block.operations]:
                _recognize(op, patterns, rules, state)
            erase_unused(block, "hipdnn.", "arith.constant")

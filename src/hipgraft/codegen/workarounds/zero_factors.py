"""Products by a constant of zeros."""

from __future__ import annotations

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir

ZERO_FACTORS = Workaround(
    name="zero-factors",
    fault="A matrix product by a constant of zeros, such as the first state of a recurrence, does "
    "not compile ('func.func' op failed to distribute).",
    effect=Effect.FAILS,
    targets="AMDGPU",
    remedy="A dispatch of its own fills a tensor with the zeros.",
)


@ZERO_FACTORS.avoids
def is_zero_factor(constant: ir.Operation) -> bool:
    """Returns whether an `arith.constant` is all zeros and an operand of a matrix product."""
    elements = constant.attributes["value"]
    is_factor = any(use.owner.name == "hipdnn.matmul" for use in constant.results[0].uses)
    if not is_factor or not isinstance(elements, ir.DenseElementsAttr) or not elements.is_splat:
        return False
    number = elements.get_splat_value()
    kind = ir.FloatAttr if isinstance(number, ir.FloatAttr) else ir.IntegerAttr
    return kind(number).value == 0

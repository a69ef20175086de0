"""Products whose result interleaves the dims of its factors."""

from __future__ import annotations

from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.element_types import bit_width

INTERLEAVED_PRODUCTS = Workaround(
    name="interleaved-products",
    fault="For a product of 16-bit elements whose left factor is stored by columns and whose "
    "result alternates dims of the left and the right factor, the compiler loads elements "
    "directly into LDS and leaves swizzle hints that no pass resolves.",
    effect=Effect.FAILS,
    targets="gfx950",
    remedy="Transposed convolutions whose windows do not overlap are lowered to convolutions of "
    "spread images instead.",
)


@INTERLEAVED_PRODUCTS.avoids
def fails_interleaved(target: Target, element: str) -> bool:
    """Returns whether such a product of this element type does not compile."""
    return target.name == "gfx950" and bit_width(element) == 16

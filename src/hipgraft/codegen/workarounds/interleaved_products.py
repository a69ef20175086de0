"""Products whose result interleaves the dims of its factors."""

from __future__ import annotations

from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.element_types import bit_width

INTERLEAVED_PRODUCTS = Workaround(
    name="interleaved-products",
    fault="A product of 16-bit elements, of a left factor stored by columns, whose result "
    "alternates dims of the left and of the right factor, loads elements directly into LDS and "
    "leaves hints for swizzles that no pass resolves.",
    effect=Effect.FAILS,
    targets="gfx950",
    remedy="Transposed convolutions whose windows do not overlap convolve spread images instead.",
)


@INTERLEAVED_PRODUCTS.avoids
def fails_interleaved(target: Target, element: str) -> bool:
    """Returns whether such a product of this element type does not compile."""
    return target.name == "gfx950" and bit_width(element) == 16

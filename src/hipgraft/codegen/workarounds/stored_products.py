"""Products that are stored together with further results of a loop computed from them."""

from __future__ import annotations

from hipgraft.codegen.products import products_of
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op

STORED_PRODUCTS = Workaround(
    name="stored-products",
    fault="An f32 product whose only tile is partial is stored with wrong elements if a "
    "`linalg.generic` with several results also reads it.",
    effect=Effect.WRONG,
    targets="gfx9",
    remedy="The loops with several results also store the product, or a dispatch of its own does.",
)


@STORED_PRODUCTS.avoids
def loses_product(value: ir.Value, target: Target) -> bool:
    """Returns whether a value is a product that only the loops that read it may store."""
    made = defining_op(value)
    has_fault = target.kind is TargetKind.AMDGPU and not target.is_rdna
    return has_fault and made is not None and bool(products_of(made))

"""Reads attributes of any op."""

from __future__ import annotations

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import VerifyError


def attribute_of(op: ir.Operation, name: str) -> ir.Attribute | None:
    """Returns an attribute; None if there is none of this name.

    Raises:
        VerifyError: the bindings have no Python type for it, as for locations and `array<ui8>`.
    """
    try:
        return op.attributes.get(name)
    except TypeError:
        raise VerifyError(
            f"'{op.name}' op has attribute '{name}' of a kind that cannot be read", op
        ) from None

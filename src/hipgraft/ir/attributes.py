"""Attributes of ops of any origin."""

from __future__ import annotations

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import VerifyError


def attribute_of(op: ir.Operation, name: str) -> ir.Attribute | None:
    """Returns an attribute, None if there is none of this name.

    Raises:
        VerifyError: it is a location, for which the bindings have no attribute.
    """
    try:
        return op.attributes.get(name)
    except TypeError:
        raise VerifyError(f"'{op.name}' op has a location as attribute '{name}'", op) from None

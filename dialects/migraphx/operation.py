"""The base of all migraphx op classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hipgraft.dialects.framework.fields import ValueField
from hipgraft.dialects.framework.op import Op
from hipgraft.dialects.migraphx.types import PREFIX, ShapedType, ShapedTypeError
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import VerifyError
from hipgraft.ir.registration import Registry

OPS: Registry[type[MigraphxOp]] = Registry("op")
"""Every op class by the full name of its op, e.g. `migraphx.dot`."""

ANY_FLOAT, ANY_INTEGER = "floating-point", "integer"
"""Placeholders for all floating-point types and for all integer types."""


class MigraphxOp(Op):
    """A typed view of one migraphx operation."""

    dialect = "migraphx"
    registry = OPS
    is_open = True

    @property
    def mnemonic(self) -> str:
        """The op's name without the dialect."""
        return self.operation.name.removeprefix(f"{self.dialect}.")

    def type_of(self, value: ir.Value) -> ShapedType:
        """Returns the type of an operand or result.

        Raises:
            VerifyError: the type is neither shaped nor a builtin tensor, or breaks a rule.
        """
        try:
            found = ShapedType.of(value.type)
        except ShapedTypeError as error:
            raise VerifyError(str(error), self.operation) from None
        if found is None:
            raise self.error(f"expected values of type '!migraphx.shaped', but found {value.type}")
        return found

    def input_type(self, index: int = 0) -> ShapedType:
        """Returns the type of an operand by index."""
        return self.type_of(self.operation.operands[index])

    def output_type(self, index: int = 0) -> ShapedType:
        """Returns the type of a result by index."""
        return self.type_of(self.operation.results[index])

    def check_value(self, field: ValueField, value: ir.Value) -> None:  # noqa: D102
        kind, allowed = self.type_of(value), field.elements
        any_element = ANY_FLOAT if kind.is_float else ANY_INTEGER
        if allowed and kind.element not in allowed and any_element not in allowed:
            words = " or ".join(map(_element_text, allowed))
            raise self.error(
                f"{self._place(field)} must be {PREFIX} of {words} values, but got '{kind}'"
            )

    def check_agreement(self) -> None:
        """Checks the values that must have one element type or one shape.

        Raises:
            VerifyError: two of them differ.
        """
        if len({kind.element for kind in self._types(self.same_element)}) > 1:
            raise self._disagreement(self.same_element, "element type")
        if len({kind.shape for kind in self._types(self.same_shape)}) > 1:
            raise self._disagreement(self.same_shape, "shape")

    def _disagreement(self, names: Sequence[str], what: str) -> VerifyError:
        return self.error(f"failed to verify that all of {{{', '.join(names)}}} have same {what}")

    def _types(self, names: Sequence[str]) -> Iterator[ShapedType]:
        """Yields the types of the present values of some fields."""
        for field in (*self.operand_fields, *self.result_fields):
            if field.name in names:
                yield from map(self.type_of, field.values(self))

    def _place(self, field: ValueField) -> str:
        """Returns the position of a field's first value as MLIR counts, e.g. `operand #1`."""
        if field in self.result_fields:
            return f"result #{self.result_fields.index(field)}"
        before = self.operand_fields[: self.operand_fields.index(field)]
        return f"operand #{sum(len(each.values(self)) for each in before)}"


def wrap(operation: ir.Operation | ir.OpView) -> MigraphxOp:
    """Returns the typed view of a migraphx operation.

    Raises:
        VerifyError: the dialect has no such op.
    """
    if operation.name not in OPS:
        raise VerifyError(f"custom op '{operation.name}' is unknown", operation)
    return OPS[operation.name](operation)


def is_migraphx(operation: ir.Operation | ir.OpView) -> bool:
    """Whether an op belongs to the dialect."""
    return operation.name.startswith("migraphx.")


def _element_text(element: str) -> str:
    """The name of an element type in MLIR's type constraints."""
    if element in (ANY_FLOAT, ANY_INTEGER):
        return element
    kind = ShapedType((), (), element)
    if not kind.is_float:
        sign = {"i": "signless", "s": "signed", "u": "unsigned"}[element[0]]
        return f"{kind.bits}-bit {sign} integer"
    if element == "bf16":
        return "bfloat16 type"
    return f"{kind.bits}-bit float" if element == f"f{kind.bits}" else f"{element} type"

"""Defines the fields of an op class, its operands, results and attributes, as descriptors.

A field is declared once, in the body of the op's class. The wrapper's property, the builder, the
generic part of the verifier and the documentation all come from that declaration.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, overload

from hipgraft.dialects.hipdnn.kinds import Kind
from hipgraft.ir.bindings import ir

T = TypeVar("T")


class Arity(Enum):
    """The number of values that a field holds."""

    ONE = "required"
    OPTIONAL = "optional"
    VARIADIC = "variadic"


class Field:
    """A named, documented part of an op.

    Attributes:
        name: hipDNN's name of the field, which is also its name in the class body.
        doc: line of documentation.
    """

    def __init__(self, doc: str):
        self.doc = doc
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        # `in_` in Python is `in` in hipDNN.
        self.name = name.removesuffix("_")


class Form(Enum):
    """The required shape of a value, where hipDNN fixes it."""

    TENSOR = "any"
    SCALAR = "one element"
    CHANNEL = "`[1, C, 1...]` for `x` of `[N, C, ...]`"


class ValueField(Field):
    """An operand or a result.

    Attributes:
        form: shape that the value must have.
    """

    arity: ClassVar[Arity] = Arity.ONE

    def __init__(self, doc: str, form: Form = Form.TENSOR):
        super().__init__(doc)
        self.form = form


class OperandField(ValueField):
    """An operand of any arity."""


class ResultField(ValueField):
    """A result of any arity."""


class FieldOwner(Protocol):
    """The interface that a field needs of its op; only `HipdnnOp` has it."""

    operation: ir.Operation

    def operand_values(self, field: OperandField) -> list[ir.Value]:
        """Returns the operands that `field` holds."""
        ...

    def result_values(self, field: ResultField) -> list[ir.Value]:
        """Returns the results that `field` holds."""
        ...

    def attribute(self, name: str) -> ir.Attribute | None:
        """Returns the attribute `name`, None if it is absent."""
        ...


class Operand(OperandField):
    """A required operand."""

    @overload
    def __get__(self, op: None, owner: type) -> Self: ...
    @overload
    def __get__(self, op: FieldOwner, owner: type) -> ir.Value: ...
    def __get__(self, op: FieldOwner | None, owner: type) -> Self | ir.Value:
        return self if op is None else op.operand_values(self)[0]


class OptionalOperand(OperandField):
    """An operand that may be absent."""

    arity = Arity.OPTIONAL

    @overload
    def __get__(self, op: None, owner: type) -> Self: ...
    @overload
    def __get__(self, op: FieldOwner, owner: type) -> ir.Value | None: ...
    def __get__(self, op: FieldOwner | None, owner: type) -> Self | ir.Value | None:
        return self if op is None else next(iter(op.operand_values(self)), None)


class VariadicOperand(OperandField):
    """Any number of operands."""

    arity = Arity.VARIADIC

    @overload
    def __get__(self, op: None, owner: type) -> Self: ...
    @overload
    def __get__(self, op: FieldOwner, owner: type) -> list[ir.Value]: ...
    def __get__(self, op: FieldOwner | None, owner: type) -> Self | list[ir.Value]:
        return self if op is None else op.operand_values(self)


class Result(ResultField):
    """A required result."""

    @overload
    def __get__(self, op: None, owner: type) -> Self: ...
    @overload
    def __get__(self, op: FieldOwner, owner: type) -> ir.Value: ...
    def __get__(self, op: FieldOwner | None, owner: type) -> Self | ir.Value:
        return self if op is None else op.result_values(self)[0]


class OptionalResult(ResultField):
    """A result that may be absent."""

    arity = Arity.OPTIONAL

    @overload
    def __get__(self, op: None, owner: type) -> Self: ...
    @overload
    def __get__(self, op: FieldOwner, owner: type) -> ir.Value | None: ...
    def __get__(self, op: FieldOwner | None, owner: type) -> Self | ir.Value | None:
        return self if op is None else next(iter(op.result_values(self)), None)


class VariadicResult(ResultField):
    """Any number of results."""

    arity = Arity.VARIADIC

    @overload
    def __get__(self, op: None, owner: type) -> Self: ...
    @overload
    def __get__(self, op: FieldOwner, owner: type) -> list[ir.Value]: ...
    def __get__(self, op: FieldOwner | None, owner: type) -> Self | list[ir.Value]:
        return self if op is None else op.result_values(self)


class Attribute(Field, Generic[T]):
    """An attribute, read and written as a Python value.

    Attributes:
        kind: what it holds.
        required: whether the op must carry it.
        default: value of an absent attribute; None if hipDNN's schema says null.
    """

    def __init__(self, kind: Kind[Any], doc: str, *, required: bool, default: Any):
        super().__init__(doc)
        self.kind = kind
        self.required = required
        self.default = default

    @overload
    def __get__(self, op: None, owner: type) -> Self: ...
    @overload
    def __get__(self, op: FieldOwner, owner: type) -> T: ...
    def __get__(self, op: FieldOwner | None, owner: type) -> Self | T:
        if op is None:
            return self
        attribute = op.attribute(self.name)
        return self.default if attribute is None else self.kind.read(attribute)

    def __set__(self, op: FieldOwner, value: T) -> None:
        op.operation.attributes[self.name] = self.kind.write(value)


def required(kind: Kind[T], doc: str) -> Attribute[T]:
    """Declares an attribute that the op must carry."""
    return Attribute(kind, doc, required=True, default=None)


def optional(kind: Kind[T], doc: str) -> Attribute[T | None]:
    """Declares an attribute that may be absent, which means hipDNN's null."""
    return Attribute(kind, doc, required=False, default=None)


def defaulted(kind: Kind[T], default: T, doc: str) -> Attribute[T]:
    """Declares an attribute that reads as `default` where it is absent."""
    return Attribute(kind, doc, required=False, default=default)

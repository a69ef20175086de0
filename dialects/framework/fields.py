"""Defines the fields of an op class, its operands, results and attributes, as descriptors.

A field is declared once, in the body of the op's class. The wrapper's property, the builder, the
generic part of the verifier and the documentation all come from that declaration.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, overload

from hipgraft.dialects.framework.kinds import Kind
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
        name: its name in the IR.
        python_name: its name in the class body, `in_` where the IR has `in`.
        doc: its line of documentation.
    """

    def __init__(self, doc: str):
        self.doc = doc
        self.name = self.python_name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.python_name = name.removesuffix("_"), name


class Form(Enum):
    """The shape that a dialect requires of a value, if it does."""

    TENSOR = "any"
    SCALAR = "one element"
    CHANNEL = "`[1, C, 1...]` for `x` of `[N, C, ...]`"


class FieldOwner(Protocol):
    """The interface that a field needs of its op; only `Op` has it."""

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


class ValueField(Field, ABC):
    """An operand or a result.

    Attributes:
        form: the required shape.
        elements: names of the permitted element types, or of classes of them; empty for any.
    """

    arity: ClassVar[Arity] = Arity.ONE

    def __init__(self, doc: str, form: Form = Form.TENSOR, elements: tuple[str, ...] = ()):
        super().__init__(doc)
        self.form = form
        self.elements = elements

    @abstractmethod
    def values(self, op: FieldOwner) -> list[ir.Value]:
        """Returns the values that the field holds in `op`."""


class OperandField(ValueField, ABC):
    """An operand of any arity."""

    def values(self, op: FieldOwner) -> list[ir.Value]:  # noqa: D102
        return op.operand_values(self)


class ResultField(ValueField, ABC):
    """A result of any arity."""

    def values(self, op: FieldOwner) -> list[ir.Value]:  # noqa: D102
        return op.result_values(self)


class _One(ValueField, ABC):
    @overload
    def __get__(self, op: None, owner: type) -> Self: ...
    @overload
    def __get__(self, op: FieldOwner, owner: type) -> ir.Value: ...
    def __get__(self, op: FieldOwner | None, owner: type) -> Self | ir.Value:
        return self if op is None else self.values(op)[0]


class _Optional(ValueField, ABC):
    arity = Arity.OPTIONAL

    @overload
    def __get__(self, op: None, owner: type) -> Self: ...
    @overload
    def __get__(self, op: FieldOwner, owner: type) -> ir.Value | None: ...
    def __get__(self, op: FieldOwner | None, owner: type) -> Self | ir.Value | None:
        return self if op is None else next(iter(self.values(op)), None)


class _Variadic(ValueField, ABC):
    arity = Arity.VARIADIC

    @overload
    def __get__(self, op: None, owner: type) -> Self: ...
    @overload
    def __get__(self, op: FieldOwner, owner: type) -> list[ir.Value]: ...
    def __get__(self, op: FieldOwner | None, owner: type) -> Self | list[ir.Value]:
        return self if op is None else self.values(op)


class Operand(_One, OperandField):
    """A required operand."""


class OptionalOperand(_Optional, OperandField):
    """An operand that may be absent."""


class VariadicOperand(_Variadic, OperandField):
    """Any number of operands."""


class Result(_One, ResultField):
    """A required result."""


class OptionalResult(_Optional, ResultField):
    """A result that may be absent."""


class VariadicResult(_Variadic, ResultField):
    """Any number of results."""


class Attribute(Field, Generic[T]):
    """An attribute, read and written as a Python value.

    Attributes:
        kind: kind of the value.
        required: whether the op must carry it.
        default: value of an absent attribute.
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
        attributes = op.operation.attributes
        if value is not None or self.required:
            attributes[self.name] = self.kind.write(value)
        elif self.name in attributes:
            del attributes[self.name]


def required(kind: Kind[T], doc: str) -> Attribute[T]:
    """Declares an attribute that the op must carry."""
    return Attribute(kind, doc, required=True, default=None)


def optional(kind: Kind[T], doc: str) -> Attribute[T | None]:
    """Declares an attribute that reads as None where it is absent."""
    return Attribute(kind, doc, required=False, default=None)


def defaulted(kind: Kind[T], default: T, doc: str) -> Attribute[T]:
    """Declares an attribute that reads as `default` where it is absent."""
    return Attribute(kind, doc, required=False, default=default)

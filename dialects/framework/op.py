"""The base of all op classes, which are typed views of operations.

MLIR sees the ops as unregistered; these classes define them. A dialect derives its own base
with its registry, and from that one class per op:

    class MatmulOp(ComputeOp, mnemonic="matmul"):
        \"\"\"Batched matrix product `c = a · b`.\"\"\"

        a = Operand("left matrices `[..., M, K]`")
        b = Operand("right matrices `[..., K, N]`")
        c = Result("products `[..., M, N]`")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from hipgraft.dialects.framework.fields import (
    Arity,
    Attribute,
    Field,
    OperandField,
    ResultField,
    ValueField,
)
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import VerifyError, location_text
from hipgraft.ir.registration import Registry

OPERAND_SEGMENTS = "operandSegmentSizes"
RESULT_SEGMENTS = "resultSegmentSizes"


class Op:
    """A typed view of one operation, with the lifetime of a handle.

    While a builder infers result types, the view shows an operation that does not exist yet:
    its fields can be read, but `operation` cannot.

    Attributes:
        dialect: the dialect's name.
        registry: the dialect's classes by the full names of their ops.
        formulas: definition of each op by mnemonic, if the class declares several ops.
        checks_values: whether the verifier calls `check_value`.
        is_open: whether the op may have attributes that it does not declare.
        same_element: names of the values that must have one element type.
        same_shape: names of the values that must have one shape.
    """

    OP_NAME: ClassVar[str]
    dialect: ClassVar[str]
    registry: ClassVar[Registry[Any]]
    formulas: ClassVar[Mapping[str, str]] = {}
    checks_values: ClassVar[bool] = True
    is_open: ClassVar[bool] = False
    same_element: ClassVar[tuple[str, ...]] = ()
    same_shape: ClassVar[tuple[str, ...]] = ()
    region_count: ClassVar[int] = 0
    operand_fields: ClassVar[tuple[OperandField, ...]] = ()
    result_fields: ClassVar[tuple[ResultField, ...]] = ()
    attribute_fields: ClassVar[tuple[Attribute[Any], ...]] = ()
    attribute_names: ClassVar[frozenset[str]] = frozenset()

    operation: ir.Operation

    def __init_subclass__(
        cls, mnemonic: str | None = None, formulas: Mapping[str, str] | None = None
    ) -> None:
        # Fields are keyed by name, so that a field replaces that of a base class.
        members = {name: each for base in cls.__mro__[::-1] for name, each in vars(base).items()}
        fields: list[Any] = [member for member in members.values() if isinstance(member, Field)]
        cls.operand_fields = tuple(f for f in fields if isinstance(f, OperandField))
        cls.result_fields = tuple(f for f in fields if isinstance(f, ResultField))
        cls.attribute_fields = tuple(cast(Any, f) for f in fields if isinstance(f, Attribute))
        cls.attribute_names = frozenset(field.name for field in cls.attribute_fields)
        cls.formulas = formulas or {}
        if mnemonic is not None:
            # These are set once per class, here.
            cls.OP_NAME = f"{cls.dialect}.{mnemonic}"  # pyright: ignore[reportConstantRedefinition]
        for name in cls.formulas if mnemonic is None else (mnemonic,):
            cls.registry.add(f"{cls.dialect}.{name}", cls)

    def __init__(self, operation: ir.Operation | ir.OpView):
        self.operation = operation.operation
        self.location = self.operation.location
        self._operands: Sequence[ir.Value] = self.operation.operands
        self._attributes: Mapping[str, ir.Attribute] = cast(Any, self.operation.attributes)

    @property
    def has_results(self) -> bool:
        """Whether the operation exists, so that its results can be read."""
        return hasattr(self, "operation")

    def verify(self) -> None:
        """Checks the rules of this op beyond its declaration and the inferred shapes.

        Raises:
            VerifyError: the op breaks one.
        """

    def check_value(self, field: ValueField, value: ir.Value) -> None:
        """Checks the type of an operand or a result against its field's declaration.

        Raises:
            VerifyError: the dialect does not permit the type.
        """

    def kind_error(self, field: Attribute[Any], found: ir.Attribute) -> VerifyError:
        """Returns the error of an attribute that is not of its field's kind."""
        kind = field.kind.description
        return self.error(f"attribute '{field.name}' failed to satisfy constraint: {kind}")

    def error(self, message: str, *, notes: tuple[str, ...] = ()) -> VerifyError:
        """Returns an error at this op; `message` follows `'dialect.op' op`."""
        name = self.operation.name if self.has_results else self.OP_NAME
        error = VerifyError(f"'{name}' op {message}", notes=notes)
        error.location = location_text(self.location)
        return error

    def operand_values(self, field: OperandField) -> list[ir.Value]:
        """Returns the operands that `field` holds."""
        segments = self.attribute(OPERAND_SEGMENTS)
        return _values(self._operands, self.operand_fields, field, segments)

    def result_values(self, field: ResultField) -> list[ir.Value]:
        """Returns the results that `field` holds."""
        segments = self.attribute(RESULT_SEGMENTS)
        return _values(self.operation.results, self.result_fields, field, segments)

    def attribute(self, name: str) -> ir.Attribute | None:
        """Returns the attribute `name`, None if it is absent."""
        return self._attributes.get(name)


def in_order(fields: Sequence[ValueField], total: int) -> list[int]:
    """Returns how many values each field holds when `total` of them fill the fields in order."""
    counts: list[int] = []
    for field in fields:
        left = total - sum(counts)
        counts.append(left if field.arity is Arity.VARIADIC else min(left, 1))
    return counts


def _values(
    values: Sequence[ir.Value],
    fields: Sequence[ValueField],
    field: ValueField,
    segments: ir.Attribute | None,
) -> list[ir.Value]:
    position = fields.index(field)
    if segments is None and field.arity is Arity.VARIADIC:
        return list(values[position:])
    if segments is None:
        return [values[position]] if position < len(values) else []
    counts = list(cast(ir.DenseI32ArrayAttr, segments))
    start = sum(counts[:position])
    return list(values[start : start + counts[position]])

"""A typed view of a migraphx operation in the IR."""

from __future__ import annotations

from collections.abc import Iterator

from hipgraft.bindings import ir
from hipgraft.diagnostics import VerifyError
from hipgraft.dialects.migraphx.ops import OPS, OpDef
from hipgraft.dialects.migraphx.syntax import SEGMENTS
from hipgraft.dialects.migraphx.types import ShapedType, ShapedTypeError

DIALECT = "migraphx."


class MigraphxOp:
    """An operation with its operands and attributes by name.

    Attributes:
        operation: the op itself.
        mnemonic: its name without the dialect.
    """

    def __init__(self, operation: ir.Operation):
        self.operation = operation
        self.mnemonic = operation.name.removeprefix(DIALECT)

    @property
    def definition(self) -> OpDef:
        """The op's row of the table."""
        return OPS[self.mnemonic]

    def error(self, message: str) -> VerifyError:
        """Returns an error at the op, in the form of MLIR's."""
        return VerifyError(f"'{self.operation.name}' op {message}", self.operation)

    # Operands and results

    def operand(self, name: str) -> ir.Value | None:
        """Returns an operand by name; None for an absent optional one."""
        index = self.definition.operands.index(name)
        counts = self.segments
        if counts is not None:
            return self.operation.operands[sum(counts[:index])] if counts[index] else None
        operands = self.operation.operands
        return operands[index] if index < len(operands) else None

    @property
    def segments(self) -> list[int] | None:
        """How many values each operand has, where the op says so."""
        if SEGMENTS not in self.operation.attributes:
            return None
        return list(ir.DenseI32ArrayAttr(self.operation.attributes[SEGMENTS]))

    def group(self, index: int) -> list[ir.Value]:
        """Returns the values of the operand with number `index`, any number of them."""
        counts = self.segments or []
        start = sum(counts[:index])
        return list(self.operation.operands)[start : start + counts[index]]

    def type_of(self, value: ir.Value) -> ShapedType:
        """Returns the type of an operand or result.

        Raises:
            VerifyError: it is neither shaped nor a builtin tensor, or breaks a rule of its type.
        """
        try:
            found = ShapedType.of(value.type)
        except ShapedTypeError as error:
            raise VerifyError(str(error), self.operation) from None
        if found is None:
            raise self.error(f"expected values of type '!migraphx.shaped', but found {value.type}")
        return found

    def input(self, index: int = 0) -> ShapedType:
        """Returns the type of an operand by number."""
        return self.type_of(self.operation.operands[index])

    def output(self, index: int = 0) -> ShapedType:
        """Returns the type of a result by number."""
        return self.type_of(self.operation.results[index])

    def named_types(self) -> Iterator[tuple[str, ShapedType]]:
        """Yields the names and types of the operands and results that are there."""
        for name in self.definition.operands:
            value = self.operand(name)
            if value is not None:
                yield name, self.type_of(value)
        for name, value in zip(self.definition.results, self.operation.results, strict=False):
            yield name, self.type_of(value)

    # Attributes

    def ints(self, name: str) -> list[int]:
        """Returns an attribute that is an array of integers."""
        attribute = self.operation.attributes[name]
        if isinstance(attribute, ir.DenseI64ArrayAttr):
            return list(attribute)
        return [ir.IntegerAttr(item).value for item in ir.ArrayAttr(attribute)]

    def int(self, name: str, default: int | None = None) -> int:
        """Returns an integer attribute, `default` where it is absent."""
        if default is not None and name not in self.operation.attributes:
            return default
        return ir.IntegerAttr(self.operation.attributes[name]).value

    def float(self, name: str, default: float = 0.0) -> float:
        """Returns a float attribute, `default` where it is absent."""
        if name not in self.operation.attributes:
            return default
        return ir.FloatAttr(self.operation.attributes[name]).value

    def string(self, name: str) -> str:
        """Returns a string attribute, empty where it is absent."""
        if name not in self.operation.attributes:
            return ""
        return ir.StringAttr(self.operation.attributes[name]).value


def is_migraphx(operation: ir.Operation | ir.OpView) -> bool:
    """Whether an op belongs to the dialect."""
    return operation.name.startswith(DIALECT)

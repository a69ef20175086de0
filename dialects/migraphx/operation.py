"""A typed view of a migraphx operation in the IR."""

from __future__ import annotations

import builtins
from collections.abc import Iterator

from hipgraft.dialects.migraphx.features import decode_features
from hipgraft.dialects.migraphx.ops import OPS, OpDef
from hipgraft.dialects.migraphx.syntax import SEGMENTS
from hipgraft.dialects.migraphx.types import ShapedType, ShapedTypeError
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import VerifyError

DIALECT = "migraphx."
_YIELD = "migraphx.yield"


class MigraphxOp:
    """An operation with its operands and attributes by name.

    Attributes:
        operation: the op itself.
        mnemonic: name of the op without the dialect.
    """

    def __init__(self, operation: ir.Operation):
        self.operation = operation
        self.mnemonic = operation.name.removeprefix(DIALECT)

    @property
    def definition(self) -> OpDef:
        """The op's definition in `OPS`."""
        return OPS[self.mnemonic]

    def error(self, message: str) -> VerifyError:
        """Returns an error at the op, worded like MLIR's own."""
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
        """The number of values of each operand, if the op has segment sizes."""
        if SEGMENTS not in self.operation.attributes:
            return None
        counts = self.operation.attributes[SEGMENTS]
        if not isinstance(counts, ir.DenseI32ArrayAttr):
            raise self.error(f"expected '{SEGMENTS}' to be array<i32>, but found {counts}")
        return list(counts)

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
        """Returns the type of an operand by index."""
        return self.type_of(self.operation.operands[index])

    def output(self, index: int = 0) -> ShapedType:
        """Returns the type of a result by index."""
        return self.type_of(self.operation.results[index])

    def named_types(self) -> Iterator[tuple[str, ShapedType]]:
        """Yields the names and types of the present operands and results."""
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

    def bool(self, name: str) -> builtins.bool:
        """Returns a boolean attribute, false where it is absent."""
        return (
            name in self.operation.attributes and ir.BoolAttr(self.operation.attributes[name]).value
        )

    def string(self, name: str) -> str:
        """Returns a string attribute, empty where it is absent."""
        if name not in self.operation.attributes:
            return ""
        return ir.StringAttr(self.operation.attributes[name]).value


class AttentionOp(MigraphxOp):
    """An attention with its groups of operands, features and region."""

    INPUTS, LENGTH, OFFSET = 3, 4, 5
    """The groups of operands after queries, keys and values."""

    def group(self, index: int) -> list[ir.Value]:
        """Returns the values of a group of operands."""
        operands = list(self.operation.operands)
        # The first version had only one group, the inputs of its region.
        counts = self.segments or [1, 1, 1, len(operands) - 3, 0, 0]
        start = sum(counts[:index])
        return operands[start : start + counts[index]]

    @property
    def features(self) -> tuple[str, ...]:
        """The features that are set in the attribute."""
        return decode_features(self.int("features", 0))

    @property
    def chunks(self) -> int:
        """The number of parts into which the keys are split, each with its own softmax."""
        return self.int("splitKV", 1) if "splitkv" in self.features else 1

    @property
    def window(self) -> builtins.int | None:
        """Size of the sliding window; None without one."""
        name = "slidingWindowSize"
        return self.int(name) if name in self.operation.attributes else None

    @property
    def softmax_type(self) -> ir.Type | None:
        """Element type of the softmax; None if unspecified."""
        if "softmaxType" not in self.operation.attributes:
            return None
        return ir.TypeAttr(self.operation.attributes["softmaxType"]).value

    @property
    def has_lse(self) -> bool:
        """Whether the op returns the logarithms of the sums."""
        return len(self.operation.results) > 1

    @property
    def _block(self) -> ir.Block | None:
        blocks = list(self.operation.regions[0].blocks)
        return blocks[0] if blocks else None

    @property
    def block_arguments(self) -> list[ir.Value]:
        """Arguments of the region: scores, then inputs."""
        return [] if self._block is None else list(self._block.arguments)

    @property
    def body(self) -> list[ir.Operation]:
        """Operations of the region without its terminator."""
        return [op for op in self._operations if op.name != _YIELD]

    @property
    def terminator(self) -> ir.Operation | None:
        """The region's terminator; None if it is omitted."""
        return next((op for op in self._operations if op.name == _YIELD), None)

    @property
    def _operations(self) -> list[ir.Operation]:
        return [] if self._block is None else [op.operation for op in self._block.operations]


def is_migraphx(operation: ir.Operation | ir.OpView) -> bool:
    """Whether an op belongs to the dialect."""
    return operation.name.startswith(DIALECT)

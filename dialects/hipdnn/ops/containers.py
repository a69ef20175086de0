"""Containers of compute ops, and their terminator."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeVar

from hipgraft.dialects.framework.fields import VariadicOperand, optional
from hipgraft.dialects.framework.kinds import INTS, STRING
from hipgraft.dialects.hipdnn.container import ContainerOp
from hipgraft.dialects.hipdnn.op import HipdnnOp
from hipgraft.dialects.hipdnn.ops.view import ViewOp
from hipgraft.dialects.hipdnn.shapes import batch_extent
from hipgraft.ir.bindings import ir
from hipgraft.ir.strided_view import row_major_strides
from hipgraft.ir.tensors import element_type_of, shape_of

ContainerT = TypeVar("ContainerT", bound=ContainerOp)
Strides = Sequence[Sequence[int] | None]


class GraphOp(ContainerOp, mnemonic="graph"):
    """A hipDNN operation graph: compute ops and constants, compiled to one executable.

    In a graph for `iree`, products of one left factor count as connected.

    A tensor is ragged if an operand holds the offsets `[B + 1]` of its batches: batch `b` is the
    range from element `offset[b] · multiplier` of the tensor's memory up to
    `offset[b + 1] · multiplier`, addressed by the strides other than the batch stride. All strides
    together determine the size of the memory. Elements outside all batches read as 0, and the
    kernel writes 0 there in a result.
    """

    engine = optional(STRING, "engine that is to run it")
    arg_ragged = optional(
        INTS, "per operand, the operand that holds the offsets of its batches; -1 if it is packed"
    )
    result_ragged = optional(INTS, "per result, likewise")
    arg_ragged_multipliers = optional(
        INTS, "per operand, elements per unit of these offsets; absent means 1"
    )
    result_ragged_multipliers = optional(INTS, "per result, likewise")

    @property
    def connects_products(self) -> bool:
        """Whether it is hipgraft's own: its code generator makes one kernel of such products."""
        return self.engine == "iree"

    @property
    def is_ragged(self) -> bool:
        """Whether an operand or result is ragged: offsets give the addresses of its batches."""
        operands = (*(self.arg_ragged or ()), *(self.result_ragged or ()))
        return any(operand >= 0 for operand in operands)

    def verify(self) -> None:  # noqa: D102
        super().verify()
        for side, values, strides in (
            ("arg", self.inputs, self.arg_strides),
            ("result", self.outputs, self.result_strides),
        ):
            self._check_multipliers(f"{side}_ragged_multipliers", len(values))
            for value, steps, operand in zip(
                values,
                strides or [None] * len(values),
                self._ragged(f"{side}_ragged", len(values)),
                strict=True,
            ):
                if operand >= 0:
                    self._check_batches(side, value, steps, operand)

    def _ragged(self, name: str, count: int) -> list[int]:
        operands: list[int] | None = getattr(self, name)
        if operands is None:
            return [-1] * count
        if len(operands) != count:
            raise self.error(f"expected {count} values in '{name}', but found {len(operands)}")
        if not all(-1 <= operand < len(self.inputs) for operand in operands):
            raise self.error(f"expected values in [-1, {len(self.inputs)}) in '{name}'")
        return operands

    def _check_multipliers(self, name: str, count: int) -> None:
        multipliers: list[int] | None = getattr(self, name)
        if multipliers is None:
            return
        if len(multipliers) != count:
            raise self.error(f"expected {count} values in '{name}', but found {len(multipliers)}")
        if min(multipliers, default=1) < 1:
            raise self.error(f"expected values of at least 1 in '{name}'")

    def _check_batches(
        self, side: str, value: ir.Value, strides: list[int] | None, operand: int
    ) -> None:
        offsets, shape = self.inputs[operand], shape_of(value)
        if self._ragged("arg_ragged", len(self.inputs))[operand] >= 0:
            raise self.error(f"expected operand {operand}, which holds offsets, not to be ragged")
        kind = element_type_of(offsets)
        if not isinstance(kind, ir.IntegerType) or prod(shape_of(offsets)) != shape[0] + 1:
            raise self.error(
                f"expected {shape[0] + 1} integers in operand {operand}, the offsets of "
                f"{shape[0]} batches, but found {offsets.type}"
            )
        least = batch_extent(shape, strides or row_major_strides(shape))
        if strides is not None and shape[0] > 1 and strides[0] < least:
            raise self.error(
                f"expected a batch stride of at least {least} of a ragged {side}, "
                f"but found {strides[0]}"
            )


class FallbackOp(ContainerOp, mnemonic="fallback"):
    """Connected ops that hipDNN cannot express, compiled like a graph.

    They are torch or migraphx ops, between casts to the builtin tensors at the boundary (`torch_c`,
    `migraphx.mlir.as.*.shape`), and hipDNN ops that have no graph of their own, with views.
    """

    @classmethod
    def computes(cls, name: str) -> bool:  # noqa: D102
        return name.startswith(("torch.", "migraphx.")) or super().computes(name)

    @classmethod
    def allows(cls, name: str) -> bool:  # noqa: D102
        return name.startswith("torch_c.") or name == ViewOp.OP_NAME or super().allows(name)


class YieldOp(HipdnnOp, mnemonic="yield"):
    """Ends the body of a container with its results."""

    values = VariadicOperand("results of the container")

    def verify(self) -> None:  # noqa: D102
        parent = self.operation.parent
        name = "nothing" if parent is None else f"'{parent.name}'"
        if parent is None or parent.name not in (GraphOp.OP_NAME, FallbackOp.OP_NAME):
            raise self.error(f"expected to be in a container, but is in {name}")


def graph(
    inputs: Sequence[ir.Value],
    result_types: Sequence[ir.Type],
    *,
    name: str | None = None,
    engine: str | None = None,
    arg_strides: Strides | None = None,
    arg_offsets: Sequence[int] | None = None,
    result_strides: Strides | None = None,
    arg_ragged: Sequence[int] | None = None,
    result_ragged: Sequence[int] | None = None,
    arg_ragged_multipliers: Sequence[int] | None = None,
    result_ragged_multipliers: Sequence[int] | None = None,
    loc: ir.Location | None = None,
) -> GraphOp:
    """Creates a graph at the current insertion point.

    Its body is an empty block with arguments typed like `inputs`; the caller fills it and ends
    it with `yield_`.
    """
    op = GraphOp.build(
        inputs,
        results={"outputs": result_types},
        name=name,
        engine=engine,
        arg_strides=arg_strides,
        arg_offsets=arg_offsets,
        result_strides=result_strides,
        arg_ragged=arg_ragged,
        result_ragged=result_ragged,
        arg_ragged_multipliers=arg_ragged_multipliers,
        result_ragged_multipliers=result_ragged_multipliers,
        loc=loc,
    )
    return _with_body(op)


def fallback(
    inputs: Sequence[ir.Value],
    result_types: Sequence[ir.Type],
    *,
    name: str | None = None,
    arg_strides: Strides | None = None,
    arg_offsets: Sequence[int] | None = None,
    result_strides: Strides | None = None,
    loc: ir.Location | None = None,
) -> FallbackOp:
    """Creates a fallback at the current insertion point, with an empty body like `graph`'s."""
    op = FallbackOp.build(
        inputs,
        results={"outputs": result_types},
        name=name,
        arg_strides=arg_strides,
        arg_offsets=arg_offsets,
        result_strides=result_strides,
        loc=loc,
    )
    return _with_body(op)


def yield_(values: Sequence[ir.Value], *, loc: ir.Location | None = None) -> YieldOp:
    """Creates the end of a container's body at the current insertion point."""
    return YieldOp.build(values, loc=loc)


def _with_body(op: ContainerT) -> ContainerT:
    types = [value.type for value in op.inputs]
    op.operation.regions[0].blocks.append(*types, arg_locs=[op.location] * len(types))
    return op

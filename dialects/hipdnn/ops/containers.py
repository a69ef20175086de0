"""Containers of compute ops, and what ends them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hipgraft.bindings import ir
from hipgraft.dialects.hipdnn.container import ContainerOp
from hipgraft.dialects.hipdnn.fields import VariadicOperand, optional
from hipgraft.dialects.hipdnn.kinds import INTS, STRING
from hipgraft.dialects.hipdnn.op import HipdnnOp

ContainerT = TypeVar("ContainerT", bound=ContainerOp)
Strides = Sequence[Sequence[int] | None]


class GraphOp(ContainerOp, mnemonic="graph"):
    """A hipDNN operation graph: compute ops and constants, compiled to one executable."""

    engine = optional(STRING, "engine that is to run it")
    arg_ragged = optional(
        INTS, "per operand, the operand that holds the offsets of its batches; -1 if it is packed"
    )
    result_ragged = optional(INTS, "per result, likewise")

    def verify(self) -> None:  # noqa: D102
        super().verify()
        self._check_ragged("arg_ragged", self.arg_ragged, len(self.inputs))
        self._check_ragged("result_ragged", self.result_ragged, len(self.outputs))

    def _check_ragged(self, name: str, operands: list[int] | None, count: int) -> None:
        if operands is None:
            return
        if len(operands) != count:
            raise self.error(f"expected {count} values in '{name}', but found {len(operands)}")
        if not all(-1 <= operand < len(self.inputs) for operand in operands):
            raise self.error(f"expected values in [-1, {len(self.inputs)}) in '{name}'")


class FallbackOp(ContainerOp, mnemonic="fallback"):
    """Connected ops that hipDNN cannot express, compiled like a graph.

    They are torch or migraphx ops, between casts to the builtin tensors at the border (`torch_c`,
    `migraphx.mlir.as.*.shape`), and hipDNN ops that have no graph of their own.
    """

    @classmethod
    def computes(cls, name: str) -> bool:  # noqa: D102
        return name.startswith(("torch.", "migraphx.")) or super().computes(name)

    @classmethod
    def allows(cls, name: str) -> bool:  # noqa: D102
        return name.startswith("torch_c.") or super().allows(name)


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

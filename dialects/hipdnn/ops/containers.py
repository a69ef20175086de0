"""Containers of compute ops, and what ends them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hipgraft.bindings import ir
from hipgraft.dialects.hipdnn.fields import VariadicOperand, VariadicResult, optional
from hipgraft.dialects.hipdnn.kinds import INTS, LAYOUTS, STRING
from hipgraft.dialects.hipdnn.op import HipdnnOp

ContainerT = TypeVar("ContainerT", bound="ContainerOp")
Strides = Sequence[Sequence[int] | None]


class ContainerOp(HipdnnOp):
    """What `graph` and `fallback` share.

    Isolated from above; the body's arguments are typed like the operands and `hipdnn.yield`
    like the results. The ops inside are one component, connected through values.
    """

    REGIONS = 1

    inputs = VariadicOperand("tensors that the body reads")
    outputs = VariadicResult("tensors that the body yields")
    name = optional(STRING, "name for people; no part of the graph's identity")
    arg_strides = optional(LAYOUTS, "strides of each operand in elements; unit means row-major")
    arg_offsets = optional(INTS, "elements from each pointer to the operand's first element")
    result_strides = optional(LAYOUTS, "strides of each result in elements; unit means row-major")

    @property
    def body(self) -> ir.Block:
        """The block that holds the ops."""
        return self.operation.regions[0].blocks[0]


class GraphOp(ContainerOp, mnemonic="graph"):
    """A hipDNN operation graph: compute ops and constants, compiled to one executable."""

    engine = optional(STRING, "engine that is to run it")


class FallbackOp(ContainerOp, mnemonic="fallback"):
    """Connected ops that hipDNN cannot express, compiled like a graph."""


class YieldOp(HipdnnOp, mnemonic="yield"):
    """Ends the body of a container with its results."""

    values = VariadicOperand("results of the container")


def graph(
    inputs: Sequence[ir.Value],
    result_types: Sequence[ir.Type],
    *,
    name: str | None = None,
    engine: str | None = None,
    arg_strides: Strides | None = None,
    arg_offsets: Sequence[int] | None = None,
    result_strides: Strides | None = None,
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

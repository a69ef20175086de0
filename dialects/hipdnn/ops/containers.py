"""Containers of compute ops, and what ends them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hipgraft.bindings import ir
from hipgraft.dialects.hipdnn.body import check_body, types_text
from hipgraft.dialects.hipdnn.fields import VariadicOperand, VariadicResult, optional
from hipgraft.dialects.hipdnn.kinds import INTS, LAYOUTS, STRING
from hipgraft.dialects.hipdnn.layouts import check_layouts, check_offsets
from hipgraft.dialects.hipdnn.op import OPS, ComputeOp, HipdnnOp

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

    @classmethod
    def computes(cls, name: str) -> bool:
        """Returns whether an op of this name is one that the container is made for."""
        return name in OPS and issubclass(OPS[name], ComputeOp)

    @classmethod
    def allows(cls, name: str) -> bool:
        """Returns whether an op of this name may appear inside."""
        return name == "arith.constant" or cls.computes(name)

    def verify(self) -> None:  # noqa: D102
        inputs = [value.type for value in self.inputs]
        outputs = [value.type for value in self.outputs]
        check_layouts(self, "arg_strides", self.arg_strides, inputs)
        check_layouts(self, "result_strides", self.result_strides, outputs)
        check_offsets(self, self.arg_offsets, len(inputs))
        self._check_signature(inputs, outputs)
        check_body(self)

    def _check_signature(self, inputs: list[ir.Type], outputs: list[ir.Type]) -> None:
        blocks = self.operation.regions[0].blocks
        if len(blocks) != 1:
            raise self.error(f"expected one block, but found {len(blocks)}")
        arguments = [argument.type for argument in self.body.arguments]
        if arguments != inputs:
            raise self.error(
                f"expected block arguments ({types_text(inputs)}) like the operands, "
                f"but found ({types_text(arguments)})"
            )


class GraphOp(ContainerOp, mnemonic="graph"):
    """A hipDNN operation graph: compute ops and constants, compiled to one executable."""

    engine = optional(STRING, "engine that is to run it")


class FallbackOp(ContainerOp, mnemonic="fallback"):
    """Connected ops that hipDNN cannot express, compiled like a graph.

    They are torch ops, between `torch_c` casts to the builtin tensors at the border, and hipDNN
    ops that have no graph of their own.
    """

    @classmethod
    def computes(cls, name: str) -> bool:  # noqa: D102
        return name.startswith("torch.") or super().computes(name)

    @classmethod
    def allows(cls, name: str) -> bool:  # noqa: D102
        return name.startswith("torch_c.") or super().allows(name)


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

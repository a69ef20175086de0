"""Compiled containers and their calls."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.bindings import ir
from hipgraft.dialects.hipdnn.fields import VariadicOperand, VariadicResult, optional, required
from hipgraft.dialects.hipdnn.kinds import DICTIONARIES, INTS, LAYOUTS, STRING, SYMBOL, TYPES
from hipgraft.dialects.hipdnn.op import HipdnnOp


class ExecutableOp(HipdnnOp, mnemonic="executable"):
    """A compiled container: its signature, and code for one or more targets."""

    sym_name = required(STRING, "symbol that `hipdnn.execute` calls")
    operand_types = required(TYPES, "logical types of the operands")
    result_types = required(TYPES, "logical types of the results")
    arg_strides = optional(LAYOUTS, "strides of each operand in elements; unit means row-major")
    arg_offsets = optional(INTS, "elements from each pointer to the operand's first element")
    result_strides = optional(LAYOUTS, "strides of each result in elements; unit means row-major")
    variants = required(DICTIONARIES, "code objects and schedule, one dictionary per target")


class ExecuteOp(HipdnnOp, mnemonic="execute"):
    """Runs an executable.

    On tensors it takes the executable's operands and returns its results. On memrefs it returns
    nothing and takes the memrefs of the results after those of the operands.
    """

    TENSORS_ONLY = False

    inputs = VariadicOperand("operands, and on memrefs then the results")
    outputs = VariadicResult("results, on tensors")
    callee = required(SYMBOL, "the executable")


def executable(
    name: str,
    operand_types: Sequence[ir.Type],
    result_types: Sequence[ir.Type],
    variants: Sequence[ir.DictAttr],
    *,
    arg_strides: Sequence[Sequence[int] | None] | None = None,
    arg_offsets: Sequence[int] | None = None,
    result_strides: Sequence[Sequence[int] | None] | None = None,
    loc: ir.Location | None = None,
) -> ExecutableOp:
    """Creates the symbol `name` at the current insertion point."""
    return ExecutableOp.build(
        sym_name=name,
        operand_types=operand_types,
        result_types=result_types,
        arg_strides=arg_strides,
        arg_offsets=arg_offsets,
        result_strides=result_strides,
        variants=variants,
        loc=loc,
    )


def execute(
    inputs: Sequence[ir.Value],
    result_types: Sequence[ir.Type],
    *,
    callee: str,
    loc: ir.Location | None = None,
) -> ExecuteOp:
    """Creates a call of the executable `callee` at the current insertion point."""
    return ExecuteOp.build(inputs, results={"outputs": result_types}, callee=callee, loc=loc)

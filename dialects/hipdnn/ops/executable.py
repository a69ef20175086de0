"""Compiled containers and their calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from hipgraft.dialects.framework.fields import VariadicOperand, VariadicResult, optional, required
from hipgraft.dialects.framework.kinds import DICTIONARIES, INTS, LAYOUTS, STRING, SYMBOL, TYPES
from hipgraft.dialects.hipdnn.binaries import check_binary
from hipgraft.dialects.hipdnn.layouts import check_layouts, check_offsets, types_text
from hipgraft.dialects.hipdnn.op import HipdnnOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import Shape


class ExecutableOp(HipdnnOp, mnemonic="executable"):
    """A compiled container: its signature, and code for one or more targets.

    A binary has `target`, `format`, `objects` and `workspace_size`; with code objects also
    `steps`, in the order in which they run. Buffers are numbered: operands, then results, then
    the workspace. A binary of format `hipdnn` is a graph as hipDNN's JSON for the engine `engine`.
    """

    sym_name = required(STRING, "symbol that `hipdnn.execute` calls")
    operand_types = required(TYPES, "logical types of the operands")
    result_types = required(TYPES, "logical types of the results")
    arg_strides = optional(LAYOUTS, "strides of each operand in elements; unit means row-major")
    arg_offsets = optional(INTS, "elements from each pointer to the operand's first element")
    result_strides = optional(LAYOUTS, "strides of each result in elements; unit means row-major")
    binaries = required(DICTIONARIES, "code objects and schedule, one dictionary per target")
    engine = optional(STRING, "engine of hipDNN that runs it, from the graph in its binaries")

    @property
    def needs_host(self) -> str:
        """Error text: why the graph of an engine does not run here."""
        return (
            f"'{self.OP_NAME}' op '@{self.sym_name}' is a graph for engine '{self.engine or ''}', "
            "which needs a host with hipDNN; 'hipdnn-compile{fallback=iree}' compiles it instead"
        )

    def verify(self) -> None:  # noqa: D102
        types = [*self.operand_types, *self.result_types]
        for type_ in types:
            if not isinstance(type_, ir.RankedTensorType):
                raise self.error(f"expected tensors in its signature, but found {type_}")
        check_layouts(self, "arg_strides", self.arg_strides, self.operand_types)
        check_layouts(self, "result_strides", self.result_strides, self.result_types, written=True)
        check_offsets(self, self.arg_offsets, len(self.operand_types))
        for binary in self.binaries:
            check_binary(self, binary, len(types))


class ExecuteOp(HipdnnOp, mnemonic="execute"):
    """Runs an executable.

    On tensors it takes the executable's operands and returns its results. On memrefs it returns
    nothing and takes the memrefs of the results after those of the operands. There, an operand
    with an offset in `arg_offsets` is the whole buffer that the kernel finds it in.
    """

    checks_values = False

    inputs = VariadicOperand("operands, and on memrefs then the results")
    outputs = VariadicResult("results, on tensors")
    callee = required(SYMBOL, "the executable")

    def verify_symbol_uses(self, executables: Mapping[str, HipdnnOp]) -> None:  # noqa: D102
        callee = executables.get(self.callee)
        if callee is None:
            raise self.error(f"'@{self.callee}' does not reference a 'hipdnn.executable'")
        callee = cast(ExecutableOp, callee)
        if self.operation.results or not self._is_on_memrefs():
            self._check_types("operands", self.inputs, callee.operand_types)
            self._check_types("results", self.outputs, callee.result_types)
        else:
            expected = callee.operand_types + callee.result_types
            self._check_types("operands", self.inputs, expected, callee.arg_offsets or ())

    def _is_on_memrefs(self) -> bool:
        return any(isinstance(value.type, ir.MemRefType) for value in self.inputs)

    def _check_types(
        self,
        what: str,
        values: Sequence[ir.Value],
        expected: Sequence[ir.Type],
        offsets: Sequence[int] = (),
    ) -> None:
        found = [value.type for value in values]
        if _signature(found, offsets) != _signature(expected, offsets):
            raise self.error(
                f"expected {what} ({types_text(expected)}) of '@{self.callee}', "
                f"but found ({types_text(found)})"
            )


def _signature(
    types: Sequence[ir.Type], offsets: Sequence[int]
) -> list[tuple[Shape, ir.Type] | ir.Type]:
    """Returns the part of a type that has to agree; for a whole buffer, only the element type."""
    signature = [_logical(type_) for type_ in types]
    for position, offset in enumerate(offsets[: len(types)]):
        if offset:
            signature[position] = ir.ShapedType(types[position]).element_type
    return signature


def _logical(type_: ir.Type) -> tuple[Shape, ir.Type] | ir.Type:
    """Returns shape and element type: the layout of a memref is not part of the signature."""
    if isinstance(type_, ir.RankedTensorType | ir.MemRefType):
        return tuple(type_.shape), type_.element_type
    return type_


def executable(
    name: str,
    operand_types: Sequence[ir.Type],
    result_types: Sequence[ir.Type],
    binaries: Sequence[ir.DictAttr],
    *,
    arg_strides: Sequence[Sequence[int] | None] | None = None,
    arg_offsets: Sequence[int] | None = None,
    result_strides: Sequence[Sequence[int] | None] | None = None,
    engine: str | None = None,
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
        binaries=binaries,
        engine=engine,
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

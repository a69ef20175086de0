"""Copies ops that IREE lowers itself: the torch ops of a fallback."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import replace

from hipgraft.codegen.lowering.context import Lowering
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.workarounds.scatter_dim import extents_to_add
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.tensors import element_of, shape_of
from hipgraft.ir.torch_dialect import known_int, shape_and_element

# The pattern also matches strings, so that a `%` inside of one is not renamed.
_STRING_OR_NAME = re.compile(r'"(?:[^"\\]|\\.)*"|%[\w.$-]+(?:#\d+)?')
_PREFIX = "%torch_"


class VerbatimCopier:
    """Copies ops of one container, with its values renamed to the lowering's.

    Args:
        container: a container without a parent, so that it prints with its resources.
    """

    def __init__(self, container: ir.Operation):
        self._container = container
        self._state = ir.AsmState(container)
        self._replaced: dict[ir.Value, Tensor] = {}

    def copy(self, op: ir.Operation, lowering: Lowering) -> None:
        """Appends the text of `op` and records its tensor results."""
        if op.name == "torch_c.to_builtin_tensor" and op.operands[0] in self._replaced:
            lowering.tensors[op.results[0]] = self._replaced[op.operands[0]]
            return
        names = {
            value.get_name(self._state): lowering.emitter.logical(lowering.in_own_type(value)).name
            for value in op.operands
            if value in lowering.tensors
        }
        added = extents_to_add(op)
        if added:
            names |= self._moved_dim(op, added, lowering)

        def rename(match: re.Match[str]) -> str:
            token = match.group()
            return token if token[0] == '"' else names.get(token, _PREFIX + token[1:])

        buffer = io.StringIO()
        op.print(self._state, file=buffer)
        lowering.emitter.lines.append(_STRING_OR_NAME.sub(rename, buffer.getvalue()))
        for result in op.results:
            if isinstance(result.type, ir.RankedTensorType):
                name = _PREFIX + result.get_name(self._state)[1:]
                lowering.tensors[result] = Tensor.logical(
                    name, shape_of(result), element_of(result)
                )

    def _moved_dim(self, op: ir.Operation, added: int, lowering: Lowering) -> dict[str, str]:
        """Writes a dim counted from the first; returns its name by the name that it replaces."""
        name = f"{_PREFIX}dim_{len(lowering.emitter.lines)}"
        lowering.emitter.lines.append(
            f"{name} = torch.constant.int {(known_int(op.operands[1]) or 0) + added}"
        )
        return {op.operands[1].get_name(self._state): name}

    def tensor(self, value: ir.Value, lowering: Lowering) -> Tensor:
        """Returns the lowered form of a value tensor of static shape."""
        cast = defining_op(value)
        if cast is not None and cast.name == "torch_c.from_builtin_tensor":
            return lowering.in_own_type(cast.operands[0])
        if value in self._replaced:
            return self._replaced[value]
        found = shape_and_element(value.type)
        assert found is not None  # as containers have static shapes
        made = Tensor.logical("", found[0], found[1].removeprefix("s").removeprefix("u"))
        name = _PREFIX + value.get_name(self._state)[1:]
        text = f"torch_c.to_builtin_tensor {name} : {value.type} -> {made.type}"
        return replace(made, name=lowering.emitter.op("builtin", text))

    def operand_along(self, op: ir.Operation, lowering: Lowering) -> tuple[Tensor, int] | None:
        """Returns the operand `x` of an `op(x, dim, ...)`, and its dim.

        Returns None if the dim is unknown or missing, and for unsigned elements, because the
        lowered form has no signedness.
        """
        dim = known_int(op.operands[1])
        if dim is None:
            return None
        x = self.tensor(op.operands[0], lowering)
        is_unsigned = ",ui" in str(op.operands[0].type)
        return None if is_unsigned or x.rank == 0 else (x, dim % x.rank)

    def replace(
        self, op: ir.Operation, values: Sequence[Tensor | None], lowering: Lowering
    ) -> None:
        """Uses `values` for the results of `op`, which is not copied; None if nothing reads one."""
        for result, value in zip(op.results, values, strict=True):
            if value is None:
                continue
            self._replaced[result] = value
            logical = lowering.emitter.logical(value)
            name = _PREFIX + result.get_name(self._state)[1:]
            cast = f"torch_c.from_builtin_tensor {logical.name} : {logical.type} -> {result.type}"
            lowering.emitter.lines.append(f"{name} = {cast}")

    def resources(self) -> str:
        """Returns the text of the `dense_resource` constants that ops use; empty without any."""
        _, mark, section = str(self._container).partition("\n{-#")
        return mark + section

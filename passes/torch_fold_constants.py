"""Evaluates ops that do not depend on the program's inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import CodegenError, Declined
from hipgraft.ir.element_types import byte_size
from hipgraft.passmanager.base import Pass, PassState, option
from hipgraft.transforms.torch_to_hipdnn.converter import builtin_tensor_type, is_tensor
from hipgraft.transforms.torch_to_hipdnn.views import VIEWS

_LITERAL = "torch.vtensor.literal"


class _Constants:
    """The constant values of a block, and those that are worth evaluating."""

    def __init__(self, block: ir.Block, limit: int):
        self._limit = limit
        self.computed: list[ir.Operation] = []
        self._known: set[ir.Value] = set()
        self._views: set[ir.Value] = set()
        for op in [op.operation for op in block.operations][:-1]:
            self._visit(op)

    def _visit(self, op: ir.Operation) -> None:
        if not op.name.startswith("torch.") or len(op.regions) or not len(op.results):
            return
        if not all(operand in self._known for operand in op.operands):
            return
        if not all(self._fits(result) for result in op.results):
            return
        self._known.update(op.results)
        self.computed.append(op)
        # Views of weights are not evaluated: a window costs nothing.
        plain = op.name in VIEWS or op.name == _LITERAL or not any(map(is_tensor, op.results))
        if plain and all(o in self._views or not is_tensor(o) for o in op.operands):
            self._views.update(op.results)

    def _fits(self, value: ir.Value) -> bool:
        if not is_tensor(value):
            return True
        try:
            kind = builtin_tensor_type(value.type)
        except Declined:
            return False
        size = byte_size(tuple(kind.shape), kind.element_type)
        return size is not None and 0 < size <= self._limit

    def wanted(self) -> list[ir.Value]:
        """Returns computed tensors with a user that is not constant itself."""
        members = set(self.computed)
        return [
            result
            for op in self.computed
            for result in op.results
            if is_tensor(result)
            and result not in self._views
            and any(use.owner.operation not in members for use in result.uses)
        ]


def _needed(values: Sequence[ir.Value]) -> Iterator[ir.Operation]:
    """Returns the ops that compute `values`, and the values that these read."""
    pending = [ir.OpResult(value).owner.operation for value in values]
    seen: set[ir.Operation] = set()
    while pending:
        op = pending.pop()
        if op not in seen:
            seen.add(op)
            yield op
            pending += [ir.OpResult(operand).owner.operation for operand in op.operands]


def _replace(value: ir.Value, attribute: ir.Attribute) -> None:
    owner = ir.OpResult(value).owner.operation
    literal = ir.Operation.create(
        _LITERAL,
        results=[value.type],
        attributes={"value": attribute},
        loc=owner.location,
        ip=ir.InsertionPoint(owner),
    )
    value.replace_all_uses_with(literal.results[0])


def _erase_unread(ops: Sequence[ir.Operation]) -> None:
    for op in reversed(ops):
        if all(next(iter(result.uses), None) is None for result in op.results):
            op.erase()


@dataclass(frozen=True)
class TorchFoldConstantsPass(Pass):
    """Evaluates ops that do not depend on the program's inputs, with IREE on this machine's CPU.

    Examples are attention masks made from `arange`, position indices and tables of sines. As
    literals they need no launch, and conversions see their values. Views of weights do not change.

    Before:
        ```mlir
        %0 = torch.aten.arange.start_step %int0, %int4, %int1, ... -> !torch.vtensor<[4],si64>
        %1 = torch.aten.add.Scalar %0, %int2, %int1 : ... -> !torch.vtensor<[4],si64>
        ```

    After:
        ```mlir
        %1 = torch.vtensor.literal(dense<[2, 3, 4, 5]> : tensor<4xsi64>) : !torch.vtensor<[4],si64>
        ```

    Requires:
        Stage `torch`.

    Ensures:
        Stage `torch`. Ops that do not compile for the CPU stay, with a missed remark.

    Errors:
        None.

    Source:
        own.
    """

    name: ClassVar[str] = "torch-fold-constants"
    requires: ClassVar[str | None] = "torch"
    ensures: ClassVar[str | None] = "torch"

    max_bytes: int = option(1 << 20, "largest tensor that is read or made by a folded op, in bytes")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Folds the constants of every function."""
        for function in [op.operation for op in module.body.operations]:
            if function.name == "func.func" and len(function.regions[0].blocks) == 1:
                self._fold(function.regions[0].blocks[0], state)

    def _fold(self, block: ir.Block, state: PassState) -> None:
        constants = _Constants(block, self.max_bytes)
        values = constants.wanted()
        if not values:
            return
        needed = set(_needed(values))
        ops = [op for op in constants.computed if op in needed]
        # Imported here because it loads the code generator and the runtime.
        from hipgraft.transforms.constant_folding import evaluate

        try:
            attributes = evaluate(ops, values)
        except CodegenError as error:
            state.missed(ops[0], "not-folded", f"constants are not folded: {error.message}")
            return
        for value, attribute in zip(values, attributes, strict=True):
            _replace(value, attribute)
        state.count("folded-values", len(values))
        state.passed(ops[0], "folded", f"{len(ops)} ops as {len(values)} literals")
        _erase_unread(ops)

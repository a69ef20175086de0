"""Evaluates ops that do not depend on the program's inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import CodegenError, Declined
from hipgraft.ir.element_types import byte_size
from hipgraft.passmanager.base import Pass, PassState, option
from hipgraft.transforms.torch_to_hipdnn.converter import builtin_tensor_type, is_tensor
from hipgraft.transforms.torch_to_hipdnn.views import VIEWS

_LITERAL = "torch.vtensor.literal"

_MOST_SOURCES = 32
"""The most literals that count as what a value is computed from."""


class _Constants:
    """The constant values of a block, and those that are worth evaluating.

    Args:
        block: body of a function.
        limit: bytes of the largest tensor that is stored although it is larger than the literals
            that it is computed from.
    """

    def __init__(self, block: ir.Block, limit: int):
        self._limit = limit
        self.computed: list[ir.Operation] = []
        # The largest literals that a constant value is computed from.
        self._sources: dict[ir.Value, frozenset[ir.Value]] = {}
        self._views: set[ir.Value] = set()
        for op in [op.operation for op in block.operations][:-1]:
            self._visit(op)

    def _visit(self, op: ir.Operation) -> None:
        if not op.name.startswith("torch.") or len(op.regions) or not len(op.results):
            return
        if not all(operand in self._sources for operand in op.operands):
            return
        if any(is_tensor(result) and not _size(result) for result in op.results):
            return
        sources = frozenset(op.results if op.name == _LITERAL else ()).union(
            *(self._sources[operand] for operand in op.operands)
        )
        if len(sources) > _MOST_SOURCES:
            sources = frozenset(nlargest(_MOST_SOURCES, sources, _size))
        self._sources.update(dict.fromkeys(op.results, sources))
        self.computed.append(op)
        # Views of weights are not evaluated: a window costs nothing.
        plain = op.name in VIEWS or op.name == _LITERAL or not any(map(is_tensor, op.results))
        if plain and all(o in self._views or not is_tensor(o) for o in op.operands):
            self._views.update(op.results)

    def wanted(self) -> list[ir.Value]:
        """Returns computed tensors to store, which ops that stay read."""
        folded = set(self.computed)
        found: list[ir.Value] = []
        for op in reversed(self.computed):
            read = [
                result
                for result in op.results
                if any(use.owner.operation not in folded for use in result.uses)
            ]
            if all(map(self._is_stored, read)):
                found += reversed(read)
            else:
                folded.discard(op)
        return found[::-1]

    def small(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        """Returns the values that are computed from small constants."""
        return [value for value in values if self._source_bytes(value) <= self._limit]

    def _is_stored(self, value: ir.Value) -> bool:
        """Whether a value's literal takes little memory, or no more than what it replaces."""
        if not is_tensor(value) or value in self._views:
            return False
        return _size(value) <= max(self._limit, self._source_bytes(value))

    def _source_bytes(self, value: ir.Value) -> int:
        return sum(map(_size, self._sources[value]))


def _size(value: ir.Value) -> int:
    """Returns the bytes of a tensor; 0 if these are not known."""
    try:
        kind = builtin_tensor_type(value.type)
    except Declined:
        return 0
    return byte_size(tuple(kind.shape), kind.element_type) or 0


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
    literals they need no launch, and conversions see their values. Views of weights do not change,
    and neither do tensors that are larger than the literals that they are computed from, such as
    weights of 8 bits as floats, unless they are small.

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

    max_bytes: int = option(
        1 << 20, "largest tensor in bytes to store that is larger than what it is computed from"
    )

    def run(self, module: ir.Module, state: PassState) -> None:
        """Folds the constants of every function."""
        for function in [op.operation for op in module.body.operations]:
            if function.name == "func.func" and len(function.regions[0].blocks) == 1:
                self._fold(function.regions[0].blocks[0], state)

    def _fold(self, block: ir.Block, state: PassState) -> None:
        constants = _Constants(block, self.max_bytes)
        values = constants.wanted()
        small = constants.small(values)
        if values and not self._folds(constants, values, state) and len(small) < len(values):
            self._folds(constants, small, state)

    def _folds(self, constants: _Constants, values: Sequence[ir.Value], state: PassState) -> bool:
        """Replaces values by literals; returns False if they do not compile."""
        if not values:
            return True
        needed = set(_needed(values))
        ops = [op for op in constants.computed if op in needed]
        # Imported here because it loads the code generator and the runtime.
        from hipgraft.transforms.constant_folding import evaluate

        try:
            attributes = evaluate(ops, values)
        except CodegenError as error:
            state.missed(ops[0], "not-folded", f"constants are not folded: {error.message}")
            return False
        for value, attribute in zip(values, attributes, strict=True):
            _replace(value, attribute)
        state.count("folded-values", len(values))
        state.passed(ops[0], "folded", f"{len(ops)} ops as {len(values)} literals")
        _erase_unread(ops)
        return True

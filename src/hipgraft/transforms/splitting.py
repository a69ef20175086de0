"""Splits containers that do not compile as a whole at the cut that the fewest bytes cross."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar, cast

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.element_types import byte_size
from hipgraft.transforms.outlining import BodyBuilder, is_splat
from hipgraft.transforms.torch_to_hipdnn.converter import builtin_type, is_tensor

# Ops in a container's body that compute nothing; they are copied into each part that reads them.
_NO_COMPUTE = (
    "arith.constant",
    "hipdnn.yield",
    "torch.constant.",
    "torch.prim.",
    "torch.vtensor.",
    "torch_c.",
)
_SEEN_THROUGH = ("torch_c.", "torch.prim.ListConstruct")

_WORDS_IN_NAME = 4

ItemT = TypeVar("ItemT")


def compute_ops(container: ir.Operation) -> list[ir.Operation]:
    """Returns the ops of a container's body that compute, in order."""
    body = container.regions[0].blocks[0]
    return [op.operation for op in body.operations if not op.operation.name.startswith(_NO_COMPUTE)]


def can_split(container: ir.Operation) -> bool:
    """Whether a container has two compute ops, or an op and a large constant, to separate.

    Each result must be a distinct value that an op computes. Ragged tensors stay in the graph that
    has their batch offsets. Ops of rocMLIR's dialect have containers of their own.
    """
    if container.name == hipdnn.GraphOp.OP_NAME and hipdnn.GraphOp(container).is_ragged:
        return False
    ops = compute_ops(container)
    if any(op.name.startswith("migraphx.") for op in ops):
        return False
    made = {result for op in ops for result in op.results}
    results = [_root(value) for value in _terminator(container).operands]
    if len(set(results)) < len(results) or not made.issuperset(results):
        return False
    return len(ops) > 1 or any(_is_array(value) for op in ops for value in _reads(op))


def split(container: ir.Operation) -> None:
    """Splits a container (see `can_split`) into several, each connected.

    The cut is where the fewest bytes flow from the ops before it to those after it; ties go to
    the most even cut. Large constants, which the compiler may refuse to embed, become
    operands.
    """
    ops = compute_ops(container)
    cuts = range(min(1, len(ops) - 1), len(ops))
    cut = min(cuts, key=lambda cut: (_flow(ops, cut), abs(2 * cut - len(ops))))
    parts = [*_components(ops[:cut]), *_components(ops[cut:])]
    splitter = _Splitter(cast(hipdnn.ContainerOp, hipdnn.wrap(container)))
    for part in parts:
        splitter.make(part)
    splitter.finish()


class _Splitter:
    """Builds the parts of one container before it, in order.

    Attributes:
        outside: values outside of the old body, by the body's values.
        strides: strides of such a value; None or absent means row-major.
        offsets: offset of its first element; absent means 0.
    """

    def __init__(self, container: hipdnn.ContainerOp):
        self._container = container
        arguments: list[ir.Value] = list(container.body.arguments)
        given = container.arg_strides or [None] * len(arguments)
        offsets = container.arg_offsets or [0] * len(arguments)
        self.outside = dict(zip(arguments, container.inputs, strict=True))
        self.strides = dict(zip(arguments, given, strict=True))
        self.offsets = dict(zip(arguments, offsets, strict=True))
        terminator = _terminator(container.operation)
        self._results = [_root(value) for value in terminator.operands]
        for root, strides in zip(self._results, container.result_strides or [], strict=False):
            self.strides[root] = strides

    def make(self, ops: Sequence[ir.Operation]) -> None:
        """Builds the container of one part."""
        inputs = list(dict.fromkeys(value for op in ops for value in _reads(op)))
        made = [result for op in ops for result in op.results]
        inputs = [value for value in inputs if value not in made]
        outputs: list[ir.Value] = [
            result for op in ops for result in op.results if self._is_read(result, ops)
        ]
        container = self._empty(ops, inputs, outputs)
        body = BodyBuilder(container.body, inputs)
        with ir.InsertionPoint(container.body):
            for old in inputs:
                if is_tensor(old):
                    body.define(old, _cast("from", body.value(old), old.type))
        for op in ops:
            body.copy(op, [result.type for result in op.results])
        with ir.InsertionPoint(container.body):
            yielded = [_to_builtin(body.value(value), value) for value in outputs]
        body.finish(yielded, container.operation.location)
        self.outside.update(zip(outputs, container.outputs, strict=True))

    def finish(self) -> None:
        """Replaces the old container by its parts."""
        old = self._container.operation
        for result, root in zip(old.results, self._results, strict=True):
            result.replace_all_uses_with(self.outside[root])
        old.erase()

    def _operand(self, value: ir.Value) -> ir.Value:
        if value not in self.outside:
            owner = ir.OpResult(value).owner.operation
            self.outside[value] = owner.clone().results[0]
        return self.outside[value]

    def _is_read(self, value: ir.Value, members: Sequence[ir.Operation]) -> bool:
        inside = set(members)
        others = [op for op in compute_ops(self._container.operation) if op not in inside]
        return value in self._results or any(value in _reads(op) for op in others)

    def _empty(
        self, ops: Sequence[ir.Operation], inputs: list[ir.Value], outputs: list[ir.Value]
    ) -> hipdnn.FallbackOp:
        words = [op.name.split(".")[-1] for op in ops[:_WORDS_IN_NAME]]
        with ir.InsertionPoint(self._container.operation):
            return hipdnn.fallback(
                [self._operand(value) for value in inputs],
                [builtin_type(value) for value in outputs],
                name="_".join(words),
                arg_strides=_unless_all([self.strides.get(value) for value in inputs], None),
                arg_offsets=_unless_all([self.offsets.get(value, 0) for value in inputs], 0),
                result_strides=_unless_all([self.strides.get(value) for value in outputs], None),
                loc=ir.Location.fused([op.location for op in ops]),
            )


def _terminator(container: ir.Operation) -> ir.Operation:
    return list(container.regions[0].blocks[0].operations)[-1].operation


def _is_array(value: ir.Value) -> bool:
    """Whether a value is a constant of many numbers."""
    owner = value.owner
    return (
        not isinstance(owner, ir.Block) and owner.name == "arith.constant" and not is_splat(value)
    )


def _reads(op: ir.Operation) -> list[ir.Value]:
    """Returns the values that an op depends on: computed results, block arguments, arrays."""
    return [root for operand in op.operands for root in _roots(operand)]


def _roots(value: ir.Value) -> Iterator[ir.Value]:
    owner = value.owner
    if isinstance(owner, ir.Block) or _is_array(value) or not owner.name.startswith(_NO_COMPUTE):
        yield value
    elif owner.name.startswith(_SEEN_THROUGH):
        for operand in owner.operands:
            yield from _roots(operand)


def _root(value: ir.Value) -> ir.Value:
    """Returns the value of which a yielded value is a cast."""
    return next(_roots(value), value)


def _flow(ops: Sequence[ir.Operation], cut: int) -> int:
    """Returns the bytes of the values that ops after a cut read from ops before it."""
    made = {result for op in ops[:cut] for result in op.results}
    crossing = {value for op in ops[cut:] for value in _reads(op) if value in made}
    return sum(_size(value) for value in crossing)


def _size(value: ir.Value) -> int:
    kind = ir.RankedTensorType(builtin_type(value))
    return byte_size(kind.shape, kind.element_type) or 0


def _components(ops: Sequence[ir.Operation]) -> list[list[ir.Operation]]:
    """Groups ops that are connected through the values they make, in order."""
    groups: list[list[ir.Operation]] = []
    for op in ops:
        read = set(_reads(op))
        joined = [group for group in groups if any(read.intersection(o.results) for o in group)]
        groups = [group for group in groups if group not in joined]
        groups.append([*(member for group in joined for member in group), op])
    position = {op: index for index, op in enumerate(ops)}
    return [sorted(group, key=position.__getitem__) for group in groups]


def _to_builtin(new: ir.Value, old: ir.Value) -> ir.Value:
    return _cast("to", new, builtin_type(old)) if is_tensor(old) else new


def _cast(direction: str, value: ir.Value, kind: ir.Type) -> ir.Value:
    name = f"torch_c.{direction}_builtin_tensor"
    return ir.Operation.create(name, results=[kind], operands=[value]).results[0]


def _unless_all(values: list[ItemT], default: ItemT) -> list[ItemT] | None:
    return None if all(value == default for value in values) else values

"""Emits pointwise ops with several results that are stored as one `linalg.generic`.

IREE fuses ops that each emit a `linalg.generic`, except across a result that the container yields
and other ops read. A sum that is stored in f16 and normalised in f32 would take two launches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hipgraft.codegen.lowering.context import Lowering
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor, common_order
from hipgraft.codegen.lowering.pointwise.pointwise import compute_element
from hipgraft.codegen.workarounds.stored_products import loses_product
from hipgraft.codegen.workarounds.transposed_results import are_different
from hipgraft.dialects.hipdnn import PointwiseMode, PointwiseOp, wrap
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import element_of, shape_of


class PointwiseGroups:
    """Delays pointwise ops of one shape until another op reads their results.

    Args:
        lowering: the lowering of the container.
        yielded: values that the container yields.
        lower: lowers a single op.
    """

    def __init__(
        self,
        lowering: Lowering,
        yielded: Sequence[ir.Value],
        lower: Callable[[ir.Operation], None],
    ) -> None:
        self._lowering = lowering
        self._yielded = set(yielded)
        self._lower = lower
        self._ops: list[ir.Operation] = []

    def visit(self, op: ir.Operation) -> None:
        """Lowers an op, or delays it."""
        if len(self._yielded) > 1 and self._is_member(op):
            if self._ops and shape_of(op.results[0]) != shape_of(self._ops[0].results[0]):
                self.flush()
            self._ops.append(op)
            return
        products = {value for one in self._ops for value in one.operands if self._is_lost(value)}
        if not {one.results[0] for one in self._ops}.union(products).isdisjoint(_read(op)):
            self.flush()
        if len(self._yielded) > 1:
            self._store_products(op)
        self._lower(op)

    def _store_products(self, op: ir.Operation) -> None:
        """Stores products that an op reads in separate dispatches if later loops may store them."""
        for value in dict.fromkeys(_read(op)):
            readers = [use.owner.operation for use in value.uses]
            if self._is_lost(value) and sum(map(self._is_member, readers)) > 1:
                emitter, made = self._lowering.emitter, self._lowering.tensor(value)
                self._lowering.tensors[value] = emitter.materialized(emitter.logical(made))

    def flush(self) -> None:
        """Lowers the delayed ops."""
        ops, self._ops = self._ops, []
        stored = self._stored(ops)
        made = {op.results[0] for op in ops}
        read = dict.fromkeys(one for op in ops for one in op.operands if one not in made)
        inputs = {value: self._lowering.tensor(value) for value in read}
        if len(stored) > 1 and not self._yielded.isdisjoint(stored):
            shape = shape_of(stored[0])
            stored += [
                value
                for value in read
                if self._is_lost(value) and shape_of(value) == shape and self._leaves(value, ops)
            ]
            orders = self._lowering.orders
            wanted = {orders[value] for value in stored if value in orders}
            if not are_different(wanted):
                order = next(iter(wanted), common_order(list(inputs.values()), tuple(shape)))
                results = self._joined(ops, stored, inputs, order)
                self._lowering.tensors.update(zip(stored, results, strict=True))
                return
        for op in ops:
            self._lower(op)

    def _is_member(self, op: ir.Operation) -> bool:
        if op.name != PointwiseOp.OP_NAME or op.name in self._lowering.alternatives:
            return False
        return _pointwise(op).mode is not PointwiseMode.GEN_INDEX

    def _stored(self, ops: Sequence[ir.Operation]) -> list[ir.Value]:
        """Returns the results that the container yields or that other ops read."""
        return [op.results[0] for op in ops if self._leaves(op.results[0], ops)]

    def _is_lost(self, value: ir.Value) -> bool:
        return loses_product(value, self._lowering.target)

    def _leaves(self, value: ir.Value, ops: Sequence[ir.Operation]) -> bool:
        """Whether the container yields a value, or ops other than `ops` read it."""
        read = any(use.owner.operation not in ops for use in value.uses)
        return value in self._yielded or read

    def _joined(
        self,
        ops: Sequence[ir.Operation],
        stored: Sequence[ir.Value],
        inputs: Mapping[ir.Value, Tensor],
        order: Sequence[int],
    ) -> list[Tensor]:
        """Emits one loop nest over `order` that computes the values of `stored`."""

        def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
            known = dict(zip(inputs, arguments, strict=False))
            for op in ops:
                values = [known[value] for value in op.operands]
                known[op.results[0]] = compute_element(_pointwise(op), scalars, values)
            return [scalars.cast(known[value], element_of(value)) for value in stored]

        emitter, shape = self._lowering.emitter, tuple(shape_of(stored[0]))
        inits = [
            emitter.empty(Tensor("", shape, element_of(value), tuple(order))) for value in stored
        ]
        operands = list(inputs.values())
        return emitter.generic("joined", operands, inits, body, shape=shape, order=order)


def _pointwise(op: ir.Operation) -> PointwiseOp:
    wrapped = wrap(op)
    assert isinstance(wrapped, PointwiseOp)
    return wrapped


def _read(op: ir.Operation) -> list[ir.Value]:
    """Returns the values that an op reads, also inside its regions."""
    inner = [one.operation for region in op.regions for block in region for one in block]
    return [*op.operands, *(value for one in inner for value in _read(one))]

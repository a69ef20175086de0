"""Gathers paged keys and values into one sequence per batch."""

from __future__ import annotations

from math import prod

from hipgraft.codegen.lowering.attention.mask import rows_in_use
from hipgraft.codegen.lowering.context import Lowering
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.dialects.hipdnn import SdpaOp
from hipgraft.ir.bindings import ir


def keys_and_values(op: SdpaOp, lowering: Lowering) -> tuple[Tensor, Tensor]:
    """Returns the keys and the values as [B, H, Skv, D]."""
    if op.page_table_k is None or op.page_table_v is None:
        return lowering.tensor(op.k), rows_in_use(lowering, op.v, op.seq_len_kv)
    return (
        _gather(op, lowering, op.k, op.page_table_k),
        _gather(op, lowering, op.v, op.page_table_v),
    )


def _gather(op: SdpaOp, lowering: Lowering, pages: ir.Value, table: ir.Value) -> Tensor:
    """Emits the sequence of each batch; row `j` is row `j % size` of page `table[j / size]`."""
    emitter = lowering.emitter
    pool = lowering.tensor(pages)
    batches = lowering.tensor(op.q).shape[0]
    entries = lowering.tensor(table)
    entries = emitter.reshape(entries, [batches, prod(entries.shape) // batches])
    lengths = lowering.optional(op.seq_len_kv)
    lengths = None if lengths is None else emitter.reshape(lengths, [lengths.shape[0]])
    count, heads, size, width = pool.shape

    def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
        batch, head, key, column = (scalars.index(dim) for dim in range(4))
        rows = scalars.constant(size, "index")
        slot = scalars.op("arith.divui", key, rows)
        page = scalars.element(entries, batch, slot)
        # Table entries for unused pages may hold any number.
        last = scalars.constant(count - 1, "index")
        page = scalars.op("arith.minui", scalars.cast(page, "index"), last)
        row = scalars.op("arith.remui", key, rows)
        value = scalars.element(pool, page, head, row, column)
        if lengths is None:
            return [value]
        # Unused rows may hold any element, and a NaN times a weight of 0 would be NaN.
        length = scalars.cast(scalars.element(lengths, batch), "index")
        used = scalars.compare("lt", key, length)
        return [scalars.select(used, value, scalars.constant(0, value.type))]

    shape = (batches, heads, op.keys, width)
    init = emitter.empty(Tensor.logical("", shape, pool.element))
    return emitter.generic("gathered", [], [init], body, shape=shape)[0]

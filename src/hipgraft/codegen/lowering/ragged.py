"""Reads and writes ragged tensors: batches of different lengths, consecutive in memory."""

from __future__ import annotations

from dataclasses import dataclass

from hipgraft.codegen.layout import Layout
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.offsets import chosen, indices_at, written
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor


@dataclass(frozen=True)
class Ragged:
    """The memory layout of a ragged tensor.

    Attributes:
        layout: layout as if all batches had full length; its batch stride is not used.
        offsets: the start of each batch and the end of the last one, `[B + 1]` integers.
        multiplier: elements per unit of the offsets.
    """

    layout: Layout
    offsets: Tensor
    multiplier: int

    @classmethod
    def of(cls, emitter: Emitter, layout: Layout, offsets: Tensor, multiplier: int) -> Ragged:
        """Returns the form of a tensor whose `offsets` may have unit dims."""
        return cls(layout, emitter.reshape(offsets, [layout.shape[0] + 1]), multiplier)

    def read(self, emitter: Emitter, memory: Tensor) -> Tensor:
        """Emits the logical tensor stored in the physical tensor `memory`."""
        flat = emitter.reshape(memory, [self.layout.physical_elements])

        def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
            batch = scalars.index(0)
            offset = self._start(scalars, batch)
            for dim, stride in enumerate(self.layout.strides[1:], start=1):
                step = scalars.constant(stride, "index")
                distance = scalars.op("arith.muli", scalars.index(dim), step)
                offset = scalars.op("arith.addi", offset, distance)
            inside = scalars.compare("lt", offset, self._start(scalars, batch, after=1))
            return [chosen(scalars, inside, flat, [offset])]

        shape = self.layout.shape
        init = emitter.empty(Tensor.logical("", shape, self.layout.element_type))
        return emitter.generic("unpacked", [], [init], body, shape=shape)[0]

    def write(self, emitter: Emitter, value: Tensor) -> Tensor:
        """Emits the physical tensor that holds the batches of `value`; 0 between them."""
        source = emitter.logical(value)
        shape, strides = self.layout.shape[1:], self.layout.strides[1:]

        def element(scalars: ScalarEmitter, offset: Scalar) -> Scalar:
            batch = self._batch_at(scalars, offset)
            after = scalars.op("arith.subi", offset, self._start(scalars, batch))
            indices, inside = indices_at(scalars, after, shape, strides)
            before_end = scalars.compare("lt", offset, self._start(scalars, batch, after=1))
            inside = scalars.op("arith.andi", inside, before_end)
            return chosen(scalars, inside, source, [batch, *indices])

        return written(emitter, self.layout, element)

    def lengths(self, emitter: Emitter, dim: int) -> Tensor:
        """Emits the extent of `dim` in each batch, `[B]` of i32."""
        step = self.layout.strides[dim]

        def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
            batch = scalars.index(0)
            end, start = self._start(scalars, batch, after=1), self._start(scalars, batch)
            elements = scalars.op("arith.subi", end, start)
            rows = scalars.op("arith.ceildivsi", elements, scalars.constant(step, "index"))
            return [scalars.cast(rows, "i32")]

        shape = self.layout.shape[:1]
        init = emitter.empty(Tensor.logical("", shape, "i32"))
        return emitter.generic("lengths", [], [init], body, shape=shape)[0]

    def _start(self, scalars: ScalarEmitter, batch: Scalar, after: int = 0) -> Scalar:
        """Emits the offset of the first element of batch `batch + after`."""
        if after:
            batch = scalars.op("arith.addi", batch, scalars.constant(after, "index"))
        offset = scalars.cast(scalars.element(self.offsets, batch), "index")
        start = scalars.op("arith.muli", offset, scalars.constant(self.multiplier, "index"))
        return scalars.op("arith.addi", start, scalars.constant(self.layout.offset, "index"))

    def _batch_at(self, scalars: ScalarEmitter, offset: Scalar) -> Scalar:
        """Emits the last batch that starts at or before `offset`, or batch 0, by bisection."""
        batches = self.layout.shape[0]
        batch = scalars.constant(0, "index")
        last = scalars.constant(batches - 1, "index")
        for power in reversed(range((batches - 1).bit_length())):
            step = scalars.constant(1 << power, "index")
            further = scalars.op("arith.addi", batch, step)
            safe = scalars.op("arith.minui", further, last)
            starts = scalars.compare("le", self._start(scalars, safe), offset)
            exists = scalars.compare("le", further, last)
            reached = scalars.op("arith.andi", starts, exists)
            batch = scalars.select(reached, further, batch)
        return batch

"""Packs 4-bit elements, two to a byte, and writes them as bytes."""

from __future__ import annotations

import math
from dataclasses import replace

from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor


def packed(emitter: Emitter, codes: Tensor, element: str) -> Tensor:
    """Emits 4-bit elements from `codes`, which holds one in the low bits of each byte."""
    count = math.prod(codes.shape)
    flat = emitter.reshape(codes, [count])

    def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
        two, one = (scalars.constant(number, "index") for number in (2, 1))
        index = scalars.op("arith.muli", scalars.index(0), two)
        low = scalars.element(flat, index)
        high = scalars.element(flat, scalars.op("arith.addi", index, one))
        low = scalars.op("arith.andi", low, scalars.constant(15, "i8"))
        high = scalars.op("arith.shli", high, scalars.constant(4, "i8"))
        return [scalars.op("arith.ori", low, high)]

    init = emitter.empty(Tensor.logical("", (count // 2,), "i8"))
    pairs = emitter.generic("packed", [], [init], body, shape=(count // 2,))[0]
    result = Tensor.logical("", (count,), element)
    text = f"iree_tensor_ext.bitcast {pairs.name} : {pairs.type} -> {result.type}"
    return emitter.reshape(replace(result, name=emitter.op("nibbles", text)), codes.shape)

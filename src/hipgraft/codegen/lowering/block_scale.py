"""Lowers block scaling: low-precision elements that share a scale per block."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hipgraft.codegen.lowering.context import Lowering, float_compute_type, lowers, unsupported
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.elementwise import elementwise
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.small_floats import rounded as round_to_spacing
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.reduction.reduction import reduce_dims
from hipgraft.dialects.hipdnn import (
    BlockScaleDequantizeOp,
    BlockScaleQuantizeOp,
    ReductionMode,
)
from hipgraft.ir.dtypes import largest_finite
from hipgraft.ir.element_types import is_float
from hipgraft.ir.tensors import element_of, shape_of

_EXPONENT_ONLY = "f8E8M0FNU"

# The largest number of each type to which blocks can be scaled.
_FLOATS = ("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ", "f4E2M1FN", "f16", "bf16", "f32")
_LARGEST = {"i8": 127.0} | {element: largest_finite(element) for element in _FLOATS}


@lowers(BlockScaleDequantizeOp)
def lower_block_scale_dequantize(
    op: BlockScaleDequantizeOp, lowering: Lowering
) -> Sequence[Tensor]:
    """Multiplies each element by the scale of its block."""
    emitter, x, scale = lowering.emitter, lowering.tensor(op.x), lowering.tensor(op.scale)
    compute = float_compute_type(op, x.element)
    split = _split_dims(x.shape, scale.shape, op.blocks)
    if split is None:
        scale = _repeated(emitter, scale, op.blocks, x.shape)
    for dim in split or ():
        x = emitter.split_dim(x, dim, scale.shape[dim])
        scale = scale.with_unit_dim(dim + 1)

    def formula(m: Arithmetic, values: list[Scalar]) -> Scalar:
        element, factor = values
        return m.mul(element, m.math("exp2", m.negate(factor)) if op.is_negative_scale else factor)

    y = elementwise(emitter, "scaled", [x, scale], formula, compute, element=element_of(op.y))
    for dim in reversed(split or ()):
        y = emitter.merge_dims(y, dim)
    return [y]


def _split_dims(x: Sequence[int], scale: Sequence[int], blocks: Sequence[int]) -> list[int] | None:
    """Returns the dims to split into blocks, each numbered as after the splits before it.

    Returns None if the last block of a dim is partial.
    """
    dims: list[int] = []
    for dim, block in enumerate(blocks):
        if scale[dim] in (1, x[dim]):
            continue  # this dim broadcasts
        if x[dim] % block:
            return None
        dims.append(dim + len(dims))
    return dims


def _repeated(
    emitter: Emitter, scale: Tensor, blocks: Sequence[int], shape: Sequence[int]
) -> Tensor:
    """Emits the scale of each element."""

    def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
        indices = [
            scalars.op("arith.divui", scalars.index(dim), scalars.constant(block, "index"))
            for dim, block in enumerate(blocks)
        ]
        return [scalars.element(scale, *indices)]

    init = emitter.empty(Tensor.logical("", shape, scale.element))
    return emitter.generic("repeated", [], [init], body, shape=shape)[0]


@lowers(BlockScaleQuantizeOp)
def lower_block_scale_quantize(op: BlockScaleQuantizeOp, lowering: Lowering) -> Sequence[Tensor]:
    """Returns the quotients of elements and their block's scale, and the scales."""
    emitter, x = lowering.emitter, lowering.tensor(op.x)
    element, kind = element_of(op.y), element_of(op.scale)
    if element not in _LARGEST or kind not in (*_LARGEST, _EXPONENT_ONLY):
        raise unsupported(op, f"to {element} with scales of {kind}")
    axis, shape = op.blocked_axis, shape_of(op.scale)
    compute = float_compute_type(op, x.element)
    blocks = emitter.split_dim(x, axis, shape[axis])
    largest = reduce_dims(emitter, ReductionMode.AMAX, blocks, [axis + 1], compute)
    scale = elementwise(
        emitter,
        "scale",
        [largest],
        lambda m, values: _scale(m, values[0], element, kind),
        compute,
        element=kind,
    )
    y = _quantized(lowering, [blocks, scale], element, compute)
    return [emitter.merge_dims(y, axis), emitter.reshape(scale, shape)]


def _quantized(
    lowering: Lowering, operands: Sequence[Tensor], element: str, compute: str
) -> Tensor:
    emitter, blocks = lowering.emitter, operands[0]
    # On RDNA the compiler rejects vectors of 4-bit elements that share a byte with others.
    as_bytes = element == "f4E2M1FN" and lowering.target.is_rdna

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        values = [scalars.cast(value, compute) for value in arguments[:2]]
        quotient = _quotient(Arithmetic(scalars, compute), values, element)
        y = scalars.cast(quotient, element)
        return [scalars.cast(scalars.bitcast(y, "i4"), "i8")] if as_bytes else [y]

    written = "i8" if as_bytes else element
    y = emitter.pointwise("quantized", operands, blocks.shape, written, body)
    return _packed(emitter, y, element) if as_bytes else y


def _scale(m: Arithmetic, largest: Scalar, element: str, kind: str) -> Scalar:
    """Emits the scale that maps `largest` to the largest `element`, rounded up to `kind`."""
    exact = m.div(largest, m.constant(_LARGEST[element]))
    if kind == _EXPONENT_ONLY:
        return _power_of_two(m.scalars, exact)
    limit = _LARGEST[kind]
    exact = m.select("gt", exact, limit, m.constant(limit), exact)
    return (
        exact
        if kind == "f32"
        else round_to_spacing(m.scalars, m.scalars.cast(exact, "f32"), kind, "ceil")
    )


def _power_of_two(scalars: ScalarEmitter, value: Scalar) -> Scalar:
    """Emits the next power of two from `value` on, as the exponent that `_EXPONENT_ONLY` stores."""
    bits = scalars.bitcast(scalars.cast(value, "f32"), "i32")
    up = scalars.op("arith.addi", bits, scalars.constant(0x7FFFFF, "i32"))
    exponent = scalars.op("arith.shrui", up, scalars.constant(23, "i32"))
    exponent = scalars.op("arith.minui", exponent, scalars.constant(255, "i32"))  # 255 encodes NaN
    return scalars.bitcast(scalars.cast(exponent, "i8"), _EXPONENT_ONLY)


def _quotient(m: Arithmetic, values: list[Scalar], element: str) -> Scalar:
    x, scale = values
    limit = _LARGEST[element]
    ratio = m.select("eq", scale, 0, m.constant(0), m.div(x, scale))
    ratio = m.select("gt", ratio, limit, m.constant(limit), ratio)
    ratio = m.select("lt", ratio, -limit, m.constant(-limit), ratio)
    return ratio if is_float(element) else m.math("roundeven", ratio)


def _packed(emitter: Emitter, codes: Tensor, element: str) -> Tensor:
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

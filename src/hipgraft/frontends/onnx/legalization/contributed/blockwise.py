"""Rewrites contributed operators on low-bit weights with a scale per block of a row."""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer

_F32, _INT32, _UINT8 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.UINT8


def unpacked(writer: Writer, packed: str, shape: list[int], bits: int) -> str:
    """Unpacks the elements of a tensor of bytes to f32, lowest bits first, in a longer last dim."""
    wide = writer.cast(packed, _INT32)
    count = 8 // bits
    if count == 1:
        return writer.cast(wide, _F32)
    # Shifts as a division: no byte is negative.
    steps = writer.const([1 << (bits * index) for index in range(count)], np.int32)
    shifted = writer.op("Div", writer.reshape(wide, [*shape, 1]), steps)
    parts = writer.op("Mod", shifted, writer.const(1 << bits, np.int32))
    return writer.cast(writer.reshape(parts, [*shape[:-1], shape[-1] * count]), _F32)


def _centred(writer: Writer, packed: str, shape: list[int], bits: int) -> str | None:
    """Returns a constant's elements minus half their range, as INT8; None for other values.

    Kernels then need not unpack the elements.
    """
    stored = writer.mapped_data(packed)
    if stored is None or stored.size != prod(shape):
        return None
    steps = np.arange(0, 8, bits, dtype=np.uint8)
    numbers = np.asarray(stored, np.uint8).reshape([*shape, 1]) >> steps & ((1 << bits) - 1)
    signed = (numbers.astype(np.int16) - (1 << (bits - 1))).astype(np.int8)
    return writer.const(signed.reshape([*shape[:-1], -1]))


def _zero_points(writer: Writer, index: int, rows: int, blocks: int, bits: int) -> str:
    """Returns zero points of shape `[rows, blocks]`, or a scalar if none are given."""
    if not writer.has_input(index):
        return writer.like(float(1 << (bits - 1)), _F32)
    name = writer.node.input[index]
    if writer.element(name) != _UINT8:
        return writer.reshape(writer.cast(name, _F32), [rows, blocks])
    width = -(-blocks * bits // 8)
    flat = unpacked(writer, writer.reshape(name, [rows, width]), [rows, width], bits)
    return writer.slice(flat, 1, 0, blocks)


def _matmul_nbits(writer: Writer) -> None:
    """Rewrites the operator on `(a, packed b, scales, zero points, group indices, bias)`."""
    bits, block = int(writer.attribute("bits", 4)), int(writer.attribute("block_size"))
    depth, columns = int(writer.attribute("K")), int(writer.attribute("N"))
    if bits not in (2, 4, 8) or writer.has_input(4) or writer.attribute("weight_prepacked", 0):
        raise Refused(f"of {bits} bits in this layout is not supported")
    a, packed, scales = writer.node.input[:3]
    element = writer.element(a)
    blocks = -(-depth // block)
    shape = [columns, blocks, block * bits // 8]
    zero = _zero_points(writer, 3, columns, blocks, bits)
    if writer.has_input(3):
        zero = writer.reshape(zero, [columns, blocks, 1])
    centred = _centred(writer, packed, shape, bits)
    if centred is None:
        numbers = unpacked(writer, writer.reshape(packed, shape), shape, bits)
    else:
        numbers = writer.cast(centred, _F32)
        zero = writer.op("Sub", zero, writer.like(float(1 << (bits - 1)), _F32))
    if centred is None or writer.has_input(3):
        numbers = writer.op("Sub", numbers, zero)
    scale = writer.reshape(writer.cast(scales, _F32), [columns, blocks, 1])
    weights = writer.op("Mul", numbers, scale)
    weights = writer.reshape(weights, [columns, blocks * block])
    if blocks * block != depth:
        weights = writer.slice(weights, 1, 0, depth)
    y = writer.op("MatMul", a, writer.transpose(writer.cast(weights, element), [1, 0]))
    if writer.has_input(5):
        y = writer.op("Add", y, writer.node.input[5])
    writer.result(y)


def _gather_block_quantized(writer: Writer) -> None:
    """`(data, indices, scales, zero points)`; rows are gathered, then dequantised."""
    data, indices, scales = writer.node.input[:3]
    shape = writer.shape(data)
    bits, block = int(writer.attribute("bits", 4)), int(writer.attribute("block_size", 128))
    rank = len(shape)
    axes = [int(writer.attribute(name, value)) % rank for name, value in _AXES.items()]
    if rank != 2 or axes != [0, 1] or bits not in (2, 4, 8) or not block:
        raise Refused("of other than rows of a matrix is not supported")
    is_packed = writer.element(data) == _UINT8
    blocks = writer.shape(scales)[1]
    picked = writer.shape(indices)
    count = int(np.prod(picked))
    flat = writer.reshape(indices, [count])
    rows = writer.op("Gather", data, flat)
    if is_packed:
        rows = unpacked(writer, rows, [count, shape[1]], bits)
        zero = writer.like(float(1 << (bits - 1)), _F32)
    else:
        rows, zero = writer.cast(rows, _F32), writer.like(0.0, _F32)
    extent = shape[1] * (8 // bits if is_packed else 1)
    if writer.has_input(3):
        zeros = writer.op("Gather", writer.node.input[3], flat)
        if is_packed:
            width = writer.shape(writer.node.input[3])[1]
            zeros = unpacked(writer, zeros, [count, width], bits)
            zeros = writer.slice(zeros, 1, 0, blocks)
        zero = writer.reshape(writer.cast(zeros, _F32), [count, blocks, 1])
    scale = writer.cast(writer.op("Gather", scales, flat), _F32)
    if extent % block:  # the last block may be partial
        rows = writer.pad(rows, [0, 0], [0, blocks * block - extent])
    centred = writer.op("Sub", writer.reshape(rows, [count, blocks, block]), zero)
    y = writer.op("Mul", centred, writer.reshape(scale, [count, blocks, 1]))
    y = writer.slice(writer.reshape(y, [count, blocks * block]), 1, 0, extent)
    writer.result(writer.cast(writer.reshape(y, [*picked, extent]), writer.element(scales)))


def _matmul_bnb4(writer: Writer) -> None:
    """`(a, packed b, largest magnitude of each block)`; blocks run over rows of b, [N, K]."""
    a, packed, largest = writer.node.input[:3]
    block, element = int(writer.attribute("block_size")), writer.element(a)
    shape = [int(writer.attribute(name)) for name in ("N", "K")]
    count = shape[0] * shape[1]
    wide = writer.reshape(writer.cast(packed, _INT32), [-1, 1])
    steps = writer.const([16, 1], np.int32)  # the first of two is in the higher bits
    codes = writer.op("Mod", writer.op("Div", wide, steps), writer.const(16, np.int32))
    table = _NORMAL_FLOATS if writer.attribute("quant_type", 1) else _FLOATS
    numbers = writer.op("Gather", writer.const(table, np.float32), writer.reshape(codes, [-1]))
    blocks = -(-count // block)
    numbers = writer.slice(numbers, 0, 0, count)
    if blocks * block != count:
        numbers = writer.pad(numbers, [0], [blocks * block - count])
    scales = writer.reshape(writer.cast(largest, _F32), [blocks, 1])
    weights = writer.op("Mul", writer.reshape(numbers, [blocks, block]), scales)
    weights = writer.slice(writer.reshape(weights, [blocks * block]), 0, 0, count)
    weights = writer.cast(writer.reshape(weights, shape), element)
    if writer.attribute("transB", 1):
        weights = writer.transpose(weights, [1, 0])
    writer.result(writer.op("MatMul", a, weights))


_FLOATS = [
    sign * value
    for sign in (1.0, -1.0)
    for value in (0.0, 1 / 192, 2 / 3, 1.0, 1 / 3, 1 / 2, 1 / 6, 1 / 4)
]
"""Numbers of QLoRA's FP4 by their codes."""
_NORMAL_FLOATS = [
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
    -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
    0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
    0.7229568362236023, 1.0,
]  # fmt: skip
"""Numbers of QLoRA's NF4 by their codes: quantiles of the normal distribution."""

_AXES = {"gather_axis": 0, "quantize_axis": 1}

BLOCKWISE: dict[str, Rewrite] = {
    "GatherBlockQuantized": _gather_block_quantized,
    "MatMulBnb4": _matmul_bnb4,
    "MatMulNBits": _matmul_nbits,
}
"""The rewrites, by operator."""

"""Rewrites contributed attention with equal numbers of query and key heads."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.contributed.qlinear import dequantized
from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer

_INT32 = TensorProto.INT32
_MASKED = -10000.0


@dataclass(frozen=True)
class Heads:
    """Operands of attention, heads before rows.

    Attributes:
        query: `[batch, heads, rows, size]`.
        key: `[batch, heads, keys, size]`.
        value: `[batch, heads, keys, value size]`.
        batch: extent.
        heads: extent.
        rows: extent.
        keys: extent.
        past: how many of the keys come before the first row.
        size: extent.
        element: element type of all operands.
    """

    query: str
    key: str
    value: str
    batch: int
    heads: int
    rows: int
    keys: int
    past: int
    size: int
    element: int


def _split(writer: Writer, x: str, heads: int, shape: list[int]) -> str:
    """`[batch, rows, hidden]` with heads before rows."""
    batch, rows, hidden = shape
    split = writer.reshape(x, [batch, rows, heads, hidden // heads])
    return writer.transpose(split, [0, 2, 1, 3])


def _masks(writer: Writer, heads: Heads, mask: int, bias: int) -> list[str]:
    """Returns the summands of scores: causal mask, input `mask` and input `bias`."""
    added: list[str] = []
    if writer.attribute("unidirectional", 0):
        distance = np.arange(heads.keys) - np.arange(heads.rows)[:, None] - heads.past
        dtype = np.float16 if heads.element == TensorProto.FLOAT16 else np.float32
        lowest = np.where(distance > 0, np.finfo(dtype).min / 2, 0).astype(dtype)
        added.append(writer.cast(writer.const(lowest), heads.element))
    if writer.has_input(mask):
        added.append(_padding(writer, heads, writer.node.input[mask]))
    if writer.has_input(bias):
        added.append(writer.node.input[bias])
    return added


def _padding(writer: Writer, heads: Heads, mask: str) -> str:
    """Writes the summand that hides keys by a mask or by the lengths of sequences."""
    shape = writer.shape(mask)
    batch, rows, keys = heads.batch, heads.rows, heads.keys
    if len(shape) == 1:
        columns = writer.const(np.arange(keys), np.int32)
        ends = writer.reshape(writer.slice(mask, 0, 0, batch), [batch, 1, 1, 1])
        kept = writer.op("Less", columns, ends)
        if shape[0] == 2 * batch:
            starts = writer.reshape(writer.slice(mask, 0, batch, 2 * batch), [batch, 1, 1, 1])
            kept = writer.op("And", kept, writer.op("Not", writer.op("Less", columns, starts)))
        elif shape[0] != batch:
            raise Refused("with cumulated lengths is not supported")
    elif len(shape) == 2:
        kept = writer.cast(writer.reshape(mask, [batch, 1, 1, keys]), TensorProto.BOOL)
    elif len(shape) == 3:
        kept = writer.cast(writer.reshape(mask, [batch, 1, rows, keys]), TensorProto.BOOL)
    else:
        window = writer.slice(mask, 2, heads.past, heads.past + rows)
        kept = writer.cast(writer.slice(window, 3, 0, keys), TensorProto.BOOL)
    value = writer.attribute("mask_filter_value", _MASKED)
    lowest = -65504.0 if heads.element == TensorProto.FLOAT16 else value
    filled = writer.like(max(value, lowest), heads.element)
    return writer.op("Where", kept, writer.like(0.0, heads.element), filled)


def _attend(writer: Writer, heads: Heads, added: list[str]) -> str:
    """Writes `softmax(scale · Q Kᵀ + added) V`, `[batch, rows, heads · value size]`."""
    scale = writer.attribute("scale") or heads.size**-0.5
    keys = writer.transpose(heads.key, [0, 1, 3, 2])
    scores = writer.op("MatMul", heads.query, keys)
    scores = writer.op("Mul", scores, writer.like(scale, heads.element))
    for one in added:
        scores = writer.op("Add", scores, one)
    y = writer.op("MatMul", writer.op("Softmax", scores, axis=-1), heads.value)
    return writer.reshape(writer.transpose(y, [0, 2, 1, 3]), [heads.batch, heads.rows, -1])


def _attention(writer: Writer) -> None:
    """Rewrites the operator on `(x, weights, bias, mask, past, attention bias)`."""
    product = writer.op("MatMul", *writer.node.input[:2])
    if writer.has_input(2):
        product = writer.op("Add", product, writer.node.input[2])
    _self_attention(writer, product, writer.element(writer.node.input[0]), 3, 4, 5)


def _quantized_attention(writer: Writer) -> None:
    """`(x, weights, bias, x scale, weight scale, mask, x zero, weight zero, past)`."""
    x, weights, bias, x_scale, scale = writer.node.input[:5]
    x_zero, zero = (writer.node.input[i] if writer.has_input(i) else "" for i in (6, 7))
    product = writer.op(
        "MatMul",
        dequantized(writer, x, x_scale, x_zero),
        dequantized(writer, weights, scale, zero),
    )
    product = writer.op("Add", product, bias)
    _self_attention(writer, product, TensorProto.FLOAT, 5, 8, len(writer.node.input))


def _self_attention(
    writer: Writer, product: str, element: int, mask: int, past: int, bias: int
) -> None:
    """Attends to the parts of `product`, and to the keys and values in the input `past`."""
    if writer.attribute("do_rotary", 0) or writer.attribute("past_present_share_buffer", 0):
        raise Refused("with rotation or a shared buffer is not supported")
    batch, rows, _ = writer.shape(writer.node.input[0])
    total = writer.shape(writer.node.input[1])[1]
    count = int(writer.attribute("num_heads"))
    sizes = list(writer.attribute("qkv_hidden_sizes") or [total // 3] * 3)
    bounds = [sum(sizes[:index]) for index in range(4)]
    query, key, value = (
        _split(writer, writer.slice(product, 2, start, stop), count, [batch, rows, stop - start])
        for start, stop in pairwise(bounds)
    )
    before = 0
    if writer.has_input(past):
        name = writer.node.input[past]
        before = writer.shape(name)[3]
        shape = [batch, count, before, sizes[0] // count]
        key, value = (
            writer.op("Concat", writer.reshape(writer.slice(name, 0, i, i + 1), shape), new, axis=2)
            for i, new in enumerate((key, value))
        )
    heads = Heads(
        query, key, value, batch, count, rows, before + rows, before, sizes[0] // count, element
    )
    writer.result(_attend(writer, heads, _masks(writer, heads, mask, bias)))
    if writer.has_output(1):
        one = [1, batch, count, heads.keys, heads.size]
        both = [writer.reshape(each, one) for each in (key, value)]
        writer.result(writer.op("Concat", *both, axis=0), 1)


def _multi_head_attention(writer: Writer) -> None:
    """Rewrites `(query, key, value, bias, mask, attention bias, past key, past value)`."""
    if any(writer.has_input(index) for index in (8, 9)) or writer.has_output(3):
        raise Refused("with beams or a shared buffer is not supported")
    count = int(writer.attribute("num_heads"))
    query = writer.node.input[0]
    shape = writer.shape(query)
    element = writer.element(query)
    if len(shape) == 5:
        batch, rows = shape[:2]
        size = shape[4]
        parts = [_packed(writer, query, index) for index in range(3)]
        keys = rows
    else:
        batch, rows, hidden = shape
        size = hidden // count
        parts, keys = _key_and_value(writer, batch, count)
        parts = [_split(writer, query, count, shape), *parts]
    query, key, value = _with_bias(writer, parts, count, size)
    before = 0
    if writer.has_input(6):
        before = writer.shape(writer.node.input[6])[2]
        key, value = (
            writer.op("Concat", writer.node.input[index], new, axis=2)
            for index, new in ((6, key), (7, value))
        )
    heads = Heads(query, key, value, batch, count, rows, before + keys, before, size, element)
    writer.result(_attend(writer, heads, _masks(writer, heads, 4, 5)))
    writer.result(key, 1)
    writer.result(value, 2)


def _packed(writer: Writer, x: str, index: int) -> str:
    """Returns part `index` of `[batch, rows, heads, parts, size]`, heads before rows."""
    batch, rows, count, _, size = writer.shape(x)
    part = writer.reshape(writer.slice(x, 3, index, index + 1), [batch, rows, count, size])
    return writer.transpose(part, [0, 2, 1, 3])


def _key_and_value(writer: Writer, batch: int, count: int) -> tuple[list[str], int]:
    """Returns keys and values, heads before rows, and the number of keys."""
    if not writer.has_input(1):
        raise Refused("without keys is not supported")
    key = writer.node.input[1]
    shape = writer.shape(key)
    if len(shape) == 5:
        return [_packed(writer, key, index) for index in range(2)], shape[1]
    value = writer.node.input[2]
    if len(shape) == 4:
        return [key, value], shape[2]
    both = [_split(writer, one, count, writer.shape(one)) for one in (key, value)]
    return both, shape[1]


def _with_bias(writer: Writer, parts: list[str], count: int, size: int) -> list[str]:
    """Adds the biases of the preceding projections."""
    if not writer.has_input(3):
        return parts
    if (
        len(writer.shape(writer.node.input[0])) == 3
        and len(writer.shape(writer.node.input[1])) == 4
    ):
        raise Refused("with a bias of keys that are projected is not supported")
    name = writer.node.input[3]
    hidden = count * size
    bounds = [0, hidden, 2 * hidden, *writer.shape(name)]
    biases = [
        writer.reshape(writer.slice(name, 0, start, stop), [count, 1, (stop - start) // count])
        for start, stop in pairwise(bounds)
    ]
    return [writer.op("Add", part, bias) for part, bias in zip(parts, biases, strict=True)]


ATTENTION: dict[str, Rewrite] = {
    "Attention": _attention,
    "MultiHeadAttention": _multi_head_attention,
    "QAttention": _quantized_attention,
}
"""The rewrites, by operator."""

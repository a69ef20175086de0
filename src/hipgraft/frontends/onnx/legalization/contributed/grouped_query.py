"""Rewrites contributed attention with a cache, whose query heads share keys."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.contributed.rotary import Rotation
from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer

_INT64 = TensorProto.INT64
_UNSUPPORTED = {"k_quant_type": "NONE", "v_quant_type": "NONE", "sliding_window_cache": 0}


@dataclass(frozen=True)
class _Extents:
    batch: int
    rows: int
    heads: int
    shared: int  # heads of keys and values
    size: int
    past: int  # rows of the cache
    keys: int  # rows of the cache afterwards


def _grouped_query_attention(writer: Writer) -> None:
    """`(q, k, v, past k, past v, lengths - 1, total, cosines, sines, positions, bias, sink)`."""
    _check(writer)
    extents = _extents(writer)
    query, key, value = _operands(writer, extents)
    # The number of keys in the cache for each sequence.
    lengths = writer.op(
        "Add", writer.cast(writer.node.input[5], _INT64), writer.like_int(1 - extents.rows)
    )
    if _is_prompt(writer, extents):
        lengths = writer.const([0] * extents.batch, np.int64)
    lengths = writer.reshape(lengths, [extents.batch, 1])
    if writer.attribute("do_rotary", 0):
        query, key = _with_rotation(writer, extents, lengths, query, key)
    key, value = (
        _appended(writer, extents, lengths, index, new) for index, new in ((3, key), (4, value))
    )
    writer.result(_attend(writer, extents, lengths, (query, key, value)))
    writer.result(key, 1)
    writer.result(value, 2)


def _check(writer: Writer) -> None:
    is_plain = all(writer.attribute(name, one) == one for name, one in _UNSUPPORTED.items())
    if not is_plain or any(writer.has_input(index) for index in range(12, 16)):
        raise Refused("with a quantised or sliding cache, or with norms, is not supported")
    if writer.has_output(3) or not writer.attribute("causal", 1):
        raise Refused("with scores as a result, or without causal order, is not supported")


def _extents(writer: Writer) -> _Extents:
    batch, rows, hidden = writer.shape(writer.node.input[0])
    heads, shared = (int(writer.attribute(name)) for name in ("num_heads", "kv_num_heads"))
    size = hidden // (heads if writer.has_input(1) else heads + 2 * shared)
    past = writer.shape(writer.node.input[3])[2] if writer.has_input(3) else 0
    total = past + rows
    declared = writer.graph.shapes.get(writer.node.output[1] if writer.has_output(1) else "")
    name = writer.node.input[6]
    if name in writer.graph.constants:
        total = max(past, int(writer.constant(name).reshape(-1)[0]))
    elif declared is not None:
        total = declared[2]
    return _Extents(batch, rows, heads, shared, size, past, total)


def _is_prompt(writer: Writer, extents: _Extents) -> bool:
    """Whether all keys are new, because there are as many as the longest sequence has."""
    if not extents.past:
        return True
    constant = writer.graph.constants.get(writer.node.input[6])
    return constant is not None and int(constant.reshape(-1)[0]) == extents.rows


def _operands(writer: Writer, extents: _Extents) -> list[str]:
    """Returns queries, keys and values, heads before rows."""
    counts = [extents.heads, extents.shared, extents.shared]
    if writer.has_input(1):
        parts = list(writer.node.input[:3])
    else:
        bounds = np.cumsum([0, *counts]) * extents.size
        parts = [
            writer.slice(writer.node.input[0], 2, int(start), int(stop))
            for start, stop in pairwise(bounds)
        ]
    shape = (extents.batch, extents.rows)
    return [
        writer.transpose(writer.reshape(part, [*shape, count, extents.size]), [0, 2, 1, 3])
        for part, count in zip(parts, counts, strict=True)
    ]


def _with_rotation(
    writer: Writer, extents: _Extents, lengths: str, query: str, key: str
) -> list[str]:
    batch, rows = extents.batch, extents.rows
    positions = writer.op("Add", lengths, writer.const(np.arange(rows), np.int64))
    if writer.has_input(9):
        given = writer.cast(writer.node.input[9], _INT64)
        if _is_prompt(writer, extents):
            # Only the very first position is used, and `lengths` is 0.
            first = writer.slice(writer.reshape(given, [-1]), 0, 0, 1)
            given = writer.op("Add", positions, first)
        positions = given
    interleaved = bool(writer.attribute("rotary_interleaved", 0))
    rotation = Rotation.at(writer, positions, [batch, rows], 7, interleaved=interleaved)
    return [
        rotation.of(writer, x, [batch, count, rows, extents.size])
        for x, count in ((query, extents.heads), (key, extents.shared))
    ]


def _appended(writer: Writer, extents: _Extents, lengths: str, index: int, new: str) -> str:
    """Writes the cache with the new rows after the existing rows of each sequence."""
    if not extents.past and extents.keys == extents.rows:
        return new
    shape = [extents.batch, extents.shared, extents.keys, extents.size]
    both = writer.op("Concat", writer.node.input[index], new, axis=2) if extents.past else new
    rows = writer.const(np.arange(extents.keys), np.int64)
    inside = writer.op("Sub", rows, lengths)  # [batch, keys]: which of the new rows
    last = writer.const(np.int64(extents.rows - 1))
    clipped = writer.op("Max", writer.op("Min", inside, last), writer.like_int(0))
    source = writer.op("Add", clipped, writer.like_int(extents.past))
    is_old = writer.op("Less", inside, writer.like_int(0))
    kept = writer.const(np.minimum(np.arange(extents.keys), max(extents.past - 1, 0)), np.int64)
    chosen = writer.op("Where", is_old, kept, source)
    spread = writer.reshape(chosen, [extents.batch, 1, extents.keys, 1])
    indices = writer.op("Expand", spread, writer.const(shape, np.int64))
    return writer.op("GatherElements", both, indices, axis=2)


def _attend(writer: Writer, extents: _Extents, lengths: str, operands: tuple[str, str, str]) -> str:
    query, key, value = operands
    element = writer.element(writer.node.input[0])
    groups = extents.heads // extents.shared
    batch, rows, keys, size = extents.batch, extents.rows, extents.keys, extents.size
    # The heads that share keys are rows of one product.
    folded = writer.reshape(query, [batch, extents.shared, groups * rows, size])
    scale = writer.attribute("scale") or size**-0.5
    scores = writer.op("MatMul", folded, writer.transpose(key, [0, 1, 3, 2]))
    scores = writer.op("Mul", scores, writer.like(scale, element))
    softcap = writer.attribute("softcap", 0.0)
    if softcap:
        cap = writer.like(softcap, element)
        scores = writer.op("Mul", writer.op("Tanh", writer.op("Div", scores, cap)), cap)
    scores = writer.reshape(scores, [batch, extents.heads, rows, keys])
    if writer.has_input(10):
        scores = writer.op("Add", scores, writer.node.input[10])
    scores = writer.op(
        "Where", _visible(writer, extents, lengths), scores, _lowest(writer, element)
    )
    weights = _softmax(writer, extents, scores, element)
    weights = writer.reshape(weights, [batch, extents.shared, groups * rows, keys])
    y = writer.reshape(writer.op("MatMul", weights, value), [batch, extents.heads, rows, size])
    return writer.reshape(writer.transpose(y, [0, 2, 1, 3]), [batch, rows, -1])


def _lowest(writer: Writer, element: int) -> str:
    return writer.like(-65504.0 if element == TensorProto.FLOAT16 else -1e30, element)


def _visible(writer: Writer, extents: _Extents, lengths: str) -> str:
    """Writes which keys each row sees: its own and earlier ones, `[batch, 1, rows, keys]`."""
    distance = np.arange(extents.keys) - np.arange(extents.rows)[:, None]
    # Relative to the row: 0 is its own key.
    own = writer.reshape(lengths, [extents.batch, 1, 1, 1])
    ahead = writer.op("Sub", writer.const(distance, np.int64), own)
    visible = writer.op("LessOrEqual", ahead, writer.like_int(0))
    window = int(writer.attribute("local_window_size", -1))
    if window < 0:
        return visible
    return writer.op("And", visible, writer.op("Greater", ahead, writer.like_int(-window)))


def _softmax(writer: Writer, extents: _Extents, scores: str, element: int) -> str:
    """Writes the softmax; an optional additional score per head has no value."""
    sink = writer.node.input[11] if writer.has_input(11) else ""
    if not sink and int(writer.attribute("smooth_softmax", -1)) <= 0:
        return writer.op("Softmax", scores, axis=-1)
    column = [1, extents.heads, 1, 1]
    one = writer.reshape(sink, column) if sink else writer.like(0.0, element)
    shape = [extents.batch, extents.heads, extents.rows, 1]
    spread = writer.op("Expand", one, writer.const(shape, np.int64))
    weights = writer.op("Softmax", writer.op("Concat", scores, spread, axis=3), axis=-1)
    return writer.slice(weights, 3, 0, extents.keys)


GROUPED_QUERY: dict[str, Rewrite] = {"GroupQueryAttention": _grouped_query_attention}
"""The rewrites, by operator."""

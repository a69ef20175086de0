"""Attention: two matrix products with the operation's region, masks and softmax between them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.bindings import ir
from hipgraft.dialects import hipdnn
from hipgraft.dialects.migraphx import MigraphxOp
from hipgraft.migraphx_to_hipdnn.contractions import matmul
from hipgraft.migraphx_to_hipdnn.converter import Conversion, Converter, element_type
from hipgraft.tensor_builder import NoMatch, Tensor
from hipgraft.tensor_reductions import reduce

_KNOWN = frozenset({"causal", "kvcache", "prefix_offset"})
_INPUTS, _LENGTH, _OFFSET = 3, 4, 5
"""Groups of operands after queries, keys and values."""


def _attention(converter: Converter, op: MigraphxOp) -> Sequence[Tensor]:
    features = {word for word in op.string("features").split("|") if word}
    if features - _KNOWN or op.int("splitKV", 1) != 1:
        names = sorted(features - _KNOWN) or [f"splitKV = {op.int('splitKV')}"]
        raise NoMatch("attention-feature", f"feature '{names[0]}' is not supported")
    queries, keys, values = (converter.operand(op, name) for name in ("queries", "keys", "values"))
    keys, values = (_for_heads(converter, tensor, queries.shape) for tensor in (keys, values))
    scores = _body(converter, op, _scores(converter, queries, keys))
    scores = _masked(converter, op, features, converter.cast(scores, _softmax_type(op, scores)))
    weights, lse = _softmax(converter, scores)
    kind = op.output()
    result = matmul(converter, weights, values, element_type(kind)).reshape(kind.extents)
    if len(op.operation.results) == 1:
        return [result]
    return [result, converter.cast(lse, element_type(op.output(1))).reshape(op.output(1).extents)]


def _softmax_type(op: MigraphxOp, scores: Tensor) -> ir.Type:
    if "softmax_type" in op.operation.attributes:
        return ir.TypeAttr(op.operation.attributes["softmax_type"]).value
    return scores.element_type if scores.is_float else ir.F32Type.get()


def _scores(converter: Converter, queries: Tensor, keys: Tensor) -> Tensor:
    integer = ir.IntegerType.get_signless(32)
    return matmul(converter, queries, keys, queries.element_type if queries.is_float else integer)


def _for_heads(converter: Converter, tensor: Tensor, queries: Sequence[int]) -> Tensor:
    """Repeats keys or values where several heads of the queries share one."""
    rank = len(queries)
    if rank < 3 or tensor.shape[-3] == queries[-3]:
        return tensor
    shared, heads = tensor.shape[-3], queries[-3]
    if heads % shared:
        raise NoMatch("heads", f"{heads} heads of queries cannot share {shared}")
    apart = tensor.reshape((*tensor.shape[:-2], 1, *tensor.shape[-2:]))
    repeated = (*tensor.shape[:-2], heads // shared, *tensor.shape[-2:])
    wide = converter.copied(apart.through(apart.view.expand(repeated)))
    return wide.reshape((*tensor.shape[:-3], heads, *tensor.shape[-2:]))


def _body(converter: Converter, op: MigraphxOp, scores: Tensor) -> Tensor:
    blocks = list(op.operation.regions[0].blocks)
    if not blocks:
        return scores
    inputs = [scores, *(converter.tensor(value) for value in op.group(_INPUTS))]
    for argument, tensor in zip(blocks[0].arguments, inputs, strict=True):
        converter.define(argument, tensor)
    results = converter.convert_block(blocks[0])
    return results[0] if results else scores


def _masked(converter: Converter, op: MigraphxOp, features: set[str], scores: Tensor) -> Tensor:
    """Keys after the query (causal) and after the sequence's end (kvcache) get no weight."""
    if "kvcache" in features or op.group(_LENGTH):
        (length,) = (converter.tensor(value) for value in op.group(_LENGTH))
        inside = _less(converter, _index(converter, scores, -1), _per_batch(length, scores))
        scores = _keep_where(converter, inside, scores)
    if "causal" in features or "prefix_offset" in features:
        last = _index(converter, scores, -2)
        for value in op.group(_OFFSET):
            offset = _per_batch(converter.tensor(value), scores)
            last = converter.pointwise("add", [last, offset], ir.IntegerType.get_signless(32))
        seen = converter.pointwise(
            "cmp_le", [_index(converter, scores, -1), last], ir.IntegerType.get_signless(1)
        )
        scores = _keep_where(converter, seen, scores)
    return scores


def _index(converter: Converter, scores: Tensor, dim: int) -> Tensor:
    """The places along one dimension, which broadcast to the scores."""
    shape = [1] * len(scores.shape)
    shape[dim] = scores.shape[dim]
    made = hipdnn.pointwise(
        converter.splat(0.0, shape, scores.element_type),
        mode="gen_index",
        axis=len(shape) + dim,
        result_type=ir.RankedTensorType.get(shape, ir.IntegerType.get_signless(32)),
        loc=converter.location,
    )
    return converter.whole(made)


def _per_batch(lengths: Tensor, scores: Tensor) -> Tensor:
    """One number for each sequence of the batch, which is the first dimension of the scores."""
    count = math.prod(lengths.shape)
    return lengths.reshape((count, *[1] * (len(scores.shape) - 1)))


def _less(converter: Converter, a: Tensor, b: Tensor) -> Tensor:
    return converter.pointwise("cmp_lt", [a, b], ir.IntegerType.get_signless(1))


def _keep_where(converter: Converter, mask: Tensor, scores: Tensor) -> Tensor:
    least = converter.whole(converter.splat(-math.inf, (1,), scores.element_type))
    return converter.pointwise("binary_select", [mask, scores, least], scores.element_type)


def _softmax(converter: Converter, scores: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the weights and the logarithm of their sum before they were divided by it."""
    wide, dim = ir.F32Type.get(), len(scores.shape) - 1
    largest = reduce(converter, "MAX", scores, [dim], wide)
    shifted = converter.pointwise("sub", [scores, largest], wide)
    exponential = converter.pointwise("exp", [shifted], wide)
    total = reduce(converter, "ADD", exponential, [dim], wide)
    weights = converter.pointwise("div", [exponential, total], scores.element_type)
    logarithm = converter.pointwise("log", [total], wide)
    return weights, converter.pointwise("add", [logarithm, largest], wide)


ATTENTION: dict[str, Conversion] = {"attention": _attention}
"""Conversions by mnemonic."""

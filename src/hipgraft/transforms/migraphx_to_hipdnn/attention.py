"""Converts attention: two matrix products with a region, masks and softmax between them.

With `splitkv`, keys are divided into chunks, each with its own softmax and result. The scores are
still computed as one product, and then viewed as chunks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.dialects import hipdnn
from hipgraft.dialects.migraphx import AttentionOp
from hipgraft.ir.bindings import ir
from hipgraft.transforms.migraphx_to_hipdnn.contractions import matmul
from hipgraft.transforms.migraphx_to_hipdnn.converter import Conversion, Converter, element_type
from hipgraft.transforms.tensor_builder import Tensor
from hipgraft.transforms.tensor_reductions import reduce

_LOWEST = -3.0e38  # close to the lowest finite number of f32 and bf16


def _attention(converter: Converter, op: AttentionOp) -> Sequence[Tensor]:
    queries, keys, values = map(converter.tensor, (op.queries, op.keys, op.values))
    keys, values = (_for_heads(converter, tensor, queries) for tensor in (keys, values))
    scores = _body(converter, op, _scores(converter, op, queries, keys))
    element = op.softmaxType or values.element_type
    scores = _masked(converter, op, converter.cast(scores, element))
    weights, lse = _softmax(converter, scores)
    kind = op.output_type()
    # Both factors are as wide as the softmax; only the result is rounded.
    chunks = values.reshape((*weights.shape[:-2], weights.shape[-1], values.shape[-1]))
    values = converter.cast(chunks, element)
    result = matmul(converter, weights, values, element_type(kind)).reshape(kind.extents)
    if not op.has_lse:
        return [result]
    kind = op.output_type(1)
    return [result, converter.cast(lse, element_type(kind)).reshape(kind.extents)]


def _scores(converter: Converter, op: AttentionOp, queries: Tensor, keys: Tensor) -> Tensor:
    """Emits the scores in f32 or i32, as `[..., chunk, query, key]` if there are several chunks."""
    integer = ir.IntegerType.get_signless(32)
    element = queries.element_type if queries.is_float else integer
    scores = matmul(converter, queries, keys, element)
    if op.chunks == 1:
        return scores
    *leading, rows, length = scores.shape
    split = scores.reshape((*leading, rows, op.chunks, length // op.chunks))
    first = len(leading)
    order = (*range(first), first + 1, first, first + 2)
    return converter.copied(split.through(split.view.permute(order)))


def _for_heads(converter: Converter, tensor: Tensor, queries: Tensor) -> Tensor:
    """Repeats keys or values if neighbouring heads of the queries share one."""
    for dim, heads in enumerate(queries.shape[:-2]):
        shared = tensor.shape[dim]
        if shared == heads:
            continue
        before, after = tensor.shape[: dim + 1], tensor.shape[dim + 1 :]
        split = tensor.reshape((*before, 1, *after))
        repeated = split.through(split.view.expand((*before, heads // shared, *after)))
        tensor = converter.copied(repeated).reshape((*before[:-1], heads, *after))
    return tensor


def _body(converter: Converter, op: AttentionOp, scores: Tensor) -> Tensor:
    if not op.body:
        return scores
    inputs = [scores, *(converter.tensor(value) for value in op.preSoftmaxElemWiseInputs)]
    for argument, tensor in zip(op.block_arguments, inputs, strict=True):
        converter.define(argument, tensor)
    (result,) = converter.convert_block(op.operation.regions[0].blocks[0])
    return result


def _masked(converter: Converter, op: AttentionOp, scores: Tensor) -> Tensor:
    """Masks the keys after the query, after the end of the sequence, and before the window."""
    keys = _key_index(converter, op)
    if "causal" in op.features:
        last = _query_index(converter, scores)
        if op.prefixOffset is not None:
            offset = _per_head(converter, op.prefixOffset, scores)
            last = converter.pointwise("add", [last, offset], keys.element_type)
        scores = _keep_where(converter, "cmp_le", keys, last, scores)
    if op.currentSeqLen is not None:
        # The sequence's length is the index of its last key.
        last = _per_head(converter, op.currentSeqLen, scores)
        scores = _keep_where(converter, "cmp_le", keys, last, scores)
        if op.slidingWindowSize is not None:
            first = converter.pointwise("sub", [last, _window(converter, op)], keys.element_type)
            scores = _keep_where(converter, "cmp_ge", keys, first, scores)
    return scores


def _key_index(converter: Converter, op: AttentionOp) -> Tensor:
    """Returns the index of each key, in a shape that broadcasts to the scores."""
    length = op.input_type(1).extents[-1]
    chunked = (op.chunks, 1, length // op.chunks)
    return _index(converter, length).reshape(chunked if op.chunks > 1 else (length,))


def _query_index(converter: Converter, scores: Tensor) -> Tensor:
    rows = scores.shape[-2]
    return _index(converter, rows).reshape((rows, 1))


def _index(converter: Converter, length: int) -> Tensor:
    """Emits 0, 1, ... as i32."""
    i32 = ir.IntegerType.get_signless(32)
    made = hipdnn.pointwise(
        converter.splat(0.0, [length], ir.F32Type.get()),
        mode="gen_index",
        axis=0,
        result_type=ir.RankedTensorType.get([length], i32),
        loc=converter.location,
    )
    return converter.whole(made)


def _window(converter: Converter, op: AttentionOp) -> Tensor:
    """Emits the number of keys with weight before the last key of a sequence."""
    attribute = op.operation.attributes["slidingWindowSize"]
    kind = ir.RankedTensorType.get([1], attribute.type)
    size = converter.constant(ir.DenseElementsAttr.get_splat(kind, attribute), converter.location)
    return converter.cast(size, ir.IntegerType.get_signless(32))


def _per_head(converter: Converter, value: ir.Value, scores: Tensor) -> Tensor:
    """Emits one number for each sequence and head, shaped to broadcast to the scores."""
    lengths = converter.cast(converter.tensor(value), ir.IntegerType.get_signless(32))
    return lengths.reshape((*lengths.shape, *[1] * (len(scores.shape) - len(lengths.shape))))


def _keep_where(
    converter: Converter, comparison: str, keys: Tensor, bound: Tensor, scores: Tensor
) -> Tensor:
    truth = converter.pointwise(comparison, [keys, bound], ir.IntegerType.get_signless(1))
    least = converter.whole(converter.splat(-math.inf, (1,), scores.element_type))
    return converter.pointwise("binary_select", [truth, scores, least], scores.element_type)


def _softmax(converter: Converter, scores: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the weights, and the logarithm of their sum before the division by it.

    As in rocMLIR, a row without a key has weights of 0 and the logarithm of zero: its maximum is
    replaced by a finite number, and its sum, which is 1 or more in all other rows, by 1.
    """
    wide, dim = ir.F32Type.get(), len(scores.shape) - 1
    largest = reduce(converter, "MAX", scores, [dim], wide)
    lowest = converter.scalar(_LOWEST, largest)
    largest = converter.pointwise("max_op", [largest, lowest], wide)
    shifted = converter.pointwise("sub", [scores, largest], wide)
    exponential = converter.pointwise("exp", [shifted], wide)
    total = reduce(converter, "ADD", exponential, [dim], wide)
    divisor = converter.pointwise("max_op", [total, converter.scalar(1.0, total)], wide)
    weights = converter.pointwise("div", [exponential, divisor], scores.element_type)
    logarithm = converter.pointwise("log", [total], wide)
    return weights, converter.pointwise("add", [logarithm, largest], wide)


ATTENTION: dict[str, Conversion] = {"attention": _attention}
"""The conversions by mnemonic."""

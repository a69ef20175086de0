"""Rewrites contributed norms, including the sums that some of them take first."""

from __future__ import annotations

from functools import partial

from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.contributed.qlinear import dequantized
from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer

_EPSILON = 1e-12
_GROUP_EPSILON = 1e-5
_F32 = TensorProto.FLOAT


def layer_norm(writer: Writer, x: str, gamma: str, beta: str = "") -> str:
    """Normalises rows to mean 0 and variance 1."""
    operands = [x, gamma, *([beta] if beta else [])]
    epsilon = writer.attribute("epsilon", _EPSILON)
    return writer.op("LayerNormalization", *operands, axis=-1, epsilon=epsilon)


def rms_norm(writer: Writer, x: str, gamma: str, element: int, epsilon: float) -> str:
    """Divides rows by the root of the mean of their squares, in f32."""
    wide = x if element == _F32 else writer.cast(x, _F32)
    mean = writer.reduce("ReduceMean", writer.op("Mul", wide, wide), [-1])
    root = writer.op("Sqrt", writer.op("Add", mean, writer.like(epsilon, _F32)))
    normal = writer.op("Div", wide, root)
    narrow = normal if element == _F32 else writer.cast(normal, element)
    return writer.op("Mul", narrow, gamma)


def _check_statistics(writer: Writer, outputs: range) -> None:
    if any(writer.has_output(index) for index in outputs):
        raise Refused("with results for training is not supported")


def _skip_layer_norm(writer: Writer, *, simplified: bool) -> None:
    """Rewrites the operator on `(x, skip, gamma, [beta,] bias)`; result 3 is the sum."""
    _check_statistics(writer, range(1, 3))
    x, skip, gamma = writer.node.input[:3]
    bias = 3 if simplified else 4
    sum_ = writer.op("Add", x, skip)
    if writer.has_input(bias):
        sum_ = writer.op("Add", sum_, writer.node.input[bias])
    if simplified:
        epsilon = writer.attribute("epsilon", _EPSILON)
        writer.result(rms_norm(writer, sum_, gamma, writer.element(x), epsilon))
    else:
        beta = writer.node.input[3] if writer.has_input(3) else ""
        writer.result(layer_norm(writer, sum_, gamma, beta))
    writer.result(sum_, 3)


def _simplified_layer_norm(writer: Writer) -> None:
    _check_statistics(writer, range(1, 2))
    x, gamma = writer.node.input
    if int(writer.attribute("axis", -1)) not in (-1, len(writer.shape(x)) - 1):
        raise Refused("of several dimensions is not supported")
    epsilon = writer.attribute("epsilon", _GROUP_EPSILON)
    writer.result(rms_norm(writer, x, gamma, writer.element(x), epsilon))


def _layer_norm(writer: Writer) -> None:
    """Rewrites a layer norm that ONNX itself has from opset 17 on."""
    _check_statistics(writer, range(1, 3))
    writer.result(writer.op("LayerNormalization", *writer.node.input, **writer.attributes()))


def _embed_layer_norm(writer: Writer) -> None:
    ids, segments, words, positions, segment_table, gamma, beta = writer.node.input[:7]
    sum_ = writer.op("Gather", words, ids)
    if writer.has_input(8):
        placed = writer.op("Gather", positions, writer.node.input[8])
    else:
        placed = writer.slice(positions, 0, 0, writer.shape(ids)[1])
    sum_ = writer.op("Add", sum_, placed)
    if segments:
        sum_ = writer.op("Add", sum_, writer.op("Gather", segment_table, segments))
    writer.result(layer_norm(writer, sum_, gamma, beta))
    _count_words(writer)
    writer.result(sum_, 2)


def _count_words(writer: Writer) -> None:
    """Writes result 1: the number of words in each sequence according to the mask, input 7."""
    if writer.has_output(1):
        lengths = writer.const([0] * writer.shape(writer.node.input[0])[0], "int32")
        if writer.has_input(7):
            lengths = writer.reduce("ReduceSum", writer.node.input[7], [1], keepdims=False)
        writer.result(lengths, 1)


def _quantized_embed_layer_norm(writer: Writer) -> None:
    """`(ids, segments, 5 tables, mask, 5 scales, 5 zero points)`: rows of bytes are gathered."""
    ids, segments = writer.node.input[:2]

    def real(x: str, index: int) -> str:
        zero = writer.node.input[index + 11] if writer.has_input(index + 11) else ""
        return dequantized(writer, x, writer.node.input[index + 6], zero)

    tables = writer.node.input
    sum_ = real(writer.op("Gather", tables[2], ids), 2)
    positions = writer.slice(tables[3], 0, 0, writer.shape(ids)[1])
    sum_ = writer.op("Add", sum_, real(positions, 3))
    if segments:
        sum_ = writer.op("Add", sum_, real(writer.op("Gather", tables[4], segments), 4))
    writer.result(layer_norm(writer, sum_, real(tables[5], 5), real(tables[6], 6)))
    _count_words(writer)


def _group_norm(writer: Writer, *, skip: bool) -> None:
    """Rewrites the operator on `(x, gamma, beta[, skip, bias])`; result 1 is the sum."""
    x, gamma, beta = writer.node.input[:3]
    shape, element = writer.shape(x), writer.element(x)
    groups = int(writer.attribute("groups"))
    is_last = bool(writer.attribute("channels_last", 1))
    sum_ = x
    if skip:
        extra = writer.node.input[3]
        if len(writer.shape(extra)) == 2:  # one number for each image and channel
            batch, channels = writer.shape(extra)
            extra = writer.reshape(
                extra, [batch, 1, 1, channels] if is_last else [batch, channels, 1, 1]
            )
        sum_ = writer.op("Add", x, extra)
        if writer.has_input(4):
            channels = writer.shape(writer.node.input[4])[0]
            bias = (
                writer.node.input[4]
                if is_last
                else writer.reshape(writer.node.input[4], [channels, 1, 1])
            )
            sum_ = writer.op("Add", sum_, bias)
    planes = writer.transpose(sum_, [0, 3, 1, 2]) if is_last else sum_
    channels, *image = [shape[3], *shape[1:3]] if is_last else shape[1:]
    grouped = writer.cast(writer.reshape(planes, [shape[0], groups, -1]), _F32)
    mean = writer.reduce("ReduceMean", grouped, [2])
    centred = writer.op("Sub", grouped, mean)
    variance = writer.reduce("ReduceMean", writer.op("Mul", centred, centred), [2])
    epsilon = writer.like(writer.attribute("epsilon", _GROUP_EPSILON), _F32)
    normal = writer.op("Div", centred, writer.op("Sqrt", writer.op("Add", variance, epsilon)))
    y = writer.reshape(normal, [shape[0], channels, *image])
    for op_type, factor in (("Mul", gamma), ("Add", beta)):
        y = writer.op(op_type, y, writer.reshape(writer.cast(factor, _F32), [channels, 1, 1]))
    if int(writer.attribute("activation", 0)):
        y = writer.op("Mul", y, writer.op("Sigmoid", y))
    y = writer.cast(y, element)
    writer.result(writer.transpose(y, [0, 2, 3, 1]) if is_last else y)
    writer.result(sum_, 1)


NORMS: dict[str, Rewrite] = {
    "EmbedLayerNormalization": _embed_layer_norm,
    "GroupNorm": partial(_group_norm, skip=False),
    "LayerNormalization": _layer_norm,
    "QEmbedLayerNormalization": _quantized_embed_layer_norm,
    "SimplifiedLayerNormalization": _simplified_layer_norm,
    "SkipGroupNorm": partial(_group_norm, skip=True),
    "SkipLayerNormalization": partial(_skip_layer_norm, simplified=False),
    "SkipSimplifiedLayerNormalization": partial(_skip_layer_norm, simplified=True),
}
"""The rewrites, by operator."""

"""Rewrites mixtures of experts: products of all experts, weighted by the router's choice."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.contributed.blockwise import unpacked
from hipgraft.frontends.onnx.legalization.contributed.pointwise import tanh_gelu
from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer

_F32 = TensorProto.FLOAT
_INTERLEAVED = 1


class _Experts:
    """E experts of two layers with I hidden features, for T tokens of H features.

    Args:
        writer: writer of the node, `(tokens, scores of experts, …)`.
        first: the input that has the weights of the first layer, [E, I or 2 · I, …].
    """

    def __init__(self, writer: Writer, first: int):
        self.writer = writer
        self.shape = writer.shape(writer.node.input[0])
        self.rows, self.count = writer.shape(writer.node.input[1])
        self.width = writer.shape(writer.node.input[first])[1]
        self.kind = str(writer.attribute("activation_type", "relu"))
        self.is_gated = self.kind == "swiglu"
        if self.is_gated and not writer.attribute("swiglu_fusion", 0):
            raise Refused("with three products of each expert is not supported")
        if writer.attribute("use_sparse_mixer", 0):
            raise Refused("with a sparse mixer is not supported")

    def write(self, weights: list[str], biases: list[str], shares: str) -> None:
        """Writes the nodes.

        Args:
            weights: weights of both layers, [E, I or 2 · I, H] and [E, H, I], f32.
            biases: biases of both layers, [E, …]; empty names if there are none.
            shares: shares of the experts in each token's result, [T, E].
        """
        writer, features = self.writer, self.shape[-1]
        rows = writer.cast(writer.node.input[0], _F32)
        rows = writer.reshape(rows, [self.rows, features])
        matrix = writer.reshape(weights[0], [self.count * self.width, features])
        hidden = writer.op("MatMul", rows, writer.transpose(matrix, [1, 0]))
        hidden = writer.reshape(hidden, [self.rows, self.count, self.width])
        if biases[0]:
            hidden = writer.op("Add", hidden, writer.cast(biases[0], _F32))
        hidden = self._activated(hidden)
        hidden = writer.op("Mul", hidden, writer.reshape(shares, [self.rows, self.count, 1]))
        depth = self.count * (self.width // 2 if self.is_gated else self.width)
        matrix = writer.reshape(writer.transpose(weights[1], [0, 2, 1]), [depth, features])
        y = writer.op("MatMul", writer.reshape(hidden, [self.rows, depth]), matrix)
        if biases[1]:
            given = writer.cast(biases[1], _F32)
            y = writer.op("Add", y, writer.op("MatMul", shares, given))
        element = writer.element(writer.node.input[0])
        writer.result(writer.cast(writer.reshape(y, self.shape), element))

    def shares(self, weights: str = "", *, normalized: bool) -> str:
        """Returns the shares of experts, [T, E], which are zero except for the highest scores.

        Args:
            weights: the shares of experts if they are chosen, [T, E]; by default a softmax.
            normalized: whether the shares of a token sum to 1.
        """
        writer = self.writer
        chosen = int(writer.attribute("k", 1))
        scores = writer.cast(writer.node.input[1], _F32)
        found = writer.ops("TopK", scores, writer.const([chosen], np.int64), outputs=2)
        picked = writer.reshape(found[1], [self.rows, chosen, 1])
        is_picked = writer.op("Equal", picked, writer.const(np.arange(self.count), np.int64))
        counted = writer.reduce("ReduceSum", writer.cast(is_picked, _F32), [1], keepdims=False)
        given = writer.cast(weights, _F32) if weights else writer.op("Softmax", scores, axis=-1)
        shares = writer.op("Mul", given, counted)
        if normalized:
            shares = writer.op("Div", shares, writer.reduce("ReduceSum", shares, [1]))
        return shares

    def _activated(self, x: str) -> str:
        """`[T, E, I or 2 · I]` to `[T, E, I]`."""
        writer = self.writer
        if self.is_gated:
            return self._gated(x)
        if self.kind == "silu":
            return writer.op("Mul", x, writer.op("Sigmoid", x))
        if self.kind == "gelu":
            return tanh_gelu(writer, x, _F32)
        if self.kind == "relu":
            return writer.op("Relu", x)
        if self.kind != "identity":
            raise Refused(f"with activation '{self.kind}' is not supported")
        return x

    def _gated(self, x: str) -> str:
        """Writes `g · sigmoid(alpha · g) · (l + beta)` for the halves g and l, both clamped."""
        writer, size = self.writer, self.width // 2
        if int(writer.attribute("swiglu_fusion")) == _INTERLEAVED:
            pairs = writer.reshape(x, [self.rows, self.count, size, 2])
            halves = [writer.op("Gather", pairs, writer.like_int(n), axis=3) for n in (0, 1)]
        else:
            halves = [writer.slice(x, 2, n * size, (n + 1) * size) for n in (0, 1)]
        g, linear = halves
        limit = writer.attribute("swiglu_limit")
        if limit is not None:
            most, least = writer.like(limit, _F32), writer.like(-limit, _F32)
            g = writer.op("Min", g, most)
            linear = writer.op("Max", writer.op("Min", linear, most), least)
        alpha, beta = (
            writer.like(writer.attribute(f"activation_{name}", default), _F32)
            for name, default in (("alpha", 1.0), ("beta", 0.0))
        )
        gate = writer.op("Sigmoid", writer.op("Mul", alpha, g))
        return writer.op("Mul", writer.op("Mul", g, gate), writer.op("Add", linear, beta))


def _is_normalized(writer: Writer) -> bool:
    return bool(writer.attribute("normalize_routing_weights", 0))


def _input(writer: Writer, index: int) -> str:
    return writer.node.input[index] if writer.has_input(index) else ""


def _experts(writer: Writer) -> None:
    """Rewrites `(x, scores, weights 1, bias 1, weights 2, bias 2, weights 3, bias 3)`."""
    experts = _Experts(writer, 2)
    if writer.has_input(6):
        raise Refused("with three products of each expert is not supported")
    weights = [writer.cast(writer.node.input[index], _F32) for index in (2, 4)]
    shares = experts.shares(normalized=_is_normalized(writer))
    experts.write(weights, [_input(writer, index) for index in (3, 5)], shares)


def _quantized_experts(writer: Writer) -> None:
    """`(x, scores, 3 times (weights, scales, bias), 3 zero points, router's weights, …)`."""
    experts = _Experts(writer, 2)
    if (
        writer.attribute("quant_type", "int") != "int"
        or writer.attribute("weights_prepacked", 0) > 0
    ):
        raise Refused("with weights of this kind is not supported")
    if any(writer.has_input(index) for index in (8, *range(15, 21))):
        raise Refused("with three products or scaled activations is not supported")
    weights = [_dequantized(writer, layer) for layer in (1, 2)]
    given = _input(writer, 14)
    # onnxruntime's CPU kernel computes the softmax of the chosen scores alone.
    shares = experts.shares(given, normalized=not given or _is_normalized(writer))
    experts.write(weights, [_input(writer, index) for index in (4, 7)], shares)


def _dequantized(writer: Writer, layer: int) -> str:
    """Returns a layer's weights: `(number - zero point) · scale` for each row or block."""
    bits = int(writer.attribute("expert_weight_bits", 4))
    bits = int(writer.attribute(f"fc{layer}_expert_weight_bits", bits))
    if bits not in (2, 4, 8):
        raise Refused(f"of {bits} bits is not supported")
    packed, scales = writer.node.input[3 * layer - 1 : 3 * layer + 1]
    shape = writer.shape(packed)
    count, rows, depth = shape[0], shape[1], shape[2] * 8 // bits
    block = int(writer.attribute("block_size", 0)) or depth
    blocks = -(-depth // block)
    numbers = unpacked(writer, packed, shape, bits)
    zero = writer.like(float(1 << (bits - 1)), _F32)
    if writer.has_input(10 + layer):
        zero = _zero_points(writer, 10 + layer, [count, rows, blocks], bits)
    parts = writer.reshape(numbers, [count, rows, blocks, block])
    scale = writer.reshape(writer.cast(scales, _F32), [count, rows, blocks, 1])
    weights = writer.op("Mul", writer.op("Sub", parts, zero), scale)
    return writer.reshape(weights, [count, rows, depth])


def _zero_points(writer: Writer, index: int, shape: list[int], bits: int) -> str:
    """Zero points of `[experts, rows, blocks]`; those of single blocks are packed along rows."""
    name = writer.node.input[index]
    given = writer.shape(name)
    numbers = unpacked(writer, name, given, bits)
    extent = shape[1] if len(given) == 2 else shape[2]
    return writer.reshape(writer.slice(numbers, len(given) - 1, 0, extent), [*shape, 1])


EXPERTS: dict[str, Rewrite] = {"MoE": _experts, "QMoE": _quantized_experts}
"""The rewrites, by operator."""

"""Rewrites contractions between `DequantizeLinear` and `QuantizeLinear`, as quantisers write them.

Scales move behind the contraction, which then multiplies integers or 8-bit floats:
`(a·s) · (b·t)` becomes `(a · b) · (s·t)`. Bytes between the two operators become signed, because
matrix instructions multiply signed bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, numpy_helper

from hipgraft.frontends.onnx.legalization.byte_products import (
    Factor,
    is_product_of_bytes,
    product_of_bytes,
)
from hipgraft.frontends.onnx.legalization.graph_info import GraphInfo
from hipgraft.frontends.onnx.legalization.narrow import SMALL_FLOATS
from hipgraft.frontends.onnx.legalization.quantization import may_differ_from_zero, shifted
from hipgraft.frontends.onnx.legalization.writer import Writer
from hipgraft.frontends.onnx.order import makers_of, names_read
from hipgraft.ir.diagnostics import Declined

_FLOAT, _INT8, _UINT8 = TensorProto.FLOAT, TensorProto.INT8, TensorProto.UINT8
_BYTES = {_INT8, _UINT8, *(number for number, kind in SMALL_FLOATS.items() if kind.bits == 8)}
_DOMAINS = ("", "ai.onnx")


def contract_bytes(model: onnx.ModelProto, graph: GraphInfo) -> bool:
    """Rewrites contractions of dequantised bytes in a graph, in place.

    Args:
        model: model with inferred shapes.
        graph: its metadata.

    Returns:
        Whether any node has changed; shapes must then be inferred again.
    """
    if not any(node.op_type == "DequantizeLinear" for node in model.graph.node):
        return False
    makers = makers_of(model.graph)
    if _sign_bytes(model, graph) or _drop_pairs(model, makers, graph):
        return True
    nodes: list[NodeProto] = []
    changed = False
    for node in model.graph.node:
        writer = _rewritten(node, makers, graph)
        changed |= writer is not None
        nodes += [node] if writer is None else writer.nodes
        model.graph.initializer.extend(writer.initializers if writer else ())
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return changed


@dataclass(frozen=True)
class _Dequantized:
    """An operand that is `(x - zero) · scale`.

    Attributes:
        x: integers or floats of a byte each.
        scale: one f32, or one for each index of a dimension.
        zero: their zero points; empty if they are 0.
        axis: that dimension, as the node gives it; None if there is one scale.
    """

    x: str
    scale: str
    zero: str
    axis: int | None

    @classmethod
    def of(cls, node: NodeProto | None, graph: GraphInfo) -> _Dequantized:
        """Reads the operator.

        Raises:
            Declined: the node is another operator, or does not dequantise bytes to f32.
        """
        if node is None or node.op_type != "DequantizeLinear" or node.domain not in _DOMAINS:
            raise Declined("not-dequantized", "an operand is not dequantised")
        writer = Writer(node, graph)
        x, scale = node.input[:2]
        if writer.element(x) not in _BYTES or writer.element(scale) != _FLOAT:
            raise Declined("type", "an operand has not bytes and a scale of f32")
        if writer.attribute("block_size", 0):
            raise Declined("blocks", "an operand has scales for blocks")
        is_one = int(np.prod(writer.shape(scale))) == 1
        axis = None if is_one else int(writer.attribute("axis", 1)) % len(writer.shape(x))
        has_zero = writer.has_input(2) and may_differ_from_zero(writer, node.input[2])
        return cls(x, scale, node.input[2] if has_zero else "", axis)

    def aligned(self, writer: Writer, name: str, ones: int) -> str:
        """Reshapes a single scale or zero point to a scalar; several get `ones` dims of 1."""
        if self.axis is None:
            return writer.reshape(name, []) if writer.shape(name) else name
        return writer.reshape(name, [-1, *[1] * ones]) if ones else name

    def shifted(self, writer: Writer, ones: int) -> str:
        """Writes the bytes minus their zero points in f32, aligned likewise."""
        return shifted(writer, self.x, self.aligned(writer, self.zero, ones) if self.zero else "")

    def check_axis(self, axis: int) -> None:
        """Checks that only the indices of one dimension have separate scales.

        Raises:
            Declined: the scales belong to another dimension.
        """
        if self.axis not in (None, axis):
            raise Declined("axis", "an operand has scales along a dimension that is summed over")


_Makers = Mapping[str, NodeProto]
"""The node that computes a value, by the value's name."""


def _rewritten(node: NodeProto, makers: _Makers, graph: GraphInfo) -> Writer | None:
    rewrite = _REWRITES.get(node.op_type) if node.domain in _DOMAINS else None
    if rewrite is None:
        return None
    writer = Writer(node, graph)
    try:
        rewrite(writer, makers)
    except Declined:
        return None
    return writer


def _factors(writer: Writer, makers: _Makers) -> tuple[_Dequantized, _Dequantized]:
    """Returns the operands, the left one with a single scale."""
    a, b = (_Dequantized.of(makers.get(name), writer.graph) for name in writer.node.input[:2])
    if a.axis is not None:
        raise Declined("axis", "the left operand has several scales")
    return a, b


def _matmul(writer: Writer, makers: _Makers) -> None:
    a, b = _factors(writer, makers)
    rank = len(writer.shape(b.x))
    b.check_axis(rank - 1)
    if min(rank, len(writer.shape(a.x))) < 2 or (b.axis is not None and rank > 2):
        raise Declined("rank", "an operand is a vector, or a stack of matrices with many scales")
    if is_product_of_bytes(writer, a.x, b.x) and _sums_are_constant(writer, a, b):
        product = product_of_bytes(writer, Factor(a.x, a.zero), Factor(b.x, b.zero))
    else:
        product = writer.op("MatMul", a.shifted(writer, 0), b.shifted(writer, 0))
    _finish(writer, product, a, b, 0)


def _gemm(writer: Writer, makers: _Makers) -> None:
    a, b = _factors(writer, makers)
    is_transposed = bool(writer.attribute("transB", 0))
    b.check_axis(0 if is_transposed else 1)
    if writer.attribute("alpha", 1.0) != 1 or writer.attribute("beta", 1.0) != 1:
        raise Declined("factors", "the product or the bias has a factor")
    data = writer.mapped_data(b.x) if is_transposed else None
    is_plain = not writer.attribute("transA", 0) and (data is not None or not is_transposed)
    is_plain = is_plain and is_product_of_bytes(writer, a.x, b.x)
    if is_plain and _sums_are_constant(writer, a, b):
        columns = b.x if data is None else writer.const(data.T)
        product = product_of_bytes(writer, Factor(a.x, a.zero), Factor(columns, b.zero))
    else:
        operands = a.shifted(writer, 0), b.shifted(writer, int(is_transposed))
        product = writer.op("Gemm", *operands, **writer.attributes())
    _finish(writer, product, a, b, 0)


def _conv(writer: Writer, makers: _Makers) -> None:
    a, b = _factors(writer, makers)
    b.check_axis(0)
    spatial = len(writer.shape(b.x)) - 2
    operands = a.shifted(writer, 0), b.shifted(writer, spatial + 1)
    _finish(writer, writer.op("Conv", *operands, **writer.attributes()), a, b, spatial)


def _gather(writer: Writer, makers: _Makers) -> None:
    """Dequantises the rows that are read, not the whole table."""
    table = _Dequantized.of(makers.get(writer.node.input[0]), writer.graph)
    if table.axis is not None:
        raise Declined("axis", "the table has several scales")
    rows = writer.op("Gather", table.x, writer.node.input[1], **writer.attributes())
    zero = [table.zero] if table.zero else []
    y = writer.op("DequantizeLinear", rows, table.scale, *zero)
    writer.result(writer.cast(y, writer.element(writer.node.output[0])))


_REWRITES: dict[str, Callable[[Writer, _Makers], None]] = {
    "Conv": _conv,
    "Gather": _gather,
    "Gemm": _gemm,
    "MatMul": _matmul,
}


def _sums_are_constant(writer: Writer, a: _Dequantized, b: _Dequantized) -> bool:
    """Whether the sums of rows and columns by which zero points are multiplied are constants."""
    for one, other in ((a, b), (b, a)):
        middle = 0 if writer.element(one.x) == _INT8 else 128
        zero = writer.graph.constants.get(one.zero) if one.zero else np.zeros([])
        is_known_zero = zero is not None and bool((zero == middle).all())
        if not is_known_zero and writer.mapped_data(other.x) is None:
            return False
    return True


def _finish(writer: Writer, y: str, a: _Dequantized, b: _Dequantized, ones: int) -> None:
    """Multiplies by both scales and adds the bias; `ones` dimensions follow that of b's scales."""
    scale = writer.op("Mul", a.aligned(writer, a.scale, 0), b.aligned(writer, b.scale, ones))
    scaled = writer.op("Mul", writer.cast(y, _FLOAT), scale)
    if writer.has_input(2):
        bias = writer.cast(writer.node.input[2], _FLOAT)
        shape = [-1, *[1] * ones]
        scaled = writer.op("Add", scaled, writer.reshape(bias, shape) if ones else bias)
    writer.result(writer.cast(scaled, writer.element(writer.node.output[0])))


# Pairs without effect


_MOVES = frozenset({"Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"})


def _drop_pairs(model: onnx.ModelProto, makers: _Makers, graph: GraphInfo) -> bool:
    """Drops the pair around an op that only moves elements, so that it moves bytes.

    Quantising by the same scale and zero point gives the same bytes.
    """
    nodes: list[NodeProto] = []
    is_changed = False
    for node in model.graph.node:
        moves: list[NodeProto] = []
        made = makers.get(node.input[0]) if len(node.input) else None
        while made is not None and made.op_type in _MOVES and made.domain in _DOMAINS:
            moves.append(made)
            made = makers.get(made.input[0])
        if made is None or not _is_inverse(node, made, graph):
            nodes.append(node)
            continue
        writer, name = Writer(node, graph), made.input[0]
        for move in reversed(moves):
            attributes = Writer(move, graph).attributes()
            name = writer.op(move.op_type, name, *move.input[1:], **attributes)
        writer.result(name)
        nodes += writer.nodes
        is_changed = True
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return is_changed


def _is_inverse(quantize: NodeProto, dequantize: NodeProto, graph: GraphInfo) -> bool:
    """Whether an operator quantises by the only scale and the zero point of the other."""
    operators = [(one.op_type, one.domain in _DOMAINS) for one in (quantize, dequantize)]
    if operators != [("QuantizeLinear", True), ("DequantizeLinear", True)]:
        return False
    names = [(*one.input, "")[1:3] for one in (quantize, dequantize)]
    is_same = all(
        left == right or _are_equal(left, right, graph) for left, right in zip(*names, strict=True)
    )
    is_one = graph.shapes.get(names[0][0]) in ([], [1])
    is_plain = not {one.name for one in quantize.attribute} & {"block_size", "precision"}
    # A multiplication in f16 may lose integers of more than eight bits.
    kinds = {graph.elements.get(name) for name in (quantize.output[0], dequantize.input[0])}
    return is_same and is_one and is_plain and len(kinds) == 1 and kinds <= _BYTES


def _are_equal(left: str, right: str, graph: GraphInfo) -> bool:
    first, second = (graph.constants.get(name) for name in (left, right))
    return first is not None and second is not None and np.array_equal(first, second)


# Signed bytes


def _sign_bytes(model: onnx.ModelProto, graph: GraphInfo) -> bool:
    """Makes unsigned bytes signed if only `DequantizeLinear` reads them; shifts zero points."""
    readers: dict[str, list[NodeProto]] = {}
    for node in model.graph.node:
        for name in names_read(node):
            readers.setdefault(name, []).append(node)
    kept = {value.name for value in model.graph.output}
    signed: set[str] = set()
    for node in model.graph.node:
        if node.op_type != "QuantizeLinear" or node.domain not in _DOMAINS:
            continue
        y = node.output[0]
        pairs = [node, *readers.get(y, ())]
        if y in kept or graph.elements.get(y) != _UINT8 or len(node.input) < 3 or len(pairs) == 1:
            continue
        zeros = [zero for one in pairs if (zero := _zero(one, y, graph)) is not None]
        if len(zeros) == len(pairs):
            for one, zero in zip(pairs, zeros, strict=True):
                name = Writer(one, graph).fresh("zero")
                tensor = (zero.astype(np.int16) - 128).astype(np.int8)
                model.graph.initializer.append(numpy_helper.from_array(tensor, name))
                one.input[2] = name
            signed.add(y)
    for value in model.graph.value_info:
        if value.name in signed:
            value.type.tensor_type.elem_type = _INT8
    return bool(signed)


def _zero(node: NodeProto, bytes_: str, graph: GraphInfo) -> np.ndarray | None:
    """Returns the constant zero point of a pair's operator; None if the operator is another."""
    is_first = node.op_type == "QuantizeLinear" and node.output[0] == bytes_
    is_second = node.op_type == "DequantizeLinear" and node.input[0] == bytes_
    if not (is_first or is_second) or len(node.input) < 3:
        return None
    if node.op_type == "QuantizeLinear" and any(a.name == "output_dtype" for a in node.attribute):
        return None  # the attribute would contradict the zero point
    return graph.constants.get(node.input[2])

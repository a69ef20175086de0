"""Counts the work of ONNX nodes, to report the share that is taken."""

from __future__ import annotations

import math
from collections.abc import Mapping

from onnx import NodeProto

from hipgraft.onnxruntime.graph import Kind, Shape

_PRODUCTS = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul", "MatMulInteger"})


def is_product(node: NodeProto) -> bool:
    """Returns whether a node is a contraction."""
    return _name(node) in _PRODUCTS


def flops(node: NodeProto, kinds: Mapping[str, Kind]) -> int:
    """Returns the operations of a contraction, counting a multiply-add as two; 0 for other nodes.

    Args:
        node: the node.
        kinds: types of values by name; unknown shapes count as no work.
    """
    operands = [_shape(name, kinds) for name in node.input]
    results = [_shape(name, kinds) for name in node.output]
    if not results or not operands or not all(operands[:2]):
        return 0
    name = _name(node)
    if name == "Conv":
        weight = operands[3 if node.op_type.startswith("QLinear") else 1]
        return 2 * math.prod(results[0]) * math.prod(weight[1:])
    if name == "ConvTranspose":
        return 2 * math.prod(operands[0]) * math.prod(operands[1][1:])
    if name in ("MatMul", "MatMulInteger"):
        flags = {one.name: one.i for one in node.attribute}
        return 2 * math.prod(results[0]) * operands[0][-2 if flags.get("transA") else -1]
    if name == "Gemm":
        flags = {one.name: one.i for one in node.attribute}
        return 2 * math.prod(results[0]) * operands[0][0 if flags.get("transA") else -1]
    return 0


def _name(node: NodeProto) -> str:
    return node.op_type.removeprefix("QLinear").removeprefix("Fused")


def _shape(name: str, kinds: Mapping[str, Kind]) -> Shape:
    return (kinds[name].shape or ()) if name in kinds else ()

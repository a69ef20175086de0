"""ONNX forms that torch-mlir lowers to wrong values without saying so; they are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx

_Attributes = dict[str, Any]


def _weighted_mean_loss(node: onnx.NodeProto, attributes: _Attributes) -> str | None:
    has_weights = len(node.input) > 2 and bool(node.input[2])
    if has_weights and attributes.get("reduction", b"mean") == b"mean":
        return "with class weights and mean reduction"
    return None


def _dilated_pool(node: onnx.NodeProto, attributes: _Attributes) -> str | None:
    dilated = any(dilation != 1 for dilation in attributes.get("dilations", []))
    if len(attributes["kernel_shape"]) == 3 and dilated and attributes.get("ceil_mode"):
        return "in three dimensions with dilation and rounded-up extents"
    return None


def _column_row_depth(node: onnx.NodeProto, attributes: _Attributes) -> str | None:
    return "in mode CRD" if attributes.get("mode") == b"CRD" else None


_FORMS: dict[str, Callable[[onnx.NodeProto, _Attributes], str | None]] = {
    "AveragePool": _dilated_pool,
    "NegativeLogLikelihoodLoss": _weighted_mean_loss,
    "SoftmaxCrossEntropyLoss": _weighted_mean_loss,
    "SpaceToDepth": _column_row_depth,
}


def refusal(node: onnx.NodeProto) -> str | None:
    """Returns why a node cannot be compiled, None if it can."""
    check = _FORMS.get(node.op_type)
    if check is None:
        return None
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    form = check(node, attributes)
    return None if form is None else f"ONNX operator '{node.op_type}' {form} is not supported"

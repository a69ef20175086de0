"""Upgrades models of old opsets, by ONNX's converter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper, version_converter

from hipgraft.frontends.onnx.checker_errors import node_and_message
from hipgraft.frontends.onnx.legalization import RefusedNode
from hipgraft.ir.diagnostics import HipgraftError

OLDEST_OPSET = 13
"""torch-mlir's ONNX lowerings know the forms from this opset on."""
UPGRADED_OPSET = 17
"""The one that older models get."""
# Scans of opset 8 have a batch dimension and lengths of sequences.
_SCAN_WITHOUT_BATCH = 9
# From which on an attribute says where the elements of a resized tensor come from.
_RESIZE_BY_COORDINATES = 11


def upgrade(model: onnx.ModelProto, opset: int) -> onnx.ModelProto:
    """Returns the model in the opset `UPGRADED_OPSET`.

    Args:
        model: the model.
        opset: its own opset.

    Raises:
        RefusedNode: the converter makes something else of a node.
        HipgraftError: the model cannot be converted.
    """
    for node in model.graph.node:
        if node.op_type == "Scan" and opset < _SCAN_WITHOUT_BATCH:
            # The converter keeps its operands, which mean something else then.
            raise RefusedNode(node, f"of opset {opset} is not supported; convert the model")
    try:
        upgraded = version_converter.convert_version(model, UPGRADED_OPSET)
    except Exception as error:  # the converter raises whatever its C++ side threw
        said = node_and_message(error)[1]
        raise HipgraftError(f"cannot upgrade opset {opset} to {UPGRADED_OPSET}: {said}") from error
    if opset < _RESIZE_BY_COORDINATES:
        _keep_coordinates(upgraded)
    return upgraded


def _keep_coordinates(model: onnx.ModelProto) -> None:
    """Resizes as `Upsample` and the first `Resize` do, which the converter forgets."""
    values = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            values[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    for node in model.graph.node:
        if node.op_type != "Resize":
            continue
        node.attribute.append(helper.make_attribute("coordinate_transformation_mode", "asymmetric"))
        scales = values.get(node.input[2], np.ones(1))
        node.attribute.append(
            helper.make_attribute("nearest_mode", _nearest(node, scales.tolist()))
        )


def _nearest(node: onnx.NodeProto, scales: Sequence[float]) -> str:
    shrinks, grows = any(scale < 1 for scale in scales), any(scale > 1 for scale in scales)
    mode = next((one.s for one in node.attribute if one.name == "mode"), b"nearest")
    if shrinks and grows and mode == b"nearest":
        raise RefusedNode(node, "that shrinks one dimension and grows another is not supported")
    return "ceil" if shrinks else "floor"

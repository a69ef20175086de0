"""Replaces scales of resizes by sizes where ONNX's shape inference would round them down too far.

The nearest float to 13/9 is less than it. Its product with 9 is 13 in floats, as onnxruntime
computes it and exporters declare it, but 12 in doubles, as shape inference computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
import onnx
from onnx import numpy_helper

from hipgraft.frontends.onnx.folding import small_constants


def settle_scales(
    model: onnx.ModelProto,
    opaque: Collection[str],
    infer: Callable[[onnx.ModelProto], onnx.ModelProto],
) -> None:
    """Replaces scales of `Resize` nodes that would be rounded down too far by sizes, in place.

    Args:
        model: model of opset 11 or later.
        opaque: names of initialisers whose data is not available.
        infer: returns a model with the shapes that can be inferred.
    """
    while any(map(_is_scaled, model.graph.node)):
        constants = small_constants(model.graph, opaque)
        nodes = [node for node in model.graph.node if _is_broken(node, constants)]
        if not nodes:
            return
        shapes = _extents(infer(model).graph)
        for node in nodes:
            sizes = _sizes(node, constants, shapes.get(node.input[0], []))
            if sizes is not None:
                name = f"{node.output[0]}_sizes"
                model.graph.initializer.append(numpy_helper.from_array(sizes, name))
                node.input[2:] = ["", name]
                _forget_shapes(model.graph)  # because they followed from the scales
                break  # the extents of later nodes may follow from the new sizes
        else:
            return


def _forget_shapes(graph: onnx.GraphProto) -> None:
    del graph.value_info[:]
    for result in graph.output:
        if result.type.HasField("tensor_type"):
            result.type.tensor_type.ClearField("shape")


def _is_scaled(node: onnx.NodeProto) -> bool:
    is_resize = node.op_type == "Resize" and node.domain in ("", "ai.onnx")
    return is_resize and len(node.input) >= 3 and bool(node.input[2])


def _is_broken(node: onnx.NodeProto, constants: dict[str, np.ndarray]) -> bool:
    """Whether a node has constant scales that are not whole numbers."""
    scales = constants.get(node.input[2]) if _is_scaled(node) else None
    crops = any(one.s == b"tf_crop_and_resize" for one in node.attribute)
    return scales is not None and not crops and bool((scales != np.round(scales)).any())


def _extents(graph: onnx.GraphProto) -> dict[str, list[int]]:
    return {
        value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in [*graph.value_info, *graph.input]
        if all(dim.HasField("dim_value") for dim in value.type.tensor_type.shape.dim)
    }


def _sizes(
    node: onnx.NodeProto, constants: dict[str, np.ndarray], shape: list[int]
) -> np.ndarray | None:
    """Returns the sizes of a result if floats and doubles disagree about them."""
    axes = next((list(one.ints) for one in node.attribute if one.name == "axes"), None)
    scales = constants[node.input[2]]
    extents = (
        shape
        if axes is None
        else [shape[axis] for axis in axes if -len(shape) <= axis < len(shape)]
    )
    if scales.shape != (len(extents),):
        return None
    rounded = np.floor(np.array(extents, np.float32) * scales).astype(np.int64)
    exact = np.floor(np.array(extents, np.float64) * scales.astype(np.float64)).astype(np.int64)
    return None if (rounded == exact).all() else rounded

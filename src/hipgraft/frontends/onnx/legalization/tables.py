"""Computes tables that depend on extents only: windows, and the points of affine grids."""

from __future__ import annotations

import math

import numpy as np
from onnx import TensorProto, helper

from hipgraft.frontends.onnx.legalization.graph_info import Array
from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer
from hipgraft.ir.diagnostics import Declined

_COSINES = {
    "BlackmanWindow": (0.42, -0.5, 0.08),
    "HammingWindow": (25 / 46, -21 / 46),
    "HannWindow": (0.5, -0.5),
}
"""Coefficients of the cosines of 0, 1 and 2 turns."""


def _window(writer: Writer) -> None:
    size = writer.node.input[0]
    if size in writer.graph.constants:
        count = writer.ints(0)[0]
    else:
        (count,) = writer.needed_shape(writer.node.output[0], "of a size that is an input")
    periods = count if writer.attribute("periodic", 1) else count - 1
    angles = np.arange(count) * (2 * math.pi / max(periods, 1))
    terms = _COSINES[writer.node.op_type]
    values = sum(factor * np.cos(turns * angles) for turns, factor in enumerate(terms))
    kind = int(writer.attribute("output_datatype", TensorProto.FLOAT))
    writer.result(writer.const(np.asarray(values).astype(helper.tensor_dtype_to_np_dtype(kind))))


def _affine_grid(writer: Writer) -> None:
    """Points of a regular grid, by the matrices that move them: `[N, D, D + 1]`."""
    theta = writer.node.input[0]
    batch, rank, _ = writer.needed_shape(theta, "of this form")
    result = writer.needed_shape(writer.node.output[0], "of a size that is an input")
    extents = result[1:-1]
    aligned = bool(writer.attribute("align_corners", 0))
    lines = [_points(extent, aligned=aligned) for extent in extents]
    # The last dimension is the first coordinate.
    points = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(extents)], axis=-1)
    dtype = helper.tensor_dtype_to_np_dtype(writer.element(theta))
    columns = writer.const(points.reshape(-1, rank + 1).T.astype(dtype))
    moved = writer.op("MatMul", theta, columns)
    moved = writer.transpose(moved, [0, 2, 1])
    writer.result(writer.reshape(moved, [batch, *extents, rank]))


def _points(extent: int, *, aligned: bool) -> Array:
    if aligned:
        return np.linspace(-1, 1, extent) if extent > 1 else np.array([-1.0])
    return (2 * np.arange(extent) + 1) / extent - 1


_CONSTANT_OPERANDS = {
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "Upsample": (1,),
}
"""Operands that torch-mlir reads as constants, where nothing else lowers them."""


def _left_to_torch(writer: Writer) -> None:
    for index in _CONSTANT_OPERANDS[writer.node.op_type]:
        name = writer.node.input[index] if writer.has_input(index) else ""
        if name and name not in writer.graph.constants and writer.graph.shapes.get(name) != [0]:
            raise Refused("with operands that are inputs is not supported")
    raise Declined("supported", "it is left to torch-mlir")


TABLES: dict[str, Rewrite] = {
    **dict.fromkeys(_CONSTANT_OPERANDS, _left_to_torch),
    **dict.fromkeys(_COSINES, _window),
    "AffineGrid": _affine_grid,
}
"""The rewrites, by operator."""

"""Deformable convolutions, regions of interest, unpooling and caches, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator
from small_onnx import F32, I64, check, drawn, evaluating, results_of, save

from hipgraft import frontends
from hipgraft.ir.diagnostics import HipgraftError

pytestmark = pytest.mark.slow


@evaluating
def check_against_reference(path: Path, inputs, tolerance=1e-5) -> None:
    """Compares with ONNX's reference, for operators that the installed onnxruntime lacks."""
    wanted = ReferenceEvaluator(onnx.load(path)).run(None, dict(inputs))
    outputs = results_of(path, list(inputs.values()))
    for got, want in zip(outputs, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.sampled(16)
@pytest.mark.parametrize(
    ("attributes", "given", "opset"),
    [
        ({}, "xwo", 19),
        ({"pads": [1, 0, 2, 1], "strides": [2, 1], "dilations": [1, 2]}, "xwob", 19),
        ({"group": 2, "offset_group": 4, "pads": [1, 1, 1, 1]}, "xwobm", 22),
        ({"offset_group": 2}, "xwo-m", 22),
    ],
)
def test_deformable_convolution(tmp_path, attributes, given, opset):
    pads, strides, dilations = (
        attributes.get(name, [default] * count)
        for name, default, count in (("pads", 0, 4), ("strides", 1, 2), ("dilations", 1, 2))
    )
    counts = [
        (extent + pads[dim] + pads[dim + 2] - (size - 1) * dilations[dim] - 1) // strides[dim] + 1
        for dim, (extent, size) in enumerate(((7, 3), (6, 2)))
    ]
    parts = attributes.get("offset_group", 1)
    tensors = {
        "x": drawn(2, 4, 7, 6),
        "w": drawn(6, 4 // attributes.get("group", 1), 3, 2),
        # Some samples are outside of the image.
        "o": 2 * drawn(2, parts * 12, *counts),
        "b": drawn(6),
        "m": drawn(2, parts * 6, *counts),
    }
    node = helper.make_node(
        "DeformConv", [name.strip("-") for name in given], ["y"], kernel_shape=[3, 2], **attributes
    )
    inputs = {name: tensors[name] for name in given if name != "-"}
    check_against_reference(
        save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], opset=opset), inputs, 1e-4
    )


@pytest.mark.sampled(32)
@pytest.mark.parametrize(
    ("form", "opset"), [("half_pixel", 20), ("output_half_pixel", 16), ("", 20), ("", 13), ("", 10)]
)
@pytest.mark.parametrize("ratio", [2, 0])
def test_regions_of_interest(tmp_path, form, opset, ratio):
    attributes = {"coordinate_transformation_mode": form} if form else {}
    node = helper.make_node(
        "RoiAlign", ["x", "r", "n"], ["y"], output_height=3, output_width=2, sampling_ratio=ratio,
        spatial_scale=0.5, **attributes,
    )  # fmt: skip
    regions = np.array(
        [[0, 0, 9, 9], [4, 2, 11, 13], [-8, -3, 20, 30], [5, 5, 5.5, 5.5], [13, 15, 90, 80]],
        np.float32,  # the fourth is smaller than an element
    )
    inputs = {"x": drawn(3, 4, 8, 7), "r": regions, "n": np.array([0, 2, 1, 2, 1])}
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], opset=opset), inputs, 1e-4)


def test_maxima_of_regions_are_refused(tmp_path):
    node = helper.make_node(
        "RoiAlign", ["x", "r", "n"], ["y"], name="roi", mode="max", sampling_ratio=2
    )
    inputs = {"x": drawn(1, 1, 4, 4), "r": drawn(1, 4), "n": np.array([0])}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)])
    with pytest.raises(HipgraftError, match="'RoiAlign' of maxima") as error:
        frontends.read(path)
    assert error.value.location == "m.onnx:roi (RoiAlign)"


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "attributes",
    [
        {"strides": [2, 2]},
        {"strides": [2, 1], "storage_order": 1},
        {"strides": [2, 2], "ceil_mode": 1, "pads": [1, 0, 0, 0]},
        {"dilations": [2, 3], "pads": [1, 1, 1, 1]},
        {"auto_pad": "SAME_UPPER", "strides": [3, 2]},
    ],
)
def test_positions_of_maxima(tmp_path, attributes):
    node = helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2, 3], **attributes)
    # Equal elements: the first one counts.
    inputs = {"x": np.round(drawn(2, 3, 7, 8))}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32), ("i", I64)])
    check(path, inputs)


def test_positions_of_maxima_in_other_dimensions(tmp_path):
    for shape in ((2, 3, 9), (2, 2, 4, 5, 6)):
        kernel = [2] * (len(shape) - 2)
        node = helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=kernel, strides=kernel)
        inputs = {"x": drawn(*shape)}
        path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32), ("i", I64)])
        check(path, inputs)


def test_positions_of_the_maxima_of_bytes_in_three_dimensions(tmp_path):
    node = helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2] * 3, strides=[2] * 3)
    inputs = {"x": np.random.default_rng(3).integers(-128, 128, (2, 2, 4, 5, 6), np.int8)}
    results = [("y", onnx.TensorProto.INT8), ("i", I64)]
    check(save(tmp_path / "m.onnx", [node], inputs, results), inputs)


@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 1, 1, 1]])
def test_unpooling(tmp_path, pads):
    attributes = {"kernel_shape": [2, 2], "strides": [2, 2], "pads": pads}
    nodes = [
        helper.make_node("MaxPool", ["x"], ["p", "i"], **attributes),
        helper.make_node("MaxUnpool", ["p", "i"], ["y"], **attributes),
    ]
    inputs = {"x": drawn(2, 3, 6, 8)}
    check(save(tmp_path / "m.onnx", nodes, inputs, [("y", F32)]), inputs)


def test_maxima_are_put_back_into_the_shape_of_their_windows_alone(tmp_path: Path) -> None:
    windows = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [
        helper.make_node("MaxPool", ["x"], ["p", "i"], **windows),
        helper.make_node("MaxUnpool", ["p", "i", "shape"], ["y"], **windows),
    ]
    constants = {"shape": np.array([2, 3, 7, 8])}
    path = save(tmp_path / "m.onnx", nodes, {"x": drawn(2, 3, 6, 8)}, [("y", F32)], constants)
    model = onnx.load(path)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", F32, [2, 3, 7, 8]))
    onnx.save(model, path)
    with pytest.raises(HipgraftError, match=r"to another shape than \[2, 3, 6, 8\]"):
        frontends.load(path)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("mode", "starts", "axis"),
    [("linear", None, -2), ("linear", [0, 3], -2), ("circular", [5, 2], 1)],
)
def test_tensor_scatter(tmp_path, mode, starts, axis):
    shape = [2, 6, 6, 3]
    new = [2, 2, 6, 3] if axis == 1 else [2, 6, 2, 3]
    inputs = {"cache": drawn(*shape), "new": drawn(*new)}
    if starts:
        inputs["starts"] = np.array(starts)
    node = helper.make_node("TensorScatter", list(inputs), ["y"], mode=mode, axis=axis)
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], opset=24)
    check_against_reference(path, inputs)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_maxima_of_bytes_in_three_dimensions(tmp_path, dtype):
    inputs = {"x": np.random.default_rng(0).integers(0, 256, (1, 2, 4, 5, 4)).astype(dtype)}
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    attributes = {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2]}
    node = helper.make_node("MaxPool", ["x"], ["y"], **attributes)
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", kind)]), inputs)


@pytest.mark.sampled(18)
@pytest.mark.parametrize("scale", [1.0, 0.5, 0.3])
@pytest.mark.parametrize("pooled", [[1, 1], [2, 3], [4, 2]])
def test_maxima_of_regions(tmp_path, scale, pooled):
    """Regions inside, across the border, outside, of one element, and with rounded halves."""
    node = helper.make_node(
        "MaxRoiPool", ["x", "rois"], ["y"], pooled_shape=pooled, spatial_scale=scale
    )
    rois = [
        [0, 0, 0, 5, 4],
        [1, 1.5, 2.5, 9.5, 3],
        [0, 4, 4, 4, 4],
        [1, 20, 3, 22, 4],
        [0, 3, 1, 2, 0],
    ]
    inputs = {"x": drawn(2, 3, 6, 7) - 3, "rois": np.array(rois, np.float32)}
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32)]), inputs)

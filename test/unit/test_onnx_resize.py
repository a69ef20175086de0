"""Resizes by filters and with a kept aspect ratio, against ONNX's reference and onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from small_onnx import F32, check, drawn, evaluating, results_of, save

from hipgraft import frontends
from hipgraft.ir.diagnostics import HipgraftError

pytestmark = pytest.mark.slow

SMALLER, LARGER = [1, 2, 5, 4], [1, 2, 17, 20]
FORMS = {
    "linear, smaller": (SMALLER, {"mode": "linear", "antialias": 1, "exclude_outside": 1}),
    "cubic, smaller": (
        SMALLER,
        {"mode": "cubic", "antialias": 1, "exclude_outside": 1, "cubic_coeff_a": -0.5},
    ),
    "cubic, larger": (LARGER, {"mode": "cubic", "antialias": 1, "exclude_outside": 1}),
    "cubic, inside": (LARGER, {"mode": "cubic", "exclude_outside": 1}),
    "linear, inside, corners": (
        LARGER,
        {"mode": "linear", "exclude_outside": 1,
         "coordinate_transformation_mode": "align_corners"},
    ),
}  # fmt: skip


def model(path, sizes, attributes):
    inputs = {"x": drawn(1, 2, 11, 9)}
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **attributes)
    return save(path, [node], inputs, [("y", F32)], {"sizes": np.array(sizes)}), inputs


@evaluating
def found_and_wanted(path, inputs):
    (found,) = results_of(path, list(inputs.values()))
    (wanted,) = ReferenceEvaluator(onnx.load(path)).run(None, inputs)
    return found, wanted


@pytest.mark.sampled(12)
@pytest.mark.parametrize("form", FORMS)
def test_filters(tmp_path, form):
    sizes, attributes = FORMS[form]
    path, inputs = model(tmp_path / "m.onnx", sizes, attributes)
    found, wanted = found_and_wanted(path, inputs)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", [name for name in FORMS if "smaller" in name])
def test_filters_as_onnxruntime_has_them(tmp_path, form):
    """onnxruntime's windows end at the image's edge, as Pillow's and PyTorch's do."""
    path, inputs = model(tmp_path / "m.onnx", *FORMS[form])
    (found,) = results_of(path, list(inputs.values()))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(found, session.run(None, inputs)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "attributes",
    [
        {"mode": "linear"},
        {"mode": "nearest", "nearest_mode": "ceil"},
        {"mode": "cubic", "cubic_coeff_a": -0.5},
        {"mode": "cubic", "exclude_outside": 1},
        {"mode": "linear", "antialias": 1},
        {"mode": "cubic", "antialias": 1},
    ],
    ids=str,
)
def test_one_result_is_at_the_first_element_in_pytorch_half_pixel(tmp_path, attributes):
    """As ONNX defines it; ONNX's reference has it at the center."""
    attributes = {"coordinate_transformation_mode": "pytorch_half_pixel", **attributes}
    path, inputs = model(tmp_path / "m.onnx", [1, 2, 1, 1], attributes)
    (found,) = results_of(path, list(inputs.values()))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(found, session.run(None, inputs)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_lines(tmp_path, mode):
    """torch-mlir resizes images alone."""
    inputs = {"x": drawn(2, 3, 4)}
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode=mode)
    scales = {"scales": np.array([1, 1, 2], np.float32)}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], scales)
    found, wanted = found_and_wanted(path, inputs)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_kept_aspect_ratio(tmp_path, policy, mode):
    attributes = {"mode": mode, "keep_aspect_ratio_policy": policy, "axes": [2, 3]}
    path, inputs = model(tmp_path / "m.onnx", [7, 8], attributes)
    found, wanted = found_and_wanted(path, inputs)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.thorough
def test_more_elements_for_each_result_than_a_kernel_has_operands(tmp_path):
    inputs = {"x": drawn(1, 1, 64, 64)}
    constants = {"s": np.array([1, 1, 1 / 16, 1 / 16], np.float32)}
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear", antialias=1)
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], constants), inputs)


def test_scales_that_are_inputs(tmp_path):
    inputs = {"x": drawn(1, 1, 6, 6), "scales": np.array([1, 1, 0.5, 0.5], np.float32)}
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear", antialias=1)
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)])
    whole = onnx.load(path)
    whole.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", F32, [1, 1, 3, 3]))
    onnx.save(whole, path)
    with pytest.raises(HipgraftError, match="'Resize' by filters is supported for constant scales"):
        frontends.load(path)


def test_bytes(tmp_path):
    """By the nearest element."""
    for dtype in (np.int8, np.uint8):
        inputs = {"x": np.arange(-20, 100, dtype=np.int16).astype(dtype).reshape(1, 2, 6, 10)}
        constants = {"s": np.array([1, 1, 2, 1.7], np.float32)}
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        node = helper.make_node("Resize", ["x", "", "s"], ["y"], mode="nearest")
        check(save(tmp_path / "m.onnx", [node], inputs, [("y", kind)], constants), inputs)


def test_long_integers_are_refused(tmp_path):
    """Floats of 32 bits do not have all of them."""
    inputs = {"x": np.arange(24, dtype=np.int32).reshape(1, 1, 4, 6)}
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear")
    constants = {"s": np.array([1, 1, 2, 2], np.float32)}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", TensorProto.INT32)], constants)
    with pytest.raises(HipgraftError, match="'Resize' of integers of 32 and 64 bits is not"):
        frontends.load(path)


def test_forms_of_tf2onnx(tmp_path):
    """A scale whose product is a whole number in floats only; coordinates of opset 11."""
    inputs = {"x": drawn(1, 1, 9, 1)}
    constants = {"a": np.array([1, 1, 13 / 9, 1], np.float32), "b": np.array([1, 1, 5, 1])}
    nodes = [
        helper.make_node("Resize", ["x", "", "a"], ["y"], mode="linear"),
        helper.make_node(
            "Resize", ["y", "", "", "b"], ["z"],
            coordinate_transformation_mode="tf_half_pixel_for_nn", nearest_mode="floor",
        ),
    ]  # fmt: skip
    path = save(tmp_path / "m.onnx", nodes, inputs, [("y", F32), ("z", F32)], constants)
    whole = onnx.load(path)
    whole.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", F32, [1, 1, 13, 1]))
    onnx.save(whole, path)
    check(path, inputs)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_integers(tmp_path, dtype, mode):
    """Results are rounded, and clamped where cubic weights overshoot the type's range."""
    x = np.where(drawn(1, 2, 6, 5) > 0, np.iinfo(dtype).max, np.iinfo(dtype).min).astype(dtype)
    x[0, 0] = np.arange(30).reshape(6, 5)
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode=mode)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    sizes = {"sizes": np.array([1, 2, 11, 10])}
    path = save(tmp_path / "m.onnx", [node], {"x": x}, [("y", kind)], sizes)
    found, wanted = found_and_wanted(path, {"x": x})
    assert found.dtype == wanted.dtype
    assert np.abs(found.astype(int) - wanted.astype(int)).max() <= (1 if dtype is np.int16 else 0)


def test_scales_of_the_first_axis(tmp_path):
    """ONNX's shape inference resizes 9 elements by 13/9 to 12."""
    inputs = {"x": drawn(9, 4)}
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="nearest", axes=[-2])
    path = save(
        tmp_path / "m.onnx",
        [node],
        inputs,
        [("y", F32)],
        {"scales": np.array([13 / 9], np.float32)},
    )
    (found,), wanted = results_of(path, list(inputs.values())), 13
    assert found.shape == (wanted, 4)

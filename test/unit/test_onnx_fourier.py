"""Fourier transforms, against NumPy's, and frames of signals, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper
from small_onnx import F32, check, drawn, save

from hipgraft.frontends.onnx.model import read_model
from hipgraft.ir.diagnostics import HipgraftError


def rewritten(path: Path, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """Returns onnxruntime's result for the operators that replace the transform."""
    model = read_model(path)
    model.ir_version = 10
    for node in model.graph.node:
        node.name = ""
    assert not {node.op_type for node in model.graph.node} & {"DFT", "STFT"}
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return np.asarray(session.run(None, inputs)[0])


def pairs(x: np.ndarray) -> np.ndarray:
    """Complex numbers as pairs."""
    return np.stack([x.real, x.imag], -1).astype(np.float32)


def transform(path: Path, x: np.ndarray, length: int | None, axis: int, **attributes: int) -> Path:
    names = ["x", "n" if length is not None else "", "a"]
    node = helper.make_node("DFT", names, ["y"], **attributes)
    constants = {"a": np.int64(axis)}
    if length is not None:
        constants["n"] = np.int64(length)
    return save(path / "m.onnx", [node], {"x": x}, [("y", F32)], constants)


@pytest.mark.parametrize("length", [None, 4, 7, 8])
@pytest.mark.parametrize("axis", [1, -2, 0])
def test_complex_transforms(tmp_path: Path, length: int | None, axis: int) -> None:
    x = drawn(3, 5, 7, 2)
    numbers = x[..., 0] + 1j * x[..., 1]
    where = axis if axis >= 0 else axis + 1
    for inverse, transformed in ((0, np.fft.fft), (1, np.fft.ifft)):
        path = transform(tmp_path, x, length, axis, inverse=inverse)
        wanted = pairs(transformed(numbers, length, where))
        np.testing.assert_allclose(rewritten(path, {"x": x}), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("length", [None, 6, 7, 11])
def test_one_side_of_real_transforms(tmp_path: Path, length: int | None) -> None:
    x = drawn(2, 9, 3, 1)
    path = transform(tmp_path, x, length, 1, onesided=1)
    wanted = pairs(np.fft.rfft(x[..., 0], length, 1))
    np.testing.assert_allclose(rewritten(path, {"x": x}), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("length", [4, 7, 8, 10, 16])
def test_real_numbers_of_one_side(tmp_path: Path, length: int) -> None:
    x = drawn(2, 5, 2)
    path = transform(tmp_path, x, length, 1, onesided=1, inverse=1)
    wanted = np.fft.irfft(x[..., 0] + 1j * x[..., 1], length, 1)[..., None]
    found = rewritten(path, {"x": x})
    np.testing.assert_allclose(found, wanted.astype(np.float32), rtol=1e-4, atol=1e-5)


def test_the_axis_of_opset_17_is_an_attribute(tmp_path: Path) -> None:
    x = drawn(2, 4, 6, 1)
    node = helper.make_node("DFT", ["x"], ["y"], axis=2)
    path = save(tmp_path / "m.onnx", [node], {"x": x}, [("y", F32)], opset=17)
    wanted = pairs(np.fft.fft(x[..., 0], axis=2))
    np.testing.assert_allclose(rewritten(path, {"x": x}), wanted, rtol=1e-4, atol=1e-5)


def test_an_axis_that_is_an_input_is_refused(tmp_path: Path) -> None:
    x = {"x": drawn(2, 4, 4, 1), "a": np.array(1)}
    node = helper.make_node("DFT", ["x", "", "a"], ["y"], name="t")
    path = save(tmp_path / "m.onnx", [node], x, [("y", F32)])
    model = onnx.load(path)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", F32, [2, 4, 4, 2]))
    onnx.save(model, path)
    with pytest.raises(HipgraftError, match="'DFT' along an axis that is an input") as error:
        read_model(path)
    assert error.value.location == "m.onnx:t (DFT)"


@pytest.mark.sampled(6)
@pytest.mark.slow
@pytest.mark.parametrize("sides", [{"onesided": 0}, {"onesided": 1}, {}])
def test_programs_of_frames(tmp_path: Path, sides: dict[str, int]) -> None:
    node = helper.make_node("STFT", ["x", "s", "w", "n"], ["y"], **sides)
    constants = {"s": np.int64(3), "w": np.hanning(8).astype(np.float32), "n": np.int64(8)}
    inputs = {"x": drawn(2, 30, 1)}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], constants)
    if not sides:  # ONNX's inference takes another default than the operator
        model = onnx.load(path)
        model.graph.output[0].type.tensor_type.shape.dim[2].dim_value = 5
        onnx.save(model, path)
    check(path, inputs, 1e-4)


def test_a_step_that_the_number_of_frames_tells(tmp_path: Path) -> None:
    inputs = {"x": drawn(1, 40, 1), "s": np.array(4), "w": np.ones(8, np.float32)}
    node = helper.make_node("STFT", ["x", "s", "w"], ["y"])
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)])
    model = onnx.load(path)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", F32, [1, 9, 5, 2]))
    onnx.save(model, path)
    frames = np.lib.stride_tricks.sliding_window_view(inputs["x"][0, :, 0], 8)[::4]
    wanted = pairs(np.fft.rfft(frames))[None]
    np.testing.assert_allclose(rewritten(path, inputs), wanted, rtol=1e-4, atol=1e-5)

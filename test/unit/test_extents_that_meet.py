"""Programs with dynamic shapes are right, or report an error, if inputs do not fit each other."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from emulator import open_emulator, requires_emulator
from onnx import TensorProto, helper

import hipgraft
from hipgraft.host.jit import Jit
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.runtime.devices import open_device
from hipgraft.runtime.host_program.interpreter import Executor

pytestmark = pytest.mark.slow

Shape = list[str | int]

# An operator, its attributes, and the shapes of its inputs.
CASES: dict[str, tuple[str, dict[str, Any], list[Shape]]] = {
    "rows": ("Add", {}, [["N", 4], ["M", 4]]),
    "ranks": ("Mul", {}, [["B", "N", 3], ["M", 3]]),
    "three": ("Max", {}, [["N", 2], ["M", 2], ["K", 2]]),
    "contracted": ("MatMul", {}, [[2, "K"], ["L", 3]]),
    "batches": ("MatMul", {}, [["B", 2, 3], ["C", 3, 2]]),
    "some batches": ("MatMul", {}, [["A", "B", 2, 3], ["C", 3, 2]]),
    "bias": ("Gemm", {}, [["N", 4], [4, 3], ["M", 3]]),
    "concatenated": ("Concat", {"axis": 0}, [["N", "K"], [2, "L"]]),
    "channels": ("Conv", {}, [["N", "C", 4, 4], [2, 2, 3, 3]]),
    "normalized": ("LayerNormalization", {}, [[2, "K"], ["M"]]),
    "statistics": ("BatchNormalization", {}, [[2, "C", 3], ["S"], ["S"], ["T"], ["T"]]),
    "sums": ("Einsum", {"equation": "ij,jk->ik"}, [["N", "K"], ["L", 2]]),
    "transposed": ("Sum", {}, [["N", "M"], ["M", "N"], ["N", "K"]]),
}


def save(path: Path, name: str) -> Path:
    op, attributes, shapes = CASES[name]
    inputs = [
        helper.make_tensor_value_info(f"x{index}", TensorProto.FLOAT, shape)
        for index, shape in enumerate(shapes)
    ]
    nodes = [
        helper.make_node(op, [one.name for one in inputs], ["y"], **attributes),
        helper.make_node("Relu", ["y"], ["z"]),
    ]
    results = [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "g", inputs, results)
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=9), path)
    return path


def drawn(shapes: list[Shape], extents: dict[str, int]) -> list[np.ndarray[Any, Any]]:
    generator = np.random.default_rng(0)
    return [
        generator.uniform(0.5, 2, [extents.get(str(one), one) for one in shape]).astype(np.float32)
        for shape in shapes
    ]


def expected(session: onnxruntime.InferenceSession, given: list[Any]) -> Any:
    """Returns the result, None where the model does not take the inputs."""
    try:
        return session.run(None, {f"x{n}": one for n, one in enumerate(given)})[0]
    except Exception:
        return None


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", CASES)
def test_right_or_an_error(name: str, tmp_path: Path) -> None:
    model = save(tmp_path / "model.onnx", name)
    shapes = CASES[name][2]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(model), options)
    symbols = sorted({one for shape in shapes for one in shape if isinstance(one, str)})
    right, reasons = 0, set[str]()
    with hipgraft.compile(model, "cpu") as program:
        for sizes in product((1, 2, 3), repeat=len(symbols)):
            given = drawn(shapes, dict(zip(symbols, sizes, strict=True)))
            result = expected(session, given)
            try:
                (found,) = program.run(given)
            except HipgraftError as error:
                reasons.add(error.message.partition(": ")[0])
                continue
            assert result is not None, f"{sizes} are taken"
            np.testing.assert_allclose(found, result, rtol=1e-4, atol=1e-5)
            right += 1
    assert right
    assert reasons == {"the shapes of the inputs do not fit one another"}


@requires_emulator
def test_on_a_gpu(tmp_path: Path) -> None:
    model = save(tmp_path / "model.onnx", "rows")
    device = open_emulator("gfx942")
    shapes = CASES["rows"][2]
    program = hipgraft.compile(model, "gfx942")
    with program, Executor(program.module, device) as executor, Jit(program.module, device) as jit:
        for run in (lambda one: program.run(one, device), executor.run, jit.run):
            given = drawn(shapes, {"N": 3, "M": 3})
            np.testing.assert_allclose(run(given)[0], given[0] + given[1], rtol=1e-6)
            with pytest.raises(HipgraftError, match="to be equal"):
                run(drawn(shapes, {"N": 3, "M": 1}))
    device.close()


def test_what_an_op_asserts_of_values_is_no_check_of_extents(tmp_path: Path) -> None:
    """Kernels have no way to report them, so they go."""
    nodes = [helper.make_node("GatherElements", ["x", "i"], ["y"])]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4]),
        helper.make_tensor_value_info("i", TensorProto.INT64, ["K", 4]),
    ]
    results = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["K", 4])]
    graph = helper.make_graph(nodes, "g", inputs, results)
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, ir_version=9), path)
    device = open_device("cpu")
    x, index = np.arange(12, dtype=np.float32).reshape(3, 4), np.array([[2, 0, 1, 2]])
    with hipgraft.compile(path, "cpu") as program:
        (found,) = program.run([x, index], device)
    np.testing.assert_array_equal(found, np.take_along_axis(x, index, 0))
    device.close()

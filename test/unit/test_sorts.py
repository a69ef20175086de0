"""Several sorts in one program: each has its own positions."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from emulator import open_emulator, requires_emulator
from onnx import TensorProto, helper, numpy_helper

import hipgraft
from hipgraft.codegen.workarounds import without
from hipgraft.codegen.workarounds.shared_positions import SHARED_POSITIONS
from hipgraft.runtime.devices import open_device
from hipgraft.service import CompileService, InProcess, use_service

pytestmark = [pytest.mark.slow]

ROWS, LENGTH = 2, 12


def drawn(seed: int) -> tuple[list[Any], list[str], list[np.ndarray[Any, Any]]]:
    """Returns nodes that sort an input and then the result, their results, and the expected."""
    generator = random.Random(seed)
    x = np.random.default_rng(seed).permutation(ROWS * LENGTH).reshape(ROWS, LENGTH)
    known = {"x": x}
    nodes: list[Any] = []
    for number in range(generator.randint(2, 4)):
        source = generator.choice(sorted(known))
        largest = generator.randint(0, 1)
        names = [f"values{number}", f"positions{number}"]
        nodes.append(helper.make_node("TopK", [source, "k"], names, axis=1, largest=largest))
        values = known[source]
        order = np.argsort(-values if largest else values, axis=1, kind="stable")
        known |= {names[0]: np.take_along_axis(values, order, 1), names[1]: order}
    results = [name for name in known if name != "x"]
    return nodes, results, [x, *(known[name] for name in results)]


def save(path: Path, seed: int) -> list[np.ndarray[Any, Any]]:
    nodes, results, arrays = drawn(seed)
    shape = [ROWS, LENGTH]
    graph = helper.make_graph(
        nodes,
        "sorts",
        [helper.make_tensor_value_info("x", TensorProto.INT64, shape)],
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in results],
        [numpy_helper.from_array(np.array([LENGTH]), "k")],
    )
    opset = helper.make_opsetid("", 18)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=9), path)
    return arrays


@pytest.mark.sampled(12)
@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", pytest.param("gfx942", marks=requires_emulator)])
@pytest.mark.parametrize("seed", range(5))
def test_sorts_of_sorts(seed: int, target: str, tmp_path: Path) -> None:
    x, *expected = save(tmp_path / "model.onnx", seed)
    device = open_device("cpu") if target == "cpu" else open_emulator(target)
    with hipgraft.compile(tmp_path / "model.onnx", target) as program:
        results = program.run([x], device)
    device.close()
    for result, array in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, array)


def test_the_compiler_has_the_fault(tmp_path: Path) -> None:
    wrong = 0
    with (
        without(SHARED_POSITIONS),
        CompileService(InProcess()) as service,
        use_service(service),
    ):
        for seed in range(3):
            x, *expected = save(tmp_path / "model.onnx", seed)
            with hipgraft.compile(tmp_path / "model.onnx", "cpu") as program:
                results = program.run([x])
            wrong += any(not np.array_equal(*pair) for pair in zip(results, expected, strict=True))
    assert wrong, "the compiler copies shared positions: remove workarounds/shared_positions.py"

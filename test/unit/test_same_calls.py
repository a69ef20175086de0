"""Interpreter and JIT make the same calls in the same order, over programs of each origin."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from call_log import Call, CallLog
from onnx_models import attend_inputs, save_attend

import hipgraft
from hipgraft.host.jit import Jit
from hipgraft.ir.bindings import ir
from hipgraft.runtime import boundary
from hipgraft.runtime.host_program.interpreter import Executor

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples" / "resnet50_bn_tiny.onnx"
MIGRAPHX = ("attention_masked", "convolutions", "packed", "strides")
TARGET = "gfx942"


def calls(
    runtime: type[Executor | Jit], module: ir.Module, inputs: Sequence[Sequence[np.ndarray]]
) -> list[Call]:
    """Returns the calls on a device by two runs on each of the inputs, and by closing."""
    device = CallLog(TARGET)
    with runtime(module, device) as program:
        for given in inputs:
            program.run(given)
            program.run(given)
    return device.calls


def check(program: hipgraft.Program, inputs: Sequence[Sequence[np.ndarray]]) -> None:
    expected = calls(Executor, program.module, inputs)
    kinds = {call[0] for call in expected}
    assert {"allocate", "copy_to_device", "launch", "synchronize", "copy_to_host", "free"} <= kinds
    assert calls(Jit, program.module, inputs) == expected


def zeros(program: hipgraft.Program) -> list[list[np.ndarray]]:
    """Inputs of each variant."""
    variants = [one.inputs for one in program.recordings(TARGET)]
    return [[np.zeros_like(boundary.empty(tensor)) for tensor in tensors] for tensors in variants]


@pytest.mark.sampled(24)
@pytest.mark.parametrize(
    "model",
    [*(HERE / "migraphx" / f"{name}.mlir" for name in MIGRAPHX), EXAMPLE],
    ids=lambda p: p.stem,
)
def test_models(model: Path) -> None:
    program = hipgraft.compile(model, TARGET)
    check(program, zeros(program))


def test_variants(tmp_path: Path) -> None:
    model = save_attend(tmp_path / "attend.onnx")
    program = hipgraft.compile(model, TARGET, specialize={"batch": (1, 3), "seq": (2, 5)})
    inputs = zeros(program)
    assert len(inputs) == 4
    check(program, inputs)


def test_dynamic_shapes(tmp_path: Path) -> None:
    program = hipgraft.compile(save_attend(tmp_path / "attend.onnx"), TARGET)
    check(program, [attend_inputs(2, 3), attend_inputs(1, 70)])

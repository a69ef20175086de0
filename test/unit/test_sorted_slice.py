"""Sorts of slices, which the compiler copies where it may not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from small_onnx import F32, I64, check, drawn, save

import hipgraft
from hipgraft.codegen.workarounds import without
from hipgraft.codegen.workarounds.sorted_slice import SORTED_SLICE
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.service import CompileService, InProcess, use_service


def every_third(path: Path, largest: int) -> tuple[Path, dict[str, np.ndarray]]:
    nodes = [
        helper.make_node("Slice", ["x", "zero", "end", "axis", "step"], ["part"]),
        helper.make_node("TopK", ["part", "k"], ["y", "i"], largest=largest),
    ]
    numbers = {"zero": 0, "end": 9, "axis": 2, "step": 3, "k": 2}
    constants = {name: np.array([number]) for name, number in numbers.items()}
    inputs = {"x": drawn(2, 5, 9)}
    return save(path, nodes, inputs, [("y", F32), ("i", I64)], constants), inputs


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("largest", [0, 1])
def test_the_best_of_a_slice(tmp_path: Path, largest: int) -> None:
    check(*every_third(tmp_path / "m.onnx", largest))


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", ["cpu", "gfx942"])
def test_the_workaround_is_needed(tmp_path: Path, target: str) -> None:
    path, _ = every_third(tmp_path / "m.onnx", 1)
    with CompileService(InProcess()) as service, use_service(service):
        hipgraft.compile(path, target)
        with without(SORTED_SLICE), pytest.raises(HipgraftError, match="restricted to workgroup"):
            hipgraft.compile(path, target)

"""Fits calibrations to the times of a made-up GPU and of kernels on the emulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from emulator import missing_reason
from programs import run_passes

from hipgraft.codegen.chips import GPUS
from hipgraft.ir.bindings import ir, make_context
from hipgraft.passmanager.registry import pass_class
from hipgraft.service.tuning.calibrating import Sample, fitted
from hipgraft.tools import hipgraft_tune
from hipgraft.transforms.partition.calibration import (
    Calibration,
    calibration_text,
    read_calibration,
)
from hipgraft.transforms.partition.cost import Time

TRUE = Calibration(6.5, 1.25, {"conv_fprop": 2.0, "matmul": 1.5, "*": 1.5})


def measured(op: str, compute: float, memory: float) -> Sample:
    """A graph whose time equals that of the made-up GPU within one percent."""
    scaled = max(TRUE.compute.get(op, 1.5) * compute, TRUE.memory * memory)
    return Sample(op, Time(compute, memory, 3.5e-6), 1e-6 * (TRUE.launch_us or 0) + scaled)


SAMPLES = [
    *(measured("pointwise", 0, 1e-12 * size) for size in (1, 5, 20)),
    *(measured("pointwise", 1e-6, 1e-6 * size) for size in (40, 80, 300)),
    *(measured("matmul", 1e-6 * size, 5e-6) for size in (60, 90, 400)),
    *(measured("conv_fprop", 1e-6 * size, 5e-6) for size in (50, 700)),
    # A kernel that is much too slow, and one that is faster than a launch.
    Sample("matmul", Time(1e-4, 1e-6, 3.5e-6), 1.0),
    Sample("pointwise", Time(0, 1e-5, 3.5e-6), 1e-6),
]


def test_the_factors_of_a_gpu_are_found_and_read_again(tmp_path: Path):
    found = fitted(SAMPLES)
    assert found.launch_us == pytest.approx(TRUE.launch_us, rel=0.01)
    assert found.memory == pytest.approx(TRUE.memory, rel=0.01)
    assert found.compute["conv_fprop"] == pytest.approx(2.0, rel=0.01)
    assert found.compute["matmul"] == pytest.approx(1.5, rel=0.01)
    assert 1.5 <= found.compute["*"] <= 2.0
    path = tmp_path / "found.json"
    path.write_text(calibration_text({"gfx942": found, "gfx950": Calibration()}))
    assert read_calibration(str(path), GPUS["mi300x"]) == found
    assert read_calibration(str(path), GPUS["mi355x"]) == Calibration()


def test_nothing_is_known_without_measurements():
    assert fitted([]) == Calibration()


MODEL = """func.func @main(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %p = "hipdnn.matmul"(%a, %b) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = "hipdnn.pointwise"(%p) {mode = "relu_fwd"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}
"""


def estimate(**options: Any) -> float:
    with make_context(), ir.Location.unknown():
        (state,) = run_passes(ir.Module.parse(MODEL), pass_class("hipdnn-outline")(**options))
    (remark,) = [one for one in state.remarks if one.name == "estimated"]
    return float(remark.args["fused_us"])


@pytest.mark.skipif(missing_reason() is not None, reason=str(missing_reason()))
def test_a_model_is_measured_on_the_emulator(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    model, path = tmp_path / "model.mlir", tmp_path / "found.json"
    model.write_text(MODEL)
    status = hipgraft_tune.main([str(model), f"--calibration={path}", "-q", "-j1"])
    assert status == 0, capfd.readouterr().err
    found = read_calibration(str(path), GPUS["mi300x"])
    # The kernel is short: a launch is what it takes, with the gap of 2 us to the next one.
    assert found.launch_us is not None
    assert 3.5 <= found.launch_us < 20
    # The estimate then equals the measured time.
    longer = estimate(calibration=str(path)) - estimate()
    assert longer == pytest.approx(found.launch_us - 3.5, abs=0.02)


def test_counts_are_no_times(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    model = tmp_path / "model.mlir"
    model.write_text(MODEL)
    flags = [f"--calibration={tmp_path / 'x.json'}", "--cost-models=static", "-q"]
    assert hipgraft_tune.main([str(model), *flags]) == 1
    assert "a calibration needs cost model 'timed' or 'estimated'" in capfd.readouterr().err

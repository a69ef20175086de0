"""Bundles: what is written is what runs, without the compiler; broken files are told."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from emulator import open_emulator, requires_emulator
from programs import build_program, run_passes, uniform
from recordings import WEIGHTS, copying_program, open_null

import hipgraft
from hipgraft.diagnostics import HipgraftError
from hipgraft.runtime.bundle import Bundle, is_bundle, write_bundle
from hipgraft.runtime.recorder import record

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "program.hgb"
    write_bundle(target, [copying_program(), copying_program("gfx1100")], {"model": "copies"})
    return target


def test_what_is_written_is_read(path: Path) -> None:
    assert is_bundle(path)
    with hipgraft.load(path) as bundle:
        assert bundle.architectures == ("gfx942", "gfx1100")
        assert bundle.metadata == {"model": "copies"}
        for architecture in bundle.architectures:
            found, expected = bundle.recording(architecture), copying_program(architecture)
            assert dataclasses.replace(found, buffers=()) == dataclasses.replace(
                expected, buffers=()
            )
            assert bytes(found.buffers[0].read()) == WEIGHTS.tobytes()


def test_runs(path: Path) -> None:
    device = open_null()
    with hipgraft.load(path) as bundle:
        for scale in range(3):
            y, w, _ = bundle.run([scale * X], device)
            np.testing.assert_array_equal(y, scale * X)
            np.testing.assert_array_equal(w, WEIGHTS)
        assert bundle.load(device) is bundle.load(device)
        assert bundle.benchmark([X], device, iterations=3).minimum > 0
    assert not device._allocations


def test_other_architecture(path: Path) -> None:
    message = "error: the bundle has no program for 'cpu'; it is for gfx942, gfx1100"
    with Bundle(path) as bundle, pytest.raises(HipgraftError, match=message):
        bundle.run([X])


def test_every_truncation_is_told(path: Path) -> None:
    data = path.read_bytes()
    for size in [*range(0, 64), *range(64, len(data), 997), len(data) - 1]:
        path.write_bytes(data[:size])
        with pytest.raises(HipgraftError, match=r"truncated|no bundle|cannot open") as caught:
            Bundle(path)
        assert caught.value.location == str(path)


def test_damage_is_told(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(data)
    with pytest.raises(HipgraftError, match="header is damaged"):
        Bundle(path)


def test_a_bundle_needs_no_compiler(path: Path) -> None:
    code = """
import sys, numpy as np, hipgraft
with hipgraft.load(sys.argv[1]) as bundle:
    y, *_ = bundle.run([np.ones((2, 3), np.float32)], sys.argv[2])
    assert y.sum() == 6
assert not any(name.startswith(("iree.compiler", "torch_mlir", "onnx")) for name in sys.modules)
"""
    device = path.with_name("device.py")
    device.write_text(
        "from hipgraft.runtime.host_memory import NullDevice\n"
        "def open_null():\n    return NullDevice('gfx942')\n"
    )
    subprocess.run([sys.executable, "-c", code, path, f"{device}:open_null"], check=True)


CENTER = """
func.func @main(%x: tensor<8x24xf32>, %b: tensor<24xf32>) -> tensor<8x24xf32> {
  %e = tensor.empty() : tensor<8x24xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                       affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<8x24xf32>, tensor<24xf32>) outs(%e : tensor<8x24xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.subf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<8x24xf32>
  return %r : tensor<8x24xf32>
}"""
PROGRAM = """
func.func @main(%x: tensor<8x24xf32>) -> tensor<8x24xf32> {
  %b = arith.constant dense<0.25> : tensor<24xf32>
  %0 = "hipdnn.execute"(%x, %b) {callee = @center}
      : (tensor<8x24xf32>, tensor<24xf32>) -> tensor<8x24xf32>
  %1 = "hipdnn.execute"(%0, %b) {callee = @center}
      : (tensor<8x24xf32>, tensor<24xf32>) -> tensor<8x24xf32>
  return %1 : tensor<8x24xf32>
}"""
GRAPHS = {
    "center": (
        CENTER,
        "operand_types = [tensor<8x24xf32>, tensor<24xf32>], result_types = [tensor<8x24xf32>]",
    )
}


def less(x: np.ndarray) -> np.ndarray:
    """Rounded twice, as the program does."""
    return (x - np.float32(0.25)) - np.float32(0.25)


def test_graphs_on_the_cpu(tmp_path: Path) -> None:
    module = build_program(PROGRAM, GRAPHS, ["cpu"])
    run_passes(module, "hipdnn-bufferize")
    write_bundle(tmp_path / "cpu.hgb", [record(module, "cpu")])
    x = uniform(8, 24, dtype=np.float32)
    with hipgraft.load(tmp_path / "cpu.hgb") as bundle:
        for scale in (1, 2):
            np.testing.assert_array_equal(bundle.run([scale * x])[0], less(scale * x))


@requires_emulator
def test_kernels_of_two_architectures(tmp_path: Path) -> None:
    module = build_program(PROGRAM, GRAPHS, ["gfx942", "gfx1100"])
    run_passes(module, "hipdnn-bufferize", "hipdnn-merge", "hipdnn-plan-memory")
    recordings = [record(module, target) for target in ("gfx942", "gfx1100")]
    write_bundle(tmp_path / "gpu.hgb", recordings)
    x = uniform(8, 24, dtype=np.float32)
    with hipgraft.load(tmp_path / "gpu.hgb") as bundle:
        for target in bundle.architectures:
            device = open_emulator(target)
            np.testing.assert_array_equal(bundle.run([x], device)[0], less(x))
            assert len(device.launches) == 2
        bundle.close()
        assert not device._buffers

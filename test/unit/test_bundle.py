"""Bundles run as they were written, without the compiler; broken files are reported."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from emulator import open_emulator, requires_emulator
from programs import build_program, run_passes, uniform
from recordings import WEIGHTS, FailingDevice, copying_program, open_null

import hipgraft
from hipgraft.ir.diagnostics import HipgraftError
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


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (0, "the file is no bundle"),
        (8, "the bundle has version 4; expected 5"),
        (12, "the bundle's header is damaged"),
        (16, "the bundle's header is damaged"),
        (23, "the bundle is truncated"),
        (40, "the bundle's header is damaged"),
    ],
)
def test_damage_is_told(path: Path, place: int, message: str) -> None:
    flip(path, place)
    with pytest.raises(HipgraftError, match=message) as caught:
        Bundle(path)
    assert caught.value.location == str(path)


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def test_what_follows_is_told(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(HipgraftError, match=r"the bundle has \d+ bytes; expected \d+"):
        Bundle(path)


def test_damaged_data_is_told_and_nothing_stays(path: Path) -> None:
    """Damage to any byte of constants, or of their checksums at the file's end, is reported."""
    whole = path.read_bytes()
    start = whole.index(WEIGHTS.tobytes(), 4096)
    device = open_null()
    for place in [*range(start, start + WEIGHTS.nbytes), *range(len(whole) - 4, len(whole))]:
        path.write_bytes(whole)
        flip(path, place)
        message = f"the bundle is damaged in the 8 bytes from {start}"
        with Bundle(path) as bundle, pytest.raises(HipgraftError, match=message) as caught:
            bundle.run([X], device)
        assert caught.value.location == str(path)
        assert not device._allocations


def test_a_device_that_fails_at_a_constant_is_told(path: Path) -> None:
    """Does not report that the error's frames keep the file's data in use."""
    device = FailingDevice("copy_to_device", 1)
    with pytest.raises(OSError, match="bus error"), Bundle(path) as bundle:
        bundle.run([X], device)
    assert not device._allocations


def test_damaged_objects_are_told(tmp_path: Path) -> None:
    recording = dataclasses.replace(copying_program(), objects=(b"ELF of one", b"of another"))
    write_bundle(tmp_path / "program.hgb", [recording])
    with Bundle(tmp_path / "program.hgb") as bundle:
        assert bundle.recording("gfx942").objects == recording.objects
    flip(tmp_path / "program.hgb", (tmp_path / "program.hgb").read_bytes().index(b"another", 4096))
    message = r"damaged in the 10 bytes"
    with Bundle(tmp_path / "program.hgb") as bundle, pytest.raises(HipgraftError, match=message):
        bundle.run([X], open_null())


@pytest.mark.slow
def test_a_bundle_needs_no_compiler(path: Path) -> None:
    code = """
import sys, numpy as np
sys.modules |= dict.fromkeys(("iree.compiler", "torch_mlir", "onnx"))  # imports of them fail
import hipgraft
from hipgraft.tools import hipgraft_run
path, device = sys.argv[1:]
with hipgraft.load(path) as bundle:
    y, *_ = bundle.run([np.ones((2, 3), np.float32)], device)
    assert y.sum() == 6
for each in (device, f"trace:{device}", "trace:gfx942"):
    assert hipgraft_run.main([path, f"--device={each}"]) == 0
"""
    device = path.with_name("device.py")
    device.write_text(
        "from hipgraft.runtime.devices.host_memory import NullDevice\n"
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
    """Rounds twice, as the program does."""
    return (x - np.float32(0.25)) - np.float32(0.25)


@pytest.mark.slow
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

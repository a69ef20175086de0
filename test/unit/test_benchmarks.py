"""The benchmark of models on a GPU, on a device that runs nothing and on small bundles."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from recordings import WEIGHTS, copying_program

from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.runtime.bundle import write_bundle
from hipgraft.runtime.host_program.kernel_recording import kernel_recording
from hipgraft.runtime.recording import Buffer, Copy, Fill, Launch, Pointer, Tensor

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "cuda_models.py"
DEVICE = """
from hipgraft.runtime.devices.host_memory import NullDevice

def open_null():
    return NullDevice("gfx942")
"""

PRODUCT = """
func.func @main(%a: tensor<32x64xf32>, %b: tensor<64x32xf32>) -> tensor<32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
  %product = linalg.matmul ins(%a, %b : tensor<32x64xf32>, tensor<64x32xf32>)
      outs(%init : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %product : tensor<32x32xf32>
}
"""


@pytest.fixture
def cuda_models(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    specification = importlib.util.spec_from_file_location("cuda_models", SCRIPT)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["cuda_models"] = module
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("is_right", [True, False])
def test_table_and_status(
    cuda_models: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], is_right: bool
) -> None:
    (tmp_path / "device.py").write_text(DEVICE)
    write_bundle(tmp_path / "copies.hgb", [copying_program()])
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    results = {"out_0": x if is_right else x + 1, "out_1": WEIGHTS, "out_2": np.full(5, 8, np.int8)}
    np.savez(tmp_path / "copies.npz", in_0=x, **results)
    device = f"{tmp_path / 'device.py'}:open_null"
    status = cuda_models.main(["run", str(tmp_path), f"--device={device}", "--iterations=3"])
    assert status == (0 if is_right else 1)
    row = capsys.readouterr().out.splitlines()[-1].split("|")
    error = "0.0e+00" if is_right else "**1.7e-01**"
    assert [cell.strip() for cell in row[1:4]] == ["copies", "4", error]
    assert float(row[4]) > 0
    assert float(row[5]) > 0


def test_launches_as_a_program_of_iree(cuda_models: ModuleType, tmp_path: Path) -> None:
    """It compiles, holds the code object as it is, and binds what the recording binds."""
    kernel = compile_text(PRODUCT, Target.parse("sm_80"))
    matrices = [Tensor("", shape, "f32") for shape in ((32, 64), (64, 32))]
    recording = kernel_recording(kernel, matrices[:1], [Tensor("", (32, 32), "f32")])
    (launch,) = recording.commands
    assert isinstance(launch, Launch)
    a, b, c = (place for place, _ in launch.pointers)
    # The program's own buffers: uninitialised scratch memory, then two constants.
    constant = Buffer(64 * 32 * 4, "w", lambda: np.ones(64 * 32 * 4, np.uint8))
    scratch = Pointer(2, 0)
    recording = replace(
        recording,
        buffers=(Buffer(8192), Buffer(4, "bias", lambda: np.zeros(4, np.uint8)), constant),
        commands=(
            Fill(scratch, b"\1\2", 8192),
            replace(launch, pointers=((a, Pointer(0, 0)), (b, Pointer(4, 0)), (c, scratch))),
            Copy(Pointer(1, 0), Pointer(2, 0), 4096),
        ),
    )
    stream = cuda_models.iree_stream
    text = stream.stream_module(recording, tmp_path)
    bound = re.search(r"stream.cmd.dispatch.*\{ (.*) \}", text)
    assert bound is not None
    places = re.findall(r"%(\w+)\[%index_(\d+) for", bound[1])
    assert places == [("argument_0_in", "0"), ("constants_in", "256"), ("scratch_2_in", "0")]
    assert "%i16_513, %scratch_2_in[%index_0 for %index_8192]" in text
    assert "%scratch_2_in[%index_0], %result_1_in[%index_0], %index_4096" in text
    assert len(stream.constant_bytes(recording.buffers)) == 256 + 64 * 32 * 4
    module, output = tmp_path / "same.mlir", tmp_path / "same.vmfb"
    module.write_text(text)
    assert cuda_models.compile_with_iree(module, output, stream.OPTIONS)
    assert recording.objects[0] in output.read_bytes()

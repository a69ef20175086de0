"""Lowered host programs: just in time, against the interpreter, and ahead of time, in C."""

from __future__ import annotations

import gc
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from call_log import CallLog
from emulator import open_emulator, requires_emulator
from programs import build_program, run_passes, uniform
from recordings import FailingDevice

from hipgraft.host.jit import Jit
from hipgraft.host.lowering import LoweredHost, lower_host, write_object
from hipgraft.host.object_header import object_header
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.passes.hipgraft_externalize_constants import HipgraftExternalizeConstantsPass
from hipgraft.runtime.devices.host_memory import NullDevice
from hipgraft.runtime.devices.protocols import Device
from hipgraft.runtime.devices.trace import TraceDevice
from hipgraft.runtime.host_program.interpreter import Executor
from hipgraft.runtime.host_program.parameters import parameter_arrays
from hipgraft.runtime.recorder import record
from hipgraft.runtime.session import Session

HOST = """
memref.global "private" constant @w : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
func.func @main(%x: memref<2x3xf32>, %y: memref<2x3xf32>, %z: memref<4xf32>, %h: memref<6xi16>)
    attributes {hipgraft.results = 3 : i64, hipgraft.targets = ["gfx942"]} {
  %c0 = arith.constant 0 : index
  %seven = arith.constant -7 : i16
  %t0 = gpu.wait async
  %a, %t1 = gpu.alloc async [%t0] () : memref<64xi8>
  %v = memref.view %a[%c0][] : memref<64xi8> to memref<2x3xf32>
  %w = memref.get_global @w : memref<4xf32>
  %t2 = gpu.memcpy async [%t1] %v, %x : memref<2x3xf32>, memref<2x3xf32>
  %t3 = gpu.memcpy async [%t2] %y, %v : memref<2x3xf32>, memref<2x3xf32>
  %t4 = gpu.memcpy async [%t3] %z, %w : memref<4xf32>, memref<4xf32>
  %t5 = gpu.memset async [%t4] %h, %seven : memref<6xi16>, i16
  %t6 = gpu.dealloc async [%t5] %a : memref<64xi8>
  gpu.wait [%t6]
  return
}"""
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def parse(text: str) -> ir.Module:
    with make_context():
        return ir.Module.parse(text)


def check(results: list[np.ndarray], x: np.ndarray = X) -> None:
    y, z, h = results
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(z, [1, 2, 3, 4])
    np.testing.assert_array_equal(h, np.full(6, -7, np.int16))


def calls_of(kind: Any, module: ir.Module, device: Device, inputs: list[np.ndarray]) -> list[str]:
    """Returns the calls that two runs and a close make on a device."""
    told: list[str] = []
    with kind(module, TraceDevice(device, told.append)) as program:
        program.run(inputs)
        program.run(inputs)
    return told


@pytest.mark.slow
def test_same_calls_as_the_interpreter() -> None:
    module = parse(HOST)
    expected = calls_of(Executor, module, NullDevice("gfx942"), [X])
    assert len(expected) > 20
    assert calls_of(Jit, module, NullDevice("gfx942"), [X]) == expected


def test_runs_and_frees() -> None:
    device = NullDevice("gfx942")
    with Jit(parse(HOST), device) as program:
        check(program.run([X]))
        check(program.run([X.T.copy().T + 1]), X + 1)
        with pytest.raises(HipgraftError, match="input #0 has shape"):
            program.run([X.T])
    assert not device._allocations


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "nth"),
    [("allocate", 1), ("allocate", 5), ("allocate", 6), ("fill", 1), ("synchronize", 1)],
)
def test_failing_device(kind: str, nth: int) -> None:
    """A device's exception crosses compiled code."""
    device = FailingDevice(kind, nth)

    def use() -> None:
        with Jit(parse(HOST), device) as program:
            check(program.run([X]))

    with pytest.raises(OSError, match="bus error"):
        use()
    gc.collect()
    assert not device._allocations
    use()


def test_the_place_where_a_device_failed_is_told() -> None:
    """The exception itself holds no frames, which would keep the program loaded."""
    with (
        Jit(parse(HOST), FailingDevice("fill", 1)) as program,
        pytest.raises(OSError, match="bus error") as caught,
    ):
        program.run([X])
    assert "recordings.py" in caught.value.__notes__[0]


def test_other_architecture() -> None:
    with pytest.raises(HipgraftError, match="no public function for 'gfx1100'"):
        Jit(parse(HOST), NullDevice("gfx1100"))


SQUARE = """
func.func @main(%x: tensor<300xf32>, %s: tensor<300xf32>) -> tensor<300xf32> {
  %p = arith.mulf %x, %x : tensor<300xf32>
  %r = arith.addf %p, %s : tensor<300xf32>
  return %r : tensor<300xf32>
}"""
PROGRAM = """
func.func @main(%x: tensor<300xf32>) -> tensor<300xf32> {
  %s = arith.constant dense<0.5> : tensor<300xf32>
  %0 = "hipdnn.execute"(%x, %s) {callee = @square}
      : (tensor<300xf32>, tensor<300xf32>) -> tensor<300xf32>
  %1 = "hipdnn.execute"(%0, %s) {callee = @square}
      : (tensor<300xf32>, tensor<300xf32>) -> tensor<300xf32>
  return %1 : tensor<300xf32>
}"""
TYPES = "operand_types = [tensor<300xf32>, tensor<300xf32>], result_types = [tensor<300xf32>]"


def merged(*targets: str) -> ir.Module:
    module = build_program(PROGRAM, {"square": (SQUARE, TYPES)}, targets)
    run_passes(module, "hipdnn-bufferize", "hipdnn-merge", "hipdnn-plan-memory")
    return module


@requires_emulator
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_kernels(target: str) -> None:
    """Kernels of a program for two architectures run in the interpreter's order."""
    module = merged("gfx942", "gfx1100")
    x = uniform(300, dtype=np.float32)
    device = open_emulator(target)
    with Jit(module, device) as program:
        (found,) = program.run([x])
    assert not device._buffers
    np.testing.assert_allclose(found, (x * x + 0.5) ** 2 + 0.5, rtol=1e-6)
    expected = calls_of(Executor, module, open_emulator(target), [x])
    assert sum(call.startswith("launch ") for call in expected) == 4
    assert calls_of(Jit, module, open_emulator(target), [x]) == expected


@pytest.mark.slow
def test_ptx_is_loaded() -> None:
    x = uniform(300, dtype=np.float32)
    module = merged("sm_80")
    expected = calls_of(Executor, module, NullDevice("sm_90"), [x])
    assert sum(call.startswith("launch ") for call in expected) == 4
    assert calls_of(Jit, module, NullDevice("sm_90"), [x]) == expected


MATRIX = "tensor<64x64xf32>"
PRODUCT = f"""
func.func @main(%a: {MATRIX}, %b: {MATRIX}) -> {MATRIX} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {MATRIX}
  %init = linalg.fill ins(%zero : f32) outs(%empty : {MATRIX}) -> {MATRIX}
  %r = linalg.matmul ins(%a, %b : {MATRIX}, {MATRIX}) outs(%init : {MATRIX}) -> {MATRIX}
  return %r : {MATRIX}
}}"""


@pytest.mark.slow
def test_shared_memory_is_that_of_the_launch_and_code_is_unloaded() -> None:
    types = f"operand_types = [{MATRIX}, {MATRIX}], result_types = [{MATRIX}]"
    call = f'"hipdnn.execute"(%x, %x) {{callee = @product}} : ({MATRIX}, {MATRIX}) -> {MATRIX}'
    program = f"func.func @main(%x: {MATRIX}) -> {MATRIX} {{\n%y = {call}\nreturn %y : {MATRIX}\n}}"
    module = build_program(program, {"product": (PRODUCT, types)}, ["sm_80"])
    run_passes(module, "hipdnn-bufferize", "hipdnn-merge", "hipdnn-plan-memory")
    for kind in (Executor, Jit):
        device, unloaded = CallLog("sm_90"), list[bytes]()
        device.unload_code_object = unloaded.append
        with kind(module, device) as running:
            running.run([np.zeros((64, 64), np.float32)])
        (launch,) = (call for call in device.calls if call[0] == "launch")
        assert launch[4] > 0
        assert len(unloaded) == 1


MAIN = r"""
#include "program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MLIR's GPU runtime on host memory. */
void *mgpuStreamCreate(void) { return &mgpuStreamCreate; }
void mgpuStreamDestroy(void *stream) {}
void mgpuStreamSynchronize(void *stream) {}
void *mgpuMemAlloc(int64_t size, void *stream, int8_t shared) { return malloc(size); }
void mgpuMemFree(void *memory, void *stream) { free(memory); }
void mgpuMemcpy(void *to, void *from, size_t size, void *stream) { memcpy(to, from, size); }
void mgpuMemset16(uint16_t *to, uint16_t value, size_t count, void *stream) {
  while (count--) *to++ = value;
}

int main(void) {
  float x[6] = {1, 2, 3, 4, 5, 6}, w[4] = {9, 8, 7, 6}, y[6], z[4];
  int16_t h[6];
  hipgraft_memref_2 dx = {x, x, 0, {2, 3}, {3, 1}}, dy = {y, y, 0, {2, 3}, {3, 1}};
  hipgraft_memref_1 dw = {w, w, 0, {4}, {1}}, dz = {z, z, 0, {4}, {1}}, dh = {h, h, 0, {6}, {1}};
  _mlir_ciface_copies(&dx, &dw, &dy, &dz, &dh);
  for (int i = 0; i < 6; ++i) printf("%g %d ", y[i], h[i]);
  for (int i = 0; i < 4; ++i) printf("%g ", z[i]);
  return 0;
}
"""


def printed_by(main: str, lowered: LoweredHost, folder: Path) -> str:
    """Returns the output of a C program that calls a host program."""
    write_object(lowered, folder / "program.o")
    (folder / "program.h").write_text(object_header(lowered, "program.h"))
    (folder / "main.c").write_text(main)
    subprocess.run(["cc", "main.c", "program.o", "-o", "main"], check=True, cwd=folder)
    done = subprocess.run([folder / "main"], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_object_and_header_in_a_c_program(tmp_path: Path) -> None:
    lowered = lower_host(parse(HOST), "gfx942", entry="copies")
    assert printed_by(MAIN, lowered, tmp_path) == "1 -7 2 -7 3 -7 4 -7 5 -7 6 -7 9 8 7 6 "


DYNAMIC = """
module attributes {gpu.container_module} {
func.func private @main_extents(%x: memref<?x3xi16>) -> (index, index, index) {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %three = arith.constant 3 : index
  %n = memref.dim %x, %zero : memref<?x3xi16>
  %m = arith.muli %n, %two : index
  return %n, %three, %m : index, index, index
}
func.func @main(%x: memref<?x3xi16>, %y: memref<?x3xi16>, %z: memref<?xi16>) attributes {
    hipgraft.extents = "main_extents", hipgraft.results = 2 : i64, hipgraft.targets = ["gfx942"]} {
  %seven = arith.constant 7 : i16
  %start = gpu.wait async
  %copied = gpu.memcpy async [%start] %y, %x : memref<?x3xi16>, memref<?x3xi16>
  %filled = gpu.memset async [%copied] %z, %seven : memref<?xi16>, i16
  gpu.wait [%filled]
  return
}
}
"""
DYNAMIC_MAIN = (
    MAIN[: MAIN.index("int main")]
    + r"""
int main(void) {
  int16_t x[6] = {1, 2, 3, 4, 5, 6}, y[6];
  hipgraft_memref_2 dx = {x, x, 0, {2, 3}, {3, 1}}, dy = {y, y, 0, {2, 3}, {3, 1}};
  hipgraft_any_extents extents;
  _mlir_ciface_hipgraft_any_extents(&extents, &dx);
  int64_t n = extents.result_1[0];
  int16_t *z = malloc(n * sizeof *z);
  hipgraft_memref_1 dz = {z, z, 0, {n}, {1}};
  _mlir_ciface_hipgraft_any(&dx, &dy, &dz);
  printf("%d %d %d:", (int)extents.result_0[0], (int)extents.result_0[1], (int)n);
  for (int i = 0; i < 6; ++i) printf(" %d", y[i]);
  for (int i = 0; i < n; ++i) printf(" %d", z[i]);
  return 0;
}
"""
)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_object_of_dynamic_shapes_in_a_c_program(tmp_path: Path) -> None:
    """Its caller learns the results' extents before it allocates them."""
    lowered = lower_host(parse(DYNAMIC), "gfx942", entry="hipgraft_any")
    assert printed_by(DYNAMIC_MAIN, lowered, tmp_path) == "2 3 4: 1 2 3 4 5 6 7 7 7 7"


MATRIX_ALONE = """
module attributes {gpu.container_module} {
func.func private @main_extents(%x: memref<?x3xi16>) -> (index, index) {
  %zero = arith.constant 0 : index
  %three = arith.constant 3 : index
  %n = memref.dim %x, %zero : memref<?x3xi16>
  return %n, %three : index, index
}
func.func @main(%x: memref<?x3xi16>, %y: memref<?x3xi16>) attributes {
    hipgraft.extents = "main_extents", hipgraft.results = 1 : i64, hipgraft.targets = ["gfx942"]} {
  %start = gpu.wait async
  %copied = gpu.memcpy async [%start] %y, %x : memref<?x3xi16>, memref<?x3xi16>
  gpu.wait [%copied]
  return
}
}
"""
ROW_AND_SCALAR = """
module attributes {gpu.container_module} {
func.func private @main_extents(%x: memref<?x3xi16>) -> index {
  %zero = arith.constant 0 : index
  %three = arith.constant 3 : index
  %n = memref.dim %x, %zero : memref<?x3xi16>
  %m = arith.muli %n, %three : index
  return %m : index
}
func.func @main(%x: memref<?x3xi16>, %y: memref<?xi16>, %z: memref<i16>) attributes {
    hipgraft.extents = "main_extents", hipgraft.results = 2 : i64, hipgraft.targets = ["gfx942"]} {
  %start = gpu.wait async
  gpu.wait [%start]
  return
}
}
"""
MATRIX_ALONE_MAIN = """
  any_extents extents;
  _mlir_ciface_any_extents(&extents, &dx);
  printf("%d %d", (int)extents.result_0[0], (int)extents.result_0[1]);
"""
ROW_AND_SCALAR_MAIN = """
  printf("%d", (int)_mlir_ciface_any_extents(&dx));
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize(
    ("program", "calls", "expected"),
    [(MATRIX_ALONE, MATRIX_ALONE_MAIN, "2 3"), (ROW_AND_SCALAR, ROW_AND_SCALAR_MAIN, "6")],
    ids=["matrix", "row"],
)
def test_a_c_program_learns_one_extent_or_several(
    program: str, calls: str, expected: str, tmp_path: Path
) -> None:
    lowered = lower_host(parse(program), "gfx942", entry="any")
    start = "int main(void) {\n  hipgraft_memref_2 dx = {0, 0, 0, {2, 3}, {3, 1}};"
    main = f"{MAIN[: MAIN.index('int main')]}{start}{calls}  return 0;\n}}\n"
    assert printed_by(main, lowered, tmp_path) == expected


@requires_emulator
@pytest.mark.parametrize("suffix", [".safetensors", ".irpa"])
def test_constants_in_a_file(tmp_path: Path, suffix: str) -> None:
    """The program's runner finds the file beside the program; the text holds no values."""
    module = merged("gfx942")
    file = tmp_path / f"net{suffix}"
    run_passes(module, HipgraftExternalizeConstantsPass(file=str(file)))
    assert "memref.global" not in str(module)
    x = uniform(300, dtype=np.float32)
    expected = (x * x + 0.5) ** 2 + 0.5
    with Session(record(module, "gfx942", tmp_path), open_emulator("gfx942")) as session:
        np.testing.assert_allclose(session.run([x])[0], expected, rtol=1e-6)
    constants = parameter_arrays(module, "gfx942", tmp_path)
    for runtime in (Executor, Jit):
        with runtime(module, open_emulator("gfx942")) as program:
            np.testing.assert_allclose(program.run([x, *constants])[0], expected, rtol=1e-6)
    file.unlink()
    with pytest.raises(HipgraftError, match="cannot open parameters"):
        record(module, "gfx942", tmp_path)

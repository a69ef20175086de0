"""Variants of a program for extents of its symbolic dimensions, selected by the inputs' shapes."""

import itertools
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from emulator import open_emulator, requires_emulator
from onnx_models import ATTEND_WEIGHTS, Array, attend_inputs, save_attend

import hipgraft
from hipgraft import frontends
from hipgraft.host.jit import Jit
from hipgraft.host.lowering import lower_host, write_object
from hipgraft.host.object_header import object_header
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.runtime.devices.host_memory import NullDevice
from hipgraft.runtime.host_program.interpreter import Executor
from hipgraft.runtime.session import Session
from hipgraft.tools import hipgraft_compile, hipgraft_run

pytestmark = pytest.mark.slow

rng = np.random.default_rng(7)
BATCHES, LENGTHS = (1, 3), (5, 2)  # the largest is neither the first nor the last
SPECIALIZE = {"batch": BATCHES, "seq": LENGTHS}
ALL = list(itertools.product(BATCHES, LENGTHS))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_attend(tmp_path_factory.mktemp("models") / "attend.onnx")


def reference(model: Path, given: list[Array]) -> Array:
    """Computes expected results with onnxruntime, which accepts any extents."""
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    (result,) = session.run(None, dict(zip(("x", "mask"), given, strict=True)))
    return np.asarray(result)


def check(model: Path, run: Any) -> None:
    for batch, seq in ALL:
        given = attend_inputs(batch, seq)
        np.testing.assert_allclose(run(given)[0], reference(model, given), rtol=1e-4, atol=1e-5)


@pytest.mark.thorough
def test_every_combination_runs_on_the_cpu(model: Path, tmp_path: Path) -> None:
    with hipgraft.compile(model, "cpu", specialize=SPECIALIZE) as program:
        check(model, program.run)
        program.save_bundle(tmp_path / "m.hgb")
        with Executor(program.module, open_cpu()) as interpreter:
            check(model, interpreter.run)
    with hipgraft.load(tmp_path / "m.hgb") as bundle:
        check(model, bundle.run)


def open_cpu() -> Any:
    from hipgraft.runtime.devices.cpu import CpuDevice

    return CpuDevice()


@pytest.fixture(scope="module")
def merged(model: Path) -> hipgraft.Program:
    return hipgraft.compile(model, "gfx942", specialize=SPECIALIZE)


@requires_emulator
def test_every_combination_runs_merged(
    model: Path, merged: hipgraft.Program, tmp_path: Path
) -> None:
    device = open_emulator("gfx942")
    check(model, lambda given: merged.run(given, device))
    merged.close()
    for runtime in (Executor, Jit):
        with runtime(merged.module, device) as program:
            check(model, program.run)
    merged.save_bundle(tmp_path / "m.hgb")
    with hipgraft.load(tmp_path / "m.hgb") as bundle:
        check(model, lambda given: bundle.run(given, device))
    device.close()


def test_variants_share_memory(merged: hipgraft.Program) -> None:
    variants = merged.recordings("gfx942")
    assert [one.variant for one in variants] == [f"batch={b}, seq={s}" for b, s in ALL]
    constants = [buffer for buffer in variants[0].buffers if buffer.read is not None]
    scratch = [buffer.nbytes for buffer in variants[0].buffers if buffer.read is None]
    assert sorted(one.nbytes for one in constants) == sorted(
        4 * w.size for w in ATTEND_WEIGHTS.values()
    )
    arenas = re.findall(r"gpu.alloc .*memref<(\d+)xi8>", str(merged.module))
    assert scratch == [max(map(int, arenas))], "one arena, of the largest"
    device = NullDevice("gfx942")
    with Session(variants, device):
        assert len(device._allocations) == 3 + len(constants) + 1
    assert not device._allocations


def test_shapes_without_a_variant(model: Path, merged: hipgraft.Program) -> None:
    device = NullDevice("gfx942")
    message = r"no variant of the program is for inputs of shapes \[2, 5, 24\], \[2, 5\]"
    with Session(merged.recordings("gfx942"), device) as session:
        for run in (session.run, session.run_on_device, session.benchmark):
            with pytest.raises(HipgraftError, match=message) as error:
                run(attend_inputs(2, 5))
        assert error.value.notes[1] == "compiled for [1, 2, 24], [1, 2] (batch=1, seq=2)"
        with pytest.raises(HipgraftError, match="no variant"):
            session.run([attend_inputs(1, 5)[0], attend_inputs(3, 5)[1]])
        with pytest.raises(HipgraftError, match="no variant"):
            session.run(attend_inputs(1, 5)[:1])
        with pytest.raises(HipgraftError, match=r"input #1 has shape .* and dtype float64"):
            session.run([attend_inputs(1, 5)[0], attend_inputs(1, 5)[1].astype(np.float64)])
    for runtime in (Executor, Jit):
        with runtime(merged.module, device) as program, pytest.raises(HipgraftError, match=message):
            program.run(attend_inputs(2, 5))


MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "program.h"
void *mgpuModuleLoad(const void *data, size_t size) { return (void *)data; }
void mgpuModuleUnload(void *module) {}
void *mgpuModuleGetFunction(void *module, const char *name) { return module; }
void *mgpuStreamCreate(void) { return 0; }
void mgpuStreamDestroy(void *stream) {}
void mgpuStreamSynchronize(void *stream) {}
void mgpuMemcpy(void *to, void *from, size_t size, void *stream) {
  printf("%zu %d\\n", size, *(int *)from);
}
int main(int count, char **arguments) {
  int64_t n = atoi(arguments[1]), data[8] = {n};
  hipgraft_memref_1 x = {data, data, 0, {n}, {1}}, y = x;
  _mlir_ciface_program(&x, &y);
  return 0;
}
"""

COPIES = """
func.func @main_n_{n}(%x: memref<{n}xf32>, %y: memref<{n}xf32>) attributes {{
    hipgraft.dims = {{n = {n} : i64}}, hipgraft.variant_of = "main", hipgraft.results = 1 : i64,
    hipgraft.targets = ["gfx942"]}} {{
  %t0 = gpu.wait async
  %t1 = gpu.memcpy async [%t0] %y, %x : memref<{n}xf32>, memref<{n}xf32>
  gpu.wait [%t1]
  return
}}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_object_selects_by_the_shapes_in_descriptors(tmp_path: Path) -> None:
    module = ir.Module.parse("".join(COPIES.format(n=n) for n in (2, 5)), make_context())
    lowered = lower_host(module, "gfx942", entry="program")
    write_object(lowered, tmp_path / "program.o")
    (tmp_path / "program.h").write_text(object_header(lowered, "program.h"))
    assert "2xf32 or 5xf32" in (tmp_path / "program.h").read_text()
    (tmp_path / "main.c").write_text(MAIN)
    build = ["cc", "main.c", "program.o", "-o", "main"]
    subprocess.run(build, check=True, cwd=tmp_path)
    for n in (5, 2, 3):
        done = subprocess.run([tmp_path / "main", str(n)], capture_output=True, text=True)
        fits = n != 3
        assert (done.returncode == 0) == fits
        assert done.stdout == (f"{4 * n} {n}\n" if fits else "") or "no variant" in done.stdout


TORCH = """
func.func @main(%x: !torch.vtensor<[?,4],f32>, %z: !torch.vtensor<[?,4],f32>,
                %t: !torch.vtensor<[6,6],f32>)
    -> (!torch.vtensor<[?,4],f32>, !torch.vtensor<[6,6],f32>) {
  %rows = torch.symbolic_int "rows" {min_val = 2, max_val = 16} : !torch.int
  torch.bind_symbolic_shape %x, [%rows], affine_map<()[s0] -> (s0, 4)> : !torch.vtensor<[?,4],f32>
  torch.bind_symbolic_shape %z, [%rows], affine_map<()[s0] -> (s0 * 2 + 1, 4)> :
      !torch.vtensor<[?,4],f32>
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int6 = torch.constant.int 6
  %none = torch.constant.none
  %list = torch.prim.ListConstruct %x, %z :
      (!torch.vtensor<[?,4],f32>, !torch.vtensor<[?,4],f32>) -> !torch.list<vtensor>
  %cat = torch.aten.cat %list, %int0 :
      !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?,4],f32>
  %y = torch.aten.exp %cat : !torch.vtensor<[?,4],f32> -> !torch.vtensor<[?,4],f32>
  %s = torch.aten.softmax.int %t, %int1, %none :
      !torch.vtensor<[6,6],f32>, !torch.int, !torch.none -> !torch.vtensor<[6,6],f32>
  return %y, %s : !torch.vtensor<[?,4],f32>, !torch.vtensor<[6,6],f32>
}
"""


def torch_module(text: str = TORCH) -> ir.Module:
    return ir.Module.parse(text, make_context())


def without_symbols() -> str:
    """The same function as exports write it that do not know their symbols."""
    text = re.sub(r"  torch.bind_symbolic_shape.*?f32>\n", "", TORCH, flags=re.DOTALL)
    return re.sub(r"  %rows.*\n", "", text)


@pytest.mark.parametrize(
    ("text", "specialize"),
    [(TORCH, {"rows": (1, 3)}), (without_symbols(), {"arg0.0=arg1.0": (1, 3)})],
    ids=["symbols", "tied"],
)
def test_torch_module(text: str, specialize: dict[str, tuple[int, ...]]) -> None:
    tied = text != TORCH
    with hipgraft.compile(torch_module(text), "cpu", specialize=specialize) as program:
        for rows in (3, 1):
            x, z = (rng.random((n, 4), np.float32) for n in (rows, rows if tied else 2 * rows + 1))
            t = rng.random((6, 6), np.float32)
            y, s = program.run([x, z, t])
            np.testing.assert_allclose(y, np.exp(np.concatenate([x, z])), rtol=1e-6)
            powers = np.exp(t)
            np.testing.assert_allclose(s, powers / powers.sum(1, keepdims=True), rtol=1e-5)
        modules = program.recordings("cpu")[0].objects
    one = {name: extents[:1] for name, extents in specialize.items()}
    alone = hipgraft.compile(torch_module(text), "cpu", specialize=one).recordings("cpu")[0].objects
    assert len(modules) == 2 * len(alone) - 1, "the softmax is the same"


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        (TORCH, {}, r"without extents: 'rows' \(dimension 0 of argument 'arg0'\)"),
        (without_symbols(), {"dims": {"arg0.0": 2}}, "without extents: 'arg1.0'"),
        (TORCH, {"dims": {"rows": 17}}, "'rows' is from 2 to 16, got 17"),
        (TORCH, {"dims": {"row": 2}}, "no symbolic dimension 'row'; it has 'rows'"),
        (TORCH, {"shapes": {"arg2": [6, 7]}, "dims": {"rows": 2}}, "has shape 6x6, got 6x7"),
        (TORCH, {"shapes": {"x": [1, 4]}}, "no argument 'x'; the arguments are arg0, arg1, arg2"),
        (
            TORCH,
            {"shapes": {"arg0": [1]}, "dims": {"rows": 2}},
            r"argument 'arg0' has shape \?x4, got 1",
        ),
    ],
)
def test_torch_extents_that_do_not_fit(text: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(HipgraftError, match=message):
        frontends.give_extents(torch_module(text), **given)


def test_static_model_has_no_extents(model: Path) -> None:
    with pytest.raises(HipgraftError, match="no symbolic dimension 'time'; it has 'batch', 'seq'"):
        frontends.read(model, dims={"batch": 1, "seq": 1, "time": 1})
    with pytest.raises(HipgraftError, match=r"'seq' \(dimension 1 of input 'x'\)") as error:
        frontends.read(model, dims={"batch": 1})
    assert error.value.notes == (
        "give one extent by --dim seq=N, or several by --specialize seq=N,M",
    )


@requires_emulator
def test_tools(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Constants in a file, one runtime and target for each extent."""
    merged, given = tmp_path / "m.mlir", attend_inputs(3, 5)
    flags = ["--dim=seq=5", "--specialize=batch=1,3", "--target=gfx942,gfx1100", "-q"]
    assert hipgraft_compile.main([str(model), *flags, "-o", str(merged)]) == 0
    np.savez(tmp_path / "io.npz", in_0=given[0], in_1=given[1], out_0=reference(model, given))
    np.savez(tmp_path / "no.npz", in_0=attend_inputs(2, 5)[0], in_1=attend_inputs(2, 5)[1])
    for runtime, target in (("recorded", "gfx1100"), ("interpreter", "gfx942"), ("jit", "gfx942")):
        run = [str(merged), f"--device=emulator:{target}", "-q"]
        run += [f"--runtime={runtime}", f"--input=@{tmp_path}/io.npz"]
        assert hipgraft_run.main([*run, f"--expected=@{tmp_path}/io.npz"]) == 0
    capsys.readouterr()
    assert hipgraft_run.main([*run, f"--input=@{tmp_path}/no.npz"]) == 1
    assert "note: compiled for [3, 5, 24], [3, 5] (batch=3, seq=5)" in capsys.readouterr().err

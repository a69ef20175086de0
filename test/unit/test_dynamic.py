"""Programs of dynamic shapes: one compilation, whose host computes what depends on extents."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from emulator import open_emulator, requires_emulator
from onnx_models import (
    Array,
    attend_inputs,
    convolve_inputs,
    heads_inputs,
    listen_inputs,
    save_attend,
    save_convolve,
    save_heads,
    save_listen,
)

import hipgraft
from hipgraft import frontends
from hipgraft.host.jit import Jit
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.io import walk
from hipgraft.runtime.devices import open_device
from hipgraft.runtime.devices.host_memory import NullDevice
from hipgraft.runtime.host_program.interpreter import Executor
from hipgraft.runtime.recorder import record_variants
from hipgraft.runtime.recording import Launch
from hipgraft.service import CompileService
from hipgraft.service.cache import Cache
from hipgraft.service.processes import ProcessWorkers
from hipgraft.tools import hipgraft_compile, hipgraft_run

pytestmark = pytest.mark.slow


def reference(model: Path, given: list[Array]) -> Array:
    """Computes expected results with onnxruntime, which accepts any extents."""
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    (result,) = session.run(None, dict(zip(names, given, strict=True)))
    return np.asarray(result)


MODELS = {
    "attend": (save_attend, attend_inputs, [(2, 3), (1, 70), (3, 1)]),
    "heads": (save_heads, heads_inputs, [(2, 5), (1, 1), (3, 17)]),
    "listen": (save_listen, listen_inputs, [(2,), (1,)]),
    "convolve": (save_convolve, convolve_inputs, [(1, 9), (3, 16), (2, 33)]),
}


@pytest.mark.sampled(8)
@requires_emulator
@pytest.mark.parametrize("name", MODELS)
def test_any_extents_run_merged(name: str, tmp_path: Path) -> None:
    save, make_inputs, extents = MODELS[name]
    model = save(tmp_path / "model.onnx")
    program = hipgraft.compile(model, "gfx942")
    device = open_emulator("gfx942")

    def check(run: Any) -> None:
        for sizes in extents:
            given = make_inputs(*sizes)
            np.testing.assert_allclose(run(given)[0], reference(model, given), rtol=1e-4, atol=1e-5)

    for _ in range(2):
        check(lambda given: program.run(given, device))
    program.close()
    for runtime in (Executor, Jit):
        with runtime(program.module, device) as loaded:
            check(loaded.run)
    device.close()


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", MODELS)
def test_any_extents_run_on_the_cpu(name: str, tmp_path: Path) -> None:
    save, make_inputs, extents = MODELS[name]
    model = save(tmp_path / "model.onnx")
    program = hipgraft.compile(model, "cpu")
    device = open_device("cpu")
    with Executor(program.module, device) as executor:
        for sizes in extents:
            given = make_inputs(*sizes)
            for run in (lambda one: program.run(one, device), executor.run):
                expected = reference(model, given)
                np.testing.assert_allclose(run(given)[0], expected, rtol=1e-4, atol=1e-5)
    program.close()
    device.close()


def test_compiled_by_the_service(tmp_path: Path) -> None:
    """Kernels come from the cache, and a compiler that takes too long costs an error."""
    model = save_attend(tmp_path / "model.onnx")
    cache = Cache(tmp_path / "cache")
    made: list[bytes] = []
    for hits in (0, 1):
        with CompileService(cache=cache) as service:
            module = frontends.read(model, dynamic=True)
            program = hipgraft.compile(module, "gfx942", service=service)
            made.append(str(program.module).encode())
            assert (service.statistics.hits, service.statistics.compiled) == (hits, 1 - hits)
    assert made[0] == made[1]
    with (
        CompileService(ProcessWorkers(1, timeout=0.001)) as service,
        pytest.raises(HipgraftError, match="the compiler took longer than") as error,
    ):
        hipgraft.compile(model, "gfx942", service=service)
    assert "--specialize" in error.value.notes[-2]


def test_extents_are_needed_to_record(tmp_path: Path) -> None:
    program = hipgraft.compile(save_attend(tmp_path / "model.onnx"), "gfx942")
    with pytest.raises(HipgraftError, match="compile the model for given extents by --specialize"):
        record_variants(program.module, "gfx942")


def test_one_compilation_serves_all_extents(tmp_path: Path) -> None:
    """Grids, scratch memory and constants of the kernels follow the extents; code does not."""
    program = hipgraft.compile(save_attend(tmp_path / "model.onnx"), "gfx942")
    small, large = (
        record_variants(program.module, "gfx942", shapes=[(2, n, 24), (2, n)])[0] for n in (3, 300)
    )
    assert small.objects == large.objects
    assert small.kernels == large.kernels
    launches = list(zip(small.commands, large.commands, strict=True))
    assert all(one.kernel == other.kernel for one, other in launches)
    assert all(one.kernarg != other.kernarg for one, other in launches)
    assert any(one.grid != other.grid for one, other in launches)
    scratch = [[b.nbytes for b in one.buffers if b.read is None] for one in (small, large)]
    assert sum(scratch[0]) < sum(scratch[1])
    assert large.results[0].shape == (2, 300 * 8)


def test_launches_have_the_shared_memory_that_their_kernels_use(tmp_path: Path) -> None:
    module = hipgraft.compile(save_attend(tmp_path / "model.onnx"), "sm_80").module
    (recording,) = record_variants(module, "sm_80", shapes=[(2, 3, 24), (2, 3)])
    launches = [one for one in recording.commands if isinstance(one, Launch)]
    uses: list[bool] = []
    for launch in launches:
        number, name = recording.kernels[launch.kernel]
        _, _, rest = recording.objects[number].decode().partition(f".entry {name}(")
        uses.append("__dynamic_shared_memory__" in rest.partition(".entry ")[0])
    assert any(uses)
    assert [launch.shared_bytes > 0 for launch in launches] == uses


def test_memory_grows_once_and_constants_stay(tmp_path: Path) -> None:
    program = hipgraft.compile(save_attend(tmp_path / "model.onnx"), "gfx942")
    device = NullDevice("gfx942")
    session = program.load(device)
    counts: list[int] = []
    for batch, seq in ((2, 3), (2, 5), (2, 3), (4, 64)):
        session.run(attend_inputs(batch, seq))
        counts.append(len(device._allocations))
    assert len(set(counts)) == 1
    assert [one.inputs[0].shape for one in session.variants] == [
        (2, 3, 24),
        (2, 5, 24),
        (4, 64, 24),
    ]
    program.close()
    assert not device._allocations


def test_inputs_that_do_not_fit(tmp_path: Path) -> None:
    program = hipgraft.compile(save_attend(tmp_path / "model.onnx"), "gfx942")
    x, mask = attend_inputs(2, 5)
    cases = [
        ([x, mask[:, :4]], "input #1 has extent 4 for 'seq', which is 5 before"),
        ([x[:, :, :8], mask], r"input #0 has shape \[2, 5, 8\]; expected memref<\?x\?x24xf32>"),
        ([x], "takes 2 inputs, but 1 were given"),
    ]
    device = NullDevice("gfx942")
    with Executor(program.module, device) as executor, Jit(program.module, device) as jit:
        for given, message in cases:
            for run in (lambda one: program.run(one, device), executor.run, jit.run):
                with pytest.raises(HipgraftError, match=message):
                    run(given)
    program.close()
    assert not device._allocations


def test_what_needs_extents(tmp_path: Path) -> None:
    model = save_attend(tmp_path / "model.onnx")
    with pytest.raises(HipgraftError, match=r"'batch' \(dimension 0 of input 'x'\)") as error:
        hipgraft.compile(model, "gfx942", compile_to="hipdnn-graphs")
    assert "--specialize batch=N,M" in error.value.notes[0]
    with pytest.raises(HipgraftError, match="without extents: 'seq'"):
        hipgraft.compile(model, "gfx942", specialize={"batch": [1, 2]})


@pytest.mark.parametrize("target", ["cpu", pytest.param("gfx942", marks=requires_emulator)])
def test_bundles(target: str, tmp_path: Path) -> None:
    """A bundle runs for any extents, with what it holds."""
    model = save_attend(tmp_path / "model.onnx")
    hipgraft.compile(model, target).save_bundle(tmp_path / "m.hgb")
    device = open_device("cpu") if target == "cpu" else open_emulator(target)
    with hipgraft.load(tmp_path / "m.hgb") as bundle:
        for sizes in ((2, 3), (1, 17), (2, 3)):
            given = attend_inputs(*sizes)
            expected = reference(model, given)
            np.testing.assert_allclose(bundle.run(given, device)[0], expected, rtol=1e-4, atol=1e-5)
        x, mask = attend_inputs(2, 5)
        with pytest.raises(HipgraftError, match="extent 4 for 'seq', which is 5 before"):
            bundle.run([x, mask[:, :4]], device)
        with pytest.raises(HipgraftError, match="its calls depend on its inputs"):
            bundle.recordings(target)
    device.close()


TORCH = """
func.func @main(%x: !torch.vtensor<[?,4],f16>, %y: !torch.vtensor<[?,4],f16>)
    -> !torch.vtensor<[?,4],f16> {
  %rows = torch.symbolic_int "rows" {min_val = 2, max_val = 16} : !torch.int
  torch.bind_symbolic_shape %x, [%rows], affine_map<()[s0] -> (s0, 4)> : !torch.vtensor<[?,4],f16>
  torch.bind_symbolic_shape %y, [%rows], affine_map<()[s0] -> (s0, 4)> : !torch.vtensor<[?,4],f16>
  %int1 = torch.constant.int 1
  %0 = torch.aten.add.Tensor %x, %y, %int1 : !torch.vtensor<[?,4],f16>,
      !torch.vtensor<[?,4],f16>, !torch.int -> !torch.vtensor<[?,4],f16>
  return %0 : !torch.vtensor<[?,4],f16>
}
"""


@requires_emulator
def test_torch_module_with_symbols() -> None:
    program = hipgraft.compile(ir.Module.parse(TORCH, make_context()), "gfx1100")
    device = open_emulator("gfx1100")
    for rows in (2, 16, 5):
        x, y = (np.random.default_rng(rows).random((rows, 4)).astype(np.float16) for _ in "xy")
        np.testing.assert_array_equal(program.run([x, y], device)[0], x + y)
    cases = [
        (2, 3, "input #1 has extent 3 for 'rows', which is 2 before"),
        (17, 17, "input #0 has extent 17 for 'rows', which must be from 1 to 16"),
        (0, 0, "input #0 has extent 0 for 'rows', which must be from 1 to 16"),
    ]
    for one, other, message in cases:
        x, y = np.zeros((one, 4), np.float16), np.zeros((other, 4), np.float16)
        with pytest.raises(HipgraftError, match=message):
            program.run([x, y], device)
    program.close()
    device.close()


@pytest.mark.thorough
@requires_emulator
def test_attention_with_a_computed_mask() -> None:
    """Tokens attend to those of their own segment; IREE compiles it only when it is written out."""
    lit = Path(__file__).parents[1] / "lit/passes/hipgraft-compile-dynamic-declined.mlir"
    _, text = lit.read_text().split("// -----")
    program = hipgraft.compile(ir.Module.parse(text, make_context()), "gfx942")
    device = open_emulator("gfx942")
    for batch, seq in ((2, 5), (1, 33)):
        values = np.random.default_rng(seq)
        q = values.normal(size=(batch, 3, seq, 12)).astype(np.float32)
        ids = values.integers(0, 2, (batch, seq))
        scores = q @ q.swapaxes(-1, -2) / np.sqrt(12)
        scores[
            np.broadcast_to(ids[:, None, :, None] != ids[:, None, None, :], scores.shape)
        ] = -1e30
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        expected = weights / weights.sum(-1, keepdims=True) @ q
        np.testing.assert_allclose(program.run([q, ids], device)[0], expected, rtol=1e-4, atol=1e-5)
    program.close()
    device.close()


@requires_emulator
def test_tools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, given = save_attend(tmp_path / "model.onnx"), attend_inputs(3, 5)
    merged = tmp_path / "m.mlir"
    flags = ["--dim=batch=3", "--target=gfx942,gfx1100", "-q"]
    assert hipgraft_compile.main([str(model), *flags, "-o", str(merged)]) == 0
    assert re.search(r"func.func @main\(%arg0: memref<3x\?x24xf32>", merged.read_text())
    np.savez(tmp_path / "io.npz", in_0=given[0], in_1=given[1], out_0=reference(model, given))
    for runtime, target in (("recorded", "gfx1100"), ("interpreter", "gfx942"), ("jit", "gfx942")):
        run = [str(merged), f"--device=emulator:{target}", "-q"]
        run += [f"--runtime={runtime}", f"--input=@{tmp_path}/io.npz"]
        assert hipgraft_run.main([*run, f"--expected=@{tmp_path}/io.npz"]) == 0
    capsys.readouterr()
    assert hipgraft_run.main(run[:3]) == 1
    assert "argument #0 is a 3x?x24xfloat32: give arrays or shapes" in capsys.readouterr().err
    cpu = [str(model), "--device=cpu", "-q"]
    assert hipgraft_run.main([*cpu, *run[-1:], f"--expected=@{tmp_path}/io.npz"]) == 0
    assert hipgraft_run.main([*cpu, "--input=2x7x24,2x7"]) == 0
    assert "2x56xfloat32" in capsys.readouterr().out
    assert hipgraft_run.main([*cpu, "--input=2x7x24,2x8"]) == 1
    assert "extent 8 for 'seq', which is 7 before" in capsys.readouterr().err


def test_hosts_compute_only_what_they_use(tmp_path: Path) -> None:
    module = hipgraft.compile(save_attend(tmp_path / "m.onnx"), target="gfx942").module
    numbers = [
        op
        for function in module.body.operations
        for op in walk(function.operation)
        if op.name.startswith(("arith.", "affine.", "memref.dim"))
    ]
    assert len(numbers) > 10
    assert all(any(True for _ in result.uses) for op in numbers for result in op.results)

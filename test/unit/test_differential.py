"""Random ONNX models, and small models that once failed, against onnxruntime and ONNX."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import onnxruntime
import pytest
from benchmark_modules import BENCHMARKS, benchmark
from emulator import requires_emulator

from hipgraft.emulator import EmulatorDevice

REWRITES = 30
PROGRAMS = 3
DYNAMIC = 4


@pytest.fixture(scope="module")
def differential() -> ModuleType:
    onnxruntime.set_default_logger_severity(4)
    return benchmark("differential")


def search(folder: Path, *options: str) -> str:
    """Returns the output of the search, which forks and so needs a process without threads."""
    script = BENCHMARKS / "differential.py"
    command = [sys.executable, str(script), f"--failures={folder}", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.slow
def test_random_models_are_rewritten_rightly(tmp_path):
    """The reference implementation evaluates each model after the frontend has rewritten it."""
    said = search(tmp_path, "--rewrites", f"--rounds={REWRITES}", "--seed=7")
    assert int(said.split()[0]) > REWRITES / 2  # "N pass, …"


@pytest.mark.slow
def test_random_models_compute_what_onnxruntime_does(tmp_path):
    said = search(tmp_path, f"--rounds={PROGRAMS}", "--seed=11")
    assert int(said.split()[0]) > PROGRAMS / 2


@pytest.mark.thorough
@pytest.mark.slow
def test_random_models_of_dynamic_shapes_and_sixteen_bits(tmp_path):
    said = search(tmp_path, "--dynamic", "--element=f16", f"--rounds={DYNAMIC}", "--seed=3")
    assert int(said.split()[0]) > DYNAMIC / 2


def test_extents_are_symbolic_and_tensors_narrow(differential):
    """Checks without compiling that equal extents get one name, and that extents of 1 stay."""
    x, y = np.full((1, 3, 4), 2, np.float32), np.full((3, 1), 2.0002, np.float32)
    draft = differential.Draft("Sub", 21, {}, [x, y], [False, True], dynamic=frozenset({3}))
    draw = differential.Draw(element="f16")
    case = draw.case_of(draft, "add")
    (value,) = case.model.graph.input
    dims = value.type.tensor_type.shape.dim
    assert [dim.dim_param or dim.dim_value for dim in dims] == [1, "d3", 4]
    assert [array.dtype for array in (*case.inputs, *case.wanted)] == [np.float16, np.float16]
    np.testing.assert_array_equal(case.wanted[0], np.zeros((1, 3, 4)))  # constants are rounded


@pytest.mark.parametrize("value", [0.5, -0.5])
def test_not_a_number_that_onnxruntime_skips_is_unclear(differential, value):
    x = np.array([0.9, value], np.float32)
    case = differential.case_of(
        differential.Draft("Log", 9, {}, [x], [False], 1, ("ReduceMax",)), "log"
    )
    assert (case is None) == (value < 0)


@pytest.mark.parametrize("value", [0.0, -0.0])
def test_roots_of_vanished_numbers_are_unclear(differential, value):
    x = np.array([4, value], np.float32)
    case = differential.case_of(
        differential.Draft("Identity", 21, {}, [x], [False], 1, ("Sqrt",)), "root"
    )
    assert (case is None) == bool(np.signbit(value))


def test_operands_are_lengthened_together():
    """Checks without compiling that equal extents stay equal, and that shape operands stay."""
    models = benchmark("random_onnx")
    x, y = np.arange(12.0).reshape(3, 4), np.arange(4.0)
    added = models.Draft("Add", 21, {}, [x, y], [False, False])
    reshaped = models.Draft("Reshape", 21, {}, [x, np.array([4, 3, 1, 1])], [False, True])
    for seed in range(10):
        long, other = models.with_long_extents(random.Random(seed), added).inputs
        assert long.size > x.size
        assert long.size + other.size <= models.LONGEST_SIZE
        assert other.shape == long.shape[1:]
        assert set(long.shape) <= {3, 4, *models.LONGEST_EXTENTS}
        kept = models.with_long_extents(random.Random(seed), reshaped).inputs[1]
        np.testing.assert_array_equal(kept, reshaped.inputs[1])


@requires_emulator
def test_findings_of_the_emulator_are_wrong(differential, monkeypatch):
    candidate = differential.Draft("Relu", 21, {}, [np.ones(2, np.float32)], [False])
    case = differential.case_of(candidate, "relu")
    assert differential.check(case, device="emulator:gfx942").kind == "pass"
    monkeypatch.setattr(EmulatorDevice, "findings", ["a race"])
    outcome = differential.check(case, device="emulator:gfx942")
    assert (outcome.kind, outcome.detail) == ("wrong", "a race")


@requires_emulator
def test_models_run_where_there_is_no_compiler(tmp_path):
    script = BENCHMARKS / "differential_gpu.py"

    def done(action: str, *options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(script), action, str(tmp_path), *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    prepared = done("prepare", "--rounds=2", "--seed=1", "--ops=^(Relu|Abs)$", "--target=gfx942")
    assert (prepared.returncode, prepared.stdout) == (0, "2 pass\n")
    assert done("run", "--device=emulator").stdout == "2 pass\n"
    spoiled, missing = sorted(tmp_path.glob("*.pickle"))
    inputs, wanted, *tolerances = pickle.loads(spoiled.read_bytes())
    wrong = [np.ones_like(one) + one for one in wanted]
    spoiled.write_bytes(pickle.dumps((inputs, wrong, *tolerances)))
    missing.unlink()
    run = done("run", "--device=emulator")
    assert run.returncode == 1
    assert [line.partition(":")[0] for line in run.stdout.splitlines()[:2]] == ["wrong", "abort"]


@pytest.mark.slow
def test_a_wrong_result_is_found_and_made_smaller(differential):
    """Runs the search on a model whose first result counts as wrong if it has two rows."""
    Draft, Outcome = differential.Draft, differential.Outcome  # noqa: N806
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    candidate = Draft("Softmax", 21, {"axis": 1}, [x], [False], 1, ("Relu",))

    def job(case):
        rows = case.inputs[0].shape[0] if case.inputs[0].ndim else 0
        return Outcome("wrong" if rows >= 2 else "pass")

    least = differential.minimised(candidate, "wrong", job)
    assert (least.attributes, least.following) == ({}, ())
    assert least.inputs[0].shape == (2, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "kind"),
    [("raise ValueError('x')", "traceback"), ("import os; os.abort()", "abort"),
     ("while True: pass", "timeout")],
)  # fmt: skip
def test_how_a_case_ends_is_told_apart(differential, end, kind):
    """Each case replaces compilation by one kind of failure."""
    candidate = differential.Draft("Relu", 21, {}, [np.ones(2, np.float32)], [False])
    case = differential.case_of(candidate, "relu")
    job = partial(_ending, differential, case, end)
    ((_, outcome),) = differential.run_contained(
        iter([("", job)]), timeout=3 if kind == "timeout" else 120
    )
    assert outcome.kind == kind


def _ending(differential, case, end):
    import hipgraft.compiler.program as program

    program.compile = lambda *_, **__: exec(end)
    return differential.check(case)

"""Worker processes: faults cost a graph one retry, and nothing else."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from faults import misbehave

from hipgraft.codegen.target import Target
from hipgraft.service import Job, Outcome, ProcessWorkers
from hipgraft.service.in_process import compile_job

MEMORY = 400 << 20

IGEMM = "--iree-codegen-llvmgpu-use-igemm"

CONV = """
func.func @main(%x: tensor<1x4x10x10xf16>, %w: tensor<8x4x3x3xf16>) -> tensor<1x8x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x8x8x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %y = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x4x10x10xf16>, tensor<8x4x3x3xf16>)
                                outs(%init : tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  return %y : tensor<1x8x8x8xf32>
}"""


def job(name: str, text: str, cost: int = 0) -> Job:
    return Job(name, "gfx942", (), text, cost)


def outcomes(workers: ProcessWorkers, jobs: list[Job]) -> dict[str, Outcome]:
    found = list(workers.run(jobs, lambda index, worker: None))
    assert sorted(index for index, _ in found) == list(range(len(jobs)))
    return {jobs[index].name: outcome for index, outcome in found}


@pytest.mark.thorough
def test_faults_of_200_units(tmp_path: Path) -> None:
    faults = ["reject", "kill", "abort", "exhaust", "kill once", "abort once", "kill once"]
    generator = random.Random(6)
    jobs: list[Job] = []
    for number in range(200):
        fault, _, once = generator.choice(faults if number % 12 == 0 else ["fine"]).partition(" ")
        jobs.append(job(f"g{number}", f"{fault} {tmp_path / str(number)}" if once else fault))
    jobs.insert(20, job("hang", "hang"))
    jobs.insert(40, job("hang-once", f"hang {tmp_path / 'hang'}"))
    workers = ProcessWorkers(2, timeout=3, task=misbehave)
    found = outcomes(workers, jobs)
    workers.close()
    for each in jobs:
        outcome = found[each.name]
        if each.text in ("reject", "kill", "abort", "exhaust", "hang"):
            assert outcome.kernel is None
            assert outcome.error is not None
            assert outcome.permanent == (each.text == "reject")
        else:
            assert outcome.kernel is not None
            assert outcome.kernel.objects == (each.name.encode(),)
    assert {each.text.split()[0] for each in jobs} == {
        *(f.split()[0] for f in faults),
        "fine",
        "hang",
    }


@pytest.mark.slow
@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("kill", "the compiler was ended by SIGKILL (twice)"),
        ("terminate", "the compiler was ended by SIGTERM (twice)"),
        ("abort", "the compiler was ended by SIGABRT: LLVM ERROR: cannot select (twice)"),
        (
            "exhaust",
            "the compiler was ended with status 1: MemoryError: cannot allocate 9 GiB (twice)",
        ),
        ("hang", "the compiler took longer than 1 s (twice)"),
        ("swallow", "the compiler took more than 400 MiB of memory (twice)"),
    ],
)
def test_reason(fault: str, reason: str) -> None:
    timeout = 1 if fault == "hang" else 60
    workers = ProcessWorkers(1, timeout=timeout, memory_limit=MEMORY, task=misbehave)
    found = outcomes(workers, [job("bad", fault), job("good", "fine")])
    workers.close()
    error = found["bad"].error
    assert error is not None
    assert error.message == reason
    assert found["bad"].artifacts == {"input.mlir": fault.encode()}
    assert found["good"].kernel is not None


@pytest.mark.slow
def test_costliest_first() -> None:
    begun: list[int] = []
    workers = ProcessWorkers(1, task=misbehave)
    jobs = [job("a", "fine", 1), job("b", "fine", 3), job("c", "fine", 2)]
    for _ in workers.run(jobs, lambda index, worker: begun.append(index)):
        pass
    workers.close()
    assert begun == [1, 2, 0]


@pytest.mark.slow
def test_processes_started_early_are_those_that_compile() -> None:
    before = children()
    workers = ProcessWorkers(2, task=misbehave)
    workers.prepare()
    started = children() - before
    assert len(started) == 2
    found = outcomes(workers, [job("a", "fine"), job("b", "kill"), job("c", "fine")])
    assert str(found["a"].process) in started
    workers.close()
    assert children() == before


@pytest.mark.thorough
@pytest.mark.slow
def test_flags_of_the_whole_process() -> None:
    # The second flag repeats a default: equal kernels show that it changes nothing else.
    plain, *others = [
        Job(f"u{number}", "gfx942", (*Target.parse("gfx942").default_flags, *flags), CONV)
        for number, flags in enumerate(((), (f"{IGEMM}=false",), (f"{IGEMM}=true",)))
    ]
    workers = ProcessWorkers(1)
    kernels = {
        name: outcome.kernel
        for name, outcome in outcomes(workers, [others[0], plain, others[1]]).items()
    }
    workers.close()
    assert kernels["u0"] == kernels["u2"]
    assert kernels["u0"] != kernels["u1"]
    # Outside of worker processes, too.
    assert compile_job(others[0]).kernel == kernels["u1"]
    assert compile_job(plain).kernel == kernels["u0"]


@pytest.mark.slow
def test_processes_start_without_what_they_do_not_need() -> None:
    program = "import sys, hipgraft.service.worker\nprint(*sys.modules, sep='\\n')"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", program]
    loaded = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    unneeded = {"hipgraft.codegen.lowering", "hipgraft.passes", "onnx", "yaml", "rich"}
    assert not unneeded & set(loaded.stdout.split())


@pytest.mark.slow
def test_abandoned_batch_leaves_no_process() -> None:
    before = children()
    workers = ProcessWorkers(2, task=misbehave)
    run = workers.run([job("a", "fine"), job("b", "hang")], lambda index, worker: None)
    assert next(run)[0] == 0
    run.close()
    assert children() == before
    assert outcomes(workers, [job("c", "fine")])["c"].kernel is not None
    workers.close()


@pytest.mark.slow
def test_workers_end_with_a_killed_parent() -> None:
    program = (
        "from faults import misbehave\n"
        "from hipgraft.service import ProcessWorkers, Job\n"
        "workers = ProcessWorkers(1, task=misbehave)\n"
        "jobs = [Job('a', 'gfx942', (), 'fine'), Job('b', 'gfx942', (), 'hang')]\n"
        "for done in workers.run(jobs, lambda index, worker: None):\n"
        "    print(workers._workers[0]._process.pid, flush=True)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    wait_until_gone(child)


def wait_until_gone(process: int) -> None:
    import time

    for _ in range(100):
        state = Path(f"/proc/{process}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.1)
    pytest.fail(f"process {process} is still there")


def children() -> set[str]:
    task = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    return set(task.read_text().split())

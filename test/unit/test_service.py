"""The compile service of `hipdnn-compile`: which graphs are compiled again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from hipgraft.codegen.kernel import Kernel, kernels_of
from hipgraft.codegen.target import Target
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import CodegenError, HipgraftError
from hipgraft.passes.hipdnn_compile import HipdnnCompilePass
from hipgraft.passmanager.runner import Runner
from hipgraft.service import (
    Cache,
    CompileService,
    ExecutorWorkers,
    Job,
    Outcome,
    Override,
    ProcessWorkers,
    Request,
    use_service,
)
from hipgraft.service.job import OnStart

RELU = '"hipdnn.pointwise"(%{x}) {{mode = "relu_fwd", operandSegmentSizes = array<i32: 1, 0, 0>}}'
TYPE = "tensor<{n}xf32>"


def graph(name: str, size: int, value: str = "x", result: str = "r") -> str:
    kind = TYPE.format(n=size)
    return f"""
func.func @{name}(%a: {kind}) -> {kind} {{
  %0 = "hipdnn.graph"(%a) ({{
  ^bb0(%{value}: {kind}):
    %{result} = {RELU.format(x=value)} : ({kind}) -> {kind}
    "hipdnn.yield"(%{result}) : ({kind}) -> ()
  }}) {{name = "{name}"}} : ({kind}) -> {kind}
  return %0 : {kind}
}}"""


def compiled(text: str, service: CompileService, *targets: str) -> list[Kernel]:
    with make_context() as context, use_service(service):
        module = ir.Module.parse(text, context)
        compile_pass = HipdnnCompilePass(target=targets or ("gfx942",))
        Runner(keep_reproducer=False).run(module, [compile_pass])
        ops = [op.operation for op in module.body.operations]
        executables = [op for op in ops if op.name == "hipdnn.executable"]
        return [kernel for op in executables for kernel in kernels_of(op)]


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.mark.slow
def test_only_what_changed_is_compiled_again(cache: Cache) -> None:
    cold = CompileService(cache=cache)
    first = compiled(graph("one", 8) + graph("two", 16), cold)
    assert (cold.statistics.hits, cold.statistics.compiled) == (0, 2)
    warm = CompileService(cache=cache)
    assert compiled(graph("one", 8) + graph("two", 16), warm) == first
    assert (warm.statistics.hits, warm.statistics.compiled) == (2, 0)
    edited = CompileService(cache=cache)
    assert compiled(graph("one", 8) + graph("two", 24), edited)[0] == first[0]
    assert (edited.statistics.hits, edited.statistics.compiled) == (1, 1)


@pytest.mark.slow
def test_names_do_not_matter(cache: Cache) -> None:
    service = CompileService(cache=cache)
    compiled(graph("one", 8), service)
    compiled(graph("other", 8, "operand", "result"), service)
    assert (service.statistics.hits, service.statistics.compiled) == (1, 1)


@pytest.mark.slow
def test_each_target_is_a_unit(cache: Cache) -> None:
    service = CompileService(cache=cache)
    compiled(graph("one", 8), service, "gfx942")
    kernels = compiled(graph("one", 8), service, "gfx942", "gfx1100")
    assert [kernel.target for kernel in kernels] == ["gfx942", "gfx1100"]
    assert (service.statistics.hits, service.statistics.compiled) == (1, 2)


@pytest.mark.slow
def test_damaged_entry_is_compiled_again(cache: Cache) -> None:
    service = CompileService(cache=cache)
    first = compiled(graph("one", 8), service)
    (stored,) = cache.entries()
    stored.path.write_bytes(stored.path.read_bytes()[:-100])
    assert compiled(graph("one", 8), service) == first
    assert (service.statistics.hits, service.statistics.compiled) == (0, 2)
    assert len(cache.problems) == 1
    assert cache.get(stored.key) is not None


@pytest.mark.slow
def test_overrides_reach_their_graph_and_its_key(cache: Cache) -> None:
    compiled(graph("one", 8) + graph("two", 16), CompileService(cache=cache))
    overrides = [Override("tw*", "gfx942", ("--iree-opt-level=O1",))]
    service = CompileService(cache=cache, overrides=overrides)
    compiled(graph("one", 8) + graph("two", 16), service)
    assert (service.statistics.hits, service.statistics.compiled) == (1, 1)
    wrong = CompileService(cache=cache, overrides=[Override("*", "", ("--no-such-flag",))])
    with pytest.raises(HipgraftError, match="no-such-flag"):
        compiled(graph("one", 8), wrong)


def test_error_of_the_compiler_is_found_in_the_cache(cache: Cache) -> None:
    def request(lower: str) -> Request:
        return Request("g", "text", "digest", Target.parse("gfx942"), (), lambda: lower)

    service = CompileService(cache=cache)
    (cold,) = service.compile([request("func.func @other() { return }")])
    (warm,) = service.compile([request("must not be read")])
    for outcome in (cold, warm):
        assert isinstance(outcome.error, CodegenError)
        assert "has no function 'main'" in outcome.error.message
    assert (service.statistics.hits, service.statistics.failed) == (1, 2)


class Losing:
    """Workers that crash on every job."""

    def run(self, jobs: Sequence[Job], on_start: OnStart) -> Iterator[tuple[int, Outcome]]:
        for index in range(len(jobs)):
            yield index, Outcome(error=CodegenError("crashed"), permanent=False)

    def close(self) -> None:
        """Nothing was started."""


def test_what_may_work_another_time_is_not_in_the_cache(cache: Cache) -> None:
    with pytest.raises(HipgraftError, match="crashed"):
        compiled(graph("one", 8), CompileService(Losing(), cache))
    service = CompileService(cache=cache)
    compiled(graph("one", 8), service)
    assert (service.statistics.hits, service.statistics.compiled) == (0, 1)


@pytest.mark.slow
def test_a_full_cache_is_pruned(cache: Cache) -> None:
    compiled(graph("one", 8), CompileService(cache=cache))
    assert len(cache.entries()) == 1
    cache.max_bytes = 0
    compiled(graph("two", 16), CompileService(cache=cache))
    assert cache.entries() == []


@pytest.mark.slow
def test_every_kind_of_worker_makes_the_same_bytes() -> None:
    text = graph("one", 8) + graph("two", 16)
    expected = compiled(text, CompileService())
    with CompileService(ProcessWorkers(2)) as service:
        assert compiled(text, service) == expected
    with ThreadPoolExecutor(2) as threads:
        assert compiled(text, CompileService(ExecutorWorkers(threads))) == expected
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert compiled(text, CompileService(ExecutorWorkers(pool))) == expected


@pytest.mark.slow
def test_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    kinds = "".join(graph(f"g{size}", size) for size in range(8, 512, 8))
    (tmp_path / "graphs.mlir").write_text(kinds)
    command = [sys.executable, "-m", "hipgraft.tools.hipgraft_compile", tmp_path / "graphs.mlir"]
    command += ["-j1", f"--cache-dir={tmp_path / 'cache'}", "-o", tmp_path / "out.mlir"]
    cache = Cache(tmp_path / "cache")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as tool:
        while len(cache.entries()) < 2:
            time.sleep(0.05)
            assert tool.poll() is None
        tool.send_signal(signal.SIGINT)
        _, errors = tool.communicate(timeout=30)
    assert tool.returncode == 130
    assert "Traceback" not in errors
    assert not (tmp_path / "out.mlir").exists()
    stored = cache.entries()
    assert 2 <= len(stored) < 63
    assert all(cache.get(each.key) for each in stored)
    assert not list(cache.directory.rglob("*.tmp"))

"""The cost model that times kernels on a device."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from emulator import open_emulator, requires_emulator
from test_driver_devices import build_driver
from test_tuning import DECOMPOSED, PADDED, attention, compiled, request

from hipgraft.codegen.kernel import Binding, Copy, Dispatch, Fill, Kernel
from hipgraft.codegen.plan import DEFAULT_PLAN
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.runtime.devices.host_memory import NullDevice
from hipgraft.runtime.host_program.kernel_recording import kernel_recording
from hipgraft.runtime.recording import Tensor
from hipgraft.runtime.session import Session
from hipgraft.service.service import CompileService
from hipgraft.service.tuning.plans import Choices
from hipgraft.service.tuning.search import Search, open_cost_models
from hipgraft.service.tuning.static import StaticCostModel
from hipgraft.service.tuning.timed import TimedCostModel
from hipgraft.service.tuning.work import GraphWork, graph_work

PTX = b""".version 7.0
.target sm_80
.visible .entry double_it(.param .u64 .ptr x, .param .u64 .ptr y, .param .u32 n)
{ ret; }
"""
ROW = Tensor("", (5,), "f32")
WORK = GraphWork(0, 40, 5, 0, frozenset(), (ROW,), (ROW,))


def binding(buffer: int) -> Binding:
    return Binding(buffer, 0, 20, "read_write")


def doubling() -> Kernel:
    """Doubles into the workspace, and from a filled and copied part of that into the result."""
    first = Dispatch(0, "double_it", (1, 1, 1), (64, 1, 1), 0, (binding(0), binding(2)), (4,))
    last = replace(first, bindings=(binding(2), binding(1)), constants=(5,))
    fill = Fill(2, 16, 4, 0x3F800000, 4)
    return Kernel("sm_80", "ptx", (PTX,), 20, (fill, first, Copy(2, 16, 2, 0, 4), last))


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_on_a_driver(tmp_path: Path) -> None:
    driver = build_driver("cuda", tmp_path)
    device = driver.open()
    with Session(kernel_recording(doubling(), [ROW], [ROW]), device) as session:
        (y,) = session.run([np.arange(5, dtype=np.float32)])
    assert y.tolist() == [2, 4, 8, 12, 2]
    cost = TimedCostModel(device).cost(doubling(), WORK)
    assert 0 < cost.value == cost.metrics["microseconds"] < float("inf")
    assert not cost.problems
    driver.fail("launch", 1)
    broken = TimedCostModel(device).cost(doubling(), WORK)
    assert broken.value == float("inf")
    assert "invalid argument" in broken.problems[0]
    device.close()
    assert driver.live == 0


class SlowDevice(NullDevice):
    """Launches of kernels with certain names take that many milliseconds."""

    def __init__(self, architecture: str, slow: dict[str, float]):
        super().__init__(architecture)
        self._slow = slow
        self._due = 0.0

    def launch(
        self,
        kernel: str,
        grid: Sequence[int],
        block: Sequence[int],
        dynamic_shared_bytes: int,
        kernarg: bytes,
    ) -> None:
        self._due += sum(time for name, time in self._slow.items() if name in kernel) / 1000

    def synchronize(self) -> None:
        time.sleep(self._due)
        self._due = 0.0


@pytest.mark.slow
def test_the_median_is_that_of_a_run() -> None:
    cost = TimedCostModel(SlowDevice("sm_80", {"double_it": 10})).cost(doubling(), WORK)
    assert 20_000 <= cost.value < 60_000  # two launches
    assert 0 <= cost.metrics["spread"] < 40_000


def test_a_device_of_another_architecture_is_an_error() -> None:
    with pytest.raises(HipgraftError, match=re.escape("for sm_80 on a device that is gfx942")):
        TimedCostModel(NullDevice("gfx942")).cost(doubling(), WORK)
    with pytest.raises(HipgraftError, match="unknown device 'abacus'"):
        open_cost_models(["timed"], device="abacus")


@pytest.mark.slow
def test_graphs_for_the_cpu() -> None:
    graph, target = attention(96, "f32"), Target.parse("cpu")
    choices = Choices(graph, target)
    assert DECOMPOSED not in choices.plans()  # which is the default
    cost_model = TimedCostModel.open("cpu")
    kernel = compile_text(choices.lower(DEFAULT_PLAN), target)
    work = choices.work()
    cost = cost_model.cost(kernel, work)
    assert 0 < cost.value < float("inf")
    tensors = [Tensor("", (1, 12, 96, 64), "f32")]
    assert (*work.operands, *work.results) == tuple(tensors * 4)


@requires_emulator
def test_on_code_objects() -> None:
    graph = attention(48)
    cost = TimedCostModel(open_emulator("gfx942")).cost(compiled(graph, PADDED), graph_work(graph))
    assert 0 < cost.value < float("inf")


@pytest.mark.slow
def test_it_decides_where_it_is_first_and_the_others_may_disagree() -> None:
    """On this device, fused attention does the least work but is the only slow form."""
    graph = attention(144)
    wanted = request(graph)
    flags, choices = wanted.target.default_flags, Choices(graph, wanted.target)
    wanted = replace(wanted, flags=flags, lower=lambda: choices.lower(DEFAULT_PLAN))
    timed = TimedCostModel(SlowDevice("gfx942", {"attention": 5.0}))
    with CompileService(search=Search("full", [timed, StaticCostModel()])) as service:
        (outcome,) = service.compile([wanted])
        search = service.search
    assert outcome.decision is not None
    assert outcome.decision.chosen.plan == DECOMPOSED
    (cost, _) = outcome.decision.chosen.costs
    assert (cost.cost_model, cost.value < 5000) == ("timed", True)
    assert re.search(
        r"'static' prefers default \(\S+ to \S+\), 'timed' does not", str(outcome.decision)
    )
    assert search is not None
    (entry,) = search.found.entries
    assert (entry.cost_model, entry.plan) == ("timed", str(DECOMPOSED))
    assert entry.costs["default"] > 5000 > entry.costs[str(DECOMPOSED)]

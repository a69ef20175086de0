"""Verified compilation: kernels that the compiler makes wrong are not used.

The faults are the compiler's own, with the workarounds for them off.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from emulator import requires_emulator
from lowering_cases import Case, build_graph
from test_lowering_attention import CASES as ATTENTION
from test_lowering_contractions import matmul_case
from test_workarounds import FAULTS, WORKAROUNDS

from hipgraft.codegen.canonical import container_key, container_text
from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.plan import DEFAULT_PLAN
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import Effect, without
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import HipgraftWarning
from hipgraft.service import Cache, CompileService, InProcess, Request
from hipgraft.service.tuning.plans import Choices
from hipgraft.service.tuning.search import Search
from hipgraft.service.verification import Verifier, is_indexing
from hipgraft.tools import hipgraft_compile

pytestmark = requires_emulator


@contextmanager
def request(case: Case, target: str) -> Generator[Request]:
    """Returns the request for a case's graph, in its own context."""
    architecture = Target.parse(target)
    with make_context(), ir.Location.unknown():
        _, graph = build_graph(replace(case, target=target))
        op = graph.operation
        choices = Choices(op, architecture)
        yield Request(
            case.name,
            container_text(op),
            container_key(op),
            architecture,
            architecture.default_flags,
            lambda: choices.lower(DEFAULT_PLAN),
            choices,
        )


WRONG = [
    name
    for name, (target, _) in FAULTS.items()
    if target != "cpu" and WORKAROUNDS[name].effect is Effect.WRONG
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_is_an_error(name: str, tmp_path: Path) -> None:
    target, make = FAULTS[name]
    case = make()
    cache = Cache(tmp_path)
    with request(case, target) as one, without(WORKAROUNDS[name]):
        with CompileService(InProcess(), cache) as service:
            (unverified,) = service.compile([one])
        assert unverified.kernel is not None
        with CompileService(InProcess(), cache, verify=True) as service:
            with pytest.warns(HipgraftWarning, match="wrong on the emulator.*command are in"):
                (outcome,) = service.compile([one])
            assert service.statistics.verified == {"wrong": 1}
        assert outcome.kernel is None
        assert outcome.error is not None
        # Those who do not verify do not get it either.
        with CompileService(InProcess(), cache) as service:
            (cached,) = service.compile([one])
        assert cached.cached
        assert cached.kernel is None
        assert cached.error is not None
        assert cached.error.message == outcome.error.message


def test_another_plan_replaces_a_wrong_kernel(tmp_path: Path) -> None:
    target, make = FAULTS["filter-order"]
    service = CompileService(InProcess(), Cache(tmp_path), search=Search(), verify=True)
    wrong = pytest.warns(HipgraftWarning, match="wrong on the emulator")
    with request(make(), target) as one, without(WORKAROUNDS["filter-order"]), service, wrong:
        (outcome,) = service.compile([one])
    assert outcome.kernel is not None
    assert outcome.verdict is not None
    assert outcome.verdict.status == "right"
    assert outcome.decision is not None
    assert outcome.decision.chosen.plan != DEFAULT_PLAN


def test_right_kernels_are_verified_once(tmp_path: Path) -> None:
    case = matmul_case("rows", (4, 32, 64), (4, 64, 16), "f16")
    with request(case, "gfx942") as one, warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with CompileService(InProcess(), Cache(tmp_path), verify=True) as service:
                (outcome,) = service.compile([one])
            assert outcome.verdict is not None
            assert outcome.verdict.status == "right"
    assert outcome.cached


def test_equal_graphs_share_a_reference() -> None:
    case = matmul_case("same", (1, 16, 16), (1, 16, 16))
    with request(case, "gfx942") as one, request(case, "gfx1100") as other:
        with CompileService(InProcess(), verify=True) as service:
            outcomes = service.compile([one, other])
        assert [each.verdict and each.verdict.status for each in outcomes] == ["right"] * 2
        assert service.statistics.compiled == 3


def test_large_launches_are_sampled() -> None:
    case = matmul_case("large", (1, 256, 256), (1, 256, 256))
    other = matmul_case("other", (1, 256, 256), (1, 256, 256), transposed="a")
    verifier = Verifier(budget=100_000)
    with CompileService(InProcess()) as service:
        kernels: list[Kernel] = []
        for one in (case, other):
            with request(one, "gfx1100") as wanted:
                reference = verifier.reference(wanted)
                assert reference is not None
                (outcome,) = service.compile([reference])
                assert outcome.kernel is not None
                kernels.append(outcome.kernel)
        with request(case, "gfx1100") as wanted:
            (outcome,) = service.compile([wanted])
            assert outcome.kernel is not None
            assert wanted.choices is not None
            right, wrong = (
                verifier.compare(outcome.kernel, reference, wanted.choices) for reference in kernels
            )
    assert right.status == "right"
    assert "workgroups" in right.reason
    assert wrong.status == "wrong"
    assert "result 0 differs" in wrong.reason


def test_launches_beyond_any_sample_are_not_verified() -> None:
    case = matmul_case("any", (1, 64, 64), (1, 64, 64))
    with request(case, "gfx1100") as one, CompileService(InProcess()) as service:
        verifier = Verifier(budget=0)
        reference = verifier.reference(one)
        assert reference is not None
        (kernel,), (wanted,) = service.compile([one]), service.compile([reference])
        outcome = verifier.verify(one, kernel, wanted)
    assert outcome.kernel is not None
    assert outcome.verdict is not None
    assert outcome.verdict.status == "unknown"
    assert "too many" in outcome.verdict.reason


def test_integers_are_indices_unless_ops_are_known() -> None:
    with request(FAULTS["signed-extremes"][1](), "gfx942") as one:
        assert one.choices is not None
        assert not is_indexing(one.choices.container)
    lengths = next(case for case in ATTENTION if "seq_len_kv" in repr(case))
    with request(lengths, "gfx942") as one:
        assert one.choices is not None
        assert is_indexing(one.choices.container)


def test_the_tool_says_what_was_verified(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = Path(__file__).parents[1] / "lit/tools/Inputs/conv_relu.mlir"
    stats = tmp_path / "stats.json"
    flags = ["--target=gfx942", "--verify", "--no-cache", "-q", "--remarks"]
    outputs = [f"--stats-json={stats}", f"-o={tmp_path / 'host.mlir'}"]
    assert hipgraft_compile.main([str(model), *flags, *outputs]) == 0
    assert "'conv_fprop_add_relu_fwd_0' for gfx942 is right" in capfd.readouterr().err
    assert json.loads(stats.read_text())["verified"] == {"right": 1}

"""Fixtures for all tests: a separate cache of kernels, a process that compiles, a count of cases.

After the tests of the lowerings, the summary says for how many combinations of op, mode and element
type the results agreed with the oracles.
"""

from __future__ import annotations

import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from emulator import requires_emulator
from hypothesis import settings

from hipgraft.codegen.iree.session import compile_unattended
from hipgraft.service import CompileService, ProcessWorkers, default_service, use_service

sys.path.append(str(Path(__file__).resolve().parents[2]))  # of `fuzz`

if TYPE_CHECKING:
    from lowering_cases import Results

os.environ["HIPGRAFT_CACHE_DIR"] = str(Path(__file__).resolve().parents[2] / "build/test-cache")

# As in worker processes: two tests' processes already use all cores, and verification after each
# pass takes a sixth of the time.
compile_unattended()

# The same examples each time, and no limit that a busy machine could exceed.
settings.register_profile("hipgraft", deadline=None, derandomize=True)
settings.load_profile("hipgraft")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--random-rounds`."""
    text = "how often the random tests of the lowering draw graphs of each op (default 1)"
    parser.addoption("--random-rounds", type=int, default=1, metavar="N", help=text)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks tests as slow if they compile kernels by a fixture or run the emulator.

    Files with slow tests come first, so that no process of tests runs one when the others are done.
    """
    mark_thorough([item for item in items if isinstance(item, pytest.Function)])
    if "not thorough" in config.option.markexpr:
        for item in items:
            if isinstance(item, pytest.Function) and _evaluates(item):
                item.own_markers = [one for one in item.own_markers if one.name != "thorough"]
                item.add_marker(pytest.mark.evaluated)
    for item in items:
        is_compiling = "results" in getattr(item, "fixturenames", ())
        if is_compiling or requires_emulator.mark in item.iter_markers("skipif"):
            item.add_marker(pytest.mark.slow)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


_ALTERNATED = "architecture"


def mark_thorough(items: Sequence[pytest.Function]) -> None:
    """Marks the cases that `make test` leaves out.

    If a test has a parameter `architecture`, each case keeps one architecture, in turn. A test
    marked `sampled(n)` keeps each n-th case.
    """
    tests: dict[object, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec"):
            tests[item.path, item.cls, item.originalname].append(item)
    for cases in tests.values():
        sampled = cases[0].get_closest_marker("sampled")
        step = sampled.args[0] if sampled else 1
        numbers: dict[tuple[int, ...], int] = {}
        architectures = list(dict.fromkeys(map(_architecture, cases)))
        for case in cases:
            # pytest numbers the cases, not the values of each parameter, which may be unhashable.
            others = [
                id(each) for name, each in case.callspec.params.items() if name != _ALTERNATED
            ]
            number = numbers.setdefault(tuple(others), len(numbers))
            turn = architectures[number // step % len(architectures)]
            is_left = number % step > 0 or _architecture(case) != turn
            if is_left:
                case.add_marker(pytest.mark.thorough)


def _architecture(case: pytest.Function) -> object:
    return case.callspec.params.get(_ALTERNATED)


def _evaluates(item: pytest.Function) -> bool:
    """Whether a case that sampling leaves out of a test can run without the compiler."""
    is_left = any(one.name == "thorough" for one in item.own_markers)
    if not is_left or item.get_closest_marker("sampled") is None:
        return False
    names = {*item.function.__code__.co_names}
    known = [item.module.__dict__.get(name) for name in names]
    evaluating = getattr(sys.modules.get("small_onnx"), "EVALUATING", ())
    return "hipgraft" not in names and any(one in evaluating for one in known if callable(one))


@pytest.fixture(autouse=True)
def evaluated(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes cases with this marker evaluate rewritten models, which takes a tenth of the time.

    Every case tests the rewrites; only every n-th case also tests the compiler.
    """
    if request.node.get_closest_marker("evaluated"):
        monkeypatch.setattr("small_onnx.compiles", False)


@pytest.fixture(scope="session")
def service_of_all_tests() -> Iterator[CompileService]:
    """The default service with one worker process, as there is a process of tests per core."""
    with default_service(ProcessWorkers(1)) as service:
        yield service


@pytest.fixture(autouse=True)
def shared_worker(
    request: pytest.FixtureRequest, service_of_all_tests: CompileService
) -> Iterator[None]:
    """Compiles in a process that serves many tests, because two per test take a second to start.

    Tests of how a program is compiled are marked `own_service`.
    """
    if request.node.get_closest_marker("own_service"):
        yield
        return
    with use_service(service_of_all_tests):
        yield


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest) -> Results:
    """Returns the results of a module's selected cases."""
    from lowering_cases import Results, selected

    return Results(selected(request, "results", "case"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Records the combinations that a case covers after it was compared with its oracle."""
    report = yield
    case = getattr(item, "callspec", None) and item.callspec.params.get("case")
    if report.when == "call" and "results" in getattr(item, "fixturenames", ()) and case:
        from lowering_cases import COVERED

        report.user_properties.append(("covers", COVERED.get(case.name, [])))
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Prints how many cases pass, by op."""
    covered: dict[str, set[tuple[str, ...]]] = {"passed": set(), "failed": set()}
    for outcome, cases in covered.items():
        for report in terminalreporter.stats.get(outcome, []):
            for name, value in getattr(report, "user_properties", []):
                if name == "covers":
                    cases.update(map(tuple, value))
    passed = covered["passed"] - covered["failed"]
    if not passed:
        return
    terminalreporter.section("(op, mode, element type) that agree with their oracles")
    for op in sorted({op for op, _, _ in passed}):
        elements = Counter(element for name, _, element in passed if name == op)
        listed = ", ".join(f"{element} {count}" for element, count in sorted(elements.items()))
        terminalreporter.write_line(f"{elements.total():5} {op}: {listed}")
    terminalreporter.write_line(f"{len(passed):5} in all, {len(covered['failed'])} that do not")

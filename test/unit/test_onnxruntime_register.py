"""Sessions of onnxruntime as a user makes them: `register`, and the helper that really compiles."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import onnxruntime_host
import pytest
from served import helpers, kill_helpers, user_in


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    with user_in(tmp_path_factory.mktemp("home")) as home:
        yield home


def play(home: Path, code: str, **others: str) -> str:
    """Runs a user's script without `hipgraft-serve` on PATH; returns its output."""
    return onnxruntime_host.play(home, code, **{"PATH": os.defpath, **others})


@pytest.mark.thorough
@pytest.mark.slow
def test_threads_share_sessions_and_the_exit_is_clean(home: Path) -> None:
    said = play(
        home,
        """
register()
register()
model, inputs = small_model()
made = [session(model, report="report.txt") for _ in range(4)]
expected = reference(model, inputs)
def run(number):
    check(made[number % 4].run(None, inputs)[0], expected)
with ThreadPoolExecutor(8) as pool:
    list(pool.map(run, range(1000)))
print(open("report.txt").read())
""",
    )
    assert said.count("takes 5 of 5 nodes") == 5  # of four sessions, and of the report
    assert "Traceback" not in said


@pytest.mark.slow
def test_sessions_may_outlive_the_registration(home: Path) -> None:
    play(
        home,
        """
unregister()
model, inputs = small_model()
expected = reference(model, inputs)
for _ in range(2):
    register()
    made = session(model)
    check(made.run(None, inputs)[0], expected)
    unregister()
    assert PROVIDER not in {one.ep_name for one in ort.get_ep_devices()}
    with pytest.raises(Exception, match="hipgraft.onnxruntime.register"):
        made.run(None, inputs)
    del made
""",
        MALLOC_PERTURB_="165",  # what is read after it was freed is not what it was
    )


@pytest.mark.slow
def test_views_scalars_and_branches_are_right(home: Path) -> None:
    said = play(
        home,
        """
register()
for model, inputs in (*models_of_views(), model_of_all_kinds()):
    made = session(model, dims="rows=4")
    for found, expected in zip(made.run(None, inputs), references(model, inputs), strict=True):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        check(found, expected)
""",
    )
    assert said.count("takes 2 of 2 nodes") == 4
    assert "takes 4 of 7 nodes" in said
    assert said.count("in a subgraph: takes 1 of 1 nodes") == 2


@pytest.mark.slow
def test_a_node_that_does_not_compile_is_left(home: Path) -> None:
    said = play(
        home,
        """
register("hipgraft.virtual")
# IREE does not compile this product for gfx942.
session_on(product_by_constant(128), "gfx942")
with pytest.raises(Exception, match=r"'product' \\(MatMul\\): .* does not compile for gfx942"):
    session_on(product_by_constant(128), "gfx942", fallback="error")
""",
    )
    assert "takes 1 of 2 nodes" in said
    assert "left are MatMul: 'hipdnn.matmul' op does not compile for gfx942" in said


@pytest.mark.slow
def test_without_a_helper_onnxruntime_computes(home: Path) -> None:
    said = play(
        home,
        """
register()
model, inputs = small_model(rows=4)
check(session(model).run(None, inputs)[0], reference(model, inputs))
""",
        HIPGRAFT_SERVE="/nowhere/hipgraft-serve",
        XDG_RUNTIME_DIR=str(home),
    )
    warning = "hipgraft: takes no node of 5: cannot start the helper '/nowhere/hipgraft-serve'"
    assert said.count(warning) == 1


@pytest.mark.slow
def test_a_killed_helper_is_started_again(home: Path) -> None:
    code = """
register()
model, inputs = small_model(rows={rows})
check(session(model).run(None, inputs)[0], reference(model, inputs))
"""
    play(home, code.format(rows=5))
    assert helpers(home)
    kill_helpers(home)
    assert "takes no node" not in play(home, code.format(rows=6))
    assert helpers(home)


@pytest.mark.thorough
@pytest.mark.slow
def test_caches_have_helpers_of_their_own(home: Path) -> None:
    code = """
register()
model, inputs = small_model()
check(session(model).run(None, inputs)[0], reference(model, inputs))
"""
    play(home, code)
    before = len(helpers(home))
    assert "takes 5 of 5 nodes" in play(home, code, HIPGRAFT_CACHE_DIR=str(home / "other"))
    assert len(helpers(home)) == before + 1 > 1

"""Sessions of models with symbolic dimensions, with the helper that really compiles."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator
from pathlib import Path

import onnxruntime_host
import pytest
from emulator import requires_emulator
from served import user_in


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    with user_in(tmp_path_factory.mktemp("home")) as home:
        yield home


def play(home: Path, code: str, *, under: tuple[str, ...] = ()) -> str:
    """Runs a user's script; returns what it wrote."""
    return onnxruntime_host.play(home, "register()\n" + code, under=under, PATH=os.defpath)


SHAPES = """
model = rows_model()
def compare(made, *extents):
    inputs = drawn_inputs(model, n=extents[0], m=extents[1])
    for found, expected in zip(made.run(None, inputs), references(model, inputs), strict=True):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        check(found, expected)
"""


@pytest.mark.thorough
@pytest.mark.slow
def test_all_extents_on_the_cpu(home: Path) -> None:
    said = play(
        home,
        SHAPES
        + """
made = session(model)
with ThreadPoolExecutor(4) as pool:
    list(pool.map(lambda number: compare(made, 1 + number % 3, 2 + number % 5), range(60)))
compare(made, 2, 0)
some = session(model, dims="n=2")
compare(some, 2, 9)
with pytest.raises(Exception, match="has shape .3, 9, 8."):
    compare(some, 3, 9)
""",
    )
    assert said.count("takes 6 of 6 nodes") == 2


@pytest.mark.thorough
@pytest.mark.slow
def test_functions_that_onnxruntime_replaces_by_their_bodies(home: Path) -> None:
    said = play(
        home,
        """
model, inputs = function_model()
check(session(model).run(None, inputs)[0], reference(model, inputs))
""",
    )
    first, second = (line for line in said.splitlines() if "hipgraft: takes" in line)
    assert "takes 1 of 3 nodes" in first
    assert re.search(r"takes (\d+) of \1 further nodes", second)


@pytest.mark.slow
def test_shapes_are_compiled_when_they_come(home: Path) -> None:
    code = (
        SHAPES
        + """
made = session_on(model, {architecture!r}, dynamic="compile", search="none")
for _ in range(2):
    compare(made, 2, 3)
with ThreadPoolExecutor(2) as pool:
    list(pool.map(lambda _: compare(made, 1, 3), range(4)))
kept = session_on(model, {architecture!r}, dynamic="compile", search="none", serve="off")
compare(kept, 2, 3)
with pytest.raises(Exception, match=r"no program .* .\\[5, 5, 8\\]. is in the cache"):
    compare(kept, 5, 5)
"""
    )
    play(home, code.format(architecture="cpu"))


@pytest.mark.thorough
@requires_emulator
@pytest.mark.slow
def test_shapes_are_compiled_for_a_gpu(home: Path) -> None:
    emulate = (str(Path(sys.executable).with_name("hipgraft-emulate")), "--")
    said = play(
        home,
        SHAPES
        + """
made = session_on(model, "gfx942", dynamic="compile", search="none")
compare(made, 2, 3)
compare(made, 1, 5)
compare(made, 2, 3)
with pytest.raises(Exception, match="programs for certain extents; name them by the option dims"):
    session_on(model, "gfx942", {"ep.context_enable": "1", "ep.context_file_path": "c.onnx"},
               dynamic="compile", search="none")
""",
        under=emulate,
    )
    assert "takes 6 of 6 nodes" in said


@pytest.mark.thorough
@requires_emulator
@pytest.mark.slow
def test_all_extents_on_a_gpu(home: Path) -> None:
    emulate = (str(Path(sys.executable).with_name("hipgraft-emulate")), "--")
    said = play(
        home,
        SHAPES
        + """
made = session_on(model, "gfx942", search="none")
for extents in ((2, 3), (1, 5), (7, 4)):
    compare(made, *extents)
compare(made, 2, 0)
# Their calls are known now.
kept = session_on(model, "gfx942", search="none", serve="off")
compare(kept, 1, 5)
with pytest.raises(Exception, match="no program .* is in the cache"):
    compare(kept, 9, 9)
""",
        under=emulate,
    )
    assert said.count("takes 6 of 6 nodes") == 2

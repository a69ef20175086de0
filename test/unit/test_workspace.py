"""Parts of a workspace become buffers of their own."""

from __future__ import annotations

from hipgraft.codegen.kernel import Access, Binding, Copy, Dispatch, Fill, Step
from hipgraft.codegen.workspace import split_workspace

WORKSPACE = 2  # after an operand and a result


def launch(*ranges: tuple[int, int, int], access: Access = "read") -> Dispatch:
    bindings = tuple(Binding(*one, access) for one in ranges)
    return Dispatch(0, "kernel", (1, 1, 1), (64, 1, 1), 0, bindings, ())


def split(*steps: Step) -> tuple[list[Step], list[int]]:
    return split_workspace(steps, WORKSPACE)


def test_parts_that_no_step_joins_are_apart() -> None:
    before = (Fill(WORKSPACE, 0, 128, 0, 4), launch((WORKSPACE, 0, 128), (WORKSPACE, 128, 60)))
    steps, sizes = split(*before, Copy(WORKSPACE, 128, 1, 0, 60))
    assert sizes == [128, 60]
    assert steps == [
        Fill(WORKSPACE, 0, 128, 0, 4),
        launch((WORKSPACE, 0, 128), (WORKSPACE + 1, 0, 60)),
        Copy(WORKSPACE + 1, 0, 1, 0, 60),
    ]


def test_what_overlaps_stays_together() -> None:
    steps, sizes = split(launch((WORKSPACE, 64, 100)), launch((WORKSPACE, 128, 200), (0, 0, 8)))
    assert sizes == [264]
    assert steps == [launch((WORKSPACE, 0, 100)), launch((WORKSPACE, 64, 200), (0, 0, 8))]


def test_what_holds_another_is_whole() -> None:
    steps = [launch((WORKSPACE, 0, 200)), launch((WORKSPACE, 64, 8))]
    assert split(*steps) == (steps, [200])


def test_no_part_is_less_aligned_than_it_was() -> None:
    """A kernel may read 16 bytes at once from offset 80, and 4 from 68."""
    steps, sizes = split(Fill(WORKSPACE, 68, 4, 0, 4), launch((WORKSPACE, 80, 16)))
    assert sizes == [32]
    assert steps == [Fill(WORKSPACE, 4, 4, 0, 4), launch((WORKSPACE, 16, 16))]


def test_no_workspace() -> None:
    assert split(launch((0, 0, 8), (1, 0, 8))) == ([launch((0, 0, 8), (1, 0, 8))], [])

"""The reasons why kernels move more bytes than their graphs need, found from schedules."""

from __future__ import annotations

from hipgraft.codegen.kernel import Binding, Dispatch, Kernel
from hipgraft.runtime.recording import Tensor
from hipgraft.service.tuning.traffic import excess
from hipgraft.service.tuning.work import GraphWork

OPERAND = Tensor("", (64,), "f32")
WORK = GraphWork(0, 512, 64, 0, frozenset(), (OPERAND,), (OPERAND,))
X, Y, WORKSPACE = 0, 1, 2


def launch(*bindings: tuple[int, int], groups: int = 1) -> Dispatch:
    bound = tuple(Binding(buffer, 0, length, "read") for buffer, length in bindings)
    return Dispatch(0, "k", (groups, 1, 1), (64, 1, 1), 0, bound, ())


def kernel(*steps: Dispatch) -> Kernel:
    return Kernel("gfx942", "hsaco", (b"",), 256, steps)


def test_what_is_moved_once_needs_no_reason() -> None:
    assert excess(kernel(launch((X, 256), (Y, 256))), WORK, {"loaded": 256, "stored": 256}) == []


def test_results_between_launches_and_operands_of_several_are_told() -> None:
    steps = launch((X, 256), (WORKSPACE, 128)), launch((X, 256), (WORKSPACE, 128), (Y, 256))
    assert excess(kernel(*steps), WORK, {}) == [
        "256 of what passes between 2 launches",
        "256 that several launches read or write",
    ]


def test_what_lanes_load_again_is_told_where_it_is_counted() -> None:
    metrics = {"loaded": 1024.0, "stored": 256.0}
    tiles = kernel(launch((X, 256), (Y, 256), groups=4))
    assert excess(tiles, WORK, metrics) == [
        "768 that tiles of up to 4 workgroups load again, as they share operands"
    ]
    assert "lanes of one workgroup" in excess(kernel(launch((X, 256))), WORK, metrics)[0]

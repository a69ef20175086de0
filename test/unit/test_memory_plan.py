"""Placement of buffers in an arena."""

from __future__ import annotations

import random

import pytest

from hipgraft.transforms.memory_plan import Interval, MemoryPlan, plan_memory


def overlaps(intervals: list[Interval], plan: MemoryPlan) -> list[tuple[int, int]]:
    """Pairs of buffers that are live at once and share bytes."""
    pairs = []
    for i, one in enumerate(intervals):
        for j, other in enumerate(intervals[:i]):
            together = one.first <= other.last and other.first <= one.last
            apart = (
                plan.offsets[i] + one.size <= plan.offsets[j]
                or plan.offsets[j] + other.size <= plan.offsets[i]
            )
            if together and not apart:
                pairs.append((i, j))
    return pairs


def most_live(intervals: list[Interval]) -> int:
    """The lower bound by its definition: the sum at each step."""
    steps = range(max(one.last for one in intervals) + 1)
    return max(
        sum(one.size for one in intervals if one.first <= step <= one.last) for step in steps
    )


def test_nothing() -> None:
    assert plan_memory([]) == MemoryPlan((), 0, 0, 0)


def test_a_chain_needs_two_places() -> None:
    chain = [Interval(1000, step, step + 1) for step in range(10)]
    plan = plan_memory(chain)
    assert plan.size == 2 * 1024
    assert plan.lower_bound == 2 * 1000
    assert plan.unplanned == 10 * 1024


def test_ends_and_begins_at_one_step_is_together() -> None:
    plan = plan_memory([Interval(256, 0, 1), Interval(256, 1, 2)])
    assert sorted(plan.offsets) == [0, 256]


# One order places each of these without waste, and the other order with waste.
LONG_LIVED_FIRST = [
    Interval(5, 3, 3),
    Interval(4, 1, 2),
    Interval(1, 2, 3),
    Interval(5, 0, 0),
    Interval(2, 0, 2),
]
LARGE_FIRST = [
    Interval(5, 1, 1),
    Interval(1, 2, 5),
    Interval(4, 3, 6),
    Interval(1, 1, 4),
    Interval(4, 0, 3),
]


@pytest.mark.parametrize(("intervals", "size"), [(LONG_LIVED_FIRST, 7), (LARGE_FIRST, 10)])
def test_the_better_order_is_taken(intervals: list[Interval], size: int) -> None:
    plan = plan_memory(intervals, alignment=1)
    assert plan.size == plan.lower_bound == size
    assert not overlaps(intervals, plan)


@pytest.mark.parametrize("alignment", [1, 64, 256])
@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed: int, alignment: int) -> None:
    source = random.Random(seed)
    intervals = []
    for _ in range(source.randrange(1, 40)):
        first = source.randrange(30)
        size = source.choice([1, 64, 100, 1000, 4096])
        intervals.append(Interval(size, first, first + source.randrange(8)))
    plan = plan_memory(intervals, alignment)
    assert not overlaps(intervals, plan)
    assert all(offset % alignment == 0 for offset in plan.offsets)
    assert plan.lower_bound == most_live(intervals)
    assert plan.lower_bound <= plan.size <= plan.unplanned
    ends = [offset + one.size for offset, one in zip(plan.offsets, intervals, strict=True)]
    assert max(ends) <= plan.size


def best_size(intervals: list[Interval]) -> int:
    """The least size over all offsets below the sum, by depth first search: no order, no fit."""
    limit = sum(one.size for one in intervals)

    def search(placed: list[int], best: int) -> int:
        if len(placed) == len(intervals):
            return max(at + one.size for at, one in zip(placed, intervals, strict=True))
        one = intervals[len(placed)]
        for at in range(best - one.size):
            clash = any(
                one.first <= other.last
                and other.first <= one.last
                and at < there + other.size
                and there < at + one.size
                for there, other in zip(placed, intervals, strict=False)
            )
            if not clash:
                best = min(best, search([*placed, at], best))
        return best

    return search([], limit + 1)


@pytest.mark.parametrize("seed", range(30))
def test_small_programs_are_planned_exactly(seed: int) -> None:
    source = random.Random(seed)
    intervals = []
    for _ in range(source.randrange(4, 7)):
        first = source.randrange(6)
        intervals.append(Interval(source.randrange(1, 4), first, first + source.randrange(4)))
    assert plan_memory(intervals, alignment=1).size == best_size(intervals)


def test_drawing() -> None:
    """High addresses first; each buffer at the steps of its life."""
    from hipgraft.tools.memory_chart import _Block, draw

    lines = draw([_Block(8, 0, 1, 0), _Block(8, 1, 2, 8), _Block(8, 2, 3, 0)], 16, 96)
    columns = [line.split()[1] for line in lines]
    assert columns == [".bb."] * 8 + ["aacc"] * 8


def test_what_no_greedy_order_reaches() -> None:
    intervals = [
        Interval(4, 1, 1),
        Interval(4, 3, 5),
        Interval(2, 0, 3),
        Interval(2, 0, 2),
        Interval(1, 6, 7),
        Interval(3, 5, 6),
        Interval(2, 2, 5),
    ]
    plan = plan_memory(intervals, alignment=1)
    assert plan.size == plan.lower_bound == 9
    assert not overlaps(intervals, plan)


def attention(layer: int, query: int, scores: int) -> list[Interval]:
    """Buffers of one layer: a residual, three projections, scores, weights."""
    start = 6 * layer
    return [
        Interval(query, start, start + 6),
        Interval(query, start + 1, start + 4),
        Interval(query, start + 2, start + 4),
        Interval(query, start + 3, start + 6),
        Interval(scores, start + 4, start + 5),
        Interval(scores // 2, start + 5, start + 6),
    ]


@pytest.mark.parametrize("scores", [9216, 20000])
def test_moves_lead_where_no_order_does(scores: int) -> None:
    intervals = [one for layer in range(12) for one in attention(layer, 2688, scores)]
    plan = plan_memory(intervals)
    assert plan.size <= 1.02 * plan.lower_bound
    assert plan == plan_memory(intervals)
    assert not overlaps(intervals, plan)

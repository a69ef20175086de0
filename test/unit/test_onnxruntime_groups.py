"""Groups of nodes are convex, contain all taken nodes, and are as few as possible."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import networkx as nx
import pytest

from hipgraft.onnxruntime.partition import partition


def can_run(sources: Sequence[Sequence[int]], groups: Sequence[Sequence[int]]) -> bool:
    """Whether each group can be one node: the resulting graph has no cycle."""
    home = {node: ("group", i) for i, group in enumerate(groups) for node in group}
    merged = nx.DiGraph()
    for node, read in enumerate(sources):
        merged.add_node(home.get(node, node))
        for one in read:
            if home.get(one, one) != home.get(node, node):
                merged.add_edge(home.get(one, one), home.get(node, node))
    return nx.is_directed_acyclic_graph(merged)


def divisions(nodes: list[int]) -> Iterator[list[list[int]]]:
    """All partitions of a set."""
    if not nodes:
        yield []
        return
    first, *others = nodes
    for division in divisions(others):
        yield [[first], *division]
        for index, group in enumerate(division):
            yield [*division[:index], [first, *group], *division[index + 1 :]]


@pytest.mark.parametrize("seed", range(60))
def test_few_convex_groups(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randrange(1, 13)
    sources = [
        [one for one in range(node) if rng.random() < rng.choice((0.15, 0.4))]
        for node in range(count)
    ]
    taken = [node for node in range(count) if rng.random() < 0.55][:7]
    groups = partition(sources, taken)
    assert sorted(node for group in groups for node in group) == taken
    assert can_run(sources, groups)
    assert len(groups) == min(len(one) for one in divisions(taken) if can_run(sources, one))


@pytest.mark.parametrize(
    ("sources", "taken", "expected"),
    [
        # A node around which a path leads that is not taken.
        ([[], [0], [0, 1]], [0, 2], [[0], [2]]),
        # Each pair is convex alone, but not both.
        ([[], [], [0], [1]], [0, 1, 2, 3], [[0, 1, 2, 3]]),
        ([[], [0], [], [2], [1, 3]], [0, 2, 3, 4], [[0, 2, 3], [4]]),
        # Paths of different lengths to a node that is not taken.
        ([[], [0], [1], [0, 2], [3]], [0, 2, 4], [[0], [2], [4]]),
        # What is before all taken nodes does not divide them.
        ([[], [], [0, 1], [2]], [1, 2, 3], [[1, 2, 3]]),
        ([[], []], [], []),
    ],
)
def test_traps(sources: list[list[int]], taken: list[int], expected: list[list[int]]) -> None:
    assert partition(sources, taken) == expected


@pytest.mark.slow
def test_deep_graphs() -> None:
    count = 20000
    sources = [[node - 1] if node else [] for node in range(count)]
    groups = partition(sources, [node for node in range(count) if node % 2])
    assert groups == [[node] for node in range(count) if node % 2]

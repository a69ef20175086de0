"""Divides a graph's nodes into as few convex groups as possible."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def partition(sources: Sequence[Collection[int]], taken: Collection[int]) -> list[list[int]]:
    """Returns groups of the taken nodes that can each become one node.

    A node's group is the number of times that paths to it leave the taken nodes and come back, at
    most. So all edges lead to the same or a later group, no path leaves a group and comes back to
    it, and no two groups could be one: from each there is a path through others to the next.

    Args:
        sources: for each node, in topological order, the nodes whose results it reads.
        taken: nodes to divide.

    Returns:
        The nodes of each group in order, the groups in an order in which they can run.
    """
    wanted = frozenset(taken)
    numbers: list[int] = []
    groups: dict[int, list[int]] = {}
    for node, read in enumerate(sources):
        before = max((numbers[one] for one in read), default=-1)
        if node in wanted:
            around = (numbers[one] + (one not in wanted) for one in read)
            number = max(around, default=0)
            groups.setdefault(number, []).append(node)
            numbers.append(number)
        else:
            numbers.append(before)
    return [groups[number] for number in sorted(groups)]

"""Divides a graph's nodes into as few convex groups as possible."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def partition(sources: Sequence[Collection[int]], taken: Collection[int]) -> list[list[int]]:
    """Returns groups of the taken nodes that can each become one node.

    A node's group number is the largest number of times that a path to the node leaves the taken
    nodes and re-enters them. So every edge leads to the same or a later group, no path leaves
    a group and re-enters it, and no two groups can be merged: a path leads from each group through
    nodes that are not taken to the next group.

    Args:
        sources: for each node, in topological order, the nodes whose results it reads.
        taken: nodes to divide.

    Returns:
        The nodes of each group in order; the groups are in an executable order.
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

"""Explains why a kernel moves more bytes than its graph needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import prod

from hipgraft.codegen.kernel import Kernel
from hipgraft.service.tuning.work import GraphWork

# Lanes that request more than this multiple of the bytes that launches bind reload some bytes.
_AGAIN = 1.05


def excess(kernel: Kernel, work: GraphWork, metrics: Mapping[str, float]) -> list[str]:
    """Returns the reasons with their bytes; empty if no byte moves twice.

    Args:
        kernel: the kernel.
        work: the least work of its graph.
        metrics: metrics of the cost models; with `loaded` and `stored` bytes if those were counted.
    """
    workspace = len(work.operands) + len(work.results)
    between, again = 0, 0
    seen: set[tuple[int, int, int]] = set()
    for launch in kernel.dispatches:
        for binding in launch.bindings:
            if binding.buffer == workspace:
                between += binding.length
            elif (binding.buffer, binding.offset, binding.length) in seen:
                again += binding.length
            seen.add((binding.buffer, binding.offset, binding.length))
    launches = len(kernel.dispatches)
    reasons = [f"{between} of what passes between {launches} launches"] if between else []
    if again:
        reasons.append(f"{again} that several launches read or write")
    return reasons + _requested(kernel, metrics)


def _requested(kernel: Kernel, metrics: Mapping[str, float]) -> list[str]:
    """Returns the bytes that lanes request beyond those that launches bind, if counted."""
    requested = metrics.get("loaded", 0) + metrics.get("stored", 0)
    sizes = Counter({launch.kernel: prod(launch.grid) for launch in kernel.dispatches})
    bound = sum(each.length for launch in kernel.dispatches for each in launch.bindings)
    if requested <= _AGAIN * bound:
        return []
    groups = sizes.most_common(1)[0][1]
    shared = "lanes of one workgroup" if groups == 1 else f"tiles of up to {groups} workgroups"
    return [f"{requested - bound:.0f} that {shared} load again, as they share operands"]

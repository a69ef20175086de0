"""The static cost model: it needs only the code objects and the schedule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING

from hipgraft.codegen.chips import find_gpu
from hipgraft.codegen.kernel import Dispatch, Kernel
from hipgraft.codegen.objects.matrix_code import count_matrix_instructions
from hipgraft.codegen.objects.resource_stats import KernelResources, kernel_resources
from hipgraft.service.tuning.cost_model import Cost

if TYPE_CHECKING:
    from hipgraft.service.tuning.work import GraphWork

# IREE names dispatches after their root op.
_CONTRACTS = re.compile(r"_(?:matmul|batch_matmul|conv|attention|contract)")

# IREE's fused attention; without matrix instructions, each operation takes one instruction and
# reloads its operands.
_FUSED_ATTENTION = "_attention_"

# A contraction below this many wave instructions costs less than launching it.
_NEGLIGIBLE = 1 << 14

# A workgroup with matrix instructions computes a tile of at least this many elements.
_SMALLEST_TILE = 16 * 16

# If each workgroup computes only this many results of a product, operands are loaded too often.
_FEW_RESULTS = 16
_MANY_GROUPS = 512

# If a reduction is split into parts of fewer bytes than this, launches dominate its cost.
_SMALLEST_PART = 1 << 10

# IREE's names for dispatches that reduce, and for those that combine the parts of a split reduction
# or product.
_REDUCES = re.compile(r"_reduc(?:e|tion)_")
_MERGES = "_reduce_"

# Workspaces larger than this multiple of the graph's bytes hold scores or copies rather than
# partial sums.
_LARGE_TRANSIENTS = 8

# Wave instructions before and after a wave's work.
_WAVE = 24

# Wave instructions of a contraction before and after its matrix instructions, per wave.
_TILE = 400

# Wave instructions per scalar or matrix operation of a contraction, including loads and address
# computation.
_PER_SCALAR = 1.5
_PER_MATRIX = 8

# Cycles from one instruction of a wave to the next one. With this value, the estimate for a
# product of 64x8192 and 8192x64 in f16 on gfx942 is 73 us in one workgroup, and 15 us in eight
# workgroups and a second launch.
_LATENCY = 8


class StaticCostModel:
    """Estimates the cost of a kernel and finds its problems without running it."""

    name = "static"

    def cost(self, kernel: Kernel, work: GraphWork) -> Cost:
        """Estimates microseconds from resource usage and launches; 0 for non-AMDGPU targets."""
        resources = kernel_resources(kernel)
        matrix = [
            count_matrix_instructions(data, kernel.target) if kernel.format == "hsaco" else {}
            for data in kernel.objects
        ]
        counts = [matrix[step.object].get(step.kernel, 0) for step in kernel.dispatches]
        if not resources:
            return Cost(self.name, 0)
        problems = [
            problem
            for launch, each, count in zip(kernel.dispatches, resources, counts, strict=True)
            for problem in _problems(launch, each, count, kernel, work)
        ]
        if kernel.workspace_size > _LARGE_TRANSIENTS * work.bytes:
            problems.append(
                f"{kernel.workspace_size} bytes of transients for a graph of {work.bytes}"
            )
        return Cost(
            self.name,
            _microseconds(kernel, resources, counts, work),
            _summary(kernel, resources, counts),
            tuple(problems),
        )


def _problems(
    launch: Dispatch, resources: KernelResources, matrix: int, kernel: Kernel, work: GraphWork
) -> Iterator[str]:
    name = f"kernel '{launch.kernel}'"
    if _spill_cost(launch, resources) > _NEGLIGIBLE:
        yield f"{name} spills {resources.spills} registers"
    elif _scratch_cost(launch, resources) > _NEGLIGIBLE:
        yield f"{name} uses {resources.scratch} bytes of scratch memory for each work item"
    if _lacks_matrix(launch, resources, matrix, kernel, work):
        yield f"{name} contracts without matrix instructions"
    groups = prod(launch.grid)
    if _is_scattered(launch, matrix, work):
        yield f"{name} has {groups} workgroups for {work.outputs} elements of results"
    if _REDUCES.search(launch.kernel):
        is_split = any(_MERGES in step.kernel for step in kernel.dispatches)
        yield from _badly_spread(launch, resources, is_split)


def _badly_spread(launch: Dispatch, resources: KernelResources, is_split: bool) -> Iterator[str]:
    """Yields problems in the distribution of a reduction over workgroups and lanes."""
    name, groups, lanes = f"kernel '{launch.kernel}'", prod(launch.grid), prod(launch.block)
    each = _moved(launch) // groups
    if is_split and groups > 1 and each <= _SMALLEST_PART and _written(launch) <= 8 * groups:
        yield f"{name} reduces {each} bytes in each of {groups} workgroups"
    if lanes < resources.wavefront and _moved(launch) > _SMALLEST_PART:
        yield f"{name} reduces {each} bytes by {lanes} work items of each workgroup"


def _is_scattered(launch: Dispatch, matrix: int, work: GraphWork) -> bool:
    """Returns whether each workgroup of a product computes only a few results."""
    groups = prod(launch.grid)
    if matrix:
        few = groups * _SMALLEST_TILE > 4 * _written(launch)
    else:
        few = groups >= _MANY_GROUPS and _is_contraction(launch)
    return few and groups > work.outputs // _FEW_RESULTS


def _is_contraction(launch: Dispatch) -> bool:
    return _CONTRACTS.search(launch.kernel) is not None


def _is_scalar_attention(launch: Dispatch, matrix: int) -> bool:
    return not matrix and _FUSED_ATTENTION in launch.kernel


def _lacks_matrix(
    launch: Dispatch, resources: KernelResources, matrix: int, kernel: Kernel, work: GraphWork
) -> bool:
    if _is_scalar_attention(launch, matrix):
        return True
    if matrix or not work.takes_matrix_instructions(kernel.target):
        return False
    if work.least_instructions(resources.wavefront) < _NEGLIGIBLE:
        return False
    # IREE may name a product as a reduction. If a kernel has only one launch, that launch
    # is the contraction, whatever its name.
    alone = len(kernel.dispatches) == 1
    return alone or _is_contraction(launch)


def _scratch_cost(launch: Dispatch, resources: KernelResources) -> float:
    """Estimates wave instructions for scratch memory: each word is written and read once."""
    return 2 * _waves(launch, resources) * resources.scratch // 4


def _spill_cost(launch: Dispatch, resources: KernelResources) -> float:
    """Estimates wave instructions for spills, which are assumed to be in loops."""
    return 100 * resources.spills * prod(launch.grid)


def _waves(launch: Dispatch, resources: KernelResources) -> int:
    return prod(launch.grid) * -(-prod(launch.block) // resources.wavefront)


def _written(launch: Dispatch) -> int:
    return sum(binding.length for binding in launch.bindings if binding.access != "read")


def _moved(launch: Dispatch) -> int:
    """Returns the bytes that a launch reads and writes, with each range counted once."""
    return sum(binding.length for binding in launch.bindings)


def _microseconds(
    kernel: Kernel, resources: list[KernelResources], matrix: list[int], work: GraphWork
) -> float:
    """Estimates the time of all launches and of the gaps between them.

    A launch takes the longest of three times: one wave's instructions in sequence, the issue of all
    waves' instructions by all units, and the transfer of operands and results.
    """
    gpu = find_gpu(kernel.target)
    products = sum(_is_contraction(launch) for launch in kernel.dispatches)
    total = (len(kernel.dispatches) - 1) * gpu.gap_seconds
    for launch, each, count in zip(kernel.dispatches, resources, matrix, strict=True):
        issued = _WAVE * _waves(launch, each) + _loads(launch, each)
        if _is_scalar_attention(launch, count):
            issued += work.flops
        elif _lacks_matrix(launch, each, count, kernel, work):
            # Without tiles, each lane loads both operands of each multiplication.
            issued += 8 * work.least_instructions(each.wavefront)
        elif _is_contraction(launch):
            issued += _product_cost(kernel, each, count, work) / products
            issued += _TILE * _waves(launch, each) if count else 0
        # Scratch memory besides spills holds arrays of the work items.
        issued += _spill_cost(launch, each) + _scratch_cost(launch, each)
        cycles = max(issued / gpu.units, _LATENCY * issued / _waves(launch, each))
        moved = _moved(launch) / gpu.memory_bandwidth
        total += gpu.kernel_seconds + max(cycles / gpu.clock, moved)
    return 1e6 * total


def _loads(launch: Dispatch, resources: KernelResources) -> float:
    """Estimates wave instructions for loads and stores of 4 bytes per lane."""
    lanes = min(prod(launch.block), resources.wavefront)
    return _moved(launch) / (4 * lanes)


def _product_cost(
    kernel: Kernel, resources: KernelResources, matrix: int, work: GraphWork
) -> float:
    """Estimates wave instructions of all contractions, if computed like this launch."""
    if matrix:
        return _PER_MATRIX * work.least_matrix_instructions(kernel.target)
    return _PER_SCALAR * work.flops / resources.wavefront


def _summary(
    kernel: Kernel, resources: list[KernelResources], matrix: list[int]
) -> dict[str, float]:
    return {
        "launches": len(kernel.dispatches),
        "workgroups": sum(prod(launch.grid) for launch in kernel.dispatches),
        "matrix-instructions": sum(matrix),
        "bytes": sum(_moved(launch) for launch in kernel.dispatches),
        "spills": sum(each.spills for each in resources),
        "scratch": max(each.scratch for each in resources),
        "lds": max(each.lds for each in resources),
        "occupancy": min(each.occupancy for each in resources),
        "transients": kernel.workspace_size,
    }

"""The judge that is always there: it reads the code objects and the schedule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING

from hipgraft.codegen.figures import KernelFigures, kernel_figures
from hipgraft.codegen.kernel import Dispatch, Kernel
from hipgraft.codegen.matrix_code import count_matrix_instructions
from hipgraft.tuning.judges import Verdict

if TYPE_CHECKING:
    from hipgraft.tuning.work import GraphWork

# IREE names dispatches after what they compute.
_CONTRACTS = re.compile(r"_(?:matmul|batch_matmul|conv|attention|contract)")

# IREE's fused attention; without matrix instructions each operation takes an instruction of its own
# and loads its operands again.
_FUSED_ATTENTION = "_attention_"

# A contraction below this many wave instructions costs less than launching it.
_NEGLIGIBLE = 1 << 14

# A workgroup that multiplies matrices makes a tile of at least this many elements.
_SMALLEST_TILE = 16 * 16

# Bytes of workspace that are rather scores and copies than partial sums: times those of the graph.
_LARGE_TRANSIENTS = 8

# What a launch costs besides its waves, in wave instructions.
_LAUNCH = 1 << 12


class StaticJudge:
    """Names what is pathological in a kernel without running it."""

    name = "static"

    def judge(self, kernel: Kernel, work: GraphWork) -> Verdict:
        """Judges by figures of the launches; of what is no AMDGPU kernel nothing is known."""
        figures = kernel_figures(kernel)
        matrix = [
            count_matrix_instructions(data, kernel.target) if kernel.format == "hsaco" else {}
            for data in kernel.objects
        ]
        counts = [matrix[step.object].get(step.kernel, 0) for step in kernel.dispatches]
        if not figures:
            return Verdict(self.name, 0)
        problems = [
            problem
            for launch, each, count in zip(kernel.dispatches, figures, counts, strict=True)
            for problem in _problems(launch, each, count, kernel, work)
        ]
        if kernel.workspace_size > _LARGE_TRANSIENTS * work.bytes:
            problems.append(
                f"{kernel.workspace_size} bytes of transients for a graph of {work.bytes}"
            )
        return Verdict(
            self.name,
            _cost(kernel, figures, counts, work),
            _summary(kernel, figures, counts),
            tuple(problems),
        )


def _problems(
    launch: Dispatch, figures: KernelFigures, matrix: int, kernel: Kernel, work: GraphWork
) -> Iterator[str]:
    name = f"kernel '{launch.kernel}'"
    if figures.spills:
        yield f"{name} spills {figures.spills} registers"
    elif _scratch_cost(launch, figures) > _NEGLIGIBLE:
        yield f"{name} uses {figures.scratch} bytes of scratch memory for each work item"
    if _lacks_matrix(launch, figures, matrix, kernel, work):
        yield f"{name} contracts without matrix instructions"
    groups = prod(launch.grid)
    if matrix and groups * _SMALLEST_TILE > 4 * _written(launch) and groups > work.outputs // 16:
        yield f"{name} has {groups} workgroups for {work.outputs} elements of results"


def _is_scalar_attention(launch: Dispatch, matrix: int) -> bool:
    return not matrix and _FUSED_ATTENTION in launch.kernel


def _lacks_matrix(
    launch: Dispatch, figures: KernelFigures, matrix: int, kernel: Kernel, work: GraphWork
) -> bool:
    if _is_scalar_attention(launch, matrix):
        return True
    if matrix or not work.takes_matrix_instructions(kernel.target):
        return False
    if work.least_instructions(figures.wavefront) < _NEGLIGIBLE:
        return False
    # A product that IREE sees as a reduction has lost its name; then no launch has any.
    alone = len(kernel.dispatches) == 1
    return alone or _CONTRACTS.search(launch.kernel) is not None


def _scratch_cost(launch: Dispatch, figures: KernelFigures) -> float:
    """An estimate of wave instructions: each word is written and read once."""
    waves = prod(launch.grid) * -(-prod(launch.block) // figures.wavefront)
    return 2 * waves * figures.scratch // 4


def _written(launch: Dispatch) -> int:
    return sum(binding.length for binding in launch.bindings if binding.access != "read")


def _cost(
    kernel: Kernel, figures: list[KernelFigures], matrix: list[int], work: GraphWork
) -> float:
    """An estimate of wave instructions: contractions, bytes of each launch, and launches."""
    total = 0.0
    for launch, each, count in zip(kernel.dispatches, figures, matrix, strict=True):
        moved = sum(binding.length for binding in launch.bindings)
        total += _LAUNCH + moved / (4 * each.wavefront)
        if _is_scalar_attention(launch, count):
            total += work.flops
        elif _lacks_matrix(launch, each, count, kernel, work):
            # Element by element, each operand is loaded by the lane that multiplies it.
            total += 8 * work.least_instructions(each.wavefront)
        # Spills are in the loops; other scratch memory is an array of each work item.
        total += 100 * each.spills * prod(launch.grid) + _scratch_cost(launch, each)
    return total


def _summary(kernel: Kernel, figures: list[KernelFigures], matrix: list[int]) -> dict[str, float]:
    return {
        "launches": len(kernel.dispatches),
        "workgroups": sum(prod(launch.grid) for launch in kernel.dispatches),
        "matrix-instructions": sum(matrix),
        "spills": sum(each.spills for each in figures),
        "scratch": max(each.scratch for each in figures),
        "lds": max(each.lds for each in figures),
        "occupancy": min(each.occupancy for each in figures),
        "transients": kernel.workspace_size,
    }

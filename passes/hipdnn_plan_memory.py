"""hipdnn-plan-memory: plans one arena for all buffers of a host program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir import builders
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import PassFailure
from hipgraft.ir.sizes import MOST_BYTES, too_large
from hipgraft.passmanager.base import Pass, PassState, option
from hipgraft.transforms.copy_elision import elide_copies
from hipgraft.transforms.memory_plan import DEFAULT_ALIGNMENT, Interval, MemoryPlan, plan_memory

# Ops whose result aliases their operand, which they do not access.
_ALIASES = ("memref.view", "memref.reinterpret_cast")


def _is_buffer(op: ir.Operation) -> bool:
    """Whether `op` allocates a static number of bytes."""
    if op.name != "memref.alloc":
        return False
    memref = ir.MemRefType(op.results[0].type)
    return memref.has_static_shape and memref == builders.bytes_type(_nbytes(op))


def _nbytes(alloc: ir.Operation) -> int:
    shape = ir.MemRefType(alloc.results[0].type).shape
    return shape[0] if len(shape) == 1 else 0


def _intervals(operations: Sequence[ir.Operation]) -> list[Interval]:
    """Returns the lifetimes of the buffers in order of allocation; a step is an op's position.

    Device ops run in program order, because their tokens form a chain. If any other op reads a
    buffer, it may have aliases that this analysis does not see, so the buffer lives to the end.
    """
    memory: dict[ir.Value, int] = {}  # the buffer that contains a memref
    sizes: list[int] = []
    steps: list[list[int]] = []
    for step, op in enumerate(operations):
        touched = {memory[operand] for operand in op.operands if operand in memory}
        if _is_buffer(op):
            memory[op.results[0]] = len(sizes)
            sizes.append(_nbytes(op))
            steps.append([])
        elif op.name in _ALIASES and touched:
            memory[op.results[0]] = memory[op.operands[0]]
        else:
            known = op.name.startswith("gpu.")
            for buffer in touched:
                steps[buffer] += [step] if known else [step, len(operations)]
    return [
        Interval(size, min(used, default=0), max(used, default=0))
        for size, used in zip(sizes, steps, strict=True)
    ]


def _chain_ends(
    function: ir.Operation, operations: Sequence[ir.Operation]
) -> tuple[ir.Operation, ir.Operation]:
    """Returns the `gpu.wait async` that starts the token chain and the `gpu.wait` that ends it."""
    waits = [op for op in operations if op.name == "gpu.wait"]
    opens = waits and len(waits[0].results) == 1 and not waits[0].operands
    closes = len(waits) > 1 and not waits[-1].results and len(waits[-1].operands) == 1
    if not opens or not closes:
        raise PassFailure(
            "'func.func' op has buffers but no chain of async tokens from a 'gpu.wait async' to "
            "a 'gpu.wait'",
            function,
        )
    allocs = [op for op in operations if _is_buffer(op)]
    if operations.index(allocs[0]) < operations.index(waits[0]):
        raise PassFailure("'memref.alloc' op precedes the first 'gpu.wait async'", allocs[0])
    return waits[0], waits[-1]


def _use_arena(
    function: ir.Operation, operations: Sequence[ir.Operation], plan: MemoryPlan
) -> None:
    """Replaces the buffers by views of one allocation, allocated and freed on the token chain."""
    first, last = _chain_ends(function, operations)
    start = first.results[0]
    with ir.InsertionPoint.after(first):
        allocation = builders.gpu_alloc(plan.size, start, first.location)
    arena, token = allocation.results
    start.replace_all_uses_except(token, allocation)
    with ir.InsertionPoint(last):
        last.operands[0] = builders.gpu_dealloc(arena, last.operands[0], last.location)
    allocs = [op for op in operations if _is_buffer(op)]
    for alloc, offset in zip(allocs, plan.offsets, strict=True):
        with ir.InsertionPoint(alloc):
            shift = builders.index_constant(offset, alloc.location)
            view = builders.view(arena, shift, alloc.results[0].type, alloc.location)
        alloc.results[0].replace_all_uses_with(view)
        alloc.erase()


@dataclass(frozen=True)
class HipdnnPlanMemoryPass(Pass):
    """Puts all buffers of a function into one arena, sharing memory over time.

    Before:
        ```mlir
        %t0 = gpu.wait async
        %a = memref.alloc() : memref<4096xi8>
        %t1 = gpu.launch_func async [%t0] @f::@f ... args(%a : memref<4096xi8>)
        gpu.wait [%t1]
        ```

    After:
        ```mlir
        %t0 = gpu.wait async
        %arena, %t1 = gpu.alloc async [%t0] () : memref<4096xi8>
        %a = memref.view %arena[%c0][] : memref<4096xi8> to memref<4096xi8>
        %t2 = gpu.launch_func async [%t1] @f::@f ... args(%a : memref<4096xi8>)
        %t3 = gpu.dealloc async [%t2] %arena : memref<4096xi8>
        gpu.wait [%t3]
        ```

    Requires:
        Functions as `hipdnn-merge` leaves them: device ops on one chain of async tokens.

    Ensures:
        No `memref.alloc` of bytes is left; every buffer starts at a multiple of
        `alignment`; buffers that are live at once do not overlap. A buffer that is
        copied as a whole into a part of another buffer, as the operands of a concatenation are, is
        placed in that part, and the copy is erased: if the buffer is not used afterwards, the part
        starts at a multiple of 16 bytes, and not more memory is live at once. Each copy that stays
        gets a missed remark. A remark reports the planned size, the lower bound (most bytes live at
        once) and the sum without sharing; its `buffers` list the size, first and last step and
        offset of each buffer.

    Errors:
        A function with buffers but without such a chain, or whose buffers precede it; an arena
        of more than 2^48 bytes.

    Source:
        Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020
    """

    name: ClassVar[str] = "hipdnn-plan-memory"
    requires: ClassVar[str | None] = "host"
    ensures: ClassVar[str | None] = "host"

    alignment: int = option(DEFAULT_ALIGNMENT, "bytes that each buffer's offset is a multiple of")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Plans each function."""
        if self.alignment < 1:
            raise PassFailure(f"alignment must be positive, found {self.alignment}")
        for op in module.body.operations:
            if op.operation.name == "func.func" and op.operation.regions[0].blocks:
                self._plan_function(op.operation, state)

    def _plan_function(self, function: ir.Operation, state: PassState) -> None:
        block = function.regions[0].blocks[0]
        elide_copies(block, state)
        operations = [op.operation for op in block.operations]
        intervals = _intervals(operations)
        if not intervals:
            return
        plan = plan_memory(intervals, self.alignment)
        if plan.size > MOST_BYTES:
            raise PassFailure(too_large("the arena"), function)
        _use_arena(function, operations, plan)
        state.count("buffers-planned", len(intervals))
        state.count("planned-bytes", plan.size)
        state.count("lower-bound-bytes", plan.lower_bound)
        state.count("unplanned-bytes", plan.unplanned)
        state.analysis(
            function,
            "arena",
            f"{plan.size} bytes for {len(intervals)} buffers of {plan.unplanned} bytes together; "
            f"at least {plan.lower_bound} are live at once",
            planned=plan.size,
            lower_bound=plan.lower_bound,
            unplanned=plan.unplanned,
            buffers=" ".join(
                f"{one.size},{one.first},{one.last},{offset}"
                for one, offset in zip(intervals, plan.offsets, strict=True)
            ),
        )

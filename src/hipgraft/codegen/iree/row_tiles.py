"""Assigns wavefronts to the rows of row reductions such as softmax.

IREE 3.13.0 assigns each row to one work item if the row's length is not a multiple of the wavefront
size. Long rows then take minutes to compile and spill registers, and few rows leave most lanes
idle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from hipgraft.codegen.chips import find_gpu
from hipgraft.codegen.iree.compilation_info import (
    CUDA_OPTIONS,
    compilation_info,
    distribution,
    lowering_config,
)
from hipgraft.codegen.iree.linalg_loops import extents_of, generics_of, iterators, loops_of
from hipgraft.codegen.iree.vector_tiles import set_product_of
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds.counted_booleans import counts_booleans
from hipgraft.ir.bindings import ir


@dataclass(frozen=True)
class _Rows:
    """The reductions of a dispatch, all over the innermost loop.

    Attributes:
        extents: extents of the loops.
        is_lone: whether only one op reads the rows, so that no element stays in a register.
    """

    extents: tuple[int, ...]
    is_lone: bool

    @property
    def length(self) -> int:
        return self.extents[-1]

    @property
    def count(self) -> int:
        return prod(self.extents[:-1])

    def has(self, op: ir.Operation) -> bool:
        """Whether an op has the same loops, except for loops of extent 1."""
        return _several(_extents(op)) == _several(self.extents)

    def splits(self, op: ir.Operation) -> bool:
        """Whether an op covers the same elements with other loops, which the tiles do not fit."""
        return prod(_extents(op)) == prod(self.extents) and not self.has(op)


@dataclass(frozen=True)
class _Spread:
    """The distribution of a row over a workgroup.

    Attributes:
        lanes: lanes in a wavefront.
        wavefronts: wavefronts in the workgroup.
        at_once: elements that a lane reads at once.
        step: elements that the workgroup processes per iteration.
        options: options of IREE's pipeline.
    """

    lanes: int
    wavefronts: int
    at_once: int
    step: int
    options: str = ""


def set_rows(module: ir.Module, target: Target) -> bool:
    """Sets tile sizes for rows and columns after the phase `flow`; returns whether it set any."""
    with module.context, ir.Location.unknown():
        tiled = [
            set_rows_of(ops, target) or set_product_of(ops, target) for ops in generics_of(module)
        ]
        return any(tiled)


def set_rows_of(ops: Sequence[ir.Operation], target: Target) -> bool:
    """Assigns wavefronts to each row of a dispatch's reductions if one work item is too slow.

    Args:
        ops: the generic ops of the dispatch.
        target: the target of the dispatch.

    Returns:
        Whether the dispatch has such rows.
    """
    reductions = [op for op in ops if "reduction" in iterators(op)]
    rows = _rows(ops, reductions)
    if rows is None or rows.length % target.wavefront_size == 0 or any(map(rows.splits, ops)):
        return False
    spread = _SPREADS[target.kind](rows, target)
    if spread is None or (target.kind is TargetKind.AMDGPU and counts_booleans(ops)):
        return False
    for op in ops:
        if rows.has(op):
            _set_row(op, spread, is_last=op == reductions[-1])
    return True


def _rows(ops: Sequence[ir.Operation], reductions: Sequence[ir.Operation]) -> _Rows | None:
    """Returns the rows that a dispatch reduces; None if its reductions have another form."""
    if not reductions:
        return None
    extents = _extents(reductions[-1])
    is_static = ir.ShapedType.get_dynamic_size() not in extents
    if not is_static or not all(_reduces_rows(op, extents) for op in reductions):
        return None
    rows = _Rows(extents, is_lone=False)
    return replace(rows, is_lone=sum(map(rows.has, ops)) == 1)


def _extents(op: ir.Operation) -> tuple[int, ...]:
    """Returns the extents of all loops that index a dim by themselves, outermost first."""
    return tuple(extent for _, extent in sorted(extents_of(op).items()))


def _several(extents: Sequence[int]) -> list[int]:
    return [extent for extent in extents if extent != 1]


def _reduces_rows(op: ir.Operation, extents: tuple[int, ...]) -> bool:
    """Whether an op reduces contiguous elements in its innermost loop, each read once.

    A contraction does not qualify, because none of its operands has all loops.
    """
    last = len(extents) - 1
    several = {loop for loop, extent in enumerate(extents) if extent > 1}
    inner = [dims for dims in loops_of(op)[:-1] if last in dims]
    if not any(several.issubset(dims) for dims in inner):
        return False
    is_last = [kind == "reduction" for kind in iterators(op)] == [False] * last + [True]
    is_along = all(dims[-1] == last for dims in inner)
    return is_last and is_along and _extents(op) == extents


_MOST_ITEMS = 1024  # in a workgroup

# Elements per lane: per iteration of a loop, kept in registers, and the most with little spilling.
PASSED, KEPT = 16, 32
MOST_KEPT = {TargetKind.AMDGPU: 128, TargetKind.CUDA: 64}


def work_items(length: int, lanes: int, *, is_lone: bool) -> int:
    """Returns how many work items share a row.

    Args:
        length: the elements of the row.
        lanes: the work items in a wavefront.
        is_lone: whether only one op reads the row.
    """
    kept, items = PASSED if is_lone else KEPT, lanes
    while items * kept < length and items < _MOST_ITEMS:
        items *= 2
    return items


# CUDA: the fastest of the settings timed on an H200. Longer rows get more warps, because IREE keeps
# whole rows in the registers of one work item, and generates megabytes of code.
_LONGEST_OF_WARP = 512
_WARPS = 4


def _on_cuda(rows: _Rows, target: Target) -> _Spread | None:
    lanes = target.wavefront_size
    if rows.length <= lanes:
        return None
    items = work_items(rows.length, lanes, is_lone=False)
    if rows.length > _LONGEST_OF_WARP:
        items = max(items, _WARPS * lanes)
    step = _rounded(rows.length, items)
    if rows.is_lone:
        step = min(step, items * KEPT)
    if step > items * MOST_KEPT[target.kind]:
        return None
    return _Spread(lanes, items // lanes, 1, step, CUDA_OPTIONS)


# AMDGPU, by estimated time. A work item reads its row element by element, and few rows leave most
# units idle. One work item per row only pays off for many short rows, in which each lane of a
# wavefront would get hardly an element. Rows of these lengths and more, by wavefront size, are
# always shared.
SHARED_FROM = {64: 32, 32: 64}
_LEAST_SHARED = 5

# Shorter rows are shared up to this many rows for each of their elements and compute units. The
# limit is higher where several ops of a dispatch read the row.
_ROWS, _LONE_ROWS = 6, 3

# Elements that a lane reads at once.
_AT_ONCE = 4


def _on_amdgpu(rows: _Rows, target: Target) -> _Spread | None:
    lanes = target.wavefront_size
    most = rows.length * find_gpu(target.name).units * (_LONE_ROWS if rows.is_lone else _ROWS)
    if rows.length < _LEAST_SHARED or (rows.length < SHARED_FROM[lanes] and rows.count > most):
        return None
    items = work_items(rows.length, lanes, is_lone=rows.is_lone)
    at_once = min(_AT_ONCE, 1 << max(rows.length // items, 1).bit_length() - 1)
    step = _rounded(rows.length, items * at_once)
    if rows.is_lone:
        step = min(step, items * PASSED)
    if step > items * MOST_KEPT[target.kind]:
        return None
    return _Spread(lanes, items // lanes, at_once, step)


def shares_rows(target: Target, rows: int, length: int, *, is_lone: bool) -> bool:
    """Returns whether a wavefront or more should reduce each row, instead of one work item.

    Args:
        target: the target of the kernel.
        rows: the number of rows.
        length: the elements of a row.
        is_lone: whether only one op reads the rows.
    """
    return _SPREADS[target.kind](_Rows((rows, length), is_lone), target) is not None


_SPREADS = {TargetKind.CUDA: _on_cuda, TargetKind.AMDGPU: _on_amdgpu}


def _rounded(length: int, multiple: int) -> int:
    return -(-length // multiple) * multiple


def _set_row(op: ir.Operation, spread: _Spread, *, is_last: bool) -> None:
    outer = len(iterators(op)) - 1
    config = distribution(
        "partial_reduction" if "reduction" in iterators(op) else "serial",
        lanes=[*[1] * outer, spread.lanes],
        wavefronts=[*[1] * outer, spread.wavefronts],
        tile=[*[0] * outer, spread.step],
        thread=[*[0] * outer, spread.at_once],
        workgroup=[*[1] * outer, 0] if is_last else (),
    )
    if is_last:
        items = spread.wavefronts * spread.lanes
        info = compilation_info(config, "VectorDistribute", items, spread.lanes, spread.options)
        op.attributes["compilation_info"] = ir.Attribute.parse(info)
    else:
        op.attributes["lowering_config"] = ir.Attribute.parse(lowering_config(config))

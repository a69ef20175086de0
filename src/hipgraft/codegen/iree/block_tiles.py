"""Corrects the tile sizes that IREE chooses for reductions over several dims.

`row_tiles` handles reductions over one dim. Whether IREE collapses several dims to one is known
only in the phase that chooses tile sizes.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod

from hipgraft.codegen.iree.compilation_info import (
    CUDA_OPTIONS,
    distribution,
    largest_divisor,
    lowering_config,
    translation_info,
)
from hipgraft.codegen.iree.linalg_loops import extents_of, iterators, loops_of
from hipgraft.codegen.iree.row_tiles import KEPT, MOST_KEPT, PASSED, shares_rows, work_items
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds.counted_booleans import counts_booleans
from hipgraft.codegen.workarounds.idle_lanes import leaves_lanes_idle
from hipgraft.ir.bindings import ir
from hipgraft.ir.io import walk

# The extent for which dynamic loops are distributed.
_DYNAMIC = 64

_CONFIG = "lowering_config"
_PLAIN = frozenset({"linalg.fill", "linalg.generic", "linalg.index", "linalg.yield"})


@dataclass(frozen=True)
class _Loop:
    """The distribution of a loop over a workgroup; a lane has one element at once.

    Attributes:
        lanes: lanes along the loop.
        wavefronts: wavefronts along the loop.
        tile: elements along the loop that the workgroup processes per iteration.
    """

    lanes: int = 1
    wavefronts: int = 1
    tile: int = 0


def correct_blocks(module: ir.Module, target: Target, *, is_free: bool) -> bool:
    """Distributes lanes over all dims of reductions for which IREE chose too few.

    Args:
        module: the module after the phase `executable-configurations`.
        target: the target of the module.
        is_free: whether to correct choices of IREE that are only slow, too.

    Returns:
        Whether it corrected a choice that is only slow.
    """
    is_changed = False
    with module.context, ir.Location.unknown():
        for function in [op for op in walk(module.operation) if op.name == "func.func"]:
            ops = [op for op in walk(function) if op.name == "linalg.generic"]
            shared = [op for op in ops if _array(op, "lane_basis")]
            if any(leaves_lanes_idle(target, _array(op, "lane_basis")) for op in shared):
                _distribute(function, {op: _tiled_loops(op) for op in shared}, target)
            elif is_free and not shared and _is_plain(function):
                is_changed |= _share_blocks(function, ops, target)
    return is_changed


def _array(op: ir.Operation, name: str) -> list[int]:
    """Returns a field of an op's configuration; for a basis, the counts along the loops."""
    found = re.search(rf"\b{name} = \[+([\d, ]*)\]", str(op.attributes.get(_CONFIG)))
    return [int(one) for one in found[1].split(",") if one.strip()] if found else []


def _kind(op: ir.Operation) -> str:
    return "partial_reduction" if "reduction" in iterators(op) else "serial"


def _tiled_loops(op: ir.Operation) -> list[int]:
    """Returns the loops that IREE distributes within a workgroup."""
    return [loop for loop, tile in enumerate(_array(op, _kind(op))) if tile]


def _is_plain(function: ir.Operation) -> bool:
    """Whether all ops with loops in a function are generic ops of linalg."""
    names = {op.name for op in walk(function)} - _PLAIN
    return not any(name.startswith(("linalg.", "iree_linalg_ext.", "scf.")) for name in names)


def _share_blocks(function: ir.Operation, ops: Sequence[ir.Operation], target: Target) -> bool:
    """Distributes blocks over lanes if single work items would be slower; returns whether it did.

    `row_tiles` has already distributed blocks with one loop in each op, as rows.
    """
    reductions = [op for op in ops if "reduction" in iterators(op)]
    if not reductions or not all(map(_reads_blocks, reductions)) or counts_booleans(ops):
        return False
    blocks = {op: loops for op in ops if (loops := _inner_loops(op, ops))}
    sizes = {(prod(_extents(op)), prod(_extents(op, loops))) for op, loops in blocks.items()}
    is_static = all(ir.ShapedType.get_dynamic_size() not in extents_of(op).values() for op in ops)
    if not is_static or len(sizes) > 1 or all(len(loops) == 1 for loops in blocks.values()):
        return False
    size, length = sizes.pop()
    if not shares_rows(target, size // length, length, is_lone=len(blocks) == 1):
        return False
    for op in ops:
        if _CONFIG in op.attributes:
            del op.attributes[_CONFIG]
    root = reductions[-1]
    workgroup = [int(kind == "parallel") for kind in iterators(root)]
    root.attributes[_CONFIG] = ir.Attribute.parse(lowering_config(f"workgroup = {workgroup}"))
    _distribute(function, blocks, target)
    return True


def _reads_blocks(op: ir.Operation) -> bool:
    """Whether a reduction has one result and reads each element once, which no contraction does."""
    several = {loop for loop, extent in extents_of(op).items() if extent != 1}
    return len(op.results) == 1 and any(several.issubset(dims) for dims in loops_of(op)[:-1])


def _inner_loops(op: ir.Operation, ops: Sequence[ir.Operation]) -> list[int]:
    """Returns the loops of an op along a block: those that it reduces or broadcasts along.

    A producer has no such loops, because IREE computes it where it is read.
    """
    kinds = iterators(op)
    if "reduction" in kinds:
        return [loop for loop, kind in enumerate(kinds) if kind == "reduction"]
    broadcast = [
        dims
        for dims, value in zip(loops_of(op), op.operands, strict=True)
        if value.owner in ops and len(dims) < len(kinds)
    ]
    outer = set(itertools.chain(*broadcast))
    return [loop for loop in range(len(kinds)) if broadcast and loop not in outer]


def _extents(op: ir.Operation, loops: Sequence[int] | None = None) -> list[int]:
    """Returns the extents of an op's loops, by default of all; dynamic extents count as short."""
    extents = extents_of(op)
    known = [extents[loop] for loop in (sorted(extents) if loops is None else loops)]
    return [_DYNAMIC if extent == ir.ShapedType.get_dynamic_size() else extent for extent in known]


def _distribute(
    function: ir.Operation, blocks: Mapping[ir.Operation, Sequence[int]], target: Target
) -> None:
    """Distributes loops over a workgroup; an op with a workgroup tile keeps that tile."""
    lanes = target.wavefront_size
    extents = {op: _extents(op, loops) for op, loops in blocks.items()}
    longest, is_lone = max(map(prod, extents.values())), len(blocks) == 1
    items = work_items(longest, lanes, is_lone=is_lone)
    most = (prod(_shared(one, lanes, items // lanes)[1]) for one in extents.values())
    items = min(items, *(lanes * wavefronts for wavefronts in most))
    # Ops that read the same block have all of it in registers if it fits.
    is_kept = not is_lone and longest <= items * MOST_KEPT[target.kind]
    kept = MOST_KEPT[target.kind] if is_kept else PASSED if is_lone else KEPT
    for op, loops in blocks.items():
        shares = _distributed(extents[op], lanes, items // lanes, kept)
        _set(op, dict(zip(loops, shares, strict=True)))
    options = CUDA_OPTIONS if target.kind is TargetKind.CUDA else ""
    info = translation_info("VectorDistribute", items, lanes, options)
    function.attributes["translation_info"] = ir.Attribute.parse(info)


def _shared(extents: Sequence[int], lanes: int, wanted: int) -> tuple[list[int], list[int]]:
    """Returns the lanes and the wavefronts along each loop, at most `wanted` wavefronts.

    IREE 3.13.0 adds wrong elements if several loops have partial tiles, if wavefronts share several
    loops, or if more wavefronts than lanes share one. Among the correct distributions, this
    function prefers those with the most wavefronts, then those without partial tiles, then those
    with the most lanes along the innermost loops.
    """
    ones = [1] * len(extents)
    found: list[tuple[int, bool, list[int], list[int], list[int]]] = []
    for partial, shared in itertools.product(range(-1, len(extents)), range(len(extents))):
        for along in _splits(extents, lanes, partial):
            rest = -(-extents[shared] // along[shared])
            most = _cover(rest) if shared == partial else rest & -rest
            across = [*ones[:shared], min(wanted, along[shared], most), *ones[shared + 1 :]]
            found.append((across[shared], partial < 0, along[::-1], along, across))
    *_, along, across = max(found)
    return along, across


def _splits(extents: Sequence[int], lanes: int, partial: int) -> Iterator[list[int]]:
    """Yields powers of two whose product is `lanes`, and which divide all extents but one."""
    if not extents:
        if lanes == 1:
            yield []
        return
    first, *others = extents
    most = lanes if partial == 0 else gcd(first, lanes)
    for power in range(most.bit_length()):
        for split in _splits(others, lanes >> power, partial - 1):
            yield [1 << power, *split]


def _cover(extent: int) -> int:
    """Returns the least power of two that is not less than an extent."""
    return 1 << (extent - 1).bit_length()


def _distributed(extents: Sequence[int], lanes: int, wavefronts: int, kept: int) -> list[_Loop]:
    """Distributes loops over a workgroup; a lane gets at most `kept` elements in an iteration."""
    loops: list[_Loop] = []
    for extent, along, across in reversed(
        list(zip(extents, *_shared(extents, lanes, wavefronts), strict=True))
    ):
        steps = -(-extent // (along * across))
        is_whole = steps * along * across == extent
        count = largest_divisor(steps, kept) if is_whole else min(kept, steps)
        kept //= count
        loops.append(_Loop(along, across, along * across * count))
    return loops[::-1]


def _set(op: ir.Operation, loops: dict[int, _Loop]) -> None:
    every = [loops.get(loop, _Loop()) for loop in range(len(iterators(op)))]
    config = distribution(
        _kind(op),
        lanes=[one.lanes for one in every],
        wavefronts=[one.wavefronts for one in every],
        tile=[one.tile for one in every],
        thread=[int(one.tile > 0) for one in every],
        workgroup=_array(op, "workgroup"),
    )
    op.attributes[_CONFIG] = ir.Attribute.parse(lowering_config(config))

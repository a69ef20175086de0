"""Corrects the tile sizes that IREE chooses for reductions over several dims."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from hipgraft.codegen.iree.linalg_loops import extents_of, iterators
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds.idle_lanes import leaves_lanes_idle
from hipgraft.ir.bindings import ir
from hipgraft.ir.io import walk

_MOST_ITEMS = 1024  # in a workgroup

# Elements of a lane in an iteration: where one op reads the block, and where several do. These have
# the whole block in registers if it fits with so many elements.
_PASSED, _KEPT, _MOST_KEPT = 16, 32, 128

_CONFIG = "lowering_config"
_TRANSLATION = "translation_info"
_ARRAY = r"\[([\d, ]*)\]"


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


def correct_blocks(module: ir.Module, target: Target) -> None:
    """Distributes lanes over all dims of reductions for which IREE chose too few.

    Args:
        module: the module after the phase `executable-configurations`.
        target: the target of the module.
    """
    with module.context, ir.Location.unknown():
        for function in [op for op in walk(module.operation) if op.name == "func.func"]:
            ops = [op for op in walk(function) if "lane_basis" in str(op.attributes.get(_CONFIG))]
            if any(leaves_lanes_idle(target, _array(op, "lane_basis")) for op in ops):
                _correct(function, ops, target)


def _correct(function: ir.Operation, ops: Sequence[ir.Operation], target: Target) -> None:
    lanes = target.wavefront_size
    longest = max(prod(extent for _, extent in _distributed_loops(op)) for op in ops)
    kept, items = _PASSED if len(ops) == 1 else _KEPT, lanes
    while items * kept < longest and items < _MOST_ITEMS:
        items *= 2
    if len(ops) > 1 and items * _MOST_KEPT >= longest:
        kept = _MOST_KEPT
    for op in ops:
        pairs = _distributed_loops(op)
        loops = _distributed([extent for _, extent in pairs], lanes, items // lanes, kept)
        _set(op, {loop: one for (loop, _), one in zip(pairs, loops, strict=True)})
    text = re.sub(
        rf"workgroup_size = {_ARRAY}",
        f"workgroup_size = [{items}, 1, 1]",
        str(function.attributes[_TRANSLATION]),
    )
    function.attributes[_TRANSLATION] = ir.Attribute.parse(text)


def _array(op: ir.Operation, name: str) -> list[int]:
    """Returns a field of an op's configuration; of a basis, the counts along the loops."""
    found = re.search(rf"\b{name} = \[?{_ARRAY}", str(op.attributes[_CONFIG]))
    return [int(one) for one in found[1].split(",") if one.strip()] if found else []


def _kind(op: ir.Operation) -> str:
    return "partial_reduction" if "reduction" in iterators(op) else "serial"


def _distributed_loops(op: ir.Operation) -> list[tuple[int, int]]:
    """Returns the loops that are distributed within a workgroup, with their extents."""
    extents = extents_of(op)
    return [(loop, extents[loop]) for loop, tile in enumerate(_array(op, _kind(op))) if tile]


def _distributed(
    extents: Sequence[int], lanes: int, wavefronts: int, kept: int = _KEPT
) -> list[_Loop]:
    """Distributes loops: lanes over the innermost ones, wavefronts over the outermost ones.

    A lane gets at most `kept` elements in an iteration.
    """
    along = _shares(extents[::-1], lanes)[::-1]
    rest = [-(-extent // share) for extent, share in zip(extents, along, strict=True)]
    across = _shares(rest, wavefronts)
    loops: list[_Loop] = []
    for extent, lane, wavefront in reversed(list(zip(extents, along, across, strict=True))):
        count = min(kept, -(-extent // (lane * wavefront)))
        kept //= count
        loops.append(_Loop(lane, wavefront, lane * wavefront * count))
    return loops[::-1]


def _shares(extents: Sequence[int], items: int) -> list[int]:
    """Returns powers of two whose product is `items`: of the first loops, what covers them."""
    shares: list[int] = []
    for extent in extents[:-1]:
        shares.append(min(items, 1 << (extent - 1).bit_length()))
        items //= shares[-1]
    return [*shares, items]


def _set(op: ir.Operation, loops: dict[int, _Loop]) -> None:
    rank = list(range(len(iterators(op))))
    every = [loops.get(loop, _Loop()) for loop in rank]
    workgroup = _array(op, "workgroup")
    config = (
        f"lane_basis = [{[one.lanes for one in every]}, {rank}], "
        f"subgroup_basis = [{[one.wavefronts for one in every]}, {rank}], "
        f"{_kind(op)} = {[one.tile for one in every]}, "
        f"thread = {[int(loop in loops) for loop in rank]}"
    )
    if workgroup:
        config = f"{config}, workgroup = {workgroup}"
    op.attributes[_CONFIG] = ir.Attribute.parse(f"#iree_gpu.lowering_config<{{{config}}}>")

"""Rows of reductions on CUDA, such as softmax, by warps.

IREE 3.13.0 gives each row to one thread where its length is no multiple of a warp.
"""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.bindings import ir
from hipgraft.codegen.compilation_info import compilation_info
from hipgraft.codegen.linalg_loops import extents_of, iterators, loops_of

WARP = 32
PIPELINE_OPTIONS = "no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false"

_LONGEST_OF_WARP = 512
_LONGEST = 4096  # longer ones need more registers than there are


def set_rows(ops: Sequence[ir.Operation]) -> bool:
    """Gives each row of a dispatch's reductions to warps, where its length is no multiple of one.

    Args:
        ops: the generic ops of the dispatch.

    Returns:
        Whether it has such rows.
    """
    reductions = [op for op in ops if "reduction" in iterators(op)]
    if not reductions:
        return False
    extents = extents_of(reductions[-1])
    rank = len(extents)
    length = extents[rank - 1]
    if length % WARP == 0 or not WARP < length <= _LONGEST:
        return False
    if not all(_reduces_rows(op, extents) for op in reductions):
        return False
    for op in ops:
        if extents_of(op) == extents:
            _set_row(op, rank, length, is_last=op == reductions[-1])
    return True


def _reduces_rows(op: ir.Operation, extents: dict[int, int]) -> bool:
    """Whether an op reduces the innermost loop, along which its operands lie."""
    last = len(extents) - 1
    inner = [dims for dims in loops_of(op)[:-1] if last in dims]
    is_last = [kind == "reduction" for kind in iterators(op)] == [False] * last + [True]
    return is_last and extents_of(op) == extents and all(dims[-1] == last for dims in inner)


def _set_row(op: ir.Operation, rank: int, length: int, *, is_last: bool) -> None:
    def sizes(outer: int, inner: int) -> str:
        return f"[{', '.join(map(str, [*[outer] * (rank - 1), inner]))}]"

    warps = 1 if length <= _LONGEST_OF_WARP else 4
    threads = warps * WARP
    order = f"[{', '.join(map(str, range(rank)))}]"
    kind = "partial_reduction" if "reduction" in iterators(op) else "serial"
    config = (
        f"lane_basis = [{sizes(1, WARP)}, {order}], subgroup_basis = [{sizes(1, warps)}, {order}], "
        f"{kind} = {sizes(0, -(-length // threads) * threads)}, thread = {sizes(0, 1)}"
    )
    if is_last:
        config = f"{config}, workgroup = {sizes(1, 0)}"
        info = compilation_info(config, "VectorDistribute", threads, WARP, PIPELINE_OPTIONS)
        op.attributes["compilation_info"] = ir.Attribute.parse(info)
    else:
        text = f"#iree_gpu.lowering_config<{{{config}}}>"
        op.attributes["lowering_config"] = ir.Attribute.parse(text)

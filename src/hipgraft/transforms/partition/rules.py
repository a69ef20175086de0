"""Decides which ops one kernel can compute."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import prod

from hipgraft.ir.tensors import Shape
from hipgraft.transforms.partition.program import Program, Role

MAX_OPERANDS = 24
"""Tensors that one graph may read; kernels with more bindings fail in IREE's layouts."""

MAX_BINDINGS = 32
"""Tensors that one graph may read and write: IREE's limit for the CPU."""

MAX_FUSED = 16
"""Tensors that a contraction and its epilogue may read and write: IREE 3.13.0 fuses no more."""

MOST_PRODUCTS = 4
"""Products that share a kernel at most: those of q, k and v, or of the gates of an LSTM."""

CYCLE = "an operand depends on the graph through another one"
"""The reason why an op cannot join a group if another op between them reads the group."""


def walks_declined(program: Program, members: Iterable[int]) -> str | None:
    """Returns why ops do not share one loop nest, None if they do.

    A kernel has one anchor: a contraction or an attention, or norms or reductions of the same
    dimensions of the same shape, or kindred products. Its elementwise ops have a shape that the
    anchor's kernel walks or broadcasts; without an anchor, their shapes broadcast to one shape.
    Removing an op that is not the anchor never breaks this.
    """
    shapes = set[Shape]()
    anchors = set[object]()
    products = 0
    walked: tuple[Shape, ...] = ()
    for op in members:
        facts = program.ops[op]
        if facts.role is Role.ELEMENTWISE:
            shapes.add(facts.shape)
            continue
        if facts.role is Role.FIXED:
            return "it has a kernel of its own"
        reduces = facts.role is Role.REDUCTION
        kin = program.kin.get(op)
        products += kin is not None
        if products > MOST_PRODUCTS:
            return f"the graph would have more than {MOST_PRODUCTS} products"
        own = op if kin is None else ("kin", kin)
        if reduces:
            own = (facts.walked, facts.shape)
        elif facts.role is Role.NORM:
            own = ("rows", facts.rows)
        anchors.add(own)
        walked = (facts.walked, facts.shape, *([facts.factor] if facts.factor else []))
        if len(anchors) > 1:
            return "the producer has an anchor of its own"
    if not anchors:
        return _shape_message(shapes) if _broadcast_shape(shapes) is None else None
    other = [shape for shape in shapes if not any(_broadcasts_to(shape, one) for one in walked)]
    return _shape_message(other) if other else None


def _broadcast_shape(shapes: Collection[Shape]) -> Shape | None:
    """Returns the shape that tensors of all these shapes broadcast to, if there is one."""
    if len(set(map(len, shapes))) > 1:
        return None
    extents = [{extent for extent in column if extent != 1} for column in zip(*shapes, strict=True)]
    if any(len(found) > 1 for found in extents):
        return None
    return tuple(found.pop() if found else 1 for found in extents)


def _broadcasts_to(shape: Shape, walked: Shape) -> bool:
    """Returns whether a tensor broadcasts to the shape that a kernel walks."""
    return len(shape) == len(walked) and all(
        extent in (1, whole) for extent, whole in zip(shape, walked, strict=True)
    )


def join_declined(program: Program, op: int, members: Iterable[int]) -> str | None:
    """Returns why an op does not share the loop nest of other ops, None if it does."""
    reason = walks_declined(program, [*members, op])
    if reason is not None and program.ops[op].role is Role.ELEMENTWISE:
        return _shape_message([program.ops[op].shape])
    return reason


def group_declined(program: Program, members: Collection[int]) -> str | None:
    """Returns why connected ops do not form a kernel although they share a loop nest.

    Args:
        program: the ops of a block.
        members: a convex set of them.
    """
    operands = {
        value
        for op in members
        for value in program.reads[op]
        if program.bytes_of[value] and program.producer[value] not in members
    }
    if len(operands) > MAX_OPERANDS:
        return f"the graph would read more than {MAX_OPERANDS} tensors"
    anchors = {one for one in members if program.ops[one].role is Role.ANCHOR}
    most = MAX_FUSED if anchors else MAX_BINDINGS
    if len(operands) + sum(is_stored(program, op, members) for op in members) > most:
        return f"the graph would read and write more than {most} tensors"
    reason = _factor_declined(program, members, anchors) if anchors else None
    if reason is not None:
        return reason
    if any(is_stored(program, op, members) for op in repeats(program, members)):
        return "the graph would store a tensor smaller than its kernel walks"
    if not anchors:
        return _norms_declined(program, members)
    return _stores_beside(program, members, anchors)


def repeats(program: Program, members: Collection[int]) -> dict[int, int]:
    """Returns how often a kernel computes elementwise ops of fewer elements than it walks."""
    facts = {op: program.ops[op] for op in members}
    factors = {
        each: one.factor
        for op, one in facts.items()
        if one.factor
        for each in _computed_for(program, op, members)
    }
    elementwise = {
        op: one.shape
        for op, one in facts.items()
        if one.role is Role.ELEMENTWISE and op not in factors
    }
    walked = {
        shape
        for op, one in facts.items()
        if op not in elementwise and op not in factors
        for shape in (one.walked, one.shape)
    }
    if not walked and (whole := _broadcast_shape(elementwise.values())) is not None:
        walked = {whole}
    most = max(map(prod, walked), default=1)
    times = {
        op: most // max(prod(shape), 1) for op, shape in elementwise.items() if shape not in walked
    }
    return times | {
        op: prod(factor) // max(prod(facts[op].shape), 1)
        for op, factor in factors.items()
        if facts[op].shape != factor
    }


def _norms_declined(program: Program, members: Collection[int]) -> str | None:
    """Returns why norms do not share a kernel with their producers.

    IREE keeps a row that several norms read in each lane's own memory, which some targets access
    hundreds of times as slowly as registers.
    """
    norms = [op for op in members if program.ops[op].role is Role.NORM]
    seen = set[int]()
    for norm in norms if len(norms) > 1 else ():
        found = _computed_for(program, norm, members)
        if not seen.isdisjoint(found):
            return "several norms would read what the graph computes"
        seen |= found
    return None


def _computed_for(program: Program, reader: int, members: Collection[int]) -> set[int]:
    """Returns the ops of a group whose results a norm or contraction reads, up to norms."""
    found, waiting = set[int](), [reader]
    while waiting:
        for value in program.reads[waiting.pop()]:
            source = program.producer[value]
            if source in members and source not in found:
                found.add(source)
                if program.ops[source].role is not Role.NORM:
                    waiting.append(source)
    return found


def _factor_declined(
    program: Program, members: Collection[int], anchors: Collection[int]
) -> str | None:
    """Returns why a kernel does not compute its contractions' operands, None if it does."""
    computed = [
        (op, value)
        for op in anchors
        for value in program.reads[op]
        if program.producer[value] in members
    ]
    if not computed:
        return next((reason for op in anchors if (reason := _beside(program, op, members))), None)
    op, value = computed[0]
    if len(anchors) + len(computed) > 2 or not program.joins(op, value):
        return "a contraction starts a graph"
    above = _computed_for(program, op, members)
    read = {each for one in above for each in program.reads[one]}
    nbytes = sum(program.bytes_of[each] for each in read if program.producer[each] not in members)
    if nbytes >= program.bytes_of[value]:
        return "a contraction's factor would be computed from as many bytes as it has"
    factor = program.ops[op].factor
    other = [program.ops[one].shape for one in above]
    other = [shape for shape in other if not _broadcasts_to(shape, factor)]
    return _shape_message(other) if other else _beside(program, op, set(members) - above)


def _beside(program: Program, anchor: int, members: Collection[int]) -> str | None:
    """Returns why ops do not share the loops of a contraction, without those of its factor."""
    facts = program.ops[anchor]
    if not facts.factor:
        return None
    walked = (facts.walked, facts.shape)
    shapes = [program.ops[op].shape for op in members if program.ops[op].role is Role.ELEMENTWISE]
    other = [s for s in shapes if not any(_broadcasts_to(s, whole) for whole in walked)]
    return _shape_message(other) if other else None


def _stores_beside(program: Program, members: Collection[int], anchors: set[int]) -> str | None:
    """Returns why a contraction's kernel cannot store results independent of the contraction."""
    below = set(anchors)
    for op in sorted(members):
        if any(program.producer[value] in below for value in program.reads[op]):
            below.add(op)
    for op in members:
        if op not in below and is_stored(program, op, members):
            return "a contraction's kernel would store a tensor that does not depend on it"
    return None


def is_stored(program: Program, op: int, members: Collection[int]) -> bool:
    """Returns whether ops outside of a group read the result of one of its ops."""
    return any(is_read_outside(program, value, members) for value in program.made[op])


def is_read_outside(program: Program, value: int, members: Collection[int]) -> bool:
    """Returns whether ops outside of a group read a value, or no op does because it is a result."""
    readers = program.readers[value]
    return program.exported[value] or any(reader not in members for reader in readers)


def _shape_message(shapes: Iterable[Shape]) -> str:
    return f"shape {list(min(shapes))} is not one that its producer's kernel walks"

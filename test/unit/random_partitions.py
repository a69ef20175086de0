"""Random small programs to partition, and all partitions of one."""

from __future__ import annotations

import random
from collections.abc import Iterator

from hipgraft.transforms.partition.cost import CostModel
from hipgraft.transforms.partition.program import FIXED, Facts, Program, Role
from hipgraft.transforms.partition.rules import group_declined, walks_declined

WALKED, REDUCED = (512, 1024), (512, 1)


def _facts(name: str, draw: random.Random) -> Facts:
    shape = WALKED
    if name == "row":
        return Facts("row", Role.ELEMENTWISE, REDUCED, REDUCED, 1e-9, 1)
    if name == "sum":
        return Facts("sum", Role.REDUCTION, REDUCED, WALKED, 5e-9, 512)
    if name == "norm":
        return Facts("norm", Role.NORM, shape, shape, 2e-8, 512)
    if name == "matmul":
        factor = draw.choice((WALKED, ()))
        return Facts("matmul", Role.ANCHOR, shape, shape, draw.choice((1e-6, 2e-5)), 128, factor)
    return Facts(name, Role.ELEMENTWISE, shape, shape, draw.choice((4e-9, 8e-8, 4e-6)), 512)


def random_program(seed: int, least: int = 3, most: int = 9, *, products: int = 0) -> Program:
    """A program of a few ops, whose operands are drawn among all earlier values of the shape.

    It begins with products of one operand, which may share kernels.
    """
    draw = random.Random(seed)
    program = Program()
    full = [program.value(draw.choice((1 << 20, 1 << 21))) for _ in range(3)]
    rows = [program.value(2048)]
    if products:
        facts = _facts("matmul", draw)
        for _ in range(products):
            op = program.op(facts, [full[0], program.value(1 << 20)], [1 << 20])
            program.relate(op, 0)
            full.extend(program.made[op])
    for _ in range(draw.randint(least, most)):
        name = draw.choice(("add", "add", "exp", "exp", "sum", "row", "norm", "matmul", "fixed"))
        source = draw.choice(full[-4:])
        if name == "fixed":
            op = program.op(FIXED, [source], [1 << 21])
            full.extend(program.made[op])
        elif name in ("sum", "row"):
            reads = [source if name == "sum" else draw.choice(rows)]
            op = program.op(_facts(name, draw), reads, [2048])
            rows.extend(program.made[op])
        else:
            others = {"add": full[-4:], "exp": rows, "norm": rows[:1], "matmul": full}[name]
            reads = list(dict.fromkeys((source, draw.choice(others))))
            op = program.op(_facts(name, draw), reads, [draw.choice((1 << 20, 1 << 21))])
            full.extend(program.made[op])
    for value, readers in enumerate(program.readers):
        if program.producer[value] >= 0:
            program.exported[value] = not readers or draw.random() < 0.15
    return program


def exchanging_branches(seed: int) -> Program:
    """Returns branches of products that read each other's results, as in HRNet.

    The ops of different branches alternate.
    """
    draw = random.Random(seed)
    program = Program()

    def made(name: str, *reads: int) -> int:
        (value,) = program.made[program.op(_facts(name, draw), reads, [1 << 20])]
        return value

    heads = [program.value(1 << 20) for _ in range(draw.randint(2, 4))]
    for _ in range(draw.randint(2, 4)):
        for branch, head in enumerate(heads):
            for _ in range(draw.randint(1, 3)):
                product = made("matmul", head, program.value(1 << 20))
                head = made("exp", made("add", product, head))
            heads[branch] = head
        read = list(heads)
        for branch, head in enumerate(read):
            for product in draw.sample(read, draw.randint(1, len(read))):
                if product == head:
                    continue
                for _ in range(draw.randint(1, 3)):
                    product = made("matmul", product, program.value(1 << 20))
                heads[branch] = made("add", heads[branch], product)
            heads[branch] = made("exp", heads[branch])
    for value, readers in enumerate(program.readers):
        program.exported[value] = program.producer[value] >= 0 and not readers
    return program


def permuted(program: Program, seed: int) -> tuple[Program, list[int]]:
    """Returns the program with its ops in another topological order, and their old indices."""
    draw = random.Random(seed)
    left = set(range(len(program.ops)))
    order: list[int] = []
    while left:
        ready = [
            op for op in left if not any(program.producer[one] in left for one in program.reads[op])
        ]
        order.append(draw.choice(sorted(ready)))
        left.remove(order[-1])
    made = Program()
    local: dict[int, int] = {}
    for op in order:
        for value in program.reads[op]:
            if value not in local:
                local[value] = made.value(program.bytes_of[value])
        reads = [local[value] for value in program.reads[op]]
        sizes = [program.bytes_of[value] for value in program.made[op]]
        new = made.op(program.ops[op], reads, sizes)
        if op in program.kin:
            made.relate(new, program.kin[op])
        for value, number in zip(program.made[op], made.made[new], strict=True):
            local[value] = number
            made.exported[number] = program.exported[value]
    return made, order


def cheapest_by_trying(program: Program, cost: CostModel) -> float:
    """Returns the least cost among all acyclic partitions into connected kernels."""
    free = [op for op, facts in enumerate(program.ops) if facts.role is not Role.FIXED]
    known: dict[frozenset[int], float | None] = {}

    def seconds(group: frozenset[int]) -> float | None:
        if group not in known:
            legal = is_kernel(program, group)
            known[group] = cost.time(program, group).seconds if legal else None
        return known[group]

    best = float("inf")
    for groups in _set_partitions(free):
        costs = [seconds(frozenset(group)) for group in groups]
        if None in costs or sum(one or 0.0 for one in costs) >= best:
            continue
        if is_acyclic(program, groups):
            best = sum(one or 0.0 for one in costs)
    return best


def is_kernel(program: Program, group: frozenset[int]) -> bool:
    """Whether a group is connected and follows the rules, written without the search's sets."""
    reached = {min(group)}
    while True:
        near = {
            op
            for op in group
            for other in reached
            if set(program.made[op]) & set(program.reads[other])
            or set(program.made[other]) & set(program.reads[op])
            or program.kin.get(op, -1) == program.kin.get(other, -2)
        }
        if near <= reached:
            break
        reached |= near
    if len(reached) < len(group):
        return False
    return len(group) == 1 or not (walks_declined(program, group) or group_declined(program, group))


def is_acyclic(program: Program, groups: list[list[int]]) -> bool:
    """Whether groups, and the ops outside of groups, can run one after another."""
    group_of = {op: number for number, group in enumerate(groups) for op in group}
    group_of |= {op: -1 - op for op in range(len(program.ops)) if op not in group_of}
    needs: dict[int, set[int]] = {number: set() for number in group_of.values()}
    for op, reads in enumerate(program.reads):
        for value in reads:
            source = program.producer[value]
            if source >= 0 and group_of[source] != group_of[op]:
                needs[group_of[op]].add(group_of[source])
    done: set[int] = set()
    while len(done) < len(needs):
        ready = [one for one, before in needs.items() if one not in done and before <= done]
        if not ready:
            return False
        done.update(ready)
    return True


def _set_partitions(ops: list[int]) -> Iterator[list[list[int]]]:
    if not ops:
        yield []
        return
    first, *rest = ops
    for groups in _set_partitions(rest):
        yield [[first], *groups]
        for index, group in enumerate(groups):
            yield [*groups[:index], [first, *group], *groups[index + 1 :]]

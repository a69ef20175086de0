"""Groups the ops of a block and moves each group into a container op.

A `Grouping` assigns ops to groups while it walks the block once. Its levels keep the groups
acyclic at constant cost per op: a group's level is above the level of every group it reads, so a
group at the same or a lower level cannot depend on it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from hipgraft.codegen.iree.pointer_alignment import POINTER_ALIGNMENT
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.element_types import byte_width
from hipgraft.ir.strided_view import row_major_strides
from hipgraft.ir.tensors import element_type_of


@dataclass(eq=False)
class Group:
    """Ops that become one container, or a single op that stays.

    Attributes:
        ops: members in block order.
        level: number above the level of every group that this one reads.
        is_read: whether another group reads a result of this one.
        outlined: whether the group becomes a container.
        attributes: data of the policy.
    """

    ops: list[ir.Operation] = field(default_factory=list[ir.Operation])
    level: int = 0
    is_read: bool = False
    outlined: bool = False
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])


Reads = Callable[[ir.Operation], Sequence[ir.Value]]
"""The values that an op depends on, looking through ops that are copied into each container."""


def plain_reads(op: ir.Operation) -> Sequence[ir.Value]:
    """Returns the op's operands."""
    return list(op.operands)


class Grouping:
    """Assigns the ops of one block to groups, first to last."""

    def __init__(self, reads: Reads = plain_reads) -> None:
        self.groups: list[Group] = []
        self.reads = reads
        self._group_of: dict[ir.Value, Group] = {}
        self._position: dict[ir.Operation, int] = {}

    def producer(self, value: ir.Value) -> Group | None:
        """Returns the group whose op defines `value`; None for block arguments."""
        return self._group_of.get(value)

    @classmethod
    def of(cls, groups: Sequence[Group], reads: Reads = plain_reads) -> Grouping:
        """Returns a grouping of finished groups, which no other op can join."""
        made = cls(reads)
        made.groups.extend(groups)
        for group in groups:
            made._group_of.update((result, group) for op in group.ops for result in op.results)
        return made

    def start(self, op: ir.Operation, *, outlined: bool) -> Group:
        """Puts `op` into a new group."""
        group = Group(outlined=outlined)
        self.groups.append(group)
        self._add(op, group)
        return group

    def set_apart(self, op: ir.Operation, *, outlined: bool) -> Group:
        """Puts `op` into a new group; must be called before any group is joined or merged."""
        group = Group([op], outlined=outlined)
        self.groups.append(group)
        for result in op.results:
            self._group_of[result] = group
        return group

    def can_join(self, op: ir.Operation, group: Group) -> bool:
        """Whether `op` can join `group` without making a cycle."""
        # The level of a group without readers can still be raised above those of the op's operands.
        return not group.is_read or self._highest_input(op, group) < group.level

    def join(self, op: ir.Operation, group: Group) -> None:
        """Adds `op` to `group`; `can_join` must hold."""
        self._add(op, group)

    def mergeable(self, op: ir.Operation, group: Group) -> list[Group]:
        """Returns the groups that `group` can absorb: only `op`, which will join it, reads them.

        Nothing else depends on such a group, so no path from it can come back to `group`.
        """
        producers = dict.fromkeys(self._group_of.get(operand) for operand in self.reads(op))
        return [
            other
            for other in producers
            if other is not None
            and other is not group
            and other.outlined
            and not other.is_read
            and (other.level <= group.level or not group.is_read)
        ]

    def merge(self, other: Group, group: Group) -> None:
        """Moves the ops of `other`, a result of `mergeable`, into `group`."""
        group.level = max(group.level, other.level)
        group.ops = sorted([*other.ops, *group.ops], key=self._position.__getitem__)
        for op in other.ops:
            for result in op.results:
                self._group_of[result] = group
        other.ops, other.outlined = [], False

    def _highest_input(self, op: ir.Operation, group: Group) -> int:
        inputs = (self._group_of.get(operand) for operand in self.reads(op))
        return max((other.level for other in inputs if other and other is not group), default=-1)

    def _add(self, op: ir.Operation, group: Group) -> None:
        group.level = max(group.level, self._highest_input(op, group) + 1)
        for operand in self.reads(op):
            other = self._group_of.get(operand)
            if other is not None and other is not group:
                other.is_read = True
        group.ops.append(op)
        self._position[op] = len(self._position)
        for result in op.results:
            self._group_of[result] = group


MakeContainer = Callable[[Group, int, Sequence[ir.Value], Sequence[ir.Value]], Sequence[ir.Value]]
"""Builds the container of a group from its number, inputs and outputs; returns its results."""


def outline(block: ir.Block, grouping: Grouping, make: MakeContainer, first: int) -> int:
    """Replaces each outlined group of `block` by a container, in a topological order.

    Every op of the block except the terminator must belong to a group. Containers are numbered from
    `first`; returns the number after the last.
    """
    terminator = list(block.operations)[-1].operation
    replaced: set[ir.Operation] = set()
    number = first
    for group in topological(grouping):
        if not group.outlined:
            for op in group.ops:
                op.move_before(terminator)
            continue
        inputs, outputs = boundary(group, grouping.reads)
        with ir.InsertionPoint(terminator):
            results = make(group, number, inputs, outputs)
        number += 1
        for old, new in zip(outputs, results, strict=True):
            old.replace_all_uses_with(new)
        replaced.update(group.ops)
    _erase(block, replaced)
    return number


def _erase(block: ir.Block, replaced: set[ir.Operation]) -> None:
    """Erases replaced ops and the copied ops that only they read, users first."""
    for op in reversed([op.operation for op in block.operations]):
        unread = op.name in COPIED_OPS and next(iter(op.results[0].uses), None) is None
        if unread or op in replaced:
            op.erase()


def topological(grouping: Grouping) -> list[Group]:
    """Returns groups in topological order; ties go to the group with the earliest first op."""
    position = {group: index for index, group in enumerate(grouping.groups)}
    readers: dict[Group, set[Group]] = {group: set() for group in grouping.groups}
    waiting: dict[Group, int] = dict.fromkeys(grouping.groups, 0)
    for group in grouping.groups:
        for source in _sources(group, grouping):
            readers[source].add(group)
            waiting[group] += 1
    ready = [position[group] for group, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    ordered: list[Group] = []
    while ready:
        group = grouping.groups[heapq.heappop(ready)]
        ordered.append(group)
        for reader in readers[group]:
            waiting[reader] -= 1
            if waiting[reader] == 0:
                heapq.heappush(ready, position[reader])
    return ordered


def _sources(group: Group, grouping: Grouping) -> set[Group]:
    found = {grouping.producer(operand) for op in group.ops for operand in grouping.reads(op)}
    return {other for other in found if other is not None and other is not group}


def boundary(group: Group, reads: Reads) -> tuple[list[ir.Value], list[ir.Value]]:
    """Returns the values that a group reads from outside, and its values that are read outside."""
    made = {result for op in group.ops for result in op.results}
    inputs = dict.fromkeys(
        operand
        for op in group.ops
        for operand in reads(op)
        if operand not in made and not is_splat(operand)
    )
    members = set(group.ops)
    outputs: list[ir.Value] = [
        result
        for op in group.ops
        for result in op.results
        if any(user not in members for user in readers(result))
    ]
    return list(inputs), outputs


def readers(value: ir.Value) -> Iterator[ir.Operation]:
    """Yields the ops that read a value, looking through ops that are copied into containers."""
    for use in value.uses:
        user = use.owner.operation
        if user.name in COPIED_OPS:
            yield from readers(user.results[0])
        else:
            yield user


COPIED_OPS = frozenset(
    {
        "torch.prim.ListConstruct",
        "torch_c.from_builtin_tensor",
        "migraphx.mlir.as.underlying.shape",
    }
)
"""The ops with operands that are copied into each container that reads them."""


def is_splat(value: ir.Value) -> bool:
    """Whether a value is a splat constant, which containers clone instead of taking as operand."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return False
    attribute = owner.attributes["value"]
    return isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat


class BodyBuilder:
    """Writes the body of a container: copies of a group's ops on its block arguments."""

    def __init__(self, body: ir.Block, inputs: Sequence[ir.Value]):
        self._values: dict[ir.Value, ir.Value] = dict(zip(inputs, body.arguments, strict=True))
        self._end = ir.InsertionPoint(body)

    def value(self, old: ir.Value) -> ir.Value:
        """Returns the body's value for a value of the function.

        Splat constants, torch constants, lists and casts to torch are copied on first use.
        """
        if old not in self._values:
            owner = ir.OpResult(old).owner.operation
            self.copy(owner, [result.type for result in owner.results])
        return self._values[old]

    def define(self, old: ir.Value, new: ir.Value) -> None:
        """Sets the body's value for `old`."""
        self._values[old] = new

    def copy(self, op: ir.Operation, result_types: Sequence[ir.Type]) -> ir.Operation:
        """Copies `op` with other result types; regions are not copied."""
        made = ir.Operation.create(
            op.name,
            results=list(result_types),
            operands=[self.value(operand) for operand in op.operands],
            attributes=dict(op.attributes.items()),
            loc=op.location,
            ip=self._end,
        )
        for old, new in zip(op.results, made.results, strict=True):
            self._values[old] = new
        return made

    def finish(self, values: Sequence[ir.Value], location: ir.Location) -> None:
        """Ends the body with `hipdnn.yield`."""
        ir.Operation.create("hipdnn.yield", operands=list(values), loc=location, ip=self._end)


def make_graph(
    group: Group,
    inputs: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
    *,
    name: str,
    engine: str | None = None,
    type_inside: Callable[[ir.Value], ir.Type] = lambda value: value.type,
) -> list[ir.Value]:
    """Makes the `hipdnn.graph` of a group; returns its results.

    Args:
        group: ops that are copied into the graph.
        inputs: values that the group reads, including views.
        outputs: results of the group that other ops read.
        name: name of the graph.
        engine: engine of the graph.
        type_inside: the type that a value has in the graph if it is not an output.
    """
    location = ir.Location.fused([op.location for op in group.ops])
    strides, offsets = operand_layouts(inputs)
    container = hipdnn.graph(
        inputs,
        [value.type for value in outputs],
        name=name,
        engine=engine,
        arg_strides=strides,
        arg_offsets=offsets,
        loc=location,
    )
    body = BodyBuilder(container.body, inputs)
    kept: set[ir.Value] = set(outputs)
    for op in group.ops:
        types = [result.type if result in kept else type_inside(result) for result in op.results]
        body.copy(op, types)
    body.finish([body.value(value) for value in outputs], location)
    return list(container.outputs)


def graph_name(group: Group, index: int) -> str:
    """`conv_fprop_add_relu_fwd_3`: the first ops' names and a number."""
    words: list[str] = []
    for op in group.ops[:4]:
        mode = op.attributes["mode"] if op.name == "hipdnn.pointwise" else None
        words.append(op.name.split(".")[1] if mode is None else ir.StringAttr(mode).value)
    return "_".join([*words, str(index)])


def operand_layouts(
    inputs: Sequence[ir.Value],
) -> tuple[list[list[int] | None] | None, list[int] | None]:
    """Returns the strides and offsets of a container's operands; None if all are row-major at 0.

    A window on a function argument or a constant keeps its offset, because a GPU launch passes
    these buffers unchanged. A window on an intermediate is passed as a pointer to its first
    element, unless that pointer is less aligned than kernels assume.
    """
    strides: list[list[int] | None] = []
    offsets: list[int] = []
    for value in inputs:
        owner = value.owner
        if isinstance(owner, ir.Block) or owner.name != "hipdnn.view":
            strides.append(None)
            offsets.append(0)
            continue
        strides.append(_strides_of(owner.operation))
        given = ir.IntegerAttr(owner.attributes["offset"]).value
        offsets.append(given if _keeps_offset(owner.operands[0], given) else 0)
    return (
        strides if any(stride is not None for stride in strides) else None,
        offsets if any(offsets) else None,
    )


def set_operand_layouts(container: hipdnn.ContainerOp) -> None:
    """Writes the strides and offsets of a container's operands; see `operand_layouts`."""
    container.arg_strides, container.arg_offsets = operand_layouts(container.inputs)


def _strides_of(view: ir.Operation) -> list[int] | None:
    """Returns the view's strides; None if they are row-major."""
    strides = list(ir.DenseI64ArrayAttr(view.attributes["strides"]))
    shape = ir.RankedTensorType(view.results[0].type).shape
    dense = row_major_strides(shape)
    same = all(e == 1 or s == d for e, s, d in zip(shape, strides, dense, strict=True))
    return None if same else strides


def _keeps_offset(base: ir.Value, offset: int) -> bool:
    owner = base.owner
    if isinstance(owner, ir.Block) or owner.name == "arith.constant":
        return True
    width = byte_width(element_type_of(base)) or 1
    return offset * width % POINTER_ALIGNMENT != 0

"""The ops of a block as a graph of numbers, which partitions are computed on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from hipgraft.ir.tensors import Shape


class Role(Enum):
    """The role of an op, which limits the ops that it may share a kernel with."""

    FIXED = auto()  # the op is in no group
    ELEMENTWISE = auto()
    REDUCTION = auto()
    NORM = auto()
    ANCHOR = auto()  # a contraction, or any other op that starts a kernel


@dataclass(frozen=True)
class Facts:
    """The properties of an op for rules and costs. Equal ops share an instance.

    Attributes:
        name: kind of op, for messages and to tell ops apart.
        role: determines which ops it may share a kernel with.
        shape: extents of its first result.
        walked: extents that its kernel iterates over; those of the operand for norms and
            reductions.
        seconds: time of its arithmetic on the whole GPU.
        workgroups: number of workgroups of its own kernel.
        factor: extents of the second operand if its kernel may compute that; else none.
    """

    name: str
    role: Role
    shape: Shape = ()
    walked: Shape = ()
    seconds: float = 0.0
    workgroups: int = 1
    factor: Shape = ()

    @property
    def rows(self) -> tuple[Shape, int]:
        """The extents and the number of rows, which norms in one kernel have in common."""
        return self.walked, self.workgroups

    def __hash__(self) -> int:
        """Depends on few fields, because programs are looked up by their ops' metadata."""
        return hash((self.name, self.shape))


FIXED = Facts("fixed", Role.FIXED)


@dataclass
class Program:
    """Ops in a topological order, and the values that they read and make.

    Attributes:
        ops: facts about each op.
        reads: for each op, the distinct values that it reads, in the order of its operands.
        made: for each op, its results.
        bytes_of: size of each value in memory; 0 for values that are copied into each graph.
        producer: for each value, the op that makes it; -1 if none does.
        readers: for each value, the ops that read it.
        depth: for each op, the number of ops on the longest path to it.
        exported: for each value, whether something other than an op uses it, such as a return.
        kin: for products, the number of their family; its members may share a kernel although
        none reads another.
        kindred: the ops of each family.
    """

    ops: list[Facts] = field(default_factory=list[Facts])
    reads: list[Sequence[int]] = field(default_factory=list[Sequence[int]])
    made: list[Sequence[int]] = field(default_factory=list[Sequence[int]])
    bytes_of: list[int] = field(default_factory=list[int])
    producer: list[int] = field(default_factory=list[int])
    readers: list[list[int]] = field(default_factory=list[list[int]])
    exported: list[bool] = field(default_factory=list[bool])
    depth: list[int] = field(default_factory=list[int])
    kin: dict[int, int] = field(default_factory=dict[int, int])
    kindred: dict[int, list[int]] = field(default_factory=dict[int, list[int]])

    def value(self, nbytes: int, producer: int = -1, *, exported: bool = False) -> int:
        """Adds a value and returns its index."""
        self.bytes_of.append(nbytes)
        self.producer.append(producer)
        self.readers.append([])
        self.exported.append(exported)
        return len(self.bytes_of) - 1

    def op(self, facts: Facts, reads: Sequence[int], results: Iterable[int]) -> int:
        """Adds an op that reads values, and a result of each of these sizes in bytes."""
        number = len(self.ops)
        self.ops.append(facts)
        self.reads.append(reads)
        depth = 0
        for value in reads:
            self.readers[value].append(number)
            source = self.producer[value]
            if source >= 0 and self.depth[source] >= depth:
                depth = self.depth[source] + 1
        self.depth.append(depth)
        self.made.append([self.value(nbytes, number) for nbytes in results])
        return number

    def relate(self, op: int, kin: int) -> None:
        """Lets an op share a kernel with the others of a family."""
        self.kin[op] = kin
        self.kindred.setdefault(kin, []).append(op)

    def related(self, op: int) -> list[int]:
        """Returns the ops that may share a kernel with an op though neither reads the other."""
        kin = self.kin.get(op)
        return [] if kin is None else [other for other in self.kindred[kin] if other != op]

    def joins(self, op: int, value: int) -> bool:
        """Returns whether an op and the producer of one of its operands may share a kernel.

        The other ops of the kernel may still forbid it.
        """
        facts, source = self.ops[op], self.ops[self.producer[value]]
        if source.role is Role.FIXED:
            return False
        if facts.role is Role.ELEMENTWISE:
            return source.role is Role.ELEMENTWISE or facts.shape in (source.shape, source.walked)
        if facts.role is Role.NORM:
            if self.reads[op][0] != value:
                return False
            if source.role is Role.NORM:
                return source.rows == facts.rows
            return source.role is Role.ELEMENTWISE and source.shape == facts.walked
        if facts.role is Role.ANCHOR:
            is_factor = bool(facts.factor) and list(self.reads[op][1:]) == [value]
            return is_factor and source.role is Role.ELEMENTWISE and source.shape == facts.factor
        if facts.role is not Role.REDUCTION:
            return False
        if source.role is Role.REDUCTION:
            return (source.walked, source.shape) == (facts.walked, facts.shape)
        return source.role is Role.ELEMENTWISE and source.shape in (facts.walked, facts.shape)


class Spans:
    """Bounds how far a path can leave a group and still come back to it.

    Edges lead to ops with higher indices. But a path may enter a group at one op and leave it at
    another op with a lower index.
    """

    def __init__(self, count: int):
        # For each op, the last op of all groups that start at it or before it; never decreases.
        self._ends = list(range(count))

    def add(self, first: int, last: int) -> None:
        """Adds a group by its first and last op."""
        for op in range(first, last):
            if self._ends[op] >= last:
                break
            self._ends[op] = last

    def bound(self, op: int) -> int:
        """Returns an op after which no group starts that leads back to `op` or before."""
        end = self._ends[op]
        while self._ends[end] > end:
            end = self._ends[end]
        return end

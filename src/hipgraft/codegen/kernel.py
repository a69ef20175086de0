"""Defines the result of a kernel provider: code objects and the steps that run them.

Buffers are numbered: operands first, then results, then the workspace. Offsets and lengths are
in bytes. The textual form is a binary of `hipdnn.executable` (docs/architecture.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import location_text
from hipgraft.ir.foreign_data import malformed

Access: TypeAlias = Literal["read", "write", "read_write"]
Triple: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True)
class Binding:
    """One pointer argument of a kernel: a range of a buffer."""

    buffer: int
    offset: int
    length: int
    access: Access

    def to_attr(self) -> ir.Attribute:
        """Returns the binding as a dictionary attribute."""
        return _dict(
            buffer=_i64(self.buffer),
            offset=_i64(self.offset),
            length=_i64(self.length),
            access=ir.StringAttr.get(self.access),
        )

    @staticmethod
    def from_attr(attr: ir.Attribute) -> Binding:
        """Reads what `to_attr` wrote."""
        fields = ir.DictAttr(attr)
        return Binding(
            buffer=_int(fields, "buffer"),
            offset=_int(fields, "offset"),
            length=_int(fields, "length"),
            access=cast(Access, _str(fields, "access")),
        )


@dataclass(frozen=True)
class Fill:
    """Fills `length` bytes with an integer pattern of 1, 2 or 4 bytes."""

    buffer: int
    offset: int
    length: int
    pattern: int
    pattern_length: int

    @property
    def buffers(self) -> tuple[int, ...]:
        """The buffers that the step reads or writes."""
        return (self.buffer,)

    def to_attr(self) -> ir.Attribute:
        """Returns the step as a dictionary attribute."""
        return _dict(
            op=ir.StringAttr.get("fill"),
            buffer=_i64(self.buffer),
            offset=_i64(self.offset),
            length=_i64(self.length),
            pattern=_i64(self.pattern),
            pattern_length=_i64(self.pattern_length),
        )

    @staticmethod
    def from_attr(fields: ir.DictAttr) -> Fill:
        """Reads what `to_attr` wrote."""
        names = ("buffer", "offset", "length", "pattern", "pattern_length")
        return Fill(*(_int(fields, name) for name in names))


@dataclass(frozen=True)
class Copy:
    """Copies `length` bytes from one buffer to another."""

    source: int
    source_offset: int
    target: int
    target_offset: int
    length: int

    @property
    def buffers(self) -> tuple[int, ...]:
        """The buffers that the step reads or writes."""
        return (self.source, self.target)

    def to_attr(self) -> ir.Attribute:
        """Returns the step as a dictionary attribute."""
        return _dict(
            op=ir.StringAttr.get("copy"),
            source=_i64(self.source),
            source_offset=_i64(self.source_offset),
            target=_i64(self.target),
            target_offset=_i64(self.target_offset),
            length=_i64(self.length),
        )

    @staticmethod
    def from_attr(fields: ir.DictAttr) -> Copy:
        """Reads what `to_attr` wrote."""
        names = ("source", "source_offset", "target", "target_offset", "length")
        return Copy(*(_int(fields, name) for name in names))


@dataclass(frozen=True)
class Dispatch:
    """One kernel launch.

    Attributes:
        object: index of the code object that holds the kernel.
        kernel: symbol of the kernel.
        grid: workgroups in x, y, z.
        block: work items per workgroup in x, y, z.
        dynamic_shared_memory: bytes of shared memory to pass at launch; static LDS is in the
            code object and not counted here.
        bindings: pointer arguments, in the kernel's order.
        constants: 32-bit words that follow the pointers.
    """

    object: int
    kernel: str
    grid: Triple
    block: Triple
    dynamic_shared_memory: int
    bindings: tuple[Binding, ...]
    constants: tuple[int, ...]

    @property
    def buffers(self) -> tuple[int, ...]:
        """The buffers that the step reads or writes."""
        return tuple(binding.buffer for binding in self.bindings)

    def to_attr(self) -> ir.Attribute:
        """Returns the step as a dictionary attribute."""
        return _dict(
            op=ir.StringAttr.get("dispatch"),
            object=_i64(self.object),
            kernel=ir.StringAttr.get(self.kernel),
            grid=ir.DenseI64ArrayAttr.get(self.grid),
            block=ir.DenseI64ArrayAttr.get(self.block),
            dynamic_shared_memory=_i64(self.dynamic_shared_memory),
            bindings=ir.ArrayAttr.get([binding.to_attr() for binding in self.bindings]),
            constants=ir.DenseI32ArrayAttr.get(self.constants),
        )

    @staticmethod
    def from_attr(fields: ir.DictAttr) -> Dispatch:
        """Reads what `to_attr` wrote."""
        return Dispatch(
            object=_int(fields, "object"),
            kernel=_str(fields, "kernel"),
            grid=_triple(fields["grid"]),
            block=_triple(fields["block"]),
            dynamic_shared_memory=_int(fields, "dynamic_shared_memory"),
            bindings=tuple(Binding.from_attr(attr) for attr in ir.ArrayAttr(fields["bindings"])),
            constants=tuple(ir.DenseI32ArrayAttr(fields["constants"])),
        )


Step: TypeAlias = Fill | Copy | Dispatch

_STEP_KINDS: dict[str, type[Fill | Copy | Dispatch]] = {
    "fill": Fill,
    "copy": Copy,
    "dispatch": Dispatch,
}


@dataclass(frozen=True)
class Kernel:
    """A compiled container for one target.

    Attributes:
        target: architecture, or `cpu`.
        format: `hsaco`, `ptx`, `vmfb`, or `hipdnn` for a graph that an engine of hipDNN runs.
        objects: code objects; dispatches refer to them by index. For `hipdnn`, the graph's JSON.
        workspace_size: bytes of scratch memory, 0 for none.
        steps: steps to run, in order; empty for `vmfb`, whose `main` the runtime calls.
        host: for dynamic shapes, MLIR text of the functions that run the steps and return the
            results' extents (`dynamic_functions`); not stored in a `hipdnn.executable`.
    """

    target: str
    format: str
    objects: tuple[bytes, ...]
    workspace_size: int = 0
    steps: tuple[Step, ...] = ()
    host: str = ""

    @property
    def dispatches(self) -> tuple[Dispatch, ...]:
        """The launches among the steps."""
        return tuple(step for step in self.steps if isinstance(step, Dispatch))

    @property
    def last_buffer(self) -> int:
        """The highest buffer number in the steps; -1 if they use no buffer."""
        return max((number for step in self.steps for number in step.buffers), default=-1)

    def to_attr(self) -> ir.DictAttr:
        """Returns the kernel as a binary of `hipdnn.executable`, in the current context."""
        return _dict(
            target=ir.StringAttr.get(self.target),
            format=ir.StringAttr.get(self.format),
            objects=ir.ArrayAttr.get([ir.StringAttr.get(data) for data in self.objects]),
            workspace_size=_i64(self.workspace_size),
            steps=ir.ArrayAttr.get([step.to_attr() for step in self.steps]),
        )

    @staticmethod
    def from_attr(attr: ir.Attribute) -> Kernel:
        """Reads what `to_attr` wrote."""
        fields = ir.DictAttr(attr)
        return Kernel(
            target=_str(fields, "target"),
            format=_str(fields, "format"),
            objects=tuple(
                ir.StringAttr(data).value_bytes for data in ir.ArrayAttr(fields["objects"])
            ),
            workspace_size=_int(fields, "workspace_size"),
            steps=tuple(_step(step) for step in ir.ArrayAttr(fields["steps"])),
        )


def kernels_of(executable: ir.Operation | ir.OpView) -> list[Kernel]:
    """Returns the kernels that a `hipdnn.executable` holds, one per target.

    Raises:
        HipgraftError: a binary has another form; located.
    """
    op = executable.operation
    with malformed("binary of an executable", location_text(op.location) or op.name):
        return [Kernel.from_attr(attr) for attr in ir.ArrayAttr(op.attributes["binaries"])]


def _step(attr: ir.Attribute) -> Step:
    fields = ir.DictAttr(attr)
    return _STEP_KINDS[_str(fields, "op")].from_attr(fields)


def _dict(**fields: ir.Attribute) -> ir.DictAttr:
    return ir.DictAttr.get(fields)


def _i64(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def _int(fields: ir.DictAttr, name: str) -> int:
    return ir.IntegerAttr(fields[name]).value


def _str(fields: ir.DictAttr, name: str) -> str:
    return ir.StringAttr(fields[name]).value


def _triple(attr: ir.Attribute) -> Triple:
    values: Sequence[Any] = list(ir.DenseI64ArrayAttr(attr))
    x, y, z = (int(value) for value in values)
    return x, y, z

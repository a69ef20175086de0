"""Defines the JSON header of a bundle, and checks it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct, field

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.runtime.recording import (
    Call,
    Command,
    Copy,
    Fill,
    Launch,
    Pointer,
    Recording,
    Tensor,
)

Number: TypeAlias = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Triple: TypeAlias = tuple[Number, Number, Number]
Place: TypeAlias = tuple[Number, Number]
Placed: TypeAlias = tuple[Number, Number, tuple[Number, ...], str]
Bytes: TypeAlias = Annotated[str, Meta(pattern="^(?:[0-9a-f][0-9a-f])*$")]


class LaunchFields(Struct, array_like=True, forbid_unknown_fields=True, tag="launch", frozen=True):
    """A kernel launch."""

    kernel: Number
    grid: Triple
    block: Triple
    shared_bytes: Number
    kernarg: Bytes
    pointers: list[tuple[Number, Number, Number]]

    def command(self) -> Command:
        """Returns the launch."""
        pointers = tuple((offset, Pointer(*pointer)) for offset, *pointer in self.pointers)
        segment = bytes.fromhex(self.kernarg)
        return Launch(self.kernel, self.grid, self.block, self.shared_bytes, segment, pointers)


class FillFields(Struct, array_like=True, forbid_unknown_fields=True, tag="fill", frozen=True):
    """A fill."""

    target: Place
    pattern: Bytes
    nbytes: Number

    def command(self) -> Command:
        """Returns the fill."""
        return Fill(Pointer(*self.target), bytes.fromhex(self.pattern), self.nbytes)


class CopyFields(Struct, array_like=True, forbid_unknown_fields=True, tag="copy", frozen=True):
    """A copy."""

    target: Place
    source: Place
    nbytes: Number

    def command(self) -> Command:
        """Returns the copy."""
        return Copy(Pointer(*self.target), Pointer(*self.source), self.nbytes)


class CallFields(Struct, array_like=True, forbid_unknown_fields=True, tag="call", frozen=True):
    """A call of a module."""

    module: Number
    inputs: list[Placed]
    outputs: list[Placed]

    def command(self) -> Command:
        """Returns the call."""
        return Call(self.module, _unplaced(self.inputs), _unplaced(self.outputs))


class TensorFields(Struct, array_like=True, forbid_unknown_fields=True, frozen=True):
    """An input or result."""

    name: str
    shape: tuple[Number, ...]
    element_type: str
    strides: tuple[Number, ...] | None
    offset: Number
    nbytes: Number

    def tensor(self) -> Tensor:
        """Returns the tensor."""
        return Tensor(self.name, self.shape, self.element_type, self.strides, self.offset)


class BufferFields(Struct, frozen=True):
    """A buffer that the program owns; a constant has a section."""

    nbytes: Number
    name: str
    section: Number | None


class VariantFields(Struct, frozen=True):
    """The calls of a variant."""

    name: str
    inputs: list[TensorFields]
    results: list[TensorFields]
    commands: list[LaunchFields | FillFields | CopyFields | CallFields]
    row_counts: list[tuple[Number, Number, Number]] = []

    def check_sizes(self, recording: Recording) -> None:
        """Checks the stored sizes of tensors against their layouts.

        Raises:
            HipgraftError: a size differs.
        """
        tensors = (*recording.inputs, *recording.results)
        for fields, tensor in zip((*self.inputs, *self.results), tensors, strict=True):
            if fields.nbytes != tensor.nbytes:
                raise HipgraftError(f"a tensor has {tensor.nbytes} bytes, not {fields.nbytes}")


class ProgramFields(Struct, frozen=True):
    """A program for one architecture: recorded, or a host program with dynamic shapes."""

    architecture: str
    host: Number | None = None
    buffers: list[BufferFields] = field(default_factory=list[BufferFields])
    objects: list[Number] = field(default_factory=list[int])
    kernels: list[tuple[Number, str]] = field(default_factory=list[tuple[int, str]])
    variants: list[VariantFields] = field(default_factory=list[VariantFields])

    def sections(self) -> list[int]:
        """Returns the indices of all sections that the program refers to."""
        constants = [one.section for one in self.buffers if one.section is not None]
        return [*self.code(), *constants]

    def code(self) -> list[int]:
        """Returns the indices of the sections that hold code."""
        return [*self.objects, *([] if self.host is None else [self.host])]


class Header(Struct, frozen=True):
    """The whole header.

    Attributes:
        metadata: metadata that the writer stored.
        programs: one for each architecture.
        sections: offset and bytes of each piece of data.
        data_size: bytes of all pieces, with the padding between them.
    """

    metadata: dict[str, Any]
    programs: list[ProgramFields]
    sections: list[Place]
    data_size: Number

    def check(self) -> None:
        """Checks the references to data.

        Raises:
            HipgraftError: a section is outside of the data, or a number refers to no section.
        """
        ends = [0, *(offset + nbytes for offset, nbytes in self.sections)]
        starts = [*(offset for offset, _ in self.sections), self.data_size]
        if any(end > start for end, start in zip(ends, starts, strict=True)):
            raise HipgraftError("sections overlap or leave the data")
        if any(start > end for start, end in pairwise(starts)):
            raise HipgraftError("sections are out of order")
        for program in self.programs:
            self._check_program(program)
        names = [program.architecture for program in self.programs]
        if not names or len(set(names)) != len(names):
            raise HipgraftError(f"programs are for {', '.join(names) or 'nothing'}")

    def _check_program(self, program: ProgramFields) -> None:
        if max(program.sections(), default=-1) >= len(self.sections):
            raise HipgraftError("a program refers to a section that is not there")
        if (program.host is None) == (not program.variants):
            raise HipgraftError("expected variants or a host program")
        for buffer in program.buffers:
            if buffer.section is not None and self.sections[buffer.section][1] != buffer.nbytes:
                raise HipgraftError(f"constant '{buffer.name}' has {buffer.nbytes} bytes")


def _unplaced(fields: Sequence[Placed]) -> tuple[tuple[Pointer, Tensor], ...]:
    return tuple(
        (Pointer(buffer, offset), Tensor("", shape, element_type))
        for buffer, offset, shape, element_type in fields
    )

"""Defines recordings: programs as flat lists of device calls, stored in bundles.

This module does not import MLIR, so a recording runs without the compiler.

Buffers are numbered: inputs, then results, then the program's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from hipgraft.codegen.layout import Layout
from hipgraft.ir.dtypes import numpy_dtype
from hipgraft.ir.strided_view import row_major_strides

Triple: TypeAlias = tuple[int, int, int]

DYNAMIC = -1
"""The extent of a dimension that is only known when the program runs."""


@dataclass(frozen=True)
class Tensor:
    """An input or result of a program or of a graph.

    Attributes:
        name: name of the tensor in the model, or empty.
        shape: extents.
        element_type: name of the element type in MLIR, e.g. `f16`.
        strides: strides in elements; None for a packed row-major tensor.
        offset: offset of the first element, in elements.
    """

    name: str
    shape: tuple[int, ...]
    element_type: str
    strides: tuple[int, ...] | None = None
    offset: int = 0

    @cached_property
    def is_packed(self) -> bool:
        """Whether the elements are in row-major order without gaps."""
        return 0 in self.shape or (self.strides is None and self.offset == 0)

    @cached_property
    def dense_strides(self) -> tuple[int, ...]:
        """The strides in elements, even if the tensor is packed."""
        return row_major_strides(self.shape) if self.strides is None else self.strides

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type for the elements."""
        return numpy_dtype(self.element_type)

    @cached_property
    def nbytes(self) -> int:
        """The bytes that the tensor spans, including the end of the last row."""
        if 0 in self.shape:
            return 0
        layout = Layout(self.shape, self.dense_strides, self.offset, self.element_type)
        return self.dtype.itemsize * layout.physical_elements


@dataclass(frozen=True)
class Buffer:
    """Memory that the program owns: a constant, or scratch memory such as the arena.

    Attributes:
        nbytes: size in bytes.
        name: name of a constant.
        read: returns a constant's bytes, which are mapped or computed only then; None for scratch
            memory.
    """

    nbytes: int
    name: str = ""
    read: Callable[[], Any] | None = None


@dataclass(frozen=True)
class Pointer:
    """An address: `offset` bytes into a buffer."""

    buffer: int
    offset: int


@dataclass(frozen=True)
class Launch:
    """A kernel launch.

    Attributes:
        kernel: index of the kernel.
        grid: workgroups.
        block: work items of a workgroup.
        shared_bytes: dynamic shared memory.
        kernarg: argument segment, with zeros in place of pointers.
        pointers: target of each pointer, by the pointer's byte offset in the segment.
    """

    kernel: int
    grid: Triple
    block: Triple
    shared_bytes: int
    kernarg: bytes
    pointers: tuple[tuple[int, Pointer], ...]


@dataclass(frozen=True)
class Fill:
    """Repeats `pattern` over `nbytes` bytes."""

    target: Pointer
    pattern: bytes
    nbytes: int


@dataclass(frozen=True)
class Copy:
    """Copies `nbytes` bytes on the device."""

    target: Pointer
    source: Pointer
    nbytes: int


@dataclass(frozen=True)
class Call:
    """A call of a whole compiled graph, for devices that run whole graphs.

    Attributes:
        module: index of the object.
        inputs: address and packed type of each operand.
        outputs: address and packed type of each result.
    """

    module: int
    inputs: tuple[tuple[Pointer, Tensor], ...]
    outputs: tuple[tuple[Pointer, Tensor], ...]


Command: TypeAlias = Launch | Fill | Copy | Call


@dataclass(frozen=True)
class Recording:
    """A program for one architecture, or one of its variants, which is for certain shapes.

    Variants of one program have the same buffers, objects and kernels.

    Attributes:
        architecture: architecture that the objects were compiled for.
        inputs: inputs in the order of the arguments.
        results: results in the order of the arguments.
        buffers: additional memory that the program needs.
        objects: code objects, or modules that hold whole graphs.
        kernels: object index and symbol of each kernel.
        commands: commands in the order of their execution.
        variant: extents of a variant, such as `batch=1, seq=128`; else empty.
        row_counts: results of which only some rows are valid: their index, their dimension of rows,
            and the index of the result that is the number of valid rows.
    """

    architecture: str
    inputs: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    buffers: tuple[Buffer, ...]
    objects: tuple[bytes, ...]
    kernels: tuple[tuple[int, str], ...]
    commands: tuple[Command, ...]
    variant: str = ""
    row_counts: tuple[tuple[int, int, int], ...] = ()

    @cached_property
    def model_results(self) -> tuple[int, ...]:
        """The indices of the model's own results, which are not numbers of rows."""
        counts = {count for _, _, count in self.row_counts}
        return tuple(index for index in range(len(self.results)) if index not in counts)

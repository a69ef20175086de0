"""Emits the device ops of a host program, chained by one async token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hipgraft.codegen.kernel import Copy, Dispatch, Fill
from hipgraft.ir import builders
from hipgraft.ir.bindings import ir
from hipgraft.ir.element_types import byte_size
from hipgraft.ir.strided_view import StridedView
from hipgraft.transforms.global_constants import GlobalConstants


@dataclass(frozen=True)
class Region:
    """The memory from `offset` bytes into a buffer up to its end.

    Attributes:
        root: the buffer's memref: of bytes, or of an argument's or global's own type.
        offset: offset of the memory in bytes.
    """

    root: ir.Value
    offset: int = 0

    def at(self, offset: int) -> Region:
        """Returns the region that starts `offset` bytes later."""
        return Region(self.root, self.offset + offset)

    @property
    def type(self) -> ir.MemRefType:
        """The type of the buffer."""
        return ir.MemRefType(self.root.type)

    @property
    def nbytes(self) -> int:
        """The bytes from here to the end of the buffer."""
        strides, _ = self.type.get_strides_and_offset()
        span = StridedView(tuple(self.type.shape), tuple(strides)).span
        return (byte_size([span], self.type.element_type) or 0) - self.offset

    @property
    def is_bytes(self) -> bool:
        """Whether the buffer is raw bytes, which `memref.view` accepts."""
        return self.type == builders.bytes_type(self.offset + self.nbytes)


@dataclass
class HostBuilder:
    """Appends device ops at the insertion point, in order.

    Attributes:
        function: the host function that is built.
        constants: globals for fill patterns that no op supports.
        location: location of the next ops.
        after: tokens that the first device op depends on.
        stream: stream of a runtime (`!llvm.ptr`) that the chain uses instead of its own.
        token: token that the next device op depends on.
    """

    function: ir.Operation
    constants: GlobalConstants
    location: ir.Location
    after: Sequence[ir.Value] = ()
    stream: ir.Value | None = None
    token: ir.Value = field(init=False)
    _indices: dict[int, ir.Value] = field(default_factory=dict[int, ir.Value])
    _words: dict[tuple[int, int], ir.Value] = field(default_factory=dict[tuple[int, int], ir.Value])
    _views: dict[tuple[Region, ir.Type], ir.Value] = field(
        default_factory=dict[tuple[Region, ir.Type], ir.Value]
    )

    def __post_init__(self) -> None:
        """Starts the chain with an op before which constants are collected."""
        if self.stream is None:
            self._first = builders.wait_async(self.location, self.after)
        else:
            self._first = builders.token_of_stream(self.stream, self.location)
        self.token = self._first.results[0]

    def finish(self) -> None:
        """Ends the chain: waits for the last device op and returns."""
        builders.wait(self.token, self.location)
        builders.return_(self.location)

    def index(self, value: int) -> ir.Value:
        """Returns an index constant."""
        if value not in self._indices:
            with ir.InsertionPoint(self._first):
                self._indices[value] = builders.index_constant(value, self.location)
        return self._indices[value]

    def word(self, value: int, width: int) -> ir.Value:
        """Returns an integer constant of `width` bits."""
        if (value, width) not in self._words:
            with ir.InsertionPoint(self._first):
                self._words[value, width] = builders.integer_constant(value, width, self.location)
        return self._words[value, width]

    def pointer(self, region: Region) -> ir.Value:
        """Returns a memref of offset 0 that starts at the region, which kernels require."""
        if region.offset == 0:
            return region.root
        return self.typed(region, builders.bytes_type(region.nbytes))

    def typed(self, region: Region, memref_type: ir.MemRefType) -> ir.Value:
        """Returns the start of the region as a memref of `memref_type`."""
        if region.offset == 0 and region.type == memref_type:
            return region.root
        key = (region, memref_type)
        if key not in self._views:
            self._views[key] = self._view(region, memref_type)
        return self._views[key]

    def _view(self, region: Region, memref_type: ir.MemRefType) -> ir.Value:
        if region.is_bytes:
            shift = self.index(region.offset)
            return builders.view(region.root, shift, memref_type, self.location)
        nbytes = byte_size(memref_type.shape, memref_type.element_type) or 0
        if memref_type == builders.bytes_type(nbytes):
            shift = self.index(region.offset)
            return builders.bytes_at(region.root, shift, nbytes, self.location)
        raw = self.typed(region, builders.bytes_type(nbytes))
        return builders.view(raw, self.index(0), memref_type, self.location)

    def launch(self, binary: str, dispatch: Dispatch, buffers: Sequence[Region]) -> None:
        """Launches a kernel on ranges of `buffers`."""
        ranges = [buffers[bound.buffer].at(bound.offset) for bound in dispatch.bindings]
        for region, bound in zip(ranges, dispatch.bindings, strict=True):
            _make_room(region, bound.length)
        arguments = [self.pointer(region) for region in ranges]
        arguments += [self.word(word & 0xFFFFFFFF, 32) for word in dispatch.constants]
        shared = dispatch.dynamic_shared_memory
        self.token = builders.launch(
            (binary, dispatch.kernel),
            [self.index(extent) for extent in dispatch.grid],
            [self.index(extent) for extent in dispatch.block],
            self.word(shared, 32) if shared else None,
            arguments,
            self.token,
            self.location,
        )

    def copy(self, step: Copy, buffers: Sequence[Region]) -> None:
        """Copies a range of one buffer to another."""
        source = buffers[step.source].at(step.source_offset)
        target = buffers[step.target].at(step.target_offset)
        memref_type = _common_type(target, source, step.length)
        self.token = builders.memcpy(
            self.typed(target, memref_type),
            self.typed(source, memref_type),
            self.token,
            self.location,
        )

    def fill(self, step: Fill, buffers: Sequence[Region]) -> None:
        """Fills a range of a buffer.

        Upstream lowers `gpu.memset` for 16- and 32-bit words only. Any other range is
        copied from a constant.
        """
        region = buffers[step.buffer].at(step.offset)
        unit = _unit(step)
        width = _word_width(step.length, region.offset, len(unit))
        if width is None:
            return self._fill_by_copy(region, unit, step.length)
        words = ir.MemRefType.get([step.length // width], ir.IntegerType.get_signless(8 * width))
        value = self.word(int.from_bytes((unit * width)[:width], "little"), 8 * width)
        target = self.typed(region, words)
        self.token = builders.memset(target, value, self.token, self.location)

    def _fill_by_copy(self, region: Region, unit: bytes, length: int) -> None:
        element = ir.IntegerType.get_signless(8 * len(unit))
        shape = [length // len(unit)]
        value = ir.IntegerAttr.get(element, int.from_bytes(unit, "little", signed=True))
        splat = ir.DenseElementsAttr.get_splat(ir.RankedTensorType.get(shape, element), value)
        name = self.constants.name(splat, self.function, self.location)
        memref_type = ir.MemRefType.get(shape, element)
        source = builders.get_global(name, memref_type, self.location)
        target = self.typed(region, memref_type)
        self.token = builders.memcpy(target, source, self.token, self.location)


def _make_room(region: Region, length: int) -> None:
    """Enlarges a buffer beyond whose end a kernel loads.

    The last row of a slice counts whole (see `Layout.physical_elements`), although a kernel uses
    nothing of what follows the slice.
    """
    owner = builders.defining_op(region.root)
    is_buffer = owner is not None and owner.name == "memref.alloc"
    if is_buffer and region.is_bytes and length > region.nbytes:
        region.root.set_type(builders.bytes_type(region.offset + length))


def _word_width(length: int, offset: int, unit: int) -> int | None:
    """Returns the width of the words that can fill a range with a `unit` byte pattern, or None."""
    widths = [w for w in (4, 2) if length % w == 0 and offset % w == 0 and w % unit == 0]
    return widths[0] if widths else None


def _unit(step: Fill) -> bytes:
    """Returns the shortest byte string whose repetition is the pattern."""
    mask = (1 << 8 * step.pattern_length) - 1
    unit = (step.pattern & mask).to_bytes(step.pattern_length, "little")
    while len(unit) > 1 and unit[: len(unit) // 2] == unit[len(unit) // 2 :]:
        unit = unit[: len(unit) // 2]
    return unit


def _common_type(target: Region, source: Region, length: int) -> ir.MemRefType:
    """Returns the type for a copy: the buffer's own if all of it is copied, else bytes."""
    for region in sorted((target, source), key=lambda region: region.is_bytes):
        packed = ir.MemRefType.get(region.type.shape, region.type.element_type)
        if region.offset == 0 and region.nbytes == length and region.type == packed:
            return region.type
    return builders.bytes_type(length)

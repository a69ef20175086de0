"""Writes and reads bundles: a compiled program as one file, which runs without the compiler.

Layout: magic, version and length of the header (little-endian), the header in JSON, then data at
multiples of 4096 bytes, so that constants can be mapped, then a checksum of each piece. The
header holds the recordings for each architecture (one per variant) and the offset of each
object and constant; equal data is stored once. For a program with dynamic shapes the bundle holds
its host program as MLIR bytecode, which is recorded at run time for each set of shapes.

`hipgraft/native/core/bundle.cpp` reads the same format.
"""

from __future__ import annotations

import json
import mmap
import struct
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from hipgraft.ir.architectures import fitting
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.foreign_data import decode_json, malformed
from hipgraft.ir.outputs import replacing
from hipgraft.runtime import known_code
from hipgraft.runtime.bundle_header import BufferFields, Header, ProgramFields
from hipgraft.runtime.bundle_sections import CHECKSUM, Sections, aligned
from hipgraft.runtime.recording import Buffer, Recording, Tensor
from hipgraft.runtime.recording_checks import check_recordings
from hipgraft.runtime.recording_json import variant_to_json
from hipgraft.runtime.runnable import Runnable

if TYPE_CHECKING:
    from hipgraft.ir.bindings import ir
    from hipgraft.runtime.session import Session

MAGIC = b"\x93HIPGRFT"
_VERSION = 5
_PREFIX = struct.Struct("<8sIIQ")  # magic, version, checksum and length of the header


def is_bundle(path: str | Path) -> bool:
    """Returns whether a file begins like a bundle."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def write_bundle(
    path: str | Path, recordings: Sequence[Recording], metadata: Mapping[str, Any] | None = None
) -> None:
    """Writes a bundle.

    Args:
        path: the file, which is replaced atomically.
        recordings: one for each architecture, or the variants of one. All were recorded from one
            module, so constants with equal names are the same.
        metadata: further data for readers, as JSON.

    Raises:
        HipgraftError: the file cannot be written.
    """
    _write(path, *_recorded(recordings, metadata))


def bundle_bytes(
    recordings: Sequence[Recording], metadata: Mapping[str, Any] | None = None
) -> bytes:
    """Returns the bytes that `write_bundle` would write."""
    file = BytesIO()
    _write_to(file, *_recorded(recordings, metadata))
    return file.getvalue()


def _recorded(
    recordings: Sequence[Recording], metadata: Mapping[str, Any] | None
) -> tuple[Sections, dict[str, Any]]:
    sections = Sections()
    programs = [
        _program_to_json(list(variants), sections)
        for _, variants in groupby(recordings, lambda one: one.architecture)
    ]
    return sections, {"metadata": dict(metadata or {}), "programs": programs}


def write_host_bundle(
    path: str | Path, host: bytes, architectures: Sequence[str], metadata: Mapping[str, Any]
) -> None:
    """Writes a bundle of a program with dynamic shapes; see `write_bundle`.

    Args:
        path: path of the file.
        host: the host program with its constants, as MLIR bytecode.
        architectures: architectures of its code.
        metadata: further data for readers, as JSON.
    """
    sections = Sections()
    number = sections.add_code("host", host)
    programs = [{"architecture": name, "host": number} for name in architectures]
    _write(path, sections, {"metadata": dict(metadata), "programs": programs})


def _write(path: str | Path, sections: Sections, fields: Mapping[str, Any]) -> None:
    with replacing(str(path)) as temporary, temporary.open("wb") as file:
        _write_to(file, sections, fields)


def _write_to(file: BinaryIO, sections: Sections, fields: Mapping[str, Any]) -> None:
    extents = {"sections": sections.extents, "data_size": sections.size}
    header = json.dumps({**fields, **extents}, separators=(",", ":")).encode()
    file.write(_PREFIX.pack(MAGIC, _VERSION, zlib.crc32(header), len(header)))
    file.write(header)
    sections.write(file)
    known_code.remember(_digest(header, sections.code))


def _digest(header: bytes, code: Mapping[int, bytes | memoryview]) -> str:
    """Returns the digest of the calls and of the code, without the constants."""
    return known_code.digest([header, *(code[number] for number in sorted(code))])


class Bundle(Runnable):
    """An open bundle; its constants are mapped, not read.

    Args:
        path: the file.
        data: content of the file if it is in memory; `path` is then used in messages only.
        trust: whether to run a bundle that hipgraft did not write for this user.

    Raises:
        HipgraftError: the file cannot be read, is not a bundle, or is damaged; located.
            Objects and constants are checked when a device loads them.
    """

    def __init__(self, path: str | Path, *, data: bytes | None = None, trust: bool = False):
        super().__init__()
        self._path = str(path)
        self._is_trusted = trust
        self._module: ir.Module | None = None
        try:
            self._map = _mapped(path) if data is None else _copied(data)
        except (OSError, ValueError) as error:  # an empty file cannot be mapped
            raise HipgraftError(f"cannot open bundle: {error}", location=self._path) from None
        self._header = self._read_header()
        self._data = memoryview(self._map)

    @property
    def architectures(self) -> tuple[str, ...]:
        """The architectures that the bundle was compiled for."""
        return tuple(program.architecture for program in self._header.programs)

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata that its writer stored."""
        return self._header.metadata

    def recordings(self, architecture: str) -> tuple[Recording, ...]:
        """Returns the program for a device; its constants are read from the open bundle.

        Raises:
            HipgraftError: there is no such program, it has dynamic shapes, or it accesses memory
                other than its own.
        """
        program = self._program(architecture)
        if program.host is not None:
            raise HipgraftError(
                "the bundle is of dynamic shapes, so that its calls depend on its inputs",
                location=self._path,
            )
        buffers = tuple(map(self._buffer, program.buffers))
        objects = tuple(bytes(self._section(number)) for number in program.objects)
        kernels = tuple(program.kernels)
        recordings = tuple(
            Recording(
                architecture=program.architecture,
                inputs=tuple(one.tensor() for one in variant.inputs),
                results=tuple(one.tensor() for one in variant.results),
                buffers=buffers,
                objects=objects,
                kernels=kernels,
                commands=tuple(one.command() for one in variant.commands),
                variant=variant.name,
                row_counts=tuple(variant.row_counts),
            )
            for variant in program.variants
        )
        with malformed("bundle", self._path):
            check_recordings(recordings)
            for variant, recording in zip(program.variants, recordings, strict=True):
                variant.check_sizes(recording)
        return recordings

    def inputs(self, architecture: str) -> dict[str, Sequence[Tensor]]:
        """Returns the inputs of each variant of the program; `DYNAMIC` extents accept any extent.

        Raises:
            HipgraftError: there is no program for the architecture.
        """
        program = self._program(architecture)
        if program.host is None:
            return {one.variant: one.inputs for one in self.recordings(architecture)}
        # Imported here because only bundles with dynamic shapes need MLIR.
        from hipgraft.runtime.host_program.dynamic import input_tensors

        return dict(input_tensors(self._host(program.host), architecture))

    def record(self, architecture: str, shapes: Sequence[Sequence[int]]) -> Recording:
        """Records a program with dynamic shapes for certain shapes of its inputs.

        Raises:
            HipgraftError: there is no program for the architecture, its shapes are static, or the
                inputs do not fit it.
        """
        program = self._program(architecture)
        if program.host is None:
            raise HipgraftError("the bundle's shapes are static", location=self._path)
        from hipgraft.runtime.recorder import record_variants

        host = self._host(program.host)
        return record_variants(host, program.architecture, shapes=[tuple(s) for s in shapes])[0]

    def _open_session(self, device: Any) -> Session:
        program = self._program(device.architecture)
        if known_code.executes(device):
            self._check_trust()
        if program.host is None:
            return super()._open_session(device)
        from hipgraft.runtime.recorder import open_session

        return open_session(self._host(program.host), device)

    def _check_trust(self) -> None:
        if not self._is_trusted:
            numbers = {number for one in self._header.programs for number in one.code()}
            code = {number: self._section(number) for number in numbers}
            known_code.check_known("the bundle", _digest(self._header_text, code), self._path)
            self._is_trusted = True

    def _program(self, architecture: str) -> ProgramFields:
        best = fitting(architecture, self.architectures)
        if best is None:
            raise HipgraftError(
                f"the bundle has no program for '{architecture}'; it is for "
                f"{', '.join(self.architectures)}",
                location=self._path,
            )
        return self._header.programs[self.architectures.index(best)]

    def _host(self, section: int) -> ir.Module:
        """Returns the host program in a section; the first call parses it."""
        if self._module is None:
            from hipgraft.runtime.host_program.bytecode import parse_host

            data = self._section(section)
            with malformed("bundle", self._path):
                self._module = parse_host(data)
        return self._module

    def close(self) -> None:
        """Frees the program's memory and code on devices, and unmaps the file."""
        super().close()
        self._data.release()
        with suppress(BufferError):  # a traceback still refers to the data
            self._map.close()

    def _read_header(self) -> Header:
        if not self._map[: len(MAGIC)] == MAGIC:
            raise self._broken("the file is no bundle")
        if len(self._map) < _PREFIX.size:
            raise self._broken("the bundle is truncated")
        _, version, checksum, length = _PREFIX.unpack_from(self._map)
        if version != _VERSION:
            raise self._broken(f"the bundle has version {version}; expected {_VERSION}")
        text = self._map[_PREFIX.size : _PREFIX.size + length]
        if len(text) != length:
            raise self._broken("the bundle is truncated")
        if zlib.crc32(text) != checksum:
            raise self._broken("the bundle's header is damaged")
        try:
            with malformed("bundle", self._path):
                header = decode_json(text, Header, "bundle", self._path)
                header.check()
        except HipgraftError as error:
            raise self._broken(error.message) from None
        self._header_text = text
        self._start = aligned(_PREFIX.size + length)
        expected = self._checksum_offset(header, len(header.sections))
        if len(self._map) < expected:
            raise self._broken(
                f"the bundle is truncated: it has {len(self._map)} of {expected} bytes"
            )
        if len(self._map) > expected:
            raise self._broken(f"the bundle has {len(self._map)} bytes; expected {expected}")
        return header

    def _checksum_offset(self, header: Header, number: int) -> int:
        return self._start + header.data_size + number * CHECKSUM.size

    def _broken(self, message: str) -> HipgraftError:
        self._map.close()
        return HipgraftError(message, location=self._path)

    def _section(self, number: int) -> memoryview:
        """Returns the bytes of an object or constant, after checking their checksum."""
        offset, nbytes = self._header.sections[number]
        start = self._start + offset
        data = self._data[start : start + nbytes]
        offset = self._checksum_offset(self._header, number)
        if CHECKSUM.unpack_from(self._map, offset) != (zlib.crc32(data),):
            raise HipgraftError(
                f"the bundle is damaged in the {nbytes} bytes from {start}", location=self._path
            )
        return data

    def _buffer(self, fields: BufferFields) -> Buffer:
        if fields.section is None:
            return Buffer(fields.nbytes)
        return Buffer(fields.nbytes, fields.name, partial(self._section, fields.section))


def _mapped(path: str | Path) -> mmap.mmap:
    with Path(path).open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _copied(data: bytes) -> mmap.mmap:
    copy = mmap.mmap(-1, len(data))
    copy.write(data)
    return copy


def load(path: str | Path, *, trust: bool = False) -> Bundle:
    """Opens a bundle, which runs without the compiler.

    Args:
        path: the file.
        trust: whether to run its code if hipgraft did not write the bundle for this user.

    Raises:
        HipgraftError: the file cannot be read, is not a bundle, or is truncated; located.
    """
    return Bundle(path, trust=trust)


def _program_to_json(variants: Sequence[Recording], sections: Sections) -> dict[str, Any]:
    recording = variants[0]  # all variants have the same code and memory
    return {
        "architecture": recording.architecture,
        "buffers": [_buffer_to_json(buffer, sections) for buffer in recording.buffers],
        "objects": [sections.add_code(data, data) for data in recording.objects],
        "kernels": list(recording.kernels),
        "variants": [variant_to_json(variant) for variant in variants],
    }


def _buffer_to_json(buffer: Buffer, sections: Sections) -> dict[str, Any]:
    number = None
    if buffer.read is not None:
        number = sections.add(buffer.name, buffer.nbytes, buffer.read)
    return {"nbytes": buffer.nbytes, "name": buffer.name, "section": number}

"""Defines the targets that run host programs: as modules, recordings and bundles."""

from __future__ import annotations

import json
import math
import random
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from recordings import copying_program

from fuzz.engine import Target
from fuzz.mlir_text import changed_module
from fuzz.mutations import changed_bytes, changed_document
from fuzz.targets.modules import chunks, context
from hipgraft import frontends
from hipgraft.ir.bindings import ir
from hipgraft.ir.bytecode import to_bytecode
from hipgraft.ir.diagnostics import HipgraftError, diagnostics_to
from hipgraft.ir.entry_points import result_count
from hipgraft.runtime import bundle as bundles
from hipgraft.runtime import bundle_sections
from hipgraft.runtime.bundle import Bundle, write_bundle
from hipgraft.runtime.devices.host_memory import HostMemory
from hipgraft.runtime.host_program.dynamic import input_tensors
from hipgraft.runtime.host_program.interpreter import Executor
from hipgraft.runtime.host_program.memref import tensor_of
from hipgraft.runtime.recorder import open_session

_LARGEST_INPUT = 1 << 20


_LARGEST_ALLOCATION = 64 << 20


@cache
def _host() -> tuple[bytes, ...]:
    words = ("gpu.memcpy", "gpu.launch_func", "memref.alloc", "gpu.wait")
    texts = [*chunks("passes"), *chunks("tools")]
    return tuple(f"\n{text}".encode() for text in texts if any(word in text for word in words))


class Bounded(HostMemory):
    """Raises at each access outside of the memory that it allocated, and launches nothing."""

    architecture = "gfx942"

    def allocate(self, nbytes: int) -> int:
        if nbytes > _LARGEST_ALLOCATION:
            raise HipgraftError(f"there are no {nbytes} bytes")
        return super().allocate(nbytes)

    def load_code_object(self, data: bytes) -> bytes:
        return data

    def get_kernel(self, code_object: bytes, name: str) -> str:
        return name

    def launch(self, kernel: str, grid: Any, block: Any, shared: int, kernarg: bytes) -> None:
        for place in range(0, len(kernarg) - 7, 8):
            address = int.from_bytes(kernarg[place : place + 8], "little")
            if address > 1 << 32:  # it is an address, not a size or count
                self.base_of(address - 1)


def run_host(path: Path) -> None:
    """Interprets a host program."""
    module = frontends.read(path, context())
    with Executor(module, Bounded()) as executor:
        for function in executor.functions:
            tensors = [tensor_of(one) for one in function.regions[0].blocks[0].arguments]
            given = tensors[: len(tensors) - result_count(function, len(tensors))]
            shapes = [[abs(extent) % 99 for extent in one.shape] for one in given]
            if sum(map(math.prod, shapes)) < _LARGEST_INPUT:
                executor.run([np.zeros(shape, np.float32) for shape in shapes])


def run_session(path: Path) -> None:
    """Records a host program and replays the recording."""
    module = frontends.read(path, context())
    device = Bounded()
    for tensors in input_tensors(module, device.architecture).values():
        shapes = [[abs(extent) % 99 for extent in one.shape] for one in tensors]
        if sum(map(math.prod, shapes)) < _LARGEST_INPUT:
            with open_session(module, device, path.parent) as session:
                session.run([np.zeros(shape, np.float32) for shape in shapes])


@cache
def _bundles() -> tuple[bytes, ...]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        write_bundle(path / "copies.hgb", [copying_program()])
        host = _host_bytecode()
        bundles.write_host_bundle(path / "host.hgb", host, ["gfx942"], {})
        return tuple(each.read_bytes() for each in sorted(path.glob("*.hgb")))


def _host_bytecode() -> bytes:
    with diagnostics_to(context(), lambda _: None):
        return to_bytecode(ir.Module.parse(_host()[0].decode(), context()))


def _change_bundle(data: bytes, seeds: Sequence[bytes], generator: random.Random) -> bytes:
    """Changes the header or the data, and computes the checksums again."""
    if generator.random() < 0.05:
        return changed_bytes(data, generator)
    prefix = bundles._PREFIX
    try:
        *_, length = prefix.unpack_from(data)
        header = json.loads(data[prefix.size :][:length])
        body = bytearray(data[bundle_sections.aligned(prefix.size + length) :])
        if generator.random() < 0.4:
            place, nbytes = generator.choice(header["sections"])
            piece = changed_bytes(bytes(body[place : place + nbytes]), generator)[:nbytes]
            body[place : place + len(piece)] = piece
            body[header["data_size"] :] = b"".join(
                bundle_sections.CHECKSUM.pack(zlib.crc32(body[at : at + size]))
                for at, size in header["sections"]
            )
        else:
            header = changed_document(header, generator)
    except Exception:  # a changed bundle may not parse: change it again
        return changed_bytes(data, generator)
    text = json.dumps(header, ensure_ascii=False).encode(errors="surrogatepass")
    return bundle_of(text, bytes(body))


def bundle_of(header: bytes, body: bytes) -> bytes:
    """Returns a bundle whose header has the right checksum."""
    prefix = bundles._PREFIX.pack(bundles.MAGIC, bundles._VERSION, zlib.crc32(header), len(header))
    whole = prefix + header
    return whole.ljust(bundle_sections.aligned(len(whole)), b"\0") + body


def run_bundle(path: Path, device: HostMemory | None = None) -> None:
    """Opens and runs a bundle with inputs of its declared types."""
    with Bundle(path, trust=True) as bundle:
        for tensors in bundle.inputs("gfx942").values():
            small = [one for one in tensors if one.nbytes < _LARGEST_INPUT]
            bundle.run([np.zeros(one.shape, np.float32) for one in small], device or Bounded())


TARGETS = (
    Target("host", ".mlir", _host, changed_module, run_host, is_native=True),
    Target("session", ".mlir", _host, changed_module, run_session, is_native=True),
    Target("bundle", ".hgb", _bundles, _change_bundle, run_bundle),
)

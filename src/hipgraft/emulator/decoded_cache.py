"""Caches decoded kernels on disk, keyed by a digest of the code object and the decoder."""

from __future__ import annotations

import ctypes
import hashlib
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from hipgraft.emulator.native import Instruction, core
from hipgraft.ir.directories import default_cache_directory
from hipgraft.ir.outputs import write_whole

_FOLDER = "emulator"
# An entry takes about 10 KB. When there are more entries than this, the oldest half is removed.
_MOST_ENTRIES = 2048
_DIGEST_BYTES = 32


def decoded_instructions(
    digest: str, kernel: str, decode: Callable[[], Sequence[Instruction]]
) -> ctypes.Array[Instruction]:
    """Returns a kernel's decoded instructions, from the cache if it holds them.

    Args:
        digest: digest of the code object.
        kernel: name of the kernel.
        decode: decodes the instructions on a cache miss.
    """
    key = hashlib.sha256(f"{decoder_version()} {digest} {kernel}".encode()).hexdigest()
    path = decoded_folder() / key
    data = _read(path)
    if data is None:
        decoded = decode()
        array = (Instruction * len(decoded))(*decoded)
        _write(path, bytes(array))
        return array
    return (Instruction * (len(data) // ctypes.sizeof(Instruction))).from_buffer_copy(data)


def decoded_folder() -> Path:
    """Returns the folder of the decoded kernels."""
    return default_cache_directory() / _FOLDER


@cache
def decoder_version() -> str:
    """Returns a digest of the core's operations and of the decoder's source."""
    hashed = hashlib.sha256(core().digest.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        hashed.update(path.read_bytes())
    return hashed.hexdigest()


def _read(path: Path) -> bytes | None:
    """Returns an entry's content; None if there is none or it is damaged."""
    try:
        stored = path.read_bytes()
        data = zlib.decompress(stored[_DIGEST_BYTES:])
    except (OSError, zlib.error):
        return None
    intact = hashlib.sha256(data).digest() == stored[:_DIGEST_BYTES]
    return data if intact and len(data) % ctypes.sizeof(Instruction) == 0 else None


def _write(path: Path, data: bytes) -> None:
    # If the cache cannot be written, later runs only take longer.
    with suppress(OSError):
        _shrink(path.parent)
        write_whole(path, hashlib.sha256(data).digest() + zlib.compress(data, 1))


def _shrink(folder: Path) -> None:
    entries = list(folder.glob("*"))
    if len(entries) <= _MOST_ENTRIES:
        return
    for entry in sorted(entries, key=lambda each: each.stat().st_mtime)[: len(entries) // 2]:
        entry.unlink(missing_ok=True)

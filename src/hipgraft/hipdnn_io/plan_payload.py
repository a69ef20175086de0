"""Encodes the payload of hipgraft's engine in hipDNN's serialized plans: a header and a body.

hipDNN stores the payload and returns it later; the plugin checks its format, version and
architecture. The body is a bundle (`hipgraft.runtime.bundle`). `HEADER` defines the format:
libhipgraft's plugin reads the same bytes, and docs/hipdnn-plans.md has the same table.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

from hipgraft.ir.diagnostics import HipgraftError

MAGIC = b"HIPGPLAN"
MAJOR, MINOR = 1, 0
KIND_BUNDLE = 1

ENGINE_NAME = "HIPGRAFT_ENGINE"
"""The name of hipgraft's engine; its hash is the engine's id."""


@dataclass(frozen=True)
class HeaderField:
    """A field of the header.

    Attributes:
        name: name of the field.
        code: type of the field, as in the module `struct`.
        meaning: content of the field, for the documentation.
    """

    name: str
    code: str
    meaning: str


HEADER = (
    HeaderField("magic", "8s", f"`{MAGIC.decode()}`"),
    HeaderField("major", "H", f"version of the format: {MAJOR}; another cannot be read"),
    HeaderField("minor", "H", f"{MINOR}; a later one than the reader's cannot be read"),
    HeaderField("kind", "H", f"of the body: {KIND_BUNDLE} is a bundle"),
    HeaderField("header_size", "H", "bytes from the beginning to the body; 52 or more"),
    HeaderField("reserved", "I", "0"),
    HeaderField("body_sha256", "32s", "SHA-256 of the body, which goes to the payload's end"),
)
"""The fields, in order, little-endian and without gaps."""

_HEADER = struct.Struct("<" + "".join(field.code for field in HEADER))
HEADER_SIZE = _HEADER.size


class PlanError(HipgraftError):
    """A plan that cannot be restored."""


class DamagedPlanError(PlanError):
    """The plan is damaged, or not hipgraft's. hipDNN gets `INVALID_VALUE`."""


class PlanVersionError(PlanError):
    """The plan has another version of the format. hipDNN gets `NOT_APPLICABLE`."""


class PlanArchitectureError(PlanError):
    """The plan is for other architectures. hipDNN gets `NOT_APPLICABLE`."""


def encode_payload(body: bytes) -> bytes:
    """Returns the payload for a body, in the current version of the format."""
    digest = hashlib.sha256(body).digest()
    header = _HEADER.pack(MAGIC, MAJOR, MINOR, KIND_BUNDLE, HEADER_SIZE, 0, digest)
    return header + body


def decode_payload(payload: bytes, source: str = "<plan>") -> bytes:
    """Returns the body of a payload after all checks that only need its bytes.

    Args:
        payload: payload of the plan.
        source: name of the file, for messages.

    Raises:
        DamagedPlanError: the payload is truncated, modified, or not hipgraft's.
        PlanVersionError: this version of hipgraft cannot read its format.
    """
    if len(payload) < HEADER_SIZE:
        message = f"the plan's payload has {len(payload)} bytes; expected {HEADER_SIZE} or more"
        raise DamagedPlanError(message, location=source)
    magic, major, minor, kind, header_size, reserved, digest = _HEADER.unpack_from(payload)
    if magic != MAGIC:
        raise DamagedPlanError("the plan's payload is none of hipgraft's", location=source)
    if major != MAJOR or minor > MINOR:
        message = f"the plan's format has version {major}.{minor}; expected {MAJOR}.{MINOR}"
        raise PlanVersionError(message, location=source)
    if kind != KIND_BUNDLE:
        message = f"the plan's payload is of kind {kind}; expected {KIND_BUNDLE}"
        raise PlanVersionError(message, location=source)
    if not HEADER_SIZE <= header_size < len(payload) or reserved:
        raise DamagedPlanError("the plan's header is damaged", location=source)
    body = payload[header_size:]
    if hashlib.sha256(body).digest() != digest:
        raise DamagedPlanError("the plan's body is damaged", location=source)
    return body


def engine_id(name: str) -> int:
    """Returns the id that hipDNN gives an engine: the 64-bit FNV-1a hash of its name, signed."""
    digest = 0xCBF29CE484222325
    for byte in name.encode():
        digest = (digest ^ byte) * 0x100000001B3 % (1 << 64)
    return digest - (1 << 64) if digest >> 63 else digest

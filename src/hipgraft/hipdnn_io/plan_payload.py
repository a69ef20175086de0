"""Encodes the payload of hipgraft's engine in hipDNN's serialized plans: a header and a body.

hipDNN stores the payload and returns it later; the plugin checks its format, version and
architecture. The body has a bundle (`hipgraft.runtime.bundle`) and, for executions with other
shapes, the graph. `HEADER` defines the format: libhipgraft's plugin reads the same bytes, and
docs/hipdnn-plans.md has the same table.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

from hipgraft.ir.diagnostics import HipgraftError

MAGIC = b"HIPGPLAN"
MAJOR, MINOR = 2, 0
KIND_PARTS = 1

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
    HeaderField("kind", "H", f"of the body: {KIND_PARTS} for the parts below"),
    HeaderField("header_size", "H", "bytes from the beginning to the body; 68 or more"),
    HeaderField("reserved", "I", "0"),
    HeaderField("sha256", "32s", "SHA-256 of all bytes that follow"),
    HeaderField("bundle_size", "Q", "bytes of the bundle"),
    HeaderField("settings_size", "I", "bytes of the settings"),
    HeaderField("flags", "I", "1 if the first execution with other shapes compiles; else 0"),
)
"""The fields, in order, little-endian and without gaps."""

_HEADER = struct.Struct("<" + "".join(field.code for field in HEADER))
HEADER_SIZE = _HEADER.size
DIGESTED = struct.calcsize("<8s4HI32s")
"""The offset of the first byte that the SHA-256 covers."""
_COMPILES = 1


@dataclass(frozen=True)
class Overridable:
    """The part of a payload that executions with other shapes need.

    Attributes:
        graph: hipDNN's FlatBuffer, with `is_override_shape_enabled`.
        settings: settings of the compilation as they follow the architecture in targets, such as
            `;search=full`.
        compiles: whether the first execution with other shapes compiles its program; otherwise
            only shapes with a program in the cache run.
    """

    graph: bytes
    settings: str = ""
    compiles: bool = True


@dataclass(frozen=True)
class Payload:
    """The parts of a payload.

    Attributes:
        bundle: bytes of the bundle.
        overridable: the graph, if executions may have other shapes.
    """

    bundle: bytes
    overridable: Overridable | None = None


class PlanError(HipgraftError):
    """A plan that cannot be restored."""


class DamagedPlanError(PlanError):
    """The plan is damaged, or not hipgraft's. hipDNN gets `INVALID_VALUE`."""


class PlanVersionError(PlanError):
    """The plan has another version of the format. hipDNN gets `NOT_APPLICABLE`."""


class PlanArchitectureError(PlanError):
    """The plan is for other architectures. hipDNN gets `NOT_APPLICABLE`."""


def encode_payload(payload: Payload) -> bytes:
    """Returns the bytes of a payload, in the current version of the format."""
    given = payload.overridable or Overridable(b"", compiles=False)
    settings = given.settings.encode()
    sizes = len(payload.bundle), len(settings), _COMPILES * given.compiles
    body = payload.bundle + settings + given.graph
    header = _HEADER.pack(MAGIC, MAJOR, MINOR, KIND_PARTS, HEADER_SIZE, 0, bytes(32), *sizes)
    digest = hashlib.sha256(header[DIGESTED:] + body).digest()
    return header[: DIGESTED - len(digest)] + digest + header[DIGESTED:] + body


def decode_payload(payload: bytes, source: str = "<plan>") -> Payload:
    """Returns the parts of a payload after all checks that only need its bytes.

    Args:
        payload: payload of the plan.
        source: name of the file, for messages.

    Raises:
        DamagedPlanError: the payload is truncated, modified, or not hipgraft's.
        PlanVersionError: this version of hipgraft cannot read its format.
    """
    if len(payload) < DIGESTED:
        message = f"the plan's payload has {len(payload)} bytes; expected {HEADER_SIZE} or more"
        raise DamagedPlanError(message, location=source)
    # Headers of other versions may be shorter than this one's.
    fields = _HEADER.unpack(payload[:HEADER_SIZE].ljust(HEADER_SIZE, b"\0"))
    magic, major, minor, kind, header_size, reserved, digest = fields[:7]
    if magic != MAGIC:
        raise DamagedPlanError("the plan's payload is none of hipgraft's", location=source)
    if major != MAJOR or minor > MINOR:
        message = f"the plan's format has version {major}.{minor}; expected {MAJOR}.{MINOR}"
        raise PlanVersionError(message, location=source)
    if kind != KIND_PARTS:
        message = f"the plan's payload is of kind {kind}; expected {KIND_PARTS}"
        raise PlanVersionError(message, location=source)
    if not HEADER_SIZE <= header_size < len(payload) or reserved:
        raise DamagedPlanError("the plan's header is damaged", location=source)
    if hashlib.sha256(payload[DIGESTED:]).digest() != digest:
        raise DamagedPlanError("the plan's body is damaged", location=source)
    return _parts(payload[header_size:], fields[7:], source)


def _parts(body: bytes, fields: tuple[int, ...], source: str) -> Payload:
    """Divides the body, and checks the parts that only executions with other shapes use."""
    bundle_size, settings_size, flags = fields
    end = bundle_size + settings_size
    if end > len(body):
        raise DamagedPlanError("the plan's body is shorter than its parts", location=source)
    bundle, settings, graph = body[:bundle_size], body[bundle_size:end], body[end:]
    if not graph:
        if settings or flags:
            message = "the plan has settings for a graph, but no graph"
            raise DamagedPlanError(message, location=source)
        return Payload(bundle)
    if flags & ~_COMPILES or not settings.isascii():
        raise DamagedPlanError("the plan's settings are damaged", location=source)
    return Payload(bundle, Overridable(graph, settings.decode(), bool(flags)))


def engine_id(name: str) -> int:
    """Returns the id that hipDNN gives an engine: the 64-bit FNV-1a hash of its name, signed."""
    digest = 0xCBF29CE484222325
    for byte in name.encode():
        digest = (digest ^ byte) * 0x100000001B3 % (1 << 64)
    return digest - (1 << 64) if digest >> 63 else digest

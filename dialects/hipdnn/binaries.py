"""Checks the binaries of an executable: code objects and the steps that run them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hipgraft.dialects.framework.kinds import BLOBS, DICTIONARIES, INT, INTS, STRING, Kind
from hipgraft.dialects.hipdnn.op import HipdnnOp
from hipgraft.ir.bindings import ir

_Keys = Mapping[str, Kind[Any]]

_BINARY: _Keys = {
    "target": STRING,
    "format": STRING,
    "objects": BLOBS,
    "workspace_size": INT,
}
_STEPS: dict[str, _Keys] = {
    "fill": {"buffer": INT, "offset": INT, "length": INT, "pattern": INT, "pattern_length": INT},
    "copy": {
        "source": INT,
        "source_offset": INT,
        "target": INT,
        "target_offset": INT,
        "length": INT,
    },
    "dispatch": {
        "object": INT,
        "kernel": STRING,
        "grid": INTS,
        "block": INTS,
        "dynamic_shared_memory": INT,
        "bindings": DICTIONARIES,
    },
}
_BINDING: _Keys = {"buffer": INT, "offset": INT, "length": INT, "access": STRING}
_BUFFERS = ("buffer", "source", "target")


def check_binary(op: HipdnnOp, binary: ir.DictAttr, tensors: int) -> None:
    """Checks one binary of the executable `op`, whose signature has `tensors` tensors.

    Raises:
        VerifyError: a key is missing or of the wrong kind, or a step names a missing buffer or
        code object.
    """
    _check_keys(op, "binary", binary, _BINARY)
    if "steps" not in binary:
        return
    _check_keys(op, "binary", binary, {"steps": DICTIONARIES})
    for step in DICTIONARIES.read(binary["steps"]):
        _check_step(op, step, tensors, len(ir.ArrayAttr(binary["objects"])))


def _check_step(op: HipdnnOp, step: ir.DictAttr, tensors: int, objects: int) -> None:
    _check_keys(op, "step", step, {"op": STRING})
    name = STRING.read(step["op"])
    if name not in _STEPS:
        raise op.error(f"expected a step of {', '.join(_STEPS)}, but found '{name}'")
    _check_keys(op, name, step, _STEPS[name])
    _check_buffers(op, name, step, tensors)
    if name != "dispatch":
        return
    if not 0 <= INT.read(step["object"]) < objects:
        raise op.error(f"expected an object in [0, {objects}), but found {step['object']}")
    for dims in ("grid", "block"):
        if len(INTS.read(step[dims])) != 3:
            raise op.error(f"expected 3 values in '{dims}', but found {step[dims]}")
    for binding in DICTIONARIES.read(step["bindings"]):
        _check_keys(op, "binding", binding, _BINDING)
        _check_buffers(op, "binding", binding, tensors)


def _check_buffers(op: HipdnnOp, what: str, fields: ir.DictAttr, tensors: int) -> None:
    for name in _BUFFERS:
        # The workspace's number follows the numbers of the tensors.
        if name in fields and not 0 <= INT.read(fields[name]) <= tensors:
            raise op.error(
                f"expected '{name}' of a {what} in [0, {tensors}], but found {fields[name]}"
            )


def _check_keys(op: HipdnnOp, what: str, fields: ir.DictAttr, keys: _Keys) -> None:
    for name, kind in keys.items():
        if name not in fields:
            raise op.error(f"expected '{name}' in a {what}")
        try:
            value = fields[name]
        except TypeError:  # the bindings have no Python type for locations and `array<ui8>`
            raise op.error(f"expected '{name}' of a {what} to be {kind.description}") from None
        if not kind.matches(value):
            raise op.error(
                f"expected '{name}' of a {what} to be {kind.description}, but found {value}"
            )

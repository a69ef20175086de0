"""Reads MLIR files, also torch modules that torch-mlir's importer writes but cannot verify."""

from __future__ import annotations

import re
from pathlib import Path

from hipgraft.bindings import ir
from hipgraft.diagnostics import HipgraftError, native_diagnostic

_IN_PLACE = re.compile(
    r"= torch\.(aten\.[a-z0-9_]*[a-z0-9]_(?:\.\w+)?) ([^:]*) : (.*) -> (!torch\.vtensor<.*>)$",
    re.MULTILINE,
)
"""An in-place op with a value tensor as result, which the dialect's verifier rejects."""

_AS_OPERATOR = r'= torch.operator "torch.\1"(\2) : (\3) -> \4'
_BYTECODE = b"ML\xefR"


def read_mlir(path: Path, context: ir.Context) -> ir.Module:
    """Parses an MLIR file, text or bytecode.

    A plain import of `torch.export` may hold in-place ops on value tensors. They become
    `torch.operator` ops, which parse; `torch-legalize-operators` gives them value semantics.

    Raises:
        HipgraftError: the file cannot be read or is invalid; located at its line.
    """
    data = _read(path)
    repaired = _repaired(data)
    try:
        if repaired is None:
            return ir.Module.parseFile(str(path), context)
        return _module_of(ir.Operation.parse(repaired, source_name=str(path), context=context))
    except ir.MLIRError as error:
        raise _located(error, path) from None


def _read(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise HipgraftError(f"cannot read: {error.strerror}", location=str(path)) from error
    if not data.strip():
        raise HipgraftError("the file is empty", location=str(path))
    return data


def _repaired(data: bytes) -> str | None:
    if data.startswith(_BYTECODE):
        return None
    text, repairs = _IN_PLACE.subn(_AS_OPERATOR, data.decode(errors="replace"))
    return text if repairs else None


def _module_of(operation: ir.OpView) -> ir.Module:
    """`Operation.parse` names the file in locations, but returns no `ir.Module`."""
    module = ir.Module.create(operation.location)
    for op in list(operation.operation.regions[0].blocks[0].operations):
        module.body.append(op)
    return module


def _located(error: ir.MLIRError, path: Path) -> HipgraftError:
    if not error.error_diagnostics:
        return HipgraftError("invalid MLIR", location=str(path))
    first = native_diagnostic(error.error_diagnostics[0])
    return HipgraftError(first.message, location=first.location or str(path))

"""Reads MLIR files, including torch modules that torch-mlir's importer writes but rejects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from hipgraft.dialects import source
from hipgraft.ir import io as ir_io
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import MEMORY_NAME, Diagnostic, HipgraftError, Severity, diagnostics_to

_IN_PLACE = re.compile(
    r"= torch\.(aten\.[a-z0-9_]*[a-z0-9]_(?:\.\w+)?) ([^:]*) : (.*) -> (!torch\.vtensor<.*>)$",
    re.MULTILINE,
)
"""An in-place op with a value tensor as result, which the dialect's verifier rejects."""

_AS_OPERATOR = r'= torch.operator "torch.\1"(\2) : (\3) -> \4'


def read_mlir(path: Path, context: ir.Context) -> ir.Module:
    """Parses an MLIR file, text or bytecode.

    A plain import of `torch.export` may hold in-place ops on value tensors. They become
    `torch.operator` ops, which parse; `torch-legalize-operators` gives them value semantics.

    Raises:
        HipgraftError: the file cannot be read or is invalid; located at its line.
    """
    # Weights in bytecode stay in the file.
    data = b"" if ir_io.is_bytecode_file(path) else ir_io.read_bytes(str(path))
    if not ir_io.is_bytecode_file(path) and not data.strip():
        raise HipgraftError("the file is empty", location=str(path))
    return parse_mlir(data, str(path), context)


def parse_mlir(data: bytes, name: str, context: ir.Context) -> ir.Module:
    """Parses MLIR, text or bytecode, as `read_mlir` does.

    Args:
        data: text or bytecode; empty for bytecode that is in the file.
        name: name of the file, or of its substitute in locations.
        context: context of the module.

    Raises:
        HipgraftError: it is invalid; located at its line.
    """
    is_text = bool(data) and not ir_io.is_bytecode(data)
    repaired = _repaired(data, name) if is_text else None
    diagnostics: list[Diagnostic] = []
    try:
        with diagnostics_to(context, diagnostics.append):
            if repaired is None and (not is_text or Path(name).is_file()):
                return source.parse_file(name, data, context)
            return source.parse_chunk(repaired or ir_io.decode(data, name), 1, name, context)
    except ir.MLIRError:
        raise _first_error(diagnostics, name) from None


def _repaired(data: bytes, name: str) -> str | None:
    text, repairs = _IN_PLACE.subn(_AS_OPERATOR, ir_io.decode(data, name))
    return text if repairs else None


def _first_error(diagnostics: Sequence[Diagnostic], name: str) -> HipgraftError:
    for diagnostic in diagnostics:
        if diagnostic.severity is Severity.ERROR:
            location = diagnostic.location
            if location.startswith(f"{MEMORY_NAME}:"):
                location = f"{name}{location.removeprefix(MEMORY_NAME)}"
            return HipgraftError(diagnostic.message, location=location or name)
    return HipgraftError("invalid MLIR", location=name)

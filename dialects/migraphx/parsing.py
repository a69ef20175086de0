"""Parses migraphx text into the IR."""

from __future__ import annotations

from hipgraft.dialects.migraphx.reader import to_generic
from hipgraft.dialects.migraphx.verifier import verify
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import diagnostics_to, split_location


def parse_module(text: str, line: int, name: str, context: ir.Context) -> ir.Module:
    """Parses text that begins at 1-based `line` of the source `name`.

    MLIR's own verifier runs first. If it fails, errors of the dialect are reported instead, because
    they are the cause.

    Raises:
        HipgraftError: an operation or type is malformed; located.
        ir.MLIRError: the module does not parse or verify; the context's handlers hold the
            diagnostics.
    """
    padding = "\n" * (line - 1)
    generic = padding + to_generic(text, name, line)
    try:
        with diagnostics_to(context, lambda diagnostic: None):
            return ir.Module.parse(generic, context)
    except ir.MLIRError:
        _report_dialect_errors(padding + to_generic(text, name, line, plain_returns=False), context)
        return ir.Module.parse(generic, context)


def _report_dialect_errors(text: str, context: ir.Context) -> None:
    """Emits our verifier's errors if MLIR accepts the text except for its returns.

    Raises:
        ir.MLIRError: our verifier finds an error.
    """
    try:
        with diagnostics_to(context, lambda diagnostic: None):
            module = ir.Module.parse(text, context)
    except ir.MLIRError:
        return
    errors = verify(module)
    for error in errors:
        position = split_location(error.location) or (error.location, 0, 0)
        ir.Location.file(*position, context=context).emit_error(error.message)
    if errors:
        raise ir.MLIRError("the module breaks rules of the migraphx dialect", [])

"""Converts host programs to and from the MLIR bytecode in bundles."""

from __future__ import annotations

from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.bytecode import parse_bytecode, to_bytecode
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.foreign_modules import check_reader
from hipgraft.runtime.host_program.form import PARAMETERS


def host_bytes(module: ir.Module) -> bytes:
    """Returns a host program with its constants as MLIR bytecode.

    Raises:
        HipgraftError: the constants are in a separate file.
    """
    if PARAMETERS in module.operation.attributes:
        raise HipgraftError(
            "a bundle of dynamic shapes holds its constants, which are in a parameter file; "
            "compile the program with --constants=globals"
        )
    return to_bytecode(module)


def parse_host(data: bytes | memoryview) -> ir.Module:
    """Parses bytes that `host_bytes` returned, in a separate context.

    Raises:
        HipgraftError: the data is not a host program.
        ir.MLIRError: the module does not verify.
    """
    context = make_context()
    check_reader(len(data), "", lambda: parse_bytecode(data, context))
    return parse_bytecode(data, context)

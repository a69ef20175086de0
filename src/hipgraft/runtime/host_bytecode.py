"""Host programs in bundles: MLIR bytecode."""

from __future__ import annotations

import tempfile
from io import BytesIO

from hipgraft.bindings import ir, make_context
from hipgraft.diagnostics import HipgraftError
from hipgraft.runtime.host_form import PARAMETERS


def host_bytes(module: ir.Module) -> bytes:
    """Returns a host program with its constants.

    Raises:
        HipgraftError: its constants are in a file of their own.
    """
    if PARAMETERS in module.operation.attributes:
        raise HipgraftError(
            "a bundle of dynamic shapes holds its constants, which are in a parameter file; "
            "compile the program with --constants=globals"
        )
    buffer = BytesIO()
    module.operation.write_bytecode(buffer)
    return buffer.getvalue()


def parse_host(data: bytes | memoryview) -> ir.Module:
    """Parses what `host_bytes` returned, in a context of its own."""
    # Constants ask for an alignment that memory of Python's need not have, and mapped files do.
    with tempfile.NamedTemporaryFile(suffix=".mlirbc") as file:
        file.write(data)
        file.flush()
        return ir.Module.parseFile(file.name, make_context())

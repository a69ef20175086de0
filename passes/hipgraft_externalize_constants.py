"""hipgraft-externalize-constants: turns constants into arguments, with values in a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError, PassFailure
from hipgraft.ir.element_types import byte_size
from hipgraft.ir.entry_points import functions_of
from hipgraft.ir.resources import is_resource
from hipgraft.passmanager.base import Pass, PassState, option
from hipgraft.runtime.host_program.form import (
    PARAMETERS,
    PARAMETERS_DIGEST,
    externalize_constants,
    globals_of,
)
from hipgraft.runtime.parameter_files import constant_buffers, write_parameters
from hipgraft.transforms.variant_dispatch import add_dispatchers

_INLINE_BYTES = 256  # fits scalars and small vectors


def _is_large(op: ir.Operation) -> bool:
    """Whether a constant would be hard to read; resources are always large."""
    memref = ir.MemRefType(ir.TypeAttr(op.attributes["type"]).value)
    nbytes = byte_size(memref.shape, memref.element_type) or 0
    if nbytes > _INLINE_BYTES:
        return True
    return is_resource(op.attributes["initial_value"])


@dataclass(frozen=True)
class HipgraftExternalizeConstantsPass(Pass):
    """Makes large constants of a host program arguments, and writes their values to a file.

    Before:
        ```mlir
        memref.global "private" constant @w : memref<64xf16> = dense_resource<w>
        func.func @main(%x: memref<64xf16>, %y: memref<64xf16>)
            attributes {hipgraft.results = 1 : i64} {
          %w = memref.get_global @w : memref<64xf16>
          ...
        ```

    After:
        ```mlir
        module attributes {hipgraft.parameters = "model.safetensors",
                           hipgraft.parameters_digest = "9f86d0…"} {
        func.func @main(%x: memref<64xf16>, %w: memref<64xf16>, %y: memref<64xf16>)
            attributes {hipgraft.constants = ["w"], hipgraft.results = 1 : i64} {
          ...
        ```

    Requires:
        Stage `host`.

    Ensures:
        No `memref.global` of a resource, or of more than 256 bytes, is left. A function takes
        these constants as arguments before its results, in the order of `hipgraft.constants`. If
        the values are in a file, `hipgraft.parameters` names this file, which is beside the
        program, and `hipgraft.parameters_digest` is the digest of its content; the runtime maps
        and uploads it once. Without a file, the caller passes the values.

    Errors:
        The file cannot be written, its name implies no format, or the format has no type for a
        constant.

    Source:
        own
    """

    name: ClassVar[str] = "hipgraft-externalize-constants"
    requires: ClassVar[str | None] = "host"
    ensures: ClassVar[str | None] = "host"

    file: str = option("", "parameter file to write (.safetensors, .irpa); by default none")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Externalizes the constants of all functions."""
        constants = {name: op for name, op in globals_of(module).items() if _is_large(op)}
        if not constants:
            return
        if self.file:
            try:
                digest = write_parameters(self.file, constant_buffers(module, list(constants)))
            except HipgraftError as error:
                raise PassFailure(error.message, module.operation) from None
            attributes = module.operation.attributes
            attributes[PARAMETERS] = ir.StringAttr.get(Path(self.file).name)
            attributes[PARAMETERS_DIGEST] = ir.StringAttr.get(digest)
        for function in functions_of(module):
            externalize_constants(function, constants)
        for op in constants.values():
            op.erase()
        add_dispatchers(module)
        state.count("constants-externalized", len(constants))

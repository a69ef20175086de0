"""hipgraft-externalize-constants: constants become arguments, their values a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hipgraft.bindings import ir
from hipgraft.diagnostics import HipgraftError, PassFailure
from hipgraft.element_types import byte_size
from hipgraft.parameters import constant_buffers, write_parameters
from hipgraft.pass_base import Pass, PassState, option
from hipgraft.runtime.elements import is_resource
from hipgraft.runtime.entry import functions_of
from hipgraft.runtime.host_form import PARAMETERS, externalize_constants, globals_of
from hipgraft.variant_dispatch import add_dispatchers

_INLINE_BYTES = 256  # more than scalars and small vectors take


def _is_large(op: ir.Operation) -> bool:
    """Whether a constant would be hard to read; what is in a resource was too large before."""
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
        module attributes {hipgraft.parameters = "model.safetensors"} {
        func.func @main(%x: memref<64xf16>, %w: memref<64xf16>, %y: memref<64xf16>)
            attributes {hipgraft.constants = ["w"], hipgraft.results = 1 : i64} {
          ...
        ```

    Requires:
        Stage `host`.

    Ensures:
        No function reads a `memref.global` of a resource or of more than 256 bytes, and those
        are gone. In front of its
        results, a function takes what `hipgraft.constants` names. With a file,
        `hipgraft.parameters` tells where they are, and whoever runs the program maps and uploads
        them once; without, the caller passes them.

    Errors:
        The file cannot be written, its name tells no format, or the format has no type for a
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
                write_parameters(self.file, constant_buffers(module, list(constants)))
            except HipgraftError as error:
                raise PassFailure(error.message, module.operation) from None
            name = ir.StringAttr.get(Path(self.file).name)
            module.operation.attributes[PARAMETERS] = name
        for function in functions_of(module):
            externalize_constants(function, constants)
        for op in constants.values():
            op.erase()
        add_dispatchers(module)
        state.count("constants-externalized", len(constants))

"""hipgraft-select-variants: adds a function that selects among a host program's variants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.transforms.variant_dispatch import add_dispatchers


@dataclass(frozen=True)
class HipgraftSelectVariantsPass(Pass):
    """Adds a function that calls the variant whose shapes fit its arguments.

    Before:
        ```mlir
        func.func @main_batch_1(%x: memref<1x64xf16>, %y: memref<1x64xf16>)
            attributes {hipgraft.dims = {batch = 1 : i64}, hipgraft.variant_of = "main", ...}
        func.func @main_batch_8(%x: memref<8x64xf16>, %y: memref<8x64xf16>)
            attributes {hipgraft.dims = {batch = 8 : i64}, hipgraft.variant_of = "main", ...}
        ```

    After:
        ```mlir
        func.func @main(%x: memref<?x64xf16>, %y: memref<?x64xf16>)
            attributes {hipgraft.variants = ["main_batch_1", "main_batch_8"], ...} {
          %d = memref.dim %x, %c0 : memref<?x64xf16>
          %0 = arith.cmpi eq, %d, %c1 : index
          scf.if %0 {
            %1 = memref.cast %x : memref<?x64xf16> to memref<1x64xf16>
            %2 = memref.cast %y : memref<?x64xf16> to memref<1x64xf16>
            func.call @main_batch_1(%1, %2) : (memref<1x64xf16>, memref<1x64xf16>) -> ()
          } else {
            ...
            cf.assert %false, "no variant of the program is for inputs of these shapes"
          }
          func.return
        }
        ```

    Requires:
        Stage `host`.

    Ensures:
        There is one such function per program and set of targets; an existing one is replaced. The
        caller passes results in the shapes of the variant. Constants that any variant takes as
        arguments are passed in front of the results, as `hipgraft.constants` names them.

    Errors:
        None.

    Source:
        own
    """

    name: ClassVar[str] = "hipgraft-select-variants"
    requires: ClassVar[str | None] = "host"
    ensures: ClassVar[str | None] = "host"

    def run(self, module: ir.Module, state: PassState) -> None:
        """Adds the functions at the end of the module."""
        state.count("functions-added", len(add_dispatchers(module)))

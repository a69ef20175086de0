"""Brings torch ops to backend form; types are inferred only where any is unknown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir, passmanager
from hipgraft.ir.diagnostics import Diagnostic, diagnostics_to
from hipgraft.passmanager.base import Pass, PassState, option

# Tensor types with a dynamic extent, or without a shape or an element type.
_UNKNOWN = re.compile(r"!torch\.v?tensor(?!<\[[\d,]*\],(?!unk))")


def _is_known(module: ir.Module) -> bool:
    """Whether all tensors have static shapes and element types."""
    text = module.operation.get_asm(large_elements_limit=1, large_resource_limit=1)
    return _UNKNOWN.search(text) is None


@dataclass(frozen=True)
class TorchSimplifyPass(Pass):
    """Runs torch-mlir's backend pipeline, which infers types only if the module needs it.

    The pipeline gives all tensors value semantics, reduces the overloads of ops and decomposes ops.
    Its inference of shapes and element types parses a large library, which takes longer
    than all the rest for a small program. Programs whose types are known do without.

    Before:
        ```mlir
        %0 = torch.aten.add_.Tensor %x, %y, %int1 : ... -> !torch.vtensor<[4],f32>
        %1 = torch.aten.square %0 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
        ```

    After:
        ```mlir
        %0 = torch.aten.add.Tensor %x, %y, %int1 : ... -> !torch.vtensor<[4],f32>
        %1 = torch.aten.mul.Tensor %0, %0 : ... -> !torch.vtensor<[4],f32>
        ```

    Requires:
        A torch module.

    Ensures:
        torch-mlir's backend contract.

    Errors:
        Those of torch-mlir's pipeline, such as a tensor whose rank cannot be inferred.

    Source:
        torch-mlir's `torch-function-to-torch-backend-pipeline`
    """

    name: ClassVar[str] = "torch-simplify"

    decompose: bool = option(True, "decompose ops")
    backend_legal_ops: tuple[str, ...] = option((), "ops that are not decomposed")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Runs the pipeline without inference if that is enough, and otherwise with it."""
        if _is_known(module) and self._try_without_inference(module) and _is_known(module):
            return
        state.count("inferences")
        self._run(module)

    def _try_without_inference(self, module: ir.Module) -> bool:
        emitted: list[Diagnostic] = []
        with diagnostics_to(module.context, emitted.append):
            try:
                self._run(module, {"shape-dtype-refine": "false"})
            except ir.MLIRError:  # types of what ops became are unknown
                return False
        return not emitted

    def _run(self, module: ir.Module, options: Mapping[str, str] | None = None) -> None:
        chosen = {"decompose-complex-ops": str(self.decompose).lower(), **(options or {})}
        if self.backend_legal_ops:
            chosen["backend-legal-ops"] = ",".join(self.backend_legal_ops)
        text = " ".join(f"{name}={value}" for name, value in chosen.items())
        # Inference would also have merged equal constants and lists.
        pipeline = f"builtin.module(torch-function-to-torch-backend-pipeline{{{text}}},cse)"
        passmanager.PassManager.parse(pipeline, module.context).run(module.operation)

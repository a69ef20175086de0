"""Brings torch ops to backend form; types are inferred only where any is unknown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir, passmanager
from hipgraft.ir.diagnostics import Diagnostic, diagnostics_to
from hipgraft.ir.io import walk
from hipgraft.ir.torch_dialect import extents_and_element, torch_op
from hipgraft.passmanager.base import Pass, PassState, option

# Tensor types with a dynamic extent, or without a shape or an element type.
_UNKNOWN = re.compile(r"!torch\.v?tensor(?!<\[[\d,]*\],(?!unk))")


def _is_known(module: ir.Module) -> bool:
    """Whether all tensors have static shapes and element types."""
    text = module.operation.get_asm(large_elements_limit=1, large_resource_limit=1)
    return _UNKNOWN.search(text) is None


def _spell_nan_tests(module: ir.Module) -> None:
    """Rewrites `x == x` of floats to `not (x != x)`: torch-mlir folds it to true, also of NaN."""
    found = [op for op in walk(module.operation) if _is_nan_test(op)]
    for op in found:
        kind = [op.results[0].type]
        with ir.InsertionPoint(op), op.location:
            is_nan = torch_op("aten.ne.Tensor", list(op.operands), kind).result
            op.results[0].replace_all_uses_with(torch_op("aten.logical_not", [is_nan], kind).result)
        op.erase()


def _is_nan_test(op: ir.Operation) -> bool:
    if op.name != "torch.aten.eq.Tensor" or op.operands[0] != op.operands[1]:
        return False
    kind = extents_and_element(op.operands[0].type)
    return kind is None or "f" in kind[1]


@dataclass(frozen=True)
class TorchSimplifyPass(Pass):
    """Runs torch-mlir's backend pipeline, which infers types only if the module needs it.

    The pipeline gives all tensors value semantics, reduces the overloads of ops and decomposes ops.
    Its inference of shapes and element types parses a large library, which takes longer than all
    the rest for a small program. Programs whose types are known do without. Comparisons of floats
    with themselves, which detect NaN, are kept.

    Before:
        ```mlir
        %0 = torch.aten.square %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
        ```

    After:
        ```mlir
        %0 = torch.aten.mul.Tensor %x, %x : ... -> !torch.vtensor<[4],f32>
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
        _spell_nan_tests(module)
        if _is_known(module) and self._try_without_inference(module) and _is_known(module):
            return
        state.count("inferences")
        self._run(module, infers=True)

    def _try_without_inference(self, module: ir.Module) -> bool:
        emitted: list[Diagnostic] = []
        with diagnostics_to(module.context, emitted.append):
            try:
                self._run(module, infers=False)
            except ir.MLIRError:  # the types of rewritten ops are unknown
                return False
        return not emitted

    def _run(self, module: ir.Module, *, infers: bool) -> None:
        options = {"decompose-complex-ops": self.decompose, "shape-dtype-refine": infers}
        text = " ".join(f"{name}={str(value).lower()}" for name, value in options.items())
        if self.backend_legal_ops:
            text += f" backend-legal-ops={','.join(self.backend_legal_ops)}"
        # Inference would also have merged equal constants and lists.
        pipeline = f"builtin.module(torch-function-to-torch-backend-pipeline{{{text}}},cse)"
        passmanager.PassManager.parse(pipeline, module.context).run(module.operation)

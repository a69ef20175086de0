"""Checks that a torch module has the form that the conversion to hipDNN requires."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import VerifyError
from hipgraft.ir.entry_points import SYMBOLS, VARIANT_OF
from hipgraft.ir.sizes import check_sizes
from hipgraft.ir.torch_dialect import extents_and_element, shape_and_element
from hipgraft.passmanager.base import Pass, PassState

_TENSOR = re.compile(r"!torch\.v?tensor|tensor<")


def _check_functions(module: ir.Module) -> None:
    functions = [op.operation for op in module.body.operations]
    public = [op for op in functions if op.name == "func.func" and _is_public(op)]
    is_one_program = len(public) == 1 or all(VARIANT_OF in op.attributes for op in public)
    if not public or len(functions) != len(public) or not is_one_program:
        raise VerifyError(f"expected one public function, found {len(functions)}", module.operation)
    for function in public:
        _check_function(function)


def _check_function(function: ir.Operation) -> None:
    if len(list(function.regions[0].blocks)) != 1:
        raise VerifyError("expected a function of one block", function)
    block = function.regions[0].blocks[0]
    read = extents_and_element if SYMBOLS in function.attributes else shape_and_element
    for index, argument in enumerate(block.arguments):
        if read(argument.type) is None:
            what = f"argument #{index} of type '{argument.type}' is no tensor of static shape"
            raise VerifyError(what, function)
    for op in block.operations:
        _check_op(op.operation, read)


def _is_public(function: ir.Operation) -> bool:
    visibility = function.attributes
    return "sym_visibility" not in visibility or "private" not in str(visibility["sym_visibility"])


def _check_op(op: ir.Operation, read: Callable[[ir.Type], object]) -> None:
    if op.name == "torch.operator":
        name = ir.StringAttr(op.attributes["name"]).value
        raise VerifyError(f"operator '{name}' is not supported", op)
    if len(op.regions):
        raise VerifyError(f"'{op.name}' op is control flow, which is not supported", op)
    for result in op.results:
        if _TENSOR.match(str(result.type)) and read(result.type) is None:
            raise VerifyError(f"'{op.name}' op has no static shape: '{result.type}'", op)


@dataclass(frozen=True)
class TorchCheckBackendFormPass(Pass):
    """Checks that a torch module is one program whose shapes are known, and changes nothing.

    The program is one public function, or several that are variants of one. Shapes may be dynamic
    where the frontend left dimensions of the arguments so.

    Before:
        ```mlir
        func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
          %0 = torch.operator "torch.my.op"(%x) : (...) -> !torch.vtensor<[4],f32>
        ```

    After:
        An error: operator 'torch.my.op' is not supported.

    Requires:
        A torch module after torch-mlir's backend pipeline.

    Ensures:
        Stage `torch`, or functions of dynamic shapes whose dimensions have names.

    Errors:
        Other ops than functions in the module, or several programs. An argument or result without a
        static shape, an operator that torch-mlir does not know, and control flow, at the op. A
        tensor that is larger than a target can address.

    Source:
        own
    """

    name: ClassVar[str] = "torch-check-backend-form"

    def run(self, module: ir.Module, state: PassState) -> None:
        """Raises an error at the first op that breaks the rules of the stage."""
        _check_functions(module)
        check_sizes(module.operation)

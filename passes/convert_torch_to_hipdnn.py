"""Converts torch functions to hipDNN ops on builtin tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import func_d, ir
from hipgraft.ir.builders import attributes_of
from hipgraft.ir.diagnostics import Declined, PassFailure
from hipgraft.ir.io import return_of
from hipgraft.ir.symbols import symbol_of
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.transforms.torch_to_hipdnn import CONVERSIONS, Converter
from hipgraft.transforms.torch_to_hipdnn.converter import builtin_tensor_type


def _is_torch_function(operation: ir.Operation) -> bool:
    if operation.name != "func.func" or not operation.regions[0].blocks:
        return False
    types = operation.attributes["function_type"]
    return "!torch.vtensor" in str(types)


def _signature(function: ir.Operation) -> ir.FunctionType:
    """Returns the function's type on builtin tensors."""
    old = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    try:
        inputs = [builtin_tensor_type(kind) for kind in old.inputs]
        results = [builtin_tensor_type(kind) for kind in old.results]
    except Declined as reason:
        raise PassFailure(f"'func.func' op {reason}", function) from None
    return ir.FunctionType.get(inputs, results)


def _convert_function(function: ir.Operation, state: PassState) -> None:
    blocks = list(function.regions[0].blocks)
    if len(blocks) != 1:
        raise PassFailure(
            "'func.func' op expected one block: control flow is not supported", function
        )
    for each in blocks[0].operations:
        if len(each.operation.regions):  # its regions use values that the conversion replaces
            raise PassFailure(
                f"'{each.operation.name}' op has regions: control flow is not supported", each
            )
    name = symbol_of(function)
    new = func_d.FuncOp(
        name, _signature(function), ip=ir.InsertionPoint(function), loc=function.location
    )
    for key, value in attributes_of(function).items():
        if key.startswith("hipgraft."):
            new.operation.attributes[key] = value
    entry = new.add_entry_block([argument.location for argument in blocks[0].arguments])
    terminator = return_of(blocks[0])
    converter = Converter(CONVERSIONS, state)
    with ir.InsertionPoint(entry):
        results = converter.convert_block(blocks[0], list(entry.arguments), terminator)
        func_d.ReturnOp(results, loc=terminator.location)
    function.erase()
    _erase_unused(entry)


def _erase_unused(block: ir.Block) -> None:
    """Erases unused constants and casts that declined matches made, last first."""
    for operation in reversed([op.operation for op in block.operations]):
        if operation.name == "func.return":
            continue
        if operation.results and all(not _is_used(result) for result in operation.results):
            operation.erase()


def _is_used(value: ir.Value) -> bool:
    return next(iter(value.uses), None) is not None


@dataclass(frozen=True)
class ConvertTorchToHipdnnPass(Pass):
    """Converts torch ops to hipDNN ops, op by op; ops that do not convert stay, with a remark.

    The function's signature becomes builtin tensors. Reshapes, transposes, slices and expands
    become `hipdnn.view` if strides can express them. A pointwise op on a reshaped result is
    computed in the shape of the op that made the result. Ops that stay keep their torch form
    between `torch_c` casts.

    Before:
        ```mlir
        func.func @main(%x: !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[4,8],f32> {
          %y = torch.aten.relu %x : !torch.vtensor<[4,8],f32> -> !torch.vtensor<[4,8],f32>
          return %y : !torch.vtensor<[4,8],f32>
        }
        ```

    After:
        ```mlir
        func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
          %y = "hipdnn.pointwise"(%x) {mode = "relu_fwd"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
          return %y : tensor<4x8xf32>
        }
        ```

    Requires:
        Stage `torch`: functions of one block on value tensors with static shapes.

    Ensures:
        Stage `hipdnn-ops`. Each op that stays gets a missed remark that names the reason. The
        function keeps its `hipgraft` attributes and loses others.

    Errors:
        A function with a dynamic shape, with several blocks, or with anything but value tensors of
        known rank and element type in its signature, at the function. An op with regions.

    Source:
        own; the operands of each hipDNN op follow the schemas of ROCm/rocm-libraries.
    """

    name: ClassVar[str] = "convert-torch-to-hipdnn"
    requires: ClassVar[str | None] = "torch"
    ensures: ClassVar[str | None] = "hipdnn-ops"

    def run(self, module: ir.Module, state: PassState) -> None:
        """Converts every function that has torch tensors in its signature."""
        functions = [op.operation for op in module.body.operations]
        for function in functions:
            if _is_torch_function(function):
                _convert_function(function, state)

"""Converts migraphx functions to hipDNN ops on builtin tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.symbols import modules_in, symbol_of, symbols_of, unique_name
from hipgraft.ir.unused import erase_unused
from hipgraft.passmanager.base import Pass, PassState, option
from hipgraft.transforms.migraphx_to_hipdnn import (
    CONVERSIONS,
    KEPT,
    Converter,
    build_function,
    is_kernel,
)


def _lift_kernels(module: ir.Module) -> None:
    """Moves kernel functions of nested modules to the top and erases modules left empty."""
    taken = {symbol_of(op) for op in symbols_of(module.operation) if "sym_name" in op.attributes}
    nested = list(modules_in(module.operation))[1:]
    for inner in nested:
        for function in [op for op in symbols_of(inner) if is_kernel(op)]:
            name = unique_name(symbol_of(function), taken)
            taken.add(name)
            function.attributes["sym_name"] = ir.StringAttr.get(name)
            module.body.append(function)
    for inner in reversed(nested):
        if not list(symbols_of(inner)):
            inner.erase()


@dataclass(frozen=True)
class ConvertMigraphxToHipdnnPass(Pass):
    """Converts migraphx functions to hipDNN ops; ops without a counterpart stay, with a remark.

    The function's signature becomes physical: packed tensors whose dimensions are in the order of
    the strides. A dimension is longer if strides leave gaps, has extent 1 if its stride is 0 (a
    broadcast), and counts bytes if two elements share one. Inside the function, strides are hints
    and are ignored; operands of elementwise ops broadcast. Transposes, slices, broadcasts and most
    reshapes become `hipdnn.view`. Products accumulate in f32 or i32 and are rounded once. Ops that
    stay keep their shaped types, between `migraphx.mlir.as.underlying.shape` and
    `.as.logical.shape`.

    Before:
        ```mlir
        func.func @f(%x: !migraphx.shaped<1x3x4xf32, 12x1x3>)
            -> !migraphx.shaped<1x3x4xf32, 12x1x3> {
          %0 = migraphx.relu %x : <1x3x4xf32, 12x1x3> -> <1x3x4xf32, 12x1x3>
          return %0 : !migraphx.shaped<1x3x4xf32, 12x1x3>
        }
        ```

    After:
        ```mlir
        func.func @f(%x: tensor<1x4x3xf32>) -> tensor<1x4x3xf32> {
          %0 = "hipdnn.view"(%x) {offset = 0 : i64, strides = array<i64: 0, 1, 3>}
              : (tensor<1x4x3xf32>) -> tensor<1x3x4xf32>
          %1 = "hipdnn.pointwise"(%0) {mode = "relu_fwd"} : (tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
          %2 = "hipdnn.view"(%1) {offset = 0 : i64, strides = array<i64: 12, 1, 4>}
              : (tensor<1x3x4xf32>) -> tensor<1x4x3xf32>
          return %2 : tensor<1x4x3xf32>
        }
        ```

    Requires:
        Functions of one block with static types, from MIGraphX or rocMLIR, of any generation.
        Functions of nested modules (several modules in one file) move to the top; a number is
        appended to names that are taken.

    Ensures:
        Stage `hipdnn-ops`. Each op that stays gets a missed remark that names the reason.

    Errors:
        A type whose strides no packed tensor has, a result that is a broadcast, an op or feature
        that has neither a conversion nor a lowering; at the function or op.

    Source:
        own; meanings as in rocMLIR's MIGraphXToTosa.cpp and MIGraphX's operators.
    """

    name: ClassVar[str] = "convert-migraphx-to-hipdnn"
    ensures: ClassVar[str | None] = "hipdnn-ops"

    flat_arguments: bool = option(False, "pass memory as tensors of one dimension, as rocMLIR does")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Converts every function on shaped values."""
        _lift_kernels(module)
        for function in [op.operation for op in module.body.operations]:
            if not is_kernel(function):
                continue
            converter = Converter(CONVERSIONS, KEPT, state)
            made = build_function(function, converter, self.flat_arguments)
            function.erase()
            erase_unused(made.entry_block)

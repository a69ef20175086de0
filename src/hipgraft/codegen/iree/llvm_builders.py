"""Builds ops of LLVM's dialect at the insertion point."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.ir.bindings import ir


def emit(name: str, result: ir.Type, *operands: ir.Value, **attributes: ir.Attribute) -> ir.Value:
    """Builds an op with one result."""
    op = ir.Operation.create(name, results=[result], operands=operands, attributes=attributes)
    return op.result


def constant(value: int, type_: ir.Type) -> ir.Value:
    """Builds an integer, or a vector of equal ones."""
    if isinstance(type_, ir.VectorType):
        element = ir.IntegerAttr.get(type_.element_type, value)
        return emit(
            "llvm.mlir.constant", type_, value=ir.DenseElementsAttr.get_splat(type_, element)
        )
    return emit("llvm.mlir.constant", type_, value=ir.IntegerAttr.get(type_, value))


def call(callee: str, operands: Sequence[ir.Value]) -> None:
    """Builds a call of a function without results."""
    attributes: dict[str, ir.Attribute] = {
        "callee": ir.FlatSymbolRefAttr.get(callee),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    ir.Operation.create("llvm.call", operands=operands, attributes=attributes)

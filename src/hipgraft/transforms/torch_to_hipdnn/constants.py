"""Reads `torch.constant.*`, lists of them, and tensor literals as Python or builtin constants."""

from __future__ import annotations

from typing import Any

from hipgraft.ir.bindings import ir, passmanager

_TO_ARITH = "builtin.module(func.func(convert-torch-to-arith))"


def is_constant(value: ir.Value) -> bool:
    """Whether a torch value is a constant or a list of constants."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return False
    name = owner.name
    if name == "torch.prim.ListConstruct":
        return all(is_constant(operand) for operand in owner.operands)
    return name.startswith("torch.constant.")


def constant_value(value: ir.Value) -> Any:
    """Returns the Python value of a torch constant (see `is_constant`)."""
    owner = ir.OpResult(value).owner.operation
    kind = owner.name.removeprefix("torch.constant.")
    if owner.name == "torch.prim.ListConstruct":
        return [constant_value(operand) for operand in owner.operands]
    if kind == "none":
        return None
    attribute = owner.attributes["value"]
    if kind == "int":
        return ir.IntegerAttr(attribute).value
    if kind == "float":
        return ir.FloatAttr(attribute).value
    if kind == "bool":
        return bool(ir.IntegerAttr(attribute).value)
    return ir.StringAttr(attribute).value


def literal_attribute(operation: ir.Operation, result_type: ir.RankedTensorType) -> ir.Attribute:
    """Returns the value of a `torch.vtensor.literal` as elements of the signless builtin type."""
    attribute = operation.attributes["value"]
    return attribute if attribute.type == result_type else _signless(operation)


def _signless(literal: ir.Operation) -> ir.Attribute:
    """Converts a literal by torch-mlir's own pass: the bindings cannot retype a resource."""
    module = ir.Module.parse("func.func @literal() { return }", literal.context)
    block = module.body.operations[0].operation.regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(block):
        literal.clone()
    manager = passmanager.PassManager.parse(_TO_ARITH, literal.context)
    manager.run(module.operation)
    return block.operations[0].operation.attributes["value"]

"""Builds ops of linalg in dispatches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hipgraft.codegen.iree.linalg_loops import tensor
from hipgraft.ir.bindings import ir


def generic(
    inputs: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
    maps: Sequence[Sequence[int]],
    kinds: Sequence[str],
) -> ir.Operation:
    """Builds a `linalg.generic` with an empty block; `maps` are the loops that index operands."""
    dims = [
        ir.AffineMap.get(len(kinds), 0, [ir.AffineExpr.get_dim(loop) for loop in each])
        for each in maps
    ]
    kind = {name: ir.Attribute.parse(f"#linalg.iterator_type<{name}>") for name in set(kinds)}
    attributes: dict[str, ir.Attribute] = {
        "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in dims]),
        "iterator_types": ir.ArrayAttr.get([kind[name] for name in kinds]),
    }
    return structured("linalg.generic", inputs, outputs, attributes)


def structured(
    name: str,
    inputs: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
    attributes: Mapping[str, ir.Attribute],
) -> ir.Operation:
    """Builds an op of linalg with an empty block."""
    segments = ir.DenseI32ArrayAttr.get([len(inputs), len(outputs)])
    op = ir.Operation.create(
        name,
        results=[value.type for value in outputs],
        operands=[*inputs, *outputs],
        attributes={**attributes, "operandSegmentSizes": segments},
        regions=1,
    )
    elements = [
        tensor(value).element_type if isinstance(value.type, ir.RankedTensorType) else value.type
        for value in (*inputs, *outputs)
    ]
    ir.Block.create_at_start(op.regions[0], elements)
    return op


def binary(name: str, left: ir.Value, right: ir.Value) -> ir.Value:
    """Builds an op of the arith dialect with two operands of one type."""
    return ir.Operation.create(f"arith.{name}", results=[left.type], operands=[left, right]).result


def widened(value: ir.Value) -> ir.Value:
    """Returns a float as f32."""
    f32 = ir.F32Type.get()
    if value.type == f32:
        return value
    return ir.Operation.create("arith.extf", results=[f32], operands=[value]).result

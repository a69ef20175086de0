"""Converts ONNX operators that torch-mlir's conversion lacks to a single torch op."""

from __future__ import annotations

from collections.abc import Callable

from hipgraft.ir import io as ir_io
from hipgraft.ir.bindings import ir
from hipgraft.ir.torch_dialect import (
    constant_bool,
    constant_int,
    constant_none,
    constant_str,
    extents_and_element,
    torch_op,
    vtensor_type,
)

_DTYPES = {"si8": 1, "si16": 2, "si32": 3, "si64": 4, "f16": 5, "f32": 6, "f64": 7, "bf16": 15}
"""PyTorch's ScalarType numbers."""


def make_torch_ops(module: ir.Module) -> None:
    """Replaces such operators of an import in place."""
    for op in [op for op in ir_io.walk(module.operation) if op.name == "torch.operator"]:
        form = _FORMS.get(ir.StringAttr(op.attributes["name"]).value)
        if form is None:
            continue
        with ir.InsertionPoint(op), op.location:
            value = form(op)
        if value is not None:
            op.results[0].replace_all_uses_with(value)
            op.erase()


def _dtype(op: ir.Operation) -> int | None:
    read = extents_and_element(op.results[0].type)
    return None if read is None else _DTYPES.get(read[1])


def _cast(op: ir.Operation) -> ir.Value | None:
    """Converts a cast to 16 bits, whose type number torch-mlir does not support."""
    if _dtype(op) != _DTYPES["si16"]:
        return None
    no = constant_bool(False)
    operands = [op.operands[0], constant_int(_DTYPES["si16"]), no, no, constant_none()]
    return torch_op("aten.to.dtype", operands, [op.results[0].type]).result


def _bit_cast(op: ir.Operation) -> ir.Value | None:
    number = _dtype(op)
    if number is None:
        return None
    operands = [op.operands[0], constant_int(number)]
    return torch_op("aten.view.dtype", operands, [op.results[0].type]).result


_EXTREMA = {"max": "amax", "min": "amin"}
"""The reductions that torch-mlir's conversion of `ScatterElements` lacks."""


def _scatter(op: ir.Operation) -> ir.Value | None:
    """Converts `(x, indices, updates)` with the largest or the smallest update."""
    named = op.attributes["torch.onnx.reduction"] if _has(op, "reduction") else None
    reduction = _EXTREMA.get(ir.StringAttr(named).value) if named is not None else None
    x, indices, updates = op.operands
    read, placed = extents_and_element(x.type), extents_and_element(indices.type)
    if reduction is None or read is None or placed is None or not read[0]:
        return None
    axis = ir.IntegerAttr(op.attributes["torch.onnx.axis"]).value if _has(op, "axis") else 0
    axis %= len(read[0])  # torch-mlir crashes at negative axes
    extent = read[0][axis]
    if extent is None:
        return None
    wrapped = _from_the_front(indices, placed[0], extent)
    yes = constant_bool(True)
    operands = [x, constant_int(axis), wrapped, updates, constant_str(reduction), yes]
    return torch_op("aten.scatter_reduce.two", operands, [op.results[0].type]).result


def _has(op: ir.Operation, name: str) -> bool:
    return f"torch.onnx.{name}" in op.attributes


def _from_the_front(indices: ir.Value, shape: list[int | None], extent: int) -> ir.Value:
    """Converts indices to 64 bits; negative ones count from the end."""
    wide, truth = vtensor_type(shape, "si64"), vtensor_type(shape, "i1")
    no = constant_bool(False)
    number = constant_int(_DTYPES["si64"])
    cast = torch_op("aten.to.dtype", [indices, number, no, no, constant_none()], [wide]).result
    below = torch_op("aten.lt.Scalar", [cast, constant_int(0)], [truth]).result
    moved = [cast, constant_int(extent), constant_int(1)]
    other = torch_op("aten.add.Scalar", moved, [wide]).result
    return torch_op("aten.where.self", [below, other, cast], [wide]).result


_FORMS: dict[str, Callable[[ir.Operation], ir.Value | None]] = {
    "onnx.BitCast": _bit_cast,
    "onnx.Cast": _cast,
    "onnx.ScatterElements": _scatter,
}
"""The conversions by operator; None leaves it to torch-mlir."""

"""Converts ONNX operators that torch-mlir's conversion lacks to a single torch op."""

from __future__ import annotations

from collections.abc import Callable

from hipgraft.frontends.onnx.legalization.narrow import DECODE, ENCODE
from hipgraft.ir import io as ir_io
from hipgraft.ir.bindings import ir
from hipgraft.ir.torch_dialect import (
    cast,
    constant_bool,
    constant_int,
    constant_str,
    dtype_number,
    extents_and_element,
    reinterpret,
    torch_op,
    vtensor_type,
)


def make_torch_ops(module: ir.Module) -> None:
    """Replaces, in place, the imported operators that torch-mlir cannot convert."""
    for op in [op for op in ir_io.walk(module.operation) if op.name == "torch.operator"]:
        form = _FORMS.get(ir.StringAttr(op.attributes["name"]).value)
        if form is None:
            continue
        with ir.InsertionPoint(op), op.location:
            value = form(op)
        if value is not None:
            op.results[0].replace_all_uses_with(value)
            op.erase()


def _element(value: ir.Value) -> str | None:
    read = extents_and_element(value.type)
    return None if read is None else read[1]


def _cast(op: ir.Operation) -> ir.Value | None:
    """Converts a cast to 16 bits, whose type number torch-mlir does not support."""
    return cast(op.operands[0], "si16") if _element(op.results[0]) == "si16" else None


def _bit_cast(op: ir.Operation) -> ir.Value | None:
    element = _element(op.results[0]) or ""
    return None if dtype_number(element) is None else reinterpret(op.operands[0], element)


def _decode(op: ir.Operation) -> ir.Value | None:
    """Converts bytes to the floats of eight bits that they encode, and these to f32."""
    return cast(reinterpret(op.operands[0], _small_float(op)), "f32")


def _encode(op: ir.Operation) -> ir.Value | None:
    """Converts f32 to floats of eight bits, and these to the bytes that encode them."""
    return reinterpret(cast(op.operands[0], _small_float(op)), "si8")


def _small_float(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["torch.onnx.element"]).value


_EXTREMA = {"max": "amax", "min": "amin"}
"""The reductions that torch-mlir's conversion of `ScatterElements` lacks."""


def _scatter(op: ir.Operation) -> ir.Value | None:
    """Converts a scatter `(x, indices, updates)` that keeps the largest or the smallest update."""
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
    wrapped = cast(indices, "si64")
    below = torch_op("aten.lt.Scalar", [wrapped, constant_int(0)], [truth]).result
    moved = [wrapped, constant_int(extent), constant_int(1)]
    other = torch_op("aten.add.Scalar", moved, [wide]).result
    return torch_op("aten.where.self", [below, other, wrapped], [wide]).result


_FORMS: dict[str, Callable[[ir.Operation], ir.Value | None]] = {
    "onnx.BitCast": _bit_cast,
    "onnx.Cast": _cast,
    f"onnx.{DECODE}": _decode,
    f"onnx.{ENCODE}": _encode,
    "onnx.ScatterElements": _scatter,
}
"""The conversions by operator; None leaves it to torch-mlir."""

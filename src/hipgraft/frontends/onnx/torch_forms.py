"""ONNX operators that torch-mlir's conversion lacks and that are one torch op."""

from __future__ import annotations

from collections.abc import Callable

from hipgraft.ir import io as ir_io
from hipgraft.ir.bindings import ir
from hipgraft.ir.torch_dialect import (
    constant_bool,
    constant_int,
    constant_none,
    extents_and_element,
    torch_op,
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
    """A cast to 16 bits, whose number torch-mlir does not know."""
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


_FORMS: dict[str, Callable[[ir.Operation], ir.Value | None]] = {
    "onnx.BitCast": _bit_cast,
    "onnx.Cast": _cast,
}
"""By operator; None leaves it to torch-mlir."""

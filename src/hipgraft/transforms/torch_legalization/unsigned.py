"""Computes on bytes without a sign in 32 bits: torch-mlir takes them for signed, or crashes."""

from __future__ import annotations

from hipgraft.ir.bindings import ir
from hipgraft.ir.element_types import is_float
from hipgraft.ir.torch_dialect import aten_name, cast, extents_and_element, torch_op, vtensor_type

_UNSIGNED, _WIDE = "ui8", "si32"

OPERATORS = frozenset(
    f"aten.{name}"
    for name in (
        "abs", "add.Scalar", "add.Tensor", "amax", "amin", "argmax", "argmin", "clamp",
        "clamp_max", "clamp_min", "cumsum", "div.Scalar", "div.Scalar_mode", "div.Tensor",
        "div.Tensor_mode", "floor_divide", "floor_divide.Scalar", "max", "max.dim", "maximum",
        "mean", "mean.dim", "min", "min.dim", "minimum", "mul.Scalar", "mul.Tensor", "neg",
        "pow.Tensor_Scalar", "prod", "prod.dim_int", "remainder.Scalar", "remainder.Tensor",
        "rsub.Scalar", "scatter_reduce.two", "sort", "sub.Scalar", "sub.Tensor", "sum",
        "sum.dim_IntList", "topk",
        *(f"{name}.{kind}" for name in ("eq", "ne", "lt", "le", "gt", "ge")
          for kind in ("Scalar", "Tensor")),
    )
)  # fmt: skip
"""The operators for which `widened` is right."""

CASTS = (
    "aten._to_copy", "aten.to.dtype", "aten.to.dtype_layout", "aten.to.other", "aten.type_as",
    "prims.convert_element_type",
)  # fmt: skip
"""The operators that convert elements."""


def widened(op: ir.Operation) -> list[ir.Value] | None:
    """Computes an operator in 32 bits; returns its results, None if no operand is an unsigned byte.

    Results that are bytes keep the lowest bits, as in PyTorch.
    """
    if aten_name(op) not in OPERATORS or not any(map(_is_unsigned, op.operands)):
        return None
    operands = [cast(one, _WIDE) if _is_unsigned(one) else one for one in op.operands]
    kinds = [one.type for one in op.results]
    wide = [_wide(one.type) if _is_unsigned(one) else one.type for one in op.results]
    made = torch_op(aten_name(op), operands, wide)
    return [
        cast(one, _UNSIGNED) if kind != one.type else one
        for one, kind in zip(made.results, kinds, strict=True)
    ]


def truncated(op: ir.Operation) -> ir.Value | None:
    """Converts floats to unsigned bytes by way of 32 bits: torch-mlir takes these for signed, too.

    As in PyTorch, whole numbers beyond the range keep the lowest bits.
    """
    read = extents_and_element(op.operands[0].type)
    if read is None or not is_float(read[1]) or not _is_unsigned(op.results[0]):
        return None
    return cast(cast(op.operands[0], _WIDE), _UNSIGNED)


def _is_unsigned(value: ir.Value) -> bool:
    read = extents_and_element(value.type)
    return read is not None and read[1] == _UNSIGNED


def _wide(kind: ir.Type) -> ir.Type:
    read = extents_and_element(kind)
    assert read is not None
    return vtensor_type(read[0], _WIDE)

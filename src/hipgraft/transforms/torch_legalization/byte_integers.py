"""Computes on bytes in 32 bits: torch-mlir treats unsigned bytes as signed, or crashes."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.element_types import is_float
from hipgraft.ir.torch_dialect import aten_name, cast, extents_and_element, torch_op, vtensor_type

_UNSIGNED, _WIDE = "ui8", "si32"
_BYTES = (_UNSIGNED, "si8")

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
"""The operators for which `widened` is right for unsigned bytes."""

PRODUCTS = frozenset(
    f"aten.{name}"
    for name in (
        "addmm", "addmv", "baddbmm", "bmm", "dot", "einsum", "linear", "matmul", "mm", "mv",
    )
)  # fmt: skip
"""The operators for which `widened` is right for all bytes."""

CASTS = (
    "aten._to_copy", "aten.to.dtype", "aten.to.dtype_layout", "aten.to.other", "aten.type_as",
    "prims.convert_element_type",
)  # fmt: skip
"""The operators that convert elements."""


def widened(op: ir.Operation) -> list[ir.Value] | None:
    """Computes an operator in 32 bits; returns its results, None if that is not needed.

    Results that are bytes keep the lowest bits, as in PyTorch.
    """
    name = aten_name(op)
    narrow = (_UNSIGNED,) if name in OPERATORS else ()
    if name in PRODUCTS and _element(op.results[0]) in _BYTES:
        narrow = _BYTES
    if not narrow:
        return None
    operands = [_widened(one, narrow) for one in op.operands]
    if operands == list(op.operands):
        return None
    wide = [_wide(one.type) if _element(one) in narrow else one.type for one in op.results]
    made = torch_op(name, operands, wide)
    pairs = zip(made.results, op.results, strict=True)
    return [cast(new, _element(old)) if new.type != old.type else new for new, old in pairs]


def truncated(op: ir.Operation) -> ir.Value | None:
    """Converts floats to unsigned bytes through 32 bits: torch-mlir would convert to signed bytes.

    As in PyTorch, whole numbers beyond the range keep the lowest bits.
    """
    if not is_float(_element(op.operands[0])) or _element(op.results[0]) != _UNSIGNED:
        return None
    return cast(cast(op.operands[0], _WIDE), _UNSIGNED)


def _widened(operand: ir.Value, narrow: Sequence[str]) -> ir.Value:
    """Converts a tensor, or the tensors of a list, from the types in `narrow` to 32 bits."""
    if _element(operand) in narrow:
        return cast(operand, _WIDE)
    listed = defining_op(operand)
    if listed is None or listed.name != "torch.prim.ListConstruct":
        return operand
    items = [_widened(one, narrow) for one in listed.operands]
    if items == list(listed.operands):
        return operand
    return torch_op("prim.ListConstruct", items, [operand.type]).result


def _element(value: ir.Value) -> str:
    """Returns the element type of a tensor, "" of other values."""
    read = extents_and_element(value.type)
    return "" if read is None else read[1]


def _wide(kind: ir.Type) -> ir.Type:
    read = extents_and_element(kind)
    assert read is not None
    return vtensor_type(read[0], _WIDE)

"""Kinds of migraphx attributes: rocMLIR's names, and the forms in older modules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hipgraft.dialects.framework import kinds
from hipgraft.dialects.framework.kinds import Kind
from hipgraft.dialects.migraphx.features import decode_features, encode_features
from hipgraft.ir.bindings import ir


def _is_integer(attribute: ir.Attribute) -> bool:
    return isinstance(attribute, ir.IntegerAttr)


def _are_integers(attribute: ir.Attribute) -> bool:
    return isinstance(attribute, ir.DenseI64ArrayAttr) or (
        isinstance(attribute, ir.ArrayAttr) and all(map(_is_integer, attribute))
    )


def _read_integers(attribute: ir.Attribute) -> list[int]:
    if isinstance(attribute, ir.DenseI64ArrayAttr):
        return list(attribute)
    return [ir.IntegerAttr(item).value for item in ir.ArrayAttr(attribute)]


INT = replace(kinds.INT, description="64-bit signless integer attribute", matches=_is_integer)
INTS = replace(
    kinds.INTS,
    description="64-bit integer array attribute",
    matches=_are_integers,
    read=_read_integers,
)
FLOAT = replace(kinds.FLOAT, description="32-bit float attribute")
STRING = replace(kinds.STRING, description="string attribute")
TYPE = replace(kinds.TYPE, description="any type attribute")
BOOL = replace(kinds.BOOL, description="bool attribute")
FLAG: Kind[bool] = Kind(
    "bool or integer attribute",
    lambda attribute: isinstance(attribute, ir.BoolAttr | ir.IntegerAttr),
    lambda attribute: ir.IntegerAttr(attribute).value != 0,
    ir.BoolAttr.get,
)
UNIT: Kind[bool] = Kind(
    "unit attribute",
    lambda attribute: isinstance(attribute, ir.UnitAttr),
    lambda attribute: True,
    lambda value: ir.UnitAttr.get(),
)
ELEMENTS: Kind[Any] = Kind(
    "constant vector/tensor attribute",
    lambda attribute: isinstance(attribute, ir.DenseElementsAttr | ir.DenseResourceElementsAttr),
    lambda attribute: attribute,
    lambda value: value,
)
FEATURES: Kind[tuple[str, ...]] = Kind(
    "64-bit signless integer attribute",
    _is_integer,
    lambda attribute: decode_features(attribute.value),
    lambda words: ir.IntegerAttr.get(ir.IntegerType.get_signless(32), encode_features(words)),
)

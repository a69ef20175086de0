"""What hipDNN's files say beyond what IR says, kept as attributes of the ops.

An op, a constant or a graph may carry `hipdnn.record`: a dictionary with JSON values. `tensors`
in it is a list with one dictionary per result (per operand, on a graph). A record is no part of
what is computed; without one, an exporter makes names and uids up.
"""

from __future__ import annotations

from typing import cast

from hipgraft.hipdnn_io.document import Json
from hipgraft.ir.bindings import ir

NAME = "hipdnn.record"


def set_record(op: ir.Operation, record: dict[str, Json]) -> None:
    """Gives an op its record."""
    op.attributes[NAME] = _attribute(record)


def record_of(op: ir.Operation) -> dict[str, Json]:
    """Returns the record of an op, empty if it has none."""
    return _json(op.attributes[NAME]) if NAME in op.attributes else {}


def tensor_records(op: ir.Operation, count: int) -> list[dict[str, Json]]:
    """Returns the records of `count` tensors of an op, empty ones where they are not kept."""
    records: list[dict[str, Json]] = record_of(op).get("tensors", [])
    # A pass may have changed the number of results; then nobody knows which is which.
    return records if len(records) == count else [{} for _ in range(count)]


def _attribute(value: Json) -> ir.Attribute:
    if value is None:
        return ir.UnitAttr.get()
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    if isinstance(value, float):
        return ir.FloatAttr.get(ir.F64Type.get(), value)
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if isinstance(value, list):
        return ir.ArrayAttr.get([_attribute(one) for one in cast(list[Json], value)])
    members = cast(dict[str, Json], value)
    return ir.DictAttr.get({key: _attribute(one) for key, one in members.items()})


def _json(attribute: ir.Attribute) -> Json:
    if isinstance(attribute, ir.UnitAttr):
        return None
    if isinstance(attribute, ir.BoolAttr | ir.IntegerAttr | ir.FloatAttr | ir.StringAttr):
        return attribute.value
    if isinstance(attribute, ir.ArrayAttr):
        return [_json(one) for one in attribute]
    members = ir.DictAttr(attribute)
    return {members[at].name: _json(members[at].attr) for at in range(len(members))}

"""Refuses operands that neither ONNX's inference nor torch-mlir checks."""

from __future__ import annotations

from functools import cache

from onnx import defs

from hipgraft.frontends.onnx.legalization.writer import FLOATS, Refused, Writer

_REDUCTIONS = [name for name in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod",
                                 "Sum", "SumSquare")]  # fmt: skip
_LISTS = {
    "ConstantOfShape": (0,), "Pad": (1, 3), "Slice": (1, 2, 3, 4),
    **{f"Reduce{name}": (1,) for name in _REDUCTIONS},
}  # fmt: skip
"""The operands that are lists, by operator."""
_ALIKE = {"GatherElements": 2, "ScatterElements": 3}
"""How many first operands have the same rank, by operator."""


def check_operands(writer: Writer) -> None:
    """Checks ranks, axes, and that indices are integers.

    Raises:
        Refused: an operand is malformed.
    """
    op, names, graph = writer.node.op_type, writer.node.input, writer.graph
    for index, name in enumerate(names):
        if graph.elements.get(name) in FLOATS and _is_of_integers(op, graph.opset, index):
            raise Refused(f"is malformed: operand {index} is not of integers")
    shapes = {name: graph.shapes[name] for name in names if name in graph.shapes}
    for index in _LISTS.get(op, ()):
        if writer.has_input(index) and len(shapes.get(names[index], [0])) != 1:
            raise Refused(f"is malformed: operand {index} is not a list")
    if not names or names[0] not in shapes:
        return
    rank = len(shapes[names[0]])
    if any(len(shapes.get(name, shapes[names[0]])) != rank for name in names[: _ALIKE.get(op, 0)]):
        raise Refused("is malformed: its operands differ in rank")
    if op == "ScatterND" and len(shapes) == len({*names}) == 3:
        _, indices, updates = (shapes[name] for name in names)
        if len(updates) != len(indices) - 1 + rank - indices[-1]:
            raise Refused("is malformed: the rank of the updates is not that of the indexed slices")
    axis = writer.attribute("axis", 0)
    if not -rank - 1 <= axis <= rank + 1:
        raise Refused(f"is malformed: it has no dimension {axis}")


@cache
def _is_of_integers(op: str, opset: int, index: int) -> bool:
    """Whether an operand may be of integers only."""
    try:
        formals = defs.get_schema(op, opset, "").inputs
    except defs.SchemaError:
        return False
    types = formals[index].types if index < len(formals) else ()
    return bool(types) and all("int" in one for one in types)

"""Shrinks extents: replaces one extent wherever it is written, and infers shapes anew."""

from __future__ import annotations

import re

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import element_type_of
from hipgraft.reduction.edits import update_signature

_SHAPED = re.compile(r"(?<=tensor<|vector<|memref<)[\dx?]+x|(?<=tensor<\[)[\d,?]+(?=\])")
_EXTENT = re.compile(r"\d+")
_INTEGERS = re.compile(r"(?<=array<i64: )[^>]*|(?<=torch\.constant\.int )\d+")
_OTHERS = (1, 2)
FORMS = 2 * (len(_OTHERS) + 1)


def extents(text: str) -> list[int]:
    """Returns the distinct extents of a module's types above 1, the largest first."""
    found = {int(each) for shape in _SHAPED.findall(text) for each in _EXTENT.findall(shape)}
    return sorted((each for each in found if each > 1), reverse=True)


def total(text: str) -> int:
    """Returns the sum of all extents of a module's types."""
    return sum(int(each) for shape in _SHAPED.findall(text) for each in _EXTENT.findall(shape))


def replaced(text: str, extent: int, form: int) -> str:
    """Returns the text with another extent.

    Args:
        text: text of a module.
        extent: extent to replace.
        form: selects the replacement, and whether attributes change as well.
    """
    other = (*_OTHERS, extent // 2)[form // 2]
    if other >= extent:
        return text
    same = re.compile(rf"(?<!\d){extent}(?!\d)")
    for pattern in (_SHAPED, _INTEGERS)[: 1 + form % 2]:
        text = pattern.sub(lambda match: same.sub(str(other), match[0]), text)
    return text


def infer(module: ir.Module) -> None:
    """Infers the shape of each result of a hipdnn op, and updates function types.

    Raises:
        VerifyError: operands do not fit together.
    """
    with ir.Location.unknown():
        for op in module.body.operations:
            _infer(op.operation)


def _infer(op: ir.Operation) -> None:
    cls = hipdnn.OPS.get(op.name)
    is_container = cls is not None and issubclass(cls, hipdnn.ContainerOp)
    if is_container:
        for argument, operand in zip(op.regions[0].blocks[0].arguments, op.operands, strict=True):
            argument.set_type(operand.type)
    for region in op.regions:
        for block in region.blocks:
            for nested in block.operations:
                _infer(nested.operation)
    if is_container:
        *_, end = op.regions[0].blocks[0].operations
        for result, value in zip(op.results, end.operands, strict=True):
            result.set_type(value.type)
    elif cls is not None:
        _infer_results(hipdnn.wrap(op))
    elif op.name == "func.func":
        update_signature(op)


def _infer_results(op: hipdnn.HipdnnOp) -> None:
    shapes = op.infer()
    for field in op.result_fields:
        for value in op.result_values(field):
            if field.name in shapes:
                kind = ir.RankedTensorType.get(shapes[field.name], element_type_of(value))
                value.set_type(kind)

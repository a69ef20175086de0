"""Rewrites views with dynamic shapes to a flatten and a split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import PassFailure
from hipgraft.ir.io import function_blocks
from hipgraft.ir.torch_dialect import (
    constant_int,
    extents_and_element,
    list_of_ints,
    product,
    shape_and_element,
    size,
    torch_op,
    vtensor_type,
)
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.transforms.torch_to_hipdnn.constants import constant_value, is_constant

_VIEWS = ("torch.aten.reshape", "torch.aten.view")
_INTEGER_OPS = tuple(f"torch.aten.{name}.int" for name in ("add", "floordiv", "mul", "sub"))
_REST = -1

_Extent = int | ir.Value


def _extents(view: ir.Operation) -> list[_Extent]:
    """Returns the extents of a view, constants as numbers."""
    owner = view.operands[1].owner
    if isinstance(owner, ir.Block) or owner.name != "torch.prim.ListConstruct":
        raise PassFailure(f"'{view.name}' op takes extents that are not written as a list", view)
    for extent in owner.operands:
        if not _is_arithmetic(extent):
            raise PassFailure(f"'{view.name}' op takes extents that depend on values", view)
    return [constant_value(one) if is_constant(one) else one for one in owner.operands]


def _is_arithmetic(extent: ir.Value) -> bool:
    """Whether an integer is computed from constants and extents of tensors only."""
    owner = extent.owner
    if isinstance(owner, ir.Block):
        return False
    if owner.name in ("torch.constant.int", "torch.aten.size.int"):
        return True
    return owner.name in _INTEGER_OPS and all(map(_is_arithmetic, owner.operands))


def _is_kept(x: ir.Value, dim: int, known: int | None, extent: _Extent) -> bool:
    """Whether `extent` is provably that of dimension `dim` of `x`."""
    if isinstance(extent, int):
        return extent == known
    owner = extent.owner
    if isinstance(owner, ir.Block) or owner.name != "torch.aten.size.int":
        return False
    source, position = owner.operands
    return source == x and is_constant(position) and constant_value(position) == dim


def _common(x: ir.Value, before: Sequence[int | None], after: Sequence[_Extent]) -> tuple[int, int]:
    """Counts the first and last dimensions that a view keeps, leaving one of each shape."""
    most = min(len(before), len(after)) - 1
    first = 0
    while first < most and _is_kept(x, first, before[first], after[first]):
        first += 1
    last = 0
    while last < most - first and _is_kept(
        x, len(before) - 1 - last, before[-1 - last], after[-1 - last]
    ):
        last += 1
    return first, last


def _flatten(x: ir.Value, first: int, last: int) -> ir.Value:
    """Flattens the dimensions `first` to `last` of `x`."""
    shape, element = extents_and_element(x.type) or ([], "")
    if first == last:
        return x
    extent: int | None = 1
    for one in shape[first : last + 1]:
        extent = None if one is None or extent is None else extent * one
    kind = vtensor_type([*shape[:first], extent, *shape[last + 1 :]], element)
    return torch_op(
        "aten.flatten.using_ints", [x, constant_int(first), constant_int(last)], [kind]
    ).result


def _settled(x: ir.Value, dim: int, extents: Sequence[_Extent]) -> list[ir.Value]:
    """Returns the extents into which dimension `dim` of `x` is split, with -1 replaced."""
    values = [constant_int(one) if isinstance(one, int) else one for one in extents]
    if _REST in extents:
        rest = list(extents).index(_REST)
        others = [one for position, one in enumerate(values) if position != rest]
        values[rest] = torch_op(
            "aten.floordiv.int", [size(x, dim), product(others)], [values[rest].type]
        ).result
    return values


def _rewritten(view: ir.Operation, before: Sequence[int | None]) -> ir.Value:
    x, after = view.operands[0], _extents(view)
    first, last = _common(x, before, after)
    flat = _flatten(x, first, len(before) - 1 - last)
    middle = after[first : len(after) - last]
    if len(middle) == 1:
        return torch_op("tensor_static_info_cast", [flat], [view.results[0].type]).result
    sizes = list_of_ints(_settled(flat, first, middle))
    return torch_op(
        "aten.unflatten.int", [flat, constant_int(first), sizes], [view.results[0].type]
    ).result


@dataclass(frozen=True)
class TorchNormalizeViewsPass(Pass):
    """Rewrites views of dynamic shapes as a flatten and a split.

    torch-mlir guesses which dimensions a view joins, and guesses wrongly if one is -1. This pass
    keeps the leading and trailing dimensions that the ops show to be unchanged. It flattens the
    dimensions between them and splits the result into extents that are all given.

    Before:
        ```mlir
        %shape = torch.prim.ListConstruct %int-1, %int36 : ...
        %y = torch.aten.view %x, %shape
          : !torch.vtensor<[?,?,3,12],f32>, !torch.list<int> -> !torch.vtensor<[?,36],f32>
        ```

    After:
        ```mlir
        %flat = torch.aten.flatten.using_ints %x, %int0, %int3 : ... -> !torch.vtensor<[?],f32>
        %n = torch.aten.size.int %flat, %int0 : ...
        %rows = torch.aten.floordiv.int %n, %int36 : ...
        %sizes = torch.prim.ListConstruct %rows, %int36 : ...
        %y = torch.aten.unflatten.int %flat, %int0, %sizes : ... -> !torch.vtensor<[?,36],f32>
        ```

    Requires:
        Torch functions; extents that are computed as tensors are numbers already
        (`torch-scalarize-shapes`).

    Ensures:
        Only views of static shapes are left, and those do not change.

    Errors:
        The extents are not a `torch.prim.ListConstruct`, or one depends on values of tensors, at
        the view.

    Source:
        own
    """

    name: ClassVar[str] = "torch-normalize-views"

    def run(self, module: ir.Module, state: PassState) -> None:
        """See the class."""
        for block in function_blocks(module):
            _normalize_block(block, state)


def _normalize_block(block: ir.Block, state: PassState) -> None:
    for op in [op.operation for op in block.operations if op.operation.name in _VIEWS]:
        before, _ = extents_and_element(op.operands[0].type) or (None, "")
        if not before or _is_static(op):
            continue
        with ir.InsertionPoint(op), op.location:
            new = _rewritten(op, before)
        op.results[0].replace_all_uses_with(new)
        op.erase()
        state.count("views-rewritten")


def _is_static(view: ir.Operation) -> bool:
    return all(shape_and_element(one.type) for one in (view.operands[0], view.results[0]))

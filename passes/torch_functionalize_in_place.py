"""Gives in-place ops on value tensors the value semantics that their types claim."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import PassFailure
from hipgraft.ir.io import function_blocks
from hipgraft.ir.torch_dialect import aten_name, torch_op
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.transforms.torch_legalization.operands import owner

_IN_PLACE = re.compile(r"aten\.\w*[a-z0-9]_(\.\w+)?")

_VIEWS = frozenset(
    {"aten.view", "aten.slice.Tensor", "aten.select.int", "aten.expand", "aten.permute",
     "aten.transpose.int", "aten.t", "aten.unsqueeze", "aten.squeeze.dim", "aten.alias",
     "aten.detach", "aten.reshape", "aten._unsafe_view", "aten.narrow", "aten.flatten.using_ints"}
)  # fmt: skip


def _functional(op: ir.Operation, name: str) -> ir.Value:
    """Replaces an in-place op by its value form; later readers of its operand read the result."""
    if not len(op.operands) or len(op.results) != 1:
        raise PassFailure(f"expected in-place op '{name}' to have operands and one result", op)
    target = op.operands[0]
    functional = f"torch.{name.replace('_.', '.', 1).removesuffix('_')}"
    if not op.context.is_registered_operation(functional):
        raise PassFailure(f"in-place op '{name}' has no value form", op)
    _check_unaliased(op, target)
    new = torch_op(functional.removeprefix("torch."), op.operands, [op.result.type])
    for use in list(target.uses):
        owner = use.owner.operation
        if owner.block == op.block and op.is_before_in_block(owner):
            owner.operands[use.operand_number] = new.result
    return new.result


def _check_unaliased(op: ir.Operation, target: ir.Value) -> None:
    """Rejects views of `target`, because value tensors cannot express that they change with it."""
    maker = owner(target)
    if maker is None:
        raise PassFailure(f"in-place op '{aten_name(op)}' on a function argument", op)
    users = [use.owner.operation for use in target.uses]
    if aten_name(maker) in _VIEWS:
        users += [u.owner.operation for u in maker.operands[0].uses]
        users = [user for user in users if user != maker and op.is_before_in_block(user)]
        if not all(target in list(user.operands) for user in users):
            raise PassFailure(f"in-place op '{aten_name(op)}' on a view of a tensor used later", op)
    elif any(aten_name(user) in _VIEWS and user.is_before_in_block(op) for user in users):
        raise PassFailure(f"in-place op '{aten_name(op)}' on a tensor with views", op)


@dataclass(frozen=True)
class TorchFunctionalizeInPlacePass(Pass):
    """Replaces in-place ops on value tensors by their value forms.

    A plain import of `torch.export` keeps `x.add_(y)` although its tensors are values. Later
    readers of `x` read the sum.

    Before:
        ```mlir
        %1 = torch.operator "torch.aten.relu_"(%0)
          : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
        %2 = torch.aten.neg %0 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
        ```

    After:
        ```mlir
        %1 = torch.aten.relu %0 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
        %2 = torch.aten.neg %1 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
        ```

    Requires:
        Functions of one block; in-place ops as `torch.operator`, because the dialect's own refuse
        value tensors.

    Ensures:
        No in-place op is left.

    Errors:
        An in-place op on a function argument, on a view of a tensor that is used later, or on a
        tensor with views: value tensors do not show which other values change.

    Source:
        own.
    """

    name: ClassVar[str] = "torch-functionalize-in-place"

    def run(self, module: ir.Module, state: PassState) -> None:
        """See the class."""
        for block in function_blocks(module):
            _functionalize_block(block, state)


def _functionalize_block(block: ir.Block, state: PassState) -> None:
    for op in [op.operation for op in block.operations]:
        name = aten_name(op)
        if not _IN_PLACE.fullmatch(name):
            continue
        with ir.InsertionPoint(op), op.location:
            new = _functional(op, name)
        op.results[0].replace_all_uses_with(new)
        op.erase()
        state.count("ops-functionalized")

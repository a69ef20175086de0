"""Converts the hipDNN ops of a block to torch ops."""

from __future__ import annotations

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.unused import erase_unused
from hipgraft.passmanager.base import PassState
from hipgraft.transforms.hipdnn_to_torch.expressions import Torch
from hipgraft.transforms.hipdnn_to_torch.forms import FORMS


def convert_block(block: ir.Block, state: PassState) -> list[tuple[ir.Operation, Declined]]:
    """Replaces compute ops by their torch forms; returns the ops that stay, with reasons."""
    stay: list[tuple[ir.Operation, Declined]] = []
    for op in [op.operation for op in block.operations]:
        if hipdnn.GraphOp.computes(op.name):
            try:
                _convert(op)
            except Declined as declined:
                stay.append((op, declined))
            else:
                state.count("converted-ops")
    erase_unused(block, "torch", "arith.constant")
    return stay


def _convert(op: ir.Operation) -> None:
    """Replaces `op` by its torch form."""
    wrapped = hipdnn.wrap(op)
    form = FORMS.get(op.name)
    if form is None:
        raise Declined("no-torch-op", "torch has no op for it")
    with ir.InsertionPoint(op), op.location:
        torch = Torch(wrapped)
        made = form(torch, wrapped)
        values = [torch.write(*pair) for pair in zip(made, op.results, strict=True)]
    for old, new in zip(op.results, values, strict=True):
        old.replace_all_uses_with(new)
    op.erase()

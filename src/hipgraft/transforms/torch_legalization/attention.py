"""Decomposes attention into its products and softmax."""

from __future__ import annotations

import math

from hipgraft.ir.bindings import ir
from hipgraft.ir.torch_dialect import (
    constant_float,
    constant_int,
    constant_none,
    torch_op,
    vtensor_type,
)
from hipgraft.transforms.torch_legalization.operands import is_tensor, tensor
from hipgraft.transforms.torch_to_hipdnn.constants import constant_value, is_constant

ATTENTION = "torch.aten.scaled_dot_product_attention"


def write_out_attention(function: ir.Operation) -> bool:
    """Decomposes the attention ops of a function in place; returns whether there are any.

    Causal attention stays, and so does attention with fewer key heads than query heads.
    """
    block = function.regions[0].blocks[0]
    ops = [op.operation for op in block.operations if op.operation.name == ATTENTION]
    plain = [op for op in ops if _is_plain(op)]
    for op in plain:
        with ir.InsertionPoint(op), op.location:
            new = _written_out(op)
        op.results[0].replace_all_uses_with(new)
        op.erase()
    return bool(plain)


def _is_plain(op: ir.Operation) -> bool:
    _, _, _, _, _, is_causal, scale, is_grouped = op.operands
    flags = [one for one in (is_causal, is_grouped) if not is_constant(one) or constant_value(one)]
    return not flags and is_constant(scale) and tensor(op.operands[0])[0][-1] is not None


def _written_out(op: ir.Operation) -> ir.Value:
    q, k, v, mask, *_ = op.operands
    (*batch, rows, depth), element = tensor(q)
    (*_, columns, _), _ = tensor(k)
    # Queries are scaled instead of the scores, so that the scores are in the range of f16.
    factor = constant_value(op.operands[6]) or 1 / math.sqrt(depth or 1)
    scaled = torch_op("aten.mul.Scalar", [q, constant_float(factor)], [q.type]).result
    turned = vtensor_type([*tensor(k)[0][:-2], depth, columns], element)
    dims = [constant_int(-2), constant_int(-1)]
    keys = torch_op("aten.transpose.int", [k, *dims], [turned]).result
    kind = vtensor_type([*batch, rows, columns], element)
    scores = torch_op("aten.matmul", [scaled, keys], [kind]).result
    if is_tensor(mask):
        scores = torch_op("aten.add.Tensor", [scores, mask, constant_int(1)], [kind]).result
    weights = torch_op("aten.softmax.int", [scores, dims[1], constant_none()], [kind]).result
    return torch_op("aten.matmul", [weights, v], [op.results[0].type]).result

"""Writes products of a mixture of experts as ATen ops: each expert multiplies its own rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import shape_of
from hipgraft.transforms.hipdnn_to_torch.expressions import Torch


def moe_grouped_matmul(t: Torch, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """Reads rows at the indices `gather` and writes them at the indices `scatter`."""
    assert isinstance(op, hipdnn.MoeGroupedMatmulOp)
    token, weight = t.read(op.token), t.read(op.weight)
    _, rows, columns = t.shape(token)
    indices = None if op.token_index is None else _line(t, op.token_index)
    if op.mode is hipdnn.MoeGroupedMatmulMode.GATHER and indices is not None:
        token, rows = t.taken(token, 1, indices), t.shape(indices)[0]
    members = _members(t, op.first_token_offset, rows)
    groups, experts = t.shape(members)[0], t.shape(weight)[0]
    if groups != experts:  # the groups of one batch after those of another
        shape = [groups // experts, *t.shape(weight)]
        weight = t.view(t.expand(weight, shape), [groups, *shape[2:]])
    own = t.mul(t.as_type(members, t.wide), t.view(token, [1, rows, columns]))
    product = t.sum(t.matmul(own, weight), [0])
    if op.token_ks is None or indices is None:
        return [product]
    target = t.binary("add", t.mul(indices, op.top_k), _line(t, op.token_ks), 1)
    count = shape_of(op.output)[1]
    written = t.test("eq", t.positions([count, 1], 0), t.view(target, [1, rows]))
    return [t.matmul(t.as_type(t.view(written, [1, count, rows]), t.wide), product)]


def moe_grouped_matmul_bwd(t: Torch, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """Writes the gradient of each expert's weights."""
    assert isinstance(op, hipdnn.MoeGroupedMatmulBwdOp)
    token, doutput = t.read(op.token), t.read(op.doutput)
    members = t.as_type(_members(t, op.first_token_offset, t.shape(token)[1]), t.wide)
    return [t.matmul(t.transpose(t.mul(members, token), 1, 2), doutput)]


def _members(t: Torch, offsets: ir.Value, rows: int) -> ir.Value:
    """Writes whether each row belongs to each group: `[groups, rows, 1]`."""
    first = _line(t, offsets)
    groups = t.shape(first)[0]
    end = t.padded(first, [-1], [1], rows)
    row = t.positions([1, rows, 1], 1)
    starts, ends = (t.view(value, [groups, 1, 1]) for value in (first, end))
    return t.both(t.test("ge", row, starts), t.test("lt", row, ends))


def _line(t: Torch, value: ir.Value) -> ir.Value:
    return t.view(t.as_type(t.read(value, wide=False), "si64"), [prod(shape_of(value))])

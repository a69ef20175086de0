"""Rewrites padding that crops, which torch-mlir and IREE do not compile."""

from __future__ import annotations

from hipgraft.ir.bindings import ir
from hipgraft.ir.torch_dialect import aten_name, constant_float, int_list, torch_op, vtensor_type
from hipgraft.transforms.torch_legalization.operands import constant, sliced, tensor
from hipgraft.transforms.torch_to_hipdnn.constants import is_constant

_END = (1 << 63) - 1  # the end of a slice up to the end of the tensor


def pad(op: ir.Operation) -> ir.Value | None:
    """Rewrites `constant_pad_nd(x, amounts, value)` and `pad(x, amounts, "constant", value)`.

    Negative amounts become crops before the padding. Returns None if no amount is negative.
    """
    amounts = constant(op, 1) if is_constant(op.operands[1]) else None
    if not isinstance(amounts, list) or min(amounts, default=0) >= 0:
        return None
    value = op.operands[-1]
    if aten_name(op) == "aten.pad":
        mode = op.operands[2].owner
        text = "" if isinstance(mode, ir.Block) else ir.StringAttr(mode.attributes["value"]).value
        if text != "constant":
            return None
        value = constant_float(0.0) if str(value.type) == "!torch.none" else value
    x, (shape, element) = op.operands[0], tensor(op.operands[0])
    for index in range(len(amounts) // 2):  # the innermost dimension comes first
        dim = len(shape) - 1 - index
        before, after = (max(-amount, 0) for amount in amounts[2 * index : 2 * index + 2])
        extent = shape[dim]
        if before or after:
            shape[dim] = None if extent is None else max(extent - before - after, 0)
            kind = vtensor_type(shape, element)
            x = sliced(x, dim, before, -after if after else _END, kind)
    kept = int_list([max(amount, 0) for amount in amounts])
    return torch_op("aten.constant_pad_nd", [x, kept, value], [op.results[0].type]).result

"""Folds zero padding into convolutions, whose ends hipDNN pads separately."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.torch_dialect import aten_name
from hipgraft.transforms.tensor_builder import Tensor
from hipgraft.transforms.torch_to_hipdnn.constants import constant_value, is_constant
from hipgraft.transforms.torch_to_hipdnn.converter import Conversion, Converter, TorchOp

_PAD = "aten.constant_pad_nd"


def padded_operand(op: TorchOp) -> tuple[Tensor, list[int], list[int]]:
    """Returns a convolution's operand without its zero padding, and the padding of each end.

    `pre` and `post` count elements before and after each spatial dim.
    """
    pre = op.per_dim(4, len(op.tensor(1).shape) - 2)
    post = list(pre)
    pad = defining_op(op.operation.operands[0])
    if pad is None or aten_name(pad) != _PAD:
        return op.float_tensor(0), pre, post
    around = TorchOp(op.converter, pad)
    if not _is_part_of_convolutions(around):
        return op.float_tensor(0), pre, post
    amounts = around.integers(1)
    for dim, (before, after) in enumerate(zip(amounts[::2], amounts[1::2], strict=True), 1):
        pre[-dim] += before
        post[-dim] += after
    return around.float_tensor(0), pre, post


def _constant_pad(_: Converter, op: TorchOp) -> Sequence[Tensor | None]:
    if is_constant(op.operation.operands[1]) and not any(op.constant(1)):
        return [op.tensor(0)]
    if not _is_part_of_convolutions(op):
        raise Declined("no-hipdnn-op", "hipDNN pads only what a convolution reads, and with zeros")
    return [None]


def _is_part_of_convolutions(pad: TorchOp) -> bool:
    """Whether only spatial dims are padded, with zeros, and only convolutions read the result."""
    if not all(map(is_constant, list(pad.operation.operands)[1:])) or pad.constant(2) != 0:
        return False
    # Amounts come in pairs, the last dim first.
    amounts, spatial = pad.integers(1), len(pad.tensor(0).shape) - 2
    if len(amounts) % 2 or len(amounts) > 2 * spatial or min(amounts, default=0) < 0:
        return False
    return all(map(_is_convolved, pad.operation.results[0].uses))


def _is_convolved(use: ir.OpOperand) -> bool:
    user = use.owner.operation
    if aten_name(user) != "aten.convolution" or use.operand_number != 0:
        return False
    transposed = user.operands[6]
    return is_constant(transposed) and not constant_value(transposed)


PADDING: dict[str, Conversion] = {f"torch.{_PAD}": _constant_pad}
"""Conversions by torch op name."""

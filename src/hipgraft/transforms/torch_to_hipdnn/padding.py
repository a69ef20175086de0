"""Folds padding into convolutions and pooling, whose ends hipDNN pads separately."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.torch_dialect import aten_name
from hipgraft.transforms.tensor_builder import Tensor
from hipgraft.transforms.torch_to_hipdnn.constants import constant_value, is_constant
from hipgraft.transforms.torch_to_hipdnn.converter import Conversion, Converter, TorchOp

_PAD = "aten.constant_pad_nd"
_POOLING = re.compile(r"aten\.(max|avg)_pool[123]d")


def padded_operand(op: TorchOp, rank: int) -> tuple[Tensor, list[int], list[int]]:
    """Returns an op's first operand without padding that the op can do, and that padding.

    Args:
        op: a convolution or pooling.
        rank: number of its spatial dims.

    Returns:
        The operand, and the elements before and after each of its spatial dims.
    """
    before, after = [0] * rank, [0] * rank
    pad = defining_op(op.operation.operands[0])
    if pad is None or aten_name(pad) != _PAD:
        return op.float_tensor(0), before, after
    around = TorchOp(op.converter, pad)
    amounts = _amounts(around)
    if amounts is None:
        return op.float_tensor(0), before, after
    for dim, (first, last) in enumerate(amounts, 1):
        before[-dim], after[-dim] = first, last
    return around.float_tensor(0), before, after


def _constant_pad(_: Converter, op: TorchOp) -> Sequence[Tensor | None]:
    if is_constant(op.operation.operands[1]) and not any(op.constant(1)):
        return [op.tensor(0)]
    if _amounts(op) is None:
        raise Declined(
            "no-hipdnn-op", "hipDNN pads only what a convolution reads with zeros, or a pooling"
        )
    return [None]


def _amounts(pad: TorchOp) -> list[tuple[int, int]] | None:
    """Returns the padding of each spatial dim, the last one first, if all readers can do it."""
    if not all(map(is_constant, list(pad.operation.operands)[1:])):
        return None
    # Amounts come in pairs, the last dim first.
    amounts, spatial = pad.integers(1), len(pad.tensor(0).shape) - 2
    if len(amounts) % 2 or any(amounts[2 * spatial :]) or min(amounts, default=0) < 0:
        return None
    value = pad.constant(2)
    if not all(_pads(use, value) for use in pad.operation.results[0].uses):
        return None
    pairs = zip(amounts[::2], amounts[1::2], strict=True)
    return list(pairs)[:spatial]


def _pads(use: ir.OpOperand, value: float) -> bool:
    """Whether a reader can pad with a value itself."""
    user = use.owner.operation
    name = aten_name(user)
    if use.operand_number != 0:
        return False
    if name == "aten.convolution":
        transposed = user.operands[6]
        return value == 0 and is_constant(transposed) and not constant_value(transposed)
    kind = _POOLING.fullmatch(name)
    if kind is None or not all(map(is_constant, list(user.operands)[1:])):
        return False
    if kind[1] == "max":
        return value == -math.inf
    padding, ceil, includes = map(constant_value, list(user.operands)[3:6])
    return value == 0 and not ceil and (includes or not any(padding))


PADDING: dict[str, Conversion] = {f"torch.{_PAD}": _constant_pad}
"""Conversions by torch op name."""

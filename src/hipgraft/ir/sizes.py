"""Checks sizes in bytes before any code computes with them in 64 bits.

MLIR and IREE multiply extents without checking for overflow: to them a tensor of 2^64 bytes has
size 0, and its program does nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from math import prod

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import VerifyError
from hipgraft.ir.element_types import bit_width, is_float, is_integer

MOST_BYTES = 1 << 48
"""The most bytes that any target can address; no machine has as much memory."""

# MLIR keeps these dialects' types as text: torch extents, migraphx extents and strides.
_VTENSOR = re.compile(r"!torch\.v?tensor<\[([\d,?]*)\],(.*)>")
_SHAPED = re.compile(r"!migraphx\.shaped<((?:\d+x)*)([^,>]*)(?:, *([\dx]+))?.*>")


def check_sizes(op: ir.Operation) -> None:
    """Checks that every value of static shape in `op` fits into the address space.

    Raises:
        VerifyError: a value does not fit; located at the op that defines it or has it as an
            argument.
    """
    fits: dict[ir.Type, bool] = {}
    errors: list[VerifyError] = []

    def visit(each: ir.Operation) -> ir.WalkResult:
        for kind in _types(each):
            if kind not in fits:
                fits[kind] = nbytes(kind) <= MOST_BYTES
            if not fits[kind]:
                # The walk does not pass exceptions on.
                errors.append(VerifyError(too_large(f"'{kind}'"), each))
                return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    op.walk(visit, ir.WalkOrder.PRE_ORDER)
    if errors:
        raise errors[0]


def too_large(what: str) -> str:
    """Returns the error message for a value that takes more than `MOST_BYTES`."""
    return (
        f"{what} takes more than 2^{MOST_BYTES.bit_length() - 1} bytes, which no target addresses"
    )


def nbytes(kind: ir.Type) -> int:
    """Returns the least bytes that a value takes; 0 for dynamic shapes and for other types.

    Python's integers do not overflow.
    """
    if isinstance(kind, ir.MemRefType):
        return _of_memref(kind)
    if isinstance(kind, ir.ShapedType):
        if not kind.has_rank or not kind.has_static_shape:
            return 0
        return prod(kind.shape) * _width(str(kind.element_type)) // 8
    text = str(kind)
    if text.startswith("!torch."):
        return _of_vtensor(text)
    if text.startswith("!migraphx."):
        return _of_shaped(text)
    return 0


def spanned_elements(shape: Sequence[int], strides: Iterable[int], offset: int = 0) -> int:
    """Returns the number of elements from the pointer to the last element."""
    if 0 in shape:
        return 0
    return offset + 1 + sum((n - 1) * abs(step) for n, step in zip(shape, strides, strict=True))


def _types(op: ir.Operation) -> Iterator[ir.Type]:
    yield from (result.type for result in op.results)
    for region in op.regions:
        for block in region.blocks:
            yield from (argument.type for argument in block.arguments)


def _of_memref(kind: ir.MemRefType) -> int:
    if not kind.has_static_shape:
        return 0
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    strides, offset = kind.get_strides_and_offset()
    offset, *strides = (0 if number == dynamic else number for number in (offset, *strides))
    return spanned_elements(kind.shape, strides, offset) * _width(str(kind.element_type)) // 8


def _of_vtensor(text: str) -> int:
    match = _VTENSOR.fullmatch(text)
    if match is None or "?" in match[1]:
        return 0
    return prod(map(int, filter(None, match[1].split(",")))) * _width(match[2]) // 8


def _of_shaped(text: str) -> int:
    match = _SHAPED.fullmatch(text)
    if match is None:
        return 0
    shape = [int(extent) for extent in match[1].split("x") if extent]
    strides = [int(stride) for stride in (match[3] or "").split("x") if stride]
    packed = prod(shape)
    span = spanned_elements(shape, strides) if len(strides) == len(shape) else 0
    return max(packed if not strides else 0, span) * _width(match[2]) // 8


def _width(element_type: str) -> int:
    """Returns the least bits that an element takes: 8 for types that are not numbers."""
    name = element_type.partition(",")[0].strip().removeprefix("complex<").removesuffix(">")
    return bit_width(name) if is_float(name) or is_integer(name) else 8

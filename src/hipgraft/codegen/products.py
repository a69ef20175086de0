"""Determines the matrix products that an op computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from hipgraft.dialects.hipdnn import ConvDgradOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.element_types import bit_width, is_float
from hipgraft.ir.tensors import shape_of, tensor_type

_Extents: TypeAlias = tuple[int, int, int]

MATRIX_ROWS = 16
"""Rows of a matrix instruction. IREE 3.13.0 pads single products only, and would multiply batches
without matrix instructions."""

# By estimated time on gfx942 and gfx1100, and measured on an H200. With more rows of 16-bit
# elements, matrix instructions take less time; more rows of f32 need more registers than a lane
# has.
_FEW_ROWS, _FEW_NARROW_ROWS = 16, 8


def few_rows(bits: int) -> int:
    """Returns the most rows for which wavefronts reduce the columns of products, by element width.

    Columns must be contiguous. More rows are multiplied by matrix instructions.
    """
    return _FEW_ROWS if bits > 16 else _FEW_NARROW_ROWS


def sharing_rows(op: ir.Operation) -> int:
    """Returns how many rows multiply each right matrix of a product."""
    left, right = (shape_of(value) for value in list(op.operands)[:2])
    return prod(left[:-1]) if prod(right[:-2]) == 1 else left[-2]


@dataclass(frozen=True)
class Product:
    """Several matrix products with equal extents (M, N, K)."""

    extents: _Extents
    count: int
    element: str

    @property
    def flops(self) -> int:
        """The number of operations; a multiply-add counts as two."""
        return 2 * self.count * prod(self.extents)


_Products: TypeAlias = Callable[[ir.Operation], list[Product]]


def products_of(op: ir.Operation) -> list[Product]:
    """Returns the matrix products of an op."""
    products = _PRODUCTS.get(op.name)
    return [] if products is None else products(op)


def _of_matmul(op: ir.Operation) -> list[Product]:
    a, b, c = shape_of(op.operands[0]), shape_of(op.operands[1]), shape_of(op.results[0])
    # Left matrices that share a right matrix count as rows of one product.
    rows = a[-2] if prod(b[:-2]) > 1 else prod(a[:-1])
    return [Product((rows, c[-1], a[-1]), max(prod(c[:-1]) // rows, 1), _factor(op))]


def _of_convolution(x: int, w: int, y: int) -> _Products:
    """Returns a function for convolutions whose `x`, `w` and `y` are these values of the op."""

    def products(op: ir.Operation) -> list[Product]:
        values = (*op.operands, *op.results)
        channels, filters, result = shape_of(values[x])[1], shape_of(values[w]), shape_of(values[y])
        groups = channels // filters[1]
        positions = result[0] * prod(result[2:])
        extents = (positions, filters[0] // groups, prod(filters[1:]))
        return [Product(extents, groups, _factor(op))]

    return products


def _of_attention(op: ir.Operation) -> list[Product]:
    scores, results = _attention_extents(op)
    return [Product(extents, _heads(op), _factor(op)) for extents in (scores, results)]


def _of_attention_gradient(op: ir.Operation) -> list[Product]:
    """Returns the product that recomputes scores, and two gradients for each of two products."""
    scores, results = _attention_extents(op)
    wanted = (scores, scores, scores, results, results)
    return [Product(extents, _heads(op), _factor(op)) for extents in wanted]


def _attention_extents(op: ir.Operation) -> tuple[_Extents, _Extents]:
    q, k, v = (shape_of(op.operands[index]) for index in range(3))
    return (q[2], k[2], q[3]), (q[2], v[3], k[2])


def _heads(op: ir.Operation) -> int:
    return prod(shape_of(op.operands[0])[:2])


def _of_experts(op: ir.Operation) -> list[Product]:
    weight, output = shape_of(op.operands[1]), shape_of(op.results[0])
    return [Product((output[1], weight[2], weight[1]), 1, _factor(op))]


def _of_experts_gradient(op: ir.Operation) -> list[Product]:
    gradient, token = shape_of(op.operands[0]), shape_of(op.operands[1])
    return [Product((token[2], gradient[2], token[1]), 1, _factor(op))]


_PRODUCTS: dict[str, _Products] = {
    "hipdnn.matmul": _of_matmul,
    "hipdnn.conv_fprop": _of_convolution(x=0, w=1, y=2),
    "hipdnn.conv_dgrad": _of_convolution(x=2, w=1, y=0),
    "hipdnn.conv_wgrad": _of_convolution(x=0, w=2, y=1),
    "hipdnn.sdpa": _of_attention,
    "hipdnn.sdpa_backward": _of_attention_gradient,
    "hipdnn.moe_grouped_matmul": _of_experts,
    "hipdnn.moe_grouped_matmul_bwd": _of_experts_gradient,
}


def _factor(op: ir.Operation) -> str:
    """Returns the element type of the factors; 8-bit floats are multiplied as f16."""
    element = str(tensor_type(op.operands[0]).element_type)
    return "f16" if is_float(element) and bit_width(element) == 8 else element


def has_window_products(op: ConvDgradOp) -> bool:
    """Returns whether each element of `dx` is one product, in one window of a dgrad.

    The products must fill matrix instructions. Otherwise IREE 3.13.0 may compute wrong products on
    RDNA, or fail.
    """
    dy, window, dx = shape_of(op.dy), shape_of(op.w)[2:], shape_of(op.dx)
    if any((*op.pre_padding, *op.post_padding)) or max(op.dilation) > 1 or max(op.stride) == 1:
        return False
    is_covered = [n * step for n, step in zip(dy[2:], op.stride, strict=True)] == list(dx[2:])
    is_filled = all(extent % MATRIX_ROWS == 0 for extent in (*shape_of(op.w)[:2], dy[-1]))
    is_single = dx[1] == shape_of(op.w)[1]
    return list(op.stride) == list(window) and is_covered and is_single and is_filled


def op_flops(op: ir.Operation) -> int:
    """Returns the operations of an op's contractions; a multiply-add counts as two."""
    return sum(each.flops for each in products_of(op))

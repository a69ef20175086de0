"""The least work of a graph, independent of its kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias, cast

from hipgraft.codegen.layout import Layout
from hipgraft.codegen.lowering.all_ops import operand_layouts, result_layouts
from hipgraft.codegen.lowering.emit.small_floats import BYTES
from hipgraft.dialects.hipdnn import ContainerOp, wrap
from hipgraft.ir.bindings import ir
from hipgraft.ir.element_types import byte_size
from hipgraft.ir.tensors import shape_of, tensor_type
from hipgraft.runtime.recording import Tensor

# The most operations of a lane per instruction without matrix instructions: a packed multiply-add
# of two elements.
_FLOPS_OF_A_LANE = 4

# Smaller extents do not fill the tile of a matrix instruction.
_SMALLEST_TILE = 16

# Operations of the largest matrix instruction, 2 x M x N x K.
_DEPTHS = {"f32": 2, "f16": 8, "bf16": 8, "i8": 16}
_CDNA = {element: 2 * 32 * 32 * depth for element, depth in _DEPTHS.items()}
_CDNA4 = {element: (1 if element == "f32" else 2) * flops for element, flops in _CDNA.items()}
_RDNA: dict[str, int] = dict.fromkeys(("f16", "bf16", "i8"), 2 * 16 * 16 * 16)


@dataclass(frozen=True)
class GraphWork:
    """The least work of a graph.

    Attributes:
        flops: operations of its contractions; a multiply-add counts as two.
        bytes: bytes of its operands and results, each counted once.
        outputs: number of elements of its results.
        contractions: number of products whose matrices are large enough for matrix instructions.
        elements: element types of these products' factors.
        operands: the packed tensors that a kernel reads.
        results: the packed tensors that a kernel writes.
    """

    flops: int
    bytes: int
    outputs: int
    contractions: int
    elements: frozenset[str]
    operands: tuple[Tensor, ...] = ()
    results: tuple[Tensor, ...] = ()

    def takes_matrix_instructions(self, architecture: str) -> bool:
        """Whether the architecture has matrix instructions for the contractions."""
        return self.contractions > 0 and self.elements <= _instructions(architecture).keys()

    def least_matrix_instructions(self, architecture: str) -> int:
        """Returns the matrix instructions that all contractions need; 0 if they cannot use any."""
        if not self.takes_matrix_instructions(architecture):
            return 0
        sizes = _instructions(architecture)
        return -(-self.flops // min(sizes[element] for element in self.elements))

    def least_instructions(self, wavefront: int) -> float:
        """Returns the wave instructions that all contractions need without matrix instructions."""
        return self.flops / (_FLOPS_OF_A_LANE * wavefront)


def _instructions(architecture: str) -> dict[str, int]:
    """Returns the operations of the largest matrix instruction, by element type."""
    if architecture.startswith("gfx1"):
        return _RDNA
    return _CDNA4 if architecture == "gfx950" else _CDNA


def graph_work(op: ir.Operation) -> GraphWork:
    """Returns the work of a `hipdnn.graph` or `hipdnn.fallback`, whose torch ops count no flops."""
    container = cast(ContainerOp, wrap(op))
    products = [found for each in container.body.operations for found in _products(each.operation)]
    large = [each for each in products if min(each.extents) >= _SMALLEST_TILE]
    return GraphWork(
        flops=sum(each.flops for each in products),
        bytes=sum(_bytes(value) for value in (*container.inputs, *container.outputs)),
        outputs=sum(prod(shape_of(value)) for value in container.outputs),
        contractions=len(large),
        elements=frozenset(each.element for each in large),
        operands=_packed(operand_layouts(container)),
        results=_packed(result_layouts(container)),
    )


def op_flops(op: ir.Operation) -> int:
    """Returns the operations of an op's contractions; a multiply-add counts as two."""
    return sum(each.flops for each in _products(op))


def _packed(layouts: Sequence[Layout]) -> tuple[Tensor, ...]:
    return tuple(Tensor("", each.physical_shape, each.element_type) for each in layouts)


_Extents: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True)
class _Product:
    """A number of matrix products with equal extents (M, N, K)."""

    extents: _Extents
    count: int
    element: str

    @property
    def flops(self) -> int:
        return 2 * self.count * prod(self.extents)


_Products: TypeAlias = Callable[[ir.Operation], list[_Product]]


def _products(op: ir.Operation) -> list[_Product]:
    """Returns the matrix products of an op."""
    products = _PRODUCTS.get(op.name)
    return [] if products is None else products(op)


def _of_matmul(op: ir.Operation) -> list[_Product]:
    a, b, c = shape_of(op.operands[0]), shape_of(op.operands[1]), shape_of(op.results[0])
    # Left matrices that share a right matrix count as rows of one product.
    rows = a[-2] if prod(b[:-2]) > 1 else prod(a[:-1])
    return [_Product((rows, c[-1], a[-1]), max(prod(c[:-1]) // rows, 1), _factor(op))]


def _of_convolution(x: int, w: int, y: int) -> _Products:
    """Returns a function for convolutions whose `x`, `w` and `y` are these values of the op."""

    def products(op: ir.Operation) -> list[_Product]:
        values = (*op.operands, *op.results)
        channels, filters, result = shape_of(values[x])[1], shape_of(values[w]), shape_of(values[y])
        groups = channels // filters[1]
        positions = result[0] * prod(result[2:])
        extents = (positions, filters[0] // groups, prod(filters[1:]))
        return [_Product(extents, groups, _factor(op))]

    return products


def _of_attention(op: ir.Operation) -> list[_Product]:
    scores, results = _attention_extents(op)
    return [_Product(extents, _heads(op), _factor(op)) for extents in (scores, results)]


def _of_attention_gradient(op: ir.Operation) -> list[_Product]:
    """Returns the product for the scores again, and two gradients for each of the two products."""
    scores, results = _attention_extents(op)
    wanted = (scores, scores, scores, results, results)
    return [_Product(extents, _heads(op), _factor(op)) for extents in wanted]


def _attention_extents(op: ir.Operation) -> tuple[_Extents, _Extents]:
    q, k, v = (shape_of(op.operands[index]) for index in range(3))
    return (q[2], k[2], q[3]), (q[2], v[3], k[2])


def _heads(op: ir.Operation) -> int:
    return prod(shape_of(op.operands[0])[:2])


def _of_experts(op: ir.Operation) -> list[_Product]:
    weight, output = shape_of(op.operands[1]), shape_of(op.results[0])
    return [_Product((output[1], weight[2], weight[1]), 1, _factor(op))]


def _of_experts_gradient(op: ir.Operation) -> list[_Product]:
    gradient, token = shape_of(op.operands[0]), shape_of(op.operands[1])
    return [_Product((token[2], gradient[2], token[1]), 1, _factor(op))]


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
    return "f16" if element in BYTES else element


def _bytes(value: ir.Value) -> int:
    return byte_size(tensor_type(value).shape, tensor_type(value).element_type) or 0

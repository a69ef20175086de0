"""The least work of a graph, independent of its kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from hipgraft.codegen.layout import Layout
from hipgraft.codegen.lowering.all_ops import operand_layouts, result_layouts
from hipgraft.codegen.products import products_of
from hipgraft.dialects.hipdnn import ContainerOp, wrap
from hipgraft.ir.bindings import ir
from hipgraft.ir.element_types import byte_size
from hipgraft.ir.tensors import shape_of, tensor_type
from hipgraft.runtime.recording import Tensor

# Without matrix instructions, a lane executes at most this many operations per instruction: a
# packed multiply-add of two elements.
_FLOPS_OF_A_LANE = 4

# Extents below this do not fill the tile of a matrix instruction.
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
    """Returns the work of a `hipdnn.graph` or `hipdnn.fallback`; torch ops count no flops."""
    container = cast(ContainerOp, wrap(op))
    products = [
        found for each in container.body.operations for found in products_of(each.operation)
    ]
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


def _packed(layouts: Sequence[Layout]) -> tuple[Tensor, ...]:
    return tuple(Tensor("", each.physical_shape, each.element_type) for each in layouts)


def _bytes(value: ir.Value) -> int:
    return byte_size(tensor_type(value).shape, tensor_type(value).element_type) or 0

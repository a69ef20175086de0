"""Logical tensors and the SSA values that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.codegen.layout import memory_element


def tensor_type(extents: Sequence[int], element: str) -> str:
    """Returns the text of the type of a ranked tensor in memory."""
    return f"tensor<{''.join(f'{extent}x' for extent in extents)}{memory_element(element)}>"


@dataclass(frozen=True)
class Tensor:
    """A logical tensor and the SSA value that holds it.

    The value may hold the dims in another order (channels last) and leave out those that are
    broadcast. Indexing maps absorb the difference, so that a transposition becomes an op only
    where a named op insists on an order.

    Attributes:
        name: the SSA name, with its `%`.
        shape: logical extents.
        element: MLIR text of the element type.
        dims: the logical dim that each dim of the value stands for; those that are missing have
            extent 1 or are broadcast.
    """

    name: str
    shape: tuple[int, ...]
    element: str
    dims: tuple[int, ...]

    @classmethod
    def logical(cls, name: str, shape: Sequence[int], element: str) -> Tensor:
        """Returns the tensor that the value `name` of logical type holds."""
        return cls(name, tuple(shape), element, tuple(range(len(shape))))

    @property
    def rank(self) -> int:
        """Number of logical dims."""
        return len(self.shape)

    @property
    def extents(self) -> tuple[int, ...]:
        """Extents of the SSA value."""
        return tuple(self.shape[dim] for dim in self.dims)

    @property
    def type(self) -> str:
        """MLIR text of the SSA value's type."""
        return tensor_type(self.extents, self.element)

    def lies_in(self, order: Sequence[int]) -> bool:
        """Whether the value's elements are in the memory order of `order`."""
        moving = [dim for dim in order if self.shape[dim] > 1]
        return [dim for dim in self.dims if self.shape[dim] > 1] == moving

    def permuted(self, order: Sequence[int]) -> Tensor:
        """Returns the tensor whose logical dims are these in `order`; the value is the same."""
        shape = tuple(self.shape[dim] for dim in order)
        return Tensor(self.name, shape, self.element, tuple(order.index(dim) for dim in self.dims))

    def with_unit_dim(self, position: int) -> Tensor:
        """Returns the tensor with a logical dim of extent 1 more; the value is the same."""
        shape = (*self.shape[:position], 1, *self.shape[position:])
        dims = tuple(dim + (dim >= position) for dim in self.dims)
        return Tensor(self.name, shape, self.element, dims)

    @property
    def broadcast_dims(self) -> list[int]:
        """Logical dims of extent 2 or more that the value leaves out."""
        return [dim for dim in range(self.rank) if self.shape[dim] > 1 and dim not in self.dims]


def common_order(inputs: Sequence[Tensor], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the stored dims of the first input of `shape`, all of them if there is none."""
    for value in inputs:
        if value.shape == shape and not value.broadcast_dims:
            return value.dims
    return tuple(range(len(shape)))


def indexing_map(value: Tensor, loops: Sequence[int], shape: Sequence[int]) -> str:
    """Returns the affine map from loops to the elements of `value`.

    Args:
        value: an operand, whose logical dims align with the last ones of `shape`.
        loops: logical dim of `shape` that each loop runs over; dims of extent 1 may have none.
        shape: the iteration space; an operand's extent of 1 in a larger one broadcasts.
    """
    shift = len(shape) - value.rank
    results: list[str] = []
    for dim in value.dims:
        loop = dim + shift
        stays = value.shape[dim] == 1 and (loop not in loops or shape[loop] != 1)
        results.append("0" if stays else f"d{loops.index(loop)}")
    variables = ", ".join(f"d{loop}" for loop in range(len(loops)))
    return f"affine_map<({variables}) -> ({', '.join(results)})>"


def reassociation(wide: Sequence[int], narrow: Sequence[int]) -> list[list[int]]:
    """Returns which dims of `wide` make up each dim of `narrow`.

    Unit dims of `wide` join the dim after them, trailing ones the last.
    """
    groups: list[list[int]] = []
    position = 0
    for extent in narrow:
        group: list[int] = []
        product = 1
        while position < len(wide) and (not group or product < extent):
            group.append(position)
            product *= wide[position]
            position += 1
        groups.append(group)
    if groups:
        groups[-1] += range(position, len(wide))
    return groups

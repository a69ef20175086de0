"""Defines logical tensors and the SSA values that hold them."""

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

    The value may store the dims in another order (channels last) and omit broadcast dims. Indexing
    maps absorb the difference, so a transposition needs an op only if a named op requires a certain
    order.

    Attributes:
        name: the SSA name, with its `%`.
        shape: logical extents.
        element: MLIR text of the element type.
        dims: the logical dim of each dim of the value; missing logical dims have extent 1 or
            are broadcast.
    """

    name: str
    shape: tuple[int, ...]
    element: str
    dims: tuple[int, ...]

    @classmethod
    def logical(cls, name: str, shape: Sequence[int], element: str) -> Tensor:
        """Returns the tensor of an SSA value `name` with all dims in logical order."""
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

    @property
    def several_dims(self) -> tuple[int, ...]:
        """The logical dims of extent 2 and more that the value stores, in its order."""
        return tuple(dim for dim in self.dims if self.shape[dim] > 1)

    def lies_in(self, order: Sequence[int]) -> bool:
        """Whether the value's elements are stored in the order `order`."""
        return self.several_dims == tuple(dim for dim in order if self.shape[dim] > 1)

    def permuted(self, order: Sequence[int]) -> Tensor:
        """Returns the tensor with its logical dims permuted to `order`; the SSA value stays."""
        shape = tuple(self.shape[dim] for dim in order)
        return Tensor(self.name, shape, self.element, tuple(order.index(dim) for dim in self.dims))

    def with_unit_dim(self, position: int) -> Tensor:
        """Returns the tensor with one more logical dim, of extent 1; the SSA value stays."""
        shape = (*self.shape[:position], 1, *self.shape[position:])
        dims = tuple(dim + (dim >= position) for dim in self.dims)
        return Tensor(self.name, shape, self.element, dims)

    def without_unit_dim(self, position: int) -> Tensor:
        """Returns the tensor without a logical dim of extent 1 that is not stored."""
        shape = (*self.shape[:position], *self.shape[position + 1 :])
        dims = tuple(dim - (dim > position) for dim in self.dims)
        return Tensor(self.name, shape, self.element, dims)

    def split_dim(self, dim: int, outer: int) -> Tensor:
        """Returns the form with a logical dim split into two, the first of extent `outer`."""
        shape = (*self.shape[:dim], outer, self.shape[dim] // outer, *self.shape[dim + 1 :])
        dims: list[int] = []
        for stored in self.dims:
            dims += [dim, dim + 1] if stored == dim else [stored + (stored > dim)]
        return Tensor("", shape, self.element, tuple(dims))

    @property
    def broadcast_dims(self) -> list[int]:
        """Logical dims of extent 2 or more that the value does not store."""
        return [dim for dim in range(self.rank) if self.shape[dim] > 1 and dim not in self.dims]


def common_order(inputs: Sequence[Tensor], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the storage order of the first input of `shape`; logical order if there is none."""
    for value in inputs:
        if value.shape == shape and not value.broadcast_dims:
            return value.dims
    return tuple(range(len(shape)))


def indexing_map(value: Tensor, loops: Sequence[int], shape: Sequence[int]) -> str:
    """Returns the affine map from loops to the elements of `value`.

    Args:
        value: an operand; its logical dims align with the last dims of `shape`.
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
    """Returns, for each dim of `narrow`, the dims of `wide` that form it.

    Unit dims of `wide` join the group of the dim after them; trailing unit dims join the last
    group.
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

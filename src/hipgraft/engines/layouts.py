"""Defines named layouts: orders of a tensor's dimensions in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_PADDED = "padded "

Order = tuple[int, ...]
"""Dimensions in the order of decreasing stride."""


def _channels_last(rank: int) -> Order:
    return (0, *range(2, rank), 1) if rank > 2 else ()


def _column_major(rank: int) -> Order:
    return (*range(rank - 2), rank - 1, rank - 2) if rank > 1 else ()


def _sequence_first(rank: int) -> Order:
    return (0, 2, 1, 3) if rank == 4 else ()


_ORDERS: dict[str, Callable[[int], Order]] = {
    "row-major": lambda rank: tuple(range(rank)),
    "channels-last": _channels_last,
    "column-major": _column_major,
    "BSHD": _sequence_first,
}

LAYOUTS = (*_ORDERS, *(f"{_PADDED}{name}" for name in _ORDERS))
"""The layout names; padded layouts may have gaps between rows, the others are packed."""


def has_layout(dims: Sequence[int], strides: Sequence[int], name: str) -> bool:
    """Returns whether a tensor is in the layout `name`; strides of unit extents do not matter.

    Args:
        dims: extents.
        strides: strides in elements.
        name: one of `LAYOUTS`.
    """
    order = _ORDERS[name.removeprefix(_PADDED)](len(dims))
    if len(order) != len(dims):
        return False
    least, is_innermost = 1, True
    for dim in reversed(order):
        if dims[dim] == 1:
            continue
        may_be_more = name.startswith(_PADDED) and not is_innermost
        if strides[dim] != least and not (may_be_more and strides[dim] > least):
            return False
        least, is_innermost = strides[dim] * dims[dim], False
    return True

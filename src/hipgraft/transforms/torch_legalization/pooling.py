"""Rewrites adaptive pooling with windows of different extents, which torch-mlir lowers wrongly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import PassFailure
from hipgraft.ir.torch_dialect import (
    aten_name,
    constant_bool,
    constant_int,
    constant_none,
    list_of_ints,
    torch_op,
    vtensor_type,
)
from hipgraft.transforms.torch_legalization.operands import constant, tensor, view


def adaptive_max_pool(op: ir.Operation) -> ir.Value | None:
    """Takes maxima one dimension at a time; None if all windows have equal extents.

    A window shorter than the longest one repeats its last element.

    Raises:
        PassFailure: the positions of the maxima are used, or an extent is dynamic.
    """
    if _is_even(op):
        return None
    if any(True for _ in op.results[1].uses):
        message = "the positions of maxima in windows of different extents are used"
        raise PassFailure(f"'{aten_name(op)}': {message}", op)
    return _pooled(op, lambda x, dim, _, kind: _reduced("aten.amax", x, dim, [], kind))


def adaptive_average_pool(op: ir.Operation) -> ir.Value | None:
    """Averages one dimension at a time; None if all windows have equal extents.

    Raises:
        PassFailure: an extent is dynamic.
    """
    return None if _is_even(op) else _pooled(op, _averaged)


def _is_even(op: ir.Operation) -> bool:
    counts = constant(op, 1)
    if isinstance(counts, list) and all(count == 1 for count in counts):
        return True
    extents, counts = _extents_and_counts(op)
    return not any(extent % count for extent, count in zip(extents, counts, strict=True))


def _extents_and_counts(op: ir.Operation) -> tuple[list[int], list[int]]:
    counts = constant(op, 1)
    assert isinstance(counts, list)
    extents, _ = tensor(op.operands[0])
    pooled = [extent for extent in extents[len(extents) - len(counts) :] if extent is not None]
    if len(pooled) < len(counts):
        message = f"'{aten_name(op)}' of dynamic extents is supported for one result only"
        raise PassFailure(message, op)
    return pooled, counts


def _pooled(
    op: ir.Operation, reduce: Callable[[ir.Value, int, Sequence[int], ir.Type], ir.Value]
) -> ir.Value:
    """Pools one dimension at a time.

    Args:
        op: op whose windows have different extents.
        reduce: reduces one dimension of windows that are padded to the longest one; takes the
            windows, the dimension, the number of elements in each window, and the result's type.
    """
    x, (pooled, counts) = op.operands[0], _extents_and_counts(op)
    extents, element = tensor(x)
    first = len(extents) - len(counts)
    for dim, (extent, count) in enumerate(zip(pooled, counts, strict=True), first):
        places, sizes = _places(extent, count)
        extents[dim] = len(places)
        kind = vtensor_type(extents, element)
        indices = _literal([str(place) for place in places], "si64")
        x = torch_op("aten.index_select", [x, constant_int(dim), indices], [kind]).result
        extents[dim : dim + 1] = [count, len(places) // count]
        x = view(x, extents, element)
        del extents[dim + 1]
        x = reduce(x, dim + 1, sizes, vtensor_type(extents, element))
    return x


def _averaged(x: ir.Value, dim: int, sizes: Sequence[int], kind: ir.Type) -> ir.Value:
    """Averages the first `sizes[i]` elements of window i along `dim`."""
    shape, element = tensor(x)
    longest, trailing = max(sizes), [1] * (len(shape) - dim - 1)
    is_behind = ["false" if step < size else "true" for size in sizes for step in range(longest)]
    mask = view(_literal(is_behind, "i1"), [len(sizes), longest, *trailing], "i1")
    x = torch_op("aten.masked_fill.Scalar", [x, mask, constant_int(0)], [x.type]).result
    total = _reduced("aten.sum.dim_IntList", x, dim, [constant_none()], kind)
    counts = view(
        _literal([f"{size}.0" for size in sizes], element), [len(sizes), *trailing], element
    )
    return torch_op("aten.div.Tensor", [total, counts], [kind]).result


def _reduced(
    name: str, x: ir.Value, dim: int, others: Sequence[ir.Value], kind: ir.Type
) -> ir.Value:
    operands = [x, list_of_ints([constant_int(dim)]), constant_bool(False), *others]
    return torch_op(name, operands, [kind]).result


def _places(extent: int, count: int) -> tuple[list[int], list[int]]:
    """Returns the indices of each window, padded to the longest one, and the window sizes."""
    windows = [
        (number * extent // count, -(-(number + 1) * extent // count)) for number in range(count)
    ]
    sizes = [end - start for start, end in windows]
    longest = max(sizes)
    places = [min(start + step, end - 1) for start, end in windows for step in range(longest)]
    return places, sizes


def _literal(values: Sequence[str], element: str) -> ir.Value:
    """Makes a tensor of one dimension from its elements' texts."""
    text = f"dense<[{', '.join(values)}]> : tensor<{len(values)}x{element}>"
    return ir.Operation.create(
        "torch.vtensor.literal",
        results=[vtensor_type([len(values)], element)],
        attributes={"value": ir.Attribute.parse(text)},
    ).result

"""Rewrites adaptive max pooling to windows of different extents: torch-mlir lowers it wrongly."""

from __future__ import annotations

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import PassFailure
from hipgraft.ir.torch_dialect import (
    aten_name,
    constant_bool,
    constant_int,
    list_of_ints,
    torch_op,
    vtensor_type,
)
from hipgraft.transforms.torch_legalization.operands import constant, tensor, view


def adaptive_max_pool(op: ir.Operation) -> ir.Value | None:
    """Takes maxima along one dimension after the other; None if all windows have equal extents.

    A window shorter than the longest one repeats its last element.

    Raises:
        PassFailure: the positions of the maxima are used.
    """
    x, counts = op.operands[0], constant(op, 1)
    extents, element = tensor(x)
    assert isinstance(counts, list)
    first = len(extents) - len(counts)
    known = [extent for extent in extents[first:] if extent is not None]
    if len(known) < len(counts):
        return None
    if not any(extent % count for extent, count in zip(known, counts, strict=True)):
        return None
    if any(True for _ in op.results[1].uses):
        message = "the positions of maxima in windows of different extents are used"
        raise PassFailure(f"'{aten_name(op)}': {message}", op)
    for dim, (extent, count) in enumerate(zip(known, counts, strict=True), first):
        places = _places(extent, count)
        extents[dim] = len(places)
        kind = vtensor_type(extents, element)
        x = torch_op("aten.index_select", [x, constant_int(dim), _literal(places)], [kind]).result
        extents[dim : dim + 1] = [count, len(places) // count]
        x = view(x, extents, element)
        del extents[dim + 1]
        operands = [x, list_of_ints([constant_int(dim + 1)]), constant_bool(False)]
        x = torch_op("aten.amax", operands, [vtensor_type(extents, element)]).result
    return x


def _places(extent: int, count: int) -> list[int]:
    """Returns the indices of each window, as many as the longest one has."""
    windows = [
        (number * extent // count, -(-(number + 1) * extent // count)) for number in range(count)
    ]
    longest = max(end - start for start, end in windows)
    return [min(start + step, end - 1) for start, end in windows for step in range(longest)]


def _literal(values: list[int]) -> ir.Value:
    elements = ir.Attribute.parse(f"dense<{values}> : tensor<{len(values)}xsi64>")
    return ir.Operation.create(
        "torch.vtensor.literal",
        results=[vtensor_type([len(values)], "si64")],
        attributes={"value": elements},
    ).result

"""Checks the rules of single operations, with rocMLIR's messages."""

from __future__ import annotations

import math
from collections.abc import Callable

from hipgraft.dialects.migraphx.attention_rules import check_attention
from hipgraft.dialects.migraphx.operation import MigraphxOp
from hipgraft.dialects.migraphx.types import ShapedType, row_major
from hipgraft.ir.bindings import ir

_FP4 = "f4E2M1FN"


def _reshape(op: MigraphxOp) -> None:
    source, result, dims = op.input(), op.output(), op.ints("dims")
    if not source.is_static:
        raise op.error("Dynamic shapes are not supported")
    if len(dims) != len(result.shape):
        raise op.error(
            f"number of dims ({len(dims)}) does not match result rank ({len(result.shape)})"
        )
    if dims.count(-1) > 1:
        raise op.error("expected at most one target dimension to be -1")
    if -1 in dims and 0 in dims:
        raise op.error("Cannot mix missing dimensions with zero dimension")
    for wanted, extent in zip(dims, result.shape, strict=True):
        _check_reshaped_extent(op, wanted, extent)
    if math.prod(source.extents) != math.prod(result.extents):
        raise op.error("input and output element counts do not match")


def _check_reshaped_extent(op: MigraphxOp, wanted: int, extent: int | None) -> None:
    if wanted < -1:
        raise op.error("Non -1 negative values are not supported")
    if extent is None:
        raise op.error("Negative output dimensions are not supported")
    if wanted not in (-1, extent):
        raise op.error(f"dimValue: {wanted} inconsistent with result dimension {extent}")


def _contraction_shapes(op: MigraphxOp) -> None:
    a, b, result = op.input(0), op.input(1), op.output()
    if len(a.shape) < 2 or len(b.shape) < 2:
        raise op.error("expect operand to have rank greater or equal to 2")
    operands = (
        f"the first operand ('{op.operation.operands[0].type}') and "
        f"the second operand ('{op.operation.operands[1].type}')"
    )
    # The second operand has the batch dimensions of the first, or a single matrix.
    batch_a, batch_b = a.shape[:-2], b.shape[:-2]
    if batch_b != batch_a and math.prod(extent or 0 for extent in batch_b) != 1:
        raise op.error(f"batch dimension mismatch: {operands} have incompatible batch dimensions")
    if a.shape[-1] != b.shape[-2]:
        raise op.error(
            f"contraction dimension mismatch: {operands} have incompatible contraction dimensions"
        )
    if result.shape != (*batch_a, a.shape[-2], b.shape[-1]):
        raise op.error("result type is inconsistent with input shapes")


def _quant_dot(op: MigraphxOp) -> None:
    scales = op.operand("scaleA"), op.operand("scaleB")
    if (scales[0] is None) != (scales[1] is None):
        raise op.error("both scaleA and scaleB must be provided or neither")
    if scales[0] is not None and scales[1] is not None:
        _check_scales(op, {"scaleA": scales[0], "scaleB": scales[1]})
    elif _FP4 in (op.input(0).element, op.input(1).element):
        raise op.error(f"Quant Dot ops requires scales to be provided to use {_FP4} element type")
    _contraction_shapes(op)


def _check_scales(op: MigraphxOp, scales: dict[str, ir.Value]) -> None:
    for index, (name, scale) in enumerate(scales.items()):
        shape, wanted = op.type_of(scale).shape, op.input(index).shape
        if len(shape) != len(wanted):
            raise op.error(
                f"{name} shape must have the same number of dimensions as the input types"
            )
        if shape != wanted:
            raise op.error(f"{name} shape must have the same dimensions as the input types")
    if op.input(0).element != op.input(1).element:
        raise op.error("input types must have the same element type")
    if op.input(0).element != _FP4:
        raise op.error(f"Scaled quant dot ops only support {_FP4} element type")
    if op.output().element != "f32":
        raise op.error("result type must be a float32 type for scaled quant dot ops")


def _literal(op: MigraphxOp) -> None:
    result = op.output()
    attribute = op.operation.attributes["value"]
    value = ShapedType.of(attribute.type)
    if value is None or value.signless != result.signless:
        raise op.error(f"value type {attribute.type} does not match result type '{result}'")
    if isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat:
        return  # a splat may have any shape
    if value.shape != result.shape:
        raise op.error(
            "non-splat literals must have a value that matches the literal's logical shape"
        )
    if result.strides != row_major(result.shape):
        raise op.error("strides of non-splat literal are not in standard shape")


def _unpack(op: MigraphxOp) -> None:
    source, result, axis = op.input(), op.output(), op.int("axis")
    if not 0 <= axis < len(source.shape):
        raise op.error(f"axis out of range of shape: {axis}")
    if len(result.shape) != len(source.shape):
        raise op.error("input and output have different ranks")
    if source.bits == 4:
        return  # already unpacked: only the element type changes
    half, whole = source.shape[axis], result.shape[axis]
    if half is not None and whole != 2 * half:
        raise op.error("expected length along input axis to be half the length along output axis")


def _slice(op: MigraphxOp) -> None:
    source, result = op.input(), op.output()
    axes, starts, ends = (op.ints(name) for name in ("axes", "starts", "ends"))
    if not len(axes) == len(starts) == len(ends):
        raise op.error("axes, starts, and ends must have the same size")
    if len(source.shape) != len(result.shape):
        raise op.error("input and output shapes must have the same rank")
    if any(number < 0 for number in (*axes, *starts)):
        raise op.error("all attribute must non non-negative")
    if any(axis >= len(source.shape) for axis in axes):
        raise op.error("axes is greater than input rank")
    if len(set(axes)) != len(axes):
        raise op.error("axes must not have duplicates")
    shape = list(source.shape)
    for axis, start, end in zip(axes, starts, ends, strict=True):
        shape[axis] = _sliced_extent(op, axis, start, end)
    if tuple(shape) != result.shape:
        raise op.error("input shape and attribute does not infer output shape")


def _sliced_extent(op: MigraphxOp, axis: int, start: int, end: int) -> int:
    """Returns a slice's extent; a negative or too large `end` is valid if the result agrees."""
    extent = op.input().shape[axis]
    stop = end if extent is None else slice_end(end, extent)
    means_it = op.output().shape[axis] == stop - start
    if end < 0 and not means_it:
        raise op.error("all attribute must non non-negative")
    if start >= stop:
        raise op.error("start is greater or equal to end")
    if extent is not None and end > extent and not means_it:
        raise op.error("end is greater than input shape")
    return stop - start


def slice_end(end: int, extent: int) -> int:
    """Returns the end of a slice: negative ends count from the last element, others are clamped."""
    return min(end + extent if end < 0 else end, extent)


def _max(op: MigraphxOp) -> None:
    kinds = [op.input(0), op.input(1), op.output()]
    if any(not kind.is_static for kind in kinds):
        raise op.error("requires static logical shapes")
    if any(None in kind.strides for kind in kinds):
        raise op.error("requires static strides")
    if any(kind.element.endswith("i1") for kind in kinds):
        raise op.error("does not support one-bit integer element types")
    if len({kind.shape for kind in kinds}) > 1:
        raise op.error("failed to verify that all of {inA, inB, output} have same shape")


def _sigmoid(op: MigraphxOp) -> None:
    if not (op.input().is_float and op.output().is_float):
        raise op.error("only support floating point")


def _quantizelinear(op: MigraphxOp) -> None:
    bias = op.operand("bias")
    if bias is not None and op.type_of(bias).is_float != op.output().is_float:
        # Older modules add a 32-bit bias to 8-bit results.
        raise op.error("failed to verify that output and bias must have the same element type")


def _permutation(op: MigraphxOp) -> None:
    permutation, rank = op.ints("permutation"), len(op.input().shape)
    if sorted(permutation) != list(range(rank)):
        raise op.error(f"expected a permutation of {rank} dimensions, but found {permutation}")


RULES: dict[str, Callable[[MigraphxOp], None]] = {
    "attention": check_attention,
    "dot": _contraction_shapes,
    "literal": _literal,
    "max": _max,
    "quant_dot": _quant_dot,
    "quantizelinear": _quantizelinear,
    "reshape": _reshape,
    "sigmoid": _sigmoid,
    "slice": _slice,
    "transpose": _permutation,
    "unpack": _unpack,
}

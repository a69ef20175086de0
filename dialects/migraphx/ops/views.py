"""Views, constants, padding, compiled kernels and casts."""

from __future__ import annotations

import math

from hipgraft.dialects.framework.fields import (
    Operand,
    Result,
    VariadicOperand,
    defaulted,
    required,
)
from hipgraft.dialects.migraphx.kinds import ELEMENTS, FLOAT, INT, INTS
from hipgraft.dialects.migraphx.operation import MigraphxOp
from hipgraft.dialects.migraphx.types import ShapedType, row_major
from hipgraft.ir.bindings import ir


class ViewOp(MigraphxOp):
    """Elements of the input in another shape."""

    input = Operand("input")
    output = Result("view of the input")


class BroadcastOp(ViewOp, mnemonic="broadcast"):
    """The input with its first dimension at `axis`."""

    axis = required(INT, "the input's first dimension in the result")
    out_lens = required(INTS, "shape of the result")


class MultibroadcastOp(ViewOp, mnemonic="multibroadcast"):
    """The input repeated to `out_lens`, aligned on the right."""

    out_lens = required(INTS, "shape of the result")


class FlattenOp(ViewOp, mnemonic="flatten"):
    """A matrix of the dimensions before `axis` and those from it on."""

    axis = required(INT, "first dimension of the rows")


class ReshapeOp(ViewOp, mnemonic="reshape"):
    """The elements in row-major order in another shape."""

    dims = required(INTS, "shape of the result; one may be -1")
    same_element = ("input", "output")

    def verify(self) -> None:  # noqa: D102
        source, result, dims = self.input_type(), self.output_type(), self.dims
        if not source.is_static:
            raise self.error("Dynamic shapes are not supported")
        if len(dims) != len(result.shape):
            raise self.error(
                f"number of dims ({len(dims)}) does not match result rank ({len(result.shape)})"
            )
        if dims.count(-1) > 1:
            raise self.error("expected at most one target dimension to be -1")
        if -1 in dims and 0 in dims:
            raise self.error("Cannot mix missing dimensions with zero dimension")
        for wanted, extent in zip(dims, result.shape, strict=True):
            self._check_reshaped_extent(wanted, extent)
        if math.prod(source.extents) != math.prod(result.extents):
            raise self.error("input and output element counts do not match")

    def _check_reshaped_extent(self, wanted: int, extent: int | None) -> None:
        if wanted < -1:
            raise self.error("Non -1 negative values are not supported")
        if extent is None:
            raise self.error("Negative output dimensions are not supported")
        if wanted not in (-1, extent):
            raise self.error(f"dimValue: {wanted} inconsistent with result dimension {extent}")


class SliceOp(ViewOp, mnemonic="slice"):
    """A part of some axes."""

    axes = required(INTS, "dimensions to cut")
    starts = required(INTS, "first index of each")
    ends = required(INTS, "index after the last of each; negative ones count from the end")

    def verify(self) -> None:  # noqa: D102
        source, result = self.input_type(), self.output_type()
        axes, starts, ends = self.axes, self.starts, self.ends
        if not len(axes) == len(starts) == len(ends):
            raise self.error("axes, starts, and ends must have the same size")
        if len(source.shape) != len(result.shape):
            raise self.error("input and output shapes must have the same rank")
        if any(number < 0 for number in (*axes, *starts)):
            raise self.error("all attribute must non non-negative")
        if any(axis >= len(source.shape) for axis in axes):
            raise self.error("axes is greater than input rank")
        if len(set(axes)) != len(axes):
            raise self.error("axes must not have duplicates")
        shape = list(source.shape)
        for axis, start, end in zip(axes, starts, ends, strict=True):
            shape[axis] = self._sliced_extent(axis, start, end)
        if tuple(shape) != result.shape:
            raise self.error("input shape and attribute does not infer output shape")

    def _sliced_extent(self, axis: int, start: int, end: int) -> int:
        """Returns a slice's extent; permits a negative or too large `end` if the result agrees."""
        extent = self.input_type().shape[axis]
        stop = end if extent is None else slice_end(end, extent)
        means_it = self.output_type().shape[axis] == stop - start
        if end < 0 and not means_it:
            raise self.error("all attribute must non non-negative")
        if start >= stop:
            raise self.error("start is greater or equal to end")
        if extent is not None and end > extent and not means_it:
            raise self.error("end is greater than input shape")
        return stop - start


class TransposeOp(ViewOp, mnemonic="transpose"):
    """The dimensions in another order."""

    permutation = required(INTS, "the input's dimension for each of the result")

    def verify(self) -> None:  # noqa: D102
        permutation, rank = self.permutation, len(self.input_type().shape)
        if sorted(permutation) != list(range(rank)):
            raise self.error(
                f"expected a permutation of {rank} dimensions, but found {permutation}"
            )


class ConstantOp(MigraphxOp, mnemonic="constant"):
    """A constant."""

    output = Result("its value")
    value = required(ELEMENTS, "elements")


class LiteralOp(ConstantOp, mnemonic="literal"):
    """A constant of checked shape."""

    def verify(self) -> None:  # noqa: D102
        result = self.output_type()
        attribute = self.value
        value = ShapedType.of(attribute.type)
        if value is None or value.signless != result.signless:
            raise self.error(f"value type {attribute.type} does not match result type '{result}'")
        if isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat:
            return  # a splat may have any shape
        if value.shape != result.shape:
            raise self.error(
                "non-splat literals must have a value that matches the literal's logical shape"
            )
        if result.strides != row_major(result.shape):
            raise self.error("strides of non-splat literal are not in standard shape")


class PadOp(MigraphxOp, mnemonic="pad"):
    """The input with a border: `value`, or its own elements."""

    input = Operand("input")
    output = Result("padded input")
    pads = required(INTS, "all low ends, then all high ends")
    value = defaulted(FLOAT, 0.0, "element of the border")
    mode = defaulted(INT, 0, "0: `value`, 1: reflected elements, 2: the elements at the edge")


class CodeObjectOp(MigraphxOp, mnemonic="code_object"):
    """A compiled kernel."""

    inputs = VariadicOperand("arguments")
    output = Result("result")
    checks_values = False


class AsLogicalShapeOp(MigraphxOp, mnemonic="mlir.as.logical.shape"):
    """The logical tensor of a shaped value, a cast which conversions create."""

    in_ = Operand("shaped value")
    output = Result("tensor")
    checks_values = False


class AsUnderlyingShapeOp(MigraphxOp, mnemonic="mlir.as.underlying.shape"):
    """The shaped value of a tensor, a cast which conversions create."""

    in_ = Operand("tensor")
    output = Result("shaped value")
    checks_values = False


def slice_end(end: int, extent: int) -> int:
    """Returns the end of a slice: negative ends count from the last element, others are clamped."""
    return min(end + extent if end < 0 else end, extent)

"""Elementwise ops and quantisation."""

from __future__ import annotations

from hipgraft.dialects.framework.fields import (
    Operand,
    OptionalOperand,
    Result,
    defaulted,
    required,
)
from hipgraft.dialects.migraphx.kinds import BOOL, FLOAT, INT, UNIT
from hipgraft.dialects.migraphx.operation import ANY_FLOAT, ANY_INTEGER, MigraphxOp

BYTES = ("i8", "si8", "ui8")
_PACKED = (*BYTES, "i4", "si4", "ui4", "f8E4M3FN", "f4E2M1FN")
_NUMBERS = (ANY_INTEGER, ANY_FLOAT)


class UnaryOp(
    MigraphxOp,
    formulas={
        "abs": "|x|",
        "ceil": "⌈x⌉",
        "exp": "eˣ",
        "floor": "⌊x⌋",
        "log": "ln x",
        "neg": "-x",
        "recip": "1 / x",
        "relu": "max(x, 0)",
        "rsqrt": "1 / √x",
        "sqrt": "√x",
        "tanh": "tanh x",
    },
):
    """A function of each element `x` of `inA`."""

    inA = Operand("argument")
    output = Result("values of the function")
    same_shape = ("inA", "output")


class SigmoidOp(UnaryOp, formulas={"sigmoid": "1 / (1 + e⁻ˣ)"}):
    """A function of each element `x` of `inA`, of floats only."""

    def verify(self) -> None:  # noqa: D102
        if not (self.input_type().is_float and self.output_type().is_float):
            raise self.error("only support floating point")


class ErfOp(MigraphxOp, mnemonic="erf"):
    """The error function."""

    inA = Operand("argument", elements=(ANY_FLOAT,))
    output = Result("values of the function", elements=(ANY_FLOAT,))
    same_shape = ("inA", "output")


class ConvertOp(MigraphxOp, mnemonic="convert"):
    """The operand in the result's element type."""

    inA = Operand("numbers")
    output = Result("the same numbers, rounded")
    zeroExtend = defaulted(UNIT, False, "signless integers are read as unsigned")
    same_shape = ("inA", "output")


class BinaryOp(
    MigraphxOp,
    formulas={
        "add": "a + b",
        "div": "a / b; of integers towards zero",
        "equal": "1 where a = b, else 0, in the operands' type",
        "greater": "1 where a > b, else 0, in the operands' type",
        "greater_or_equal": "1 where a ≥ b, else 0, in the operands' type",
        "mul": "a · b",
        "pow": "aᵇ",
        "sub": "a - b",
    },
):
    """A function of each pair of elements, `a` of `inA` and `b` of `inB`."""

    inA = Operand("first argument")
    inB = Operand("second argument")
    output = Result("values of the function")
    same_element = ("inA", "inB", "output")


class MaxOp(BinaryOp, formulas={"max": "larger of a and b, NaN if either is"}):
    """A function of each pair of elements, `a` of `inA` and `b` of `inB`, of one shape."""

    def verify(self) -> None:  # noqa: D102
        kinds = [self.input_type(0), self.input_type(1), self.output_type()]
        if any(not kind.is_static for kind in kinds):
            raise self.error("requires static logical shapes")
        if any(None in kind.strides for kind in kinds):
            raise self.error("requires static strides")
        if any(kind.element.endswith("i1") for kind in kinds):
            raise self.error("does not support one-bit integer element types")
        if len({kind.shape for kind in kinds}) > 1:
            raise self.error("failed to verify that all of {inA, inB, output} have same shape")


class ClipOp(MigraphxOp, mnemonic="clip"):
    """`min(max(x, minVals), maxVals)`."""

    x = Operand("numbers")
    minVals = Operand("lower bounds")
    maxVals = Operand("upper bounds")
    output = Result("numbers within the bounds")
    same_element = same_shape = ("x", "minVals", "maxVals", "output")


class WhereOp(MigraphxOp, mnemonic="where"):
    """`inA` where `cond ≠ 0`, else `inB`."""

    cond = Operand("mask", elements=BYTES)
    inA = Operand("elements where the mask is not zero")
    inB = Operand("elements where the mask is zero")
    output = Result("the chosen elements")
    same_element = ("inA", "inB", "output")
    same_shape = ("inA", "inB", "output", "cond")


class DequantizeLinearOp(MigraphxOp, mnemonic="dequantizelinear"):
    """`(input - bias) · scale`."""

    input = Operand("quantized numbers", elements=_NUMBERS)
    scale = Operand("scales", elements=(ANY_FLOAT,))
    bias = OptionalOperand("zero points, 0 if absent", elements=_NUMBERS)
    output = Result("numbers", elements=(ANY_FLOAT,))
    same_element = ("scale", "output")


class QuantizeLinearOp(MigraphxOp, mnemonic="quantizelinear"):
    """`input / scale`, rounded to nearest even, `+ bias`, clamped to the result's range."""

    input = Operand("numbers", elements=(ANY_FLOAT,))
    scale = Operand("scales", elements=(ANY_FLOAT,))
    bias = OptionalOperand("zero points, 0 if absent", elements=_NUMBERS)
    output = Result("quantized numbers", elements=_NUMBERS)
    same_element = ("input", "scale")

    def verify(self) -> None:  # noqa: D102
        if self.bias is not None and (
            self.type_of(self.bias).is_float != self.output_type().is_float
        ):
            # Older modules add a 32-bit bias to 8-bit results.
            raise self.error(
                "failed to verify that output and bias must have the same element type"
            )


class UnpackOp(MigraphxOp, mnemonic="unpack"):
    """The two 4-bit halves of each byte, the low one first, side by side along `axis`."""

    in_ = Operand("bytes", elements=_PACKED)
    out = Result("halves, twice as many along the axis", elements=_PACKED)
    axis = required(INT, "dimension of the result in which halves are neighbours")
    isUnsigned = defaulted(BOOL, False, "whether halves are unsigned")

    def verify(self) -> None:  # noqa: D102
        source, result, axis = self.input_type(), self.output_type(), self.axis
        if not 0 <= axis < len(source.shape):
            raise self.error(f"axis out of range of shape: {axis}")
        if len(result.shape) != len(source.shape):
            raise self.error("input and output have different ranks")
        if source.bits == 4:
            return  # already unpacked: only the element type changes
        half, whole = source.shape[axis], result.shape[axis]
        if half is not None and whole != 2 * half:
            raise self.error(
                "expected length along input axis to be half the length along output axis"
            )


class BatchNormInferenceOp(MigraphxOp, mnemonic="batch_norm_inference"):
    """`scale · (x - mean) / √(variance + epsilon) + bias`."""

    input = Operand("input `[N, C, ...]`")
    scale = Operand("factors, one per channel, or per element of a channel")
    bias = Operand("summands, as many")
    mean = Operand("means, as many")
    variance = Operand("variances, as many")
    output = Result("normalized input")
    epsilon = required(FLOAT, "summand of the variance")
    momentum = defaulted(FLOAT, 0.0, "ignored")
    bn_mode = defaulted(INT, 0, "ignored")

"""Convolutions, matrix products, reductions and pooling."""

from __future__ import annotations

import math

from hipgraft.dialects.framework.fields import (
    Operand,
    OptionalOperand,
    Result,
    defaulted,
    optional,
    required,
)
from hipgraft.dialects.migraphx.kinds import FLAG, INT, INTS, STRING
from hipgraft.dialects.migraphx.operation import MigraphxOp
from hipgraft.ir.bindings import ir

FLOATS = ("f32", "f16", "bf16")
_FP4 = "f4E2M1FN"
_FP8 = ("f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3FN", "f8E5M2")
_CONV = (*FLOATS, *_FP8)
_QUANTIZED = (*_FP8, "i8", "si8")
_QUANT_RESULT = ("f32", "i32", "si32")


class AnyConvolutionOp(MigraphxOp):
    """A convolution in any direction."""

    input = Operand("input; of the backward op, the gradient of the convolution's result")
    filter = Operand("filters `[K, C / group, ...]`")
    output = Result("result `[N, K, ...]`; of the backward op, the gradient `[N, C, ...]`")
    padding = required(INTS, "all low ends, then all high ends; or one list for both")
    stride = required(INTS, "strides by spatial dimension")
    dilation = required(INTS, "dilations by spatial dimension")
    group = required(INT, "number of groups of channels")
    padding_mode = optional(INT, "ignored")
    perf_config = optional(STRING, "rocMLIR's tuning parameters")


class ConvolutionOp(AnyConvolutionOp, mnemonic="convolution"):
    """Convolution of `[N, C, ...]` with `[K, C / group, ...]`."""

    input = Operand("input", elements=_CONV)
    filter = Operand("filters", elements=_CONV)
    output = Result("result `[N, K, ...]`", elements=_CONV)


class QuantConvolutionOp(AnyConvolutionOp, mnemonic="quant_convolution"):
    """Convolution of 8-bit numbers."""

    input = Operand("input", elements=_QUANTIZED)
    filter = Operand("filters", elements=_QUANTIZED)
    output = Result("result", elements=_QUANT_RESULT)


class BackwardsDataConvolutionOp(AnyConvolutionOp, mnemonic="backwards_data_convolution"):
    """Gradient of a convolution's input: ONNX's ConvTranspose."""

    input = Operand("gradient of the convolution's result", elements=FLOATS)
    filter = Operand("filters", elements=FLOATS)
    output = Result("gradient", elements=FLOATS)


class DotOp(MigraphxOp, mnemonic="dot"):
    """Product of the matrices in the last two dimensions."""

    in_a = Operand("left matrices `[batch..., M, K]`", elements=(*FLOATS, _FP4))
    in_b = Operand("right matrices `[batch..., K, N]`, or one", elements=(*FLOATS, _FP4))
    output = Result("products `[batch..., M, N]`", elements=FLOATS)
    perf_config = optional(STRING, "rocMLIR's tuning parameters")

    def verify(self) -> None:  # noqa: D102
        _check_product(self)


class QuantDotOp(MigraphxOp, mnemonic="quant_dot"):
    """Product of matrices of 8-bit or scaled 4-bit numbers."""

    in_a = Operand("left matrices `[batch..., M, K]`", elements=(*_FP8, _FP4, "i8", "si8"))
    in_b = Operand("right matrices `[batch..., K, N]`", elements=(*_FP8, _FP4, "i8", "si8"))
    scaleA = OptionalOperand("factors of the left numbers", elements=("f8E8M0FNU", "f32"))
    scaleB = OptionalOperand("factors of the right numbers", elements=("f8E8M0FNU", "f32"))
    output = Result("products `[batch..., M, N]`", elements=_QUANT_RESULT)
    perf_config = optional(STRING, "rocMLIR's tuning parameters")

    def verify(self) -> None:  # noqa: D102
        a, b = self.scaleA, self.scaleB
        if (a is None) != (b is None):
            raise self.error("both scaleA and scaleB must be provided or neither")
        if a is not None and b is not None:
            self._check_scales({"scaleA": a, "scaleB": b})
        elif _FP4 in (self.input_type(0).element, self.input_type(1).element):
            raise self.error(
                f"Quant Dot ops requires scales to be provided to use {_FP4} element type"
            )
        _check_product(self)

    def _check_scales(self, scales: dict[str, ir.Value]) -> None:
        for index, (name, scale) in enumerate(scales.items()):
            shape, wanted = self.type_of(scale).shape, self.input_type(index).shape
            if len(shape) != len(wanted):
                raise self.error(
                    f"{name} shape must have the same number of dimensions as the input types"
                )
            if shape != wanted:
                raise self.error(f"{name} shape must have the same dimensions as the input types")
        if self.input_type(0).element != self.input_type(1).element:
            raise self.error("input types must have the same element type")
        if self.input_type(0).element != _FP4:
            raise self.error(f"Scaled quant dot ops only support {_FP4} element type")
        if self.output_type().element != "f32":
            raise self.error("result type must be a float32 type for scaled quant dot ops")


class ReductionOp(
    MigraphxOp,
    formulas={
        "reduce_max": "largest element",
        "reduce_mean": "mean",
        "reduce_sum": "sum",
    },
):
    """A reduction of some dimensions, to extent 1 or to none."""

    input = Operand("input")
    output = Result("reduced input")
    axes = required(INTS, "dimensions to reduce; negative ones count from the last")


class SoftmaxOp(MigraphxOp, mnemonic="softmax"):
    """`eˣ` over its sum along `axis`."""

    input = Operand("input")
    output = Result("weights")
    axis = required(INT, "dimension of the sum; negative ones count from the last")


class PoolingOp(MigraphxOp, mnemonic="pooling"):
    """Largest, mean or p-norm of a sliding window."""

    input = Operand("input `[N, C, ...]`")
    output = Result("result `[N, C, ...]`")
    mode = required(STRING, "`max`, `average` or `lpnorm`")
    padding = required(INTS, "all low ends, then all high ends; or one list for both")
    stride = required(INTS, "strides by spatial dimension")
    length = optional(INTS, "extents of the window")
    lengths = optional(INTS, "extents of the window, in older modules")
    ceil_mode = defaulted(FLAG, False, "whether the last window may exceed the padded input")
    lp_order = defaulted(INT, 2, "p of the p-norm")
    count_include_pad = defaulted(FLAG, False, "whether means count padding")
    dilations = optional(INTS, "dilations by spatial dimension")


def _check_product(op: DotOp | QuantDotOp) -> None:
    a, b, result = op.input_type(0), op.input_type(1), op.output_type()
    if len(a.shape) < 2 or len(b.shape) < 2:
        raise op.error("expect operand to have rank greater or equal to 2")
    operands = f"the first operand ('{op.in_a.type}') and the second operand ('{op.in_b.type}')"
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

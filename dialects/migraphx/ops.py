"""Defines the operations of the migraphx dialect as a table.

The rules are those of rocMLIR's `MIGraphX.td` of 2026; operations that rocMLIR has removed are
included, because existing modules contain them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

AttributeKind = Literal["int", "ints", "string", "elements", "float", "type", "unit", "bool", "any"]

_FP8 = ("f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3FN", "f8E5M2")
_FLOATS = ("f32", "f16", "bf16")
_BYTES = ("i8", "si8", "ui8")
_CONV = (*_FLOATS, *_FP8)
_QUANT_RESULT = ("f32", "i32", "si32")
_PACKED = (*_BYTES, "i4", "si4", "ui4", "f8E4M3FN", "f4E2M1FN")
ANY_FLOAT, ANY_INTEGER = "floating-point", "integer"
"""Placeholders for all floating-point types and for all integer types."""


@dataclass(frozen=True)
class OpDef:
    """One operation.

    Attributes:
        doc: computation in one sentence.
        operands: names of operands, the optional ones last.
        optional_operands: number of operands that may be absent.
        variadic: whether any number of further operands may follow.
        results: names of results; a second result is optional.
        attributes: kinds of the attributes by name.
        required: attributes that must be present.
        elements: allowed element types, or kinds of them, by operand or result name; absent means
            any.
        same_element: operands and results that must have the same element type.
        same_shape: operands and results that must have the same shape.
        commutative: whether operands can be exchanged.
        has_region: whether the op has a region.
    """

    doc: str
    operands: tuple[str, ...]
    optional_operands: int = 0
    variadic: bool = False
    results: tuple[str, ...] = ("output",)
    attributes: Mapping[str, AttributeKind] = field(default_factory=dict[str, AttributeKind])
    required: tuple[str, ...] = ()
    elements: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    same_element: tuple[str, ...] = ()
    same_shape: tuple[str, ...] = ()
    commutative: bool = False
    has_region: bool = False


def _unary(doc: str) -> OpDef:
    return OpDef(doc, ("inA",), same_shape=("inA", "output"))


def _binary(doc: str, *, commutative: bool = False) -> OpDef:
    same = ("inA", "inB", "output")
    return OpDef(doc, ("inA", "inB"), same_element=same, commutative=commutative)


def _view(doc: str, **attributes: AttributeKind) -> OpDef:
    return OpDef(doc, ("input",), attributes=attributes, required=tuple(attributes))


def _reduction(doc: str) -> OpDef:
    return _view(doc, axes="ints")


def _convolution(doc: str, inputs: tuple[str, ...], results: tuple[str, ...]) -> OpDef:
    required = ("padding", "stride", "dilation", "group")
    return OpDef(
        doc,
        ("input", "filter"),
        attributes={
            "padding": "ints",
            "stride": "ints",
            "dilation": "ints",
            "group": "int",
            "padding_mode": "int",
            "perf_config": "string",
        },
        required=required,
        elements={"input": inputs, "filter": inputs, "output": results},
    )


OPS: dict[str, OpDef] = {
    # Elementwise
    "abs": _unary("|x|"),
    "add": _binary("a + b", commutative=True),
    "ceil": _unary("⌈x⌉"),
    "clip": OpDef(
        "min(max(x, minVals), maxVals)",
        ("x", "minVals", "maxVals"),
        same_element=("x", "minVals", "maxVals", "output"),
        same_shape=("x", "minVals", "maxVals", "output"),
    ),
    "convert": OpDef(
        "x in the result's element type",
        ("inA",),
        attributes={"zeroExtend": "unit"},
        same_shape=("inA", "output"),
    ),
    "div": _binary("a / b; of integers towards zero"),
    "equal": _binary("1 where a = b, else 0, in the operands' type"),
    "erf": OpDef(
        "erf x",
        ("inA",),
        elements={"inA": (ANY_FLOAT,), "output": (ANY_FLOAT,)},
        same_shape=("inA", "output"),
    ),
    "exp": _unary("eˣ"),
    "floor": _unary("⌊x⌋"),
    "greater": _binary("1 where a > b, else 0, in the operands' type"),
    "greater_or_equal": _binary("1 where a ≥ b, else 0, in the operands' type"),
    "log": _unary("ln x"),
    "max": _binary("larger of a and b, NaN if either is", commutative=True),
    "mul": _binary("a · b", commutative=True),
    "neg": _unary("-x"),
    "pow": _binary("aᵇ"),
    "recip": _unary("1 / x"),
    "relu": _unary("max(x, 0)"),
    "rsqrt": _unary("1 / √x"),
    "sigmoid": _unary("1 / (1 + e⁻ˣ)"),
    "sqrt": _unary("√x"),
    "sub": _binary("a - b"),
    "tanh": _unary("tanh x"),
    "where": OpDef(
        "inA where cond ≠ 0, else inB",
        ("cond", "inA", "inB"),
        elements={"cond": _BYTES},
        same_element=("inA", "inB", "output"),
        same_shape=("inA", "inB", "output", "cond"),
    ),
    # Quantisation
    "dequantizelinear": OpDef(
        "(input - bias) · scale",
        ("input", "scale", "bias"),
        optional_operands=1,
        elements={
            "input": (ANY_INTEGER, ANY_FLOAT),
            "scale": (ANY_FLOAT,),
            "bias": (ANY_INTEGER, ANY_FLOAT),
            "output": (ANY_FLOAT,),
        },
        same_element=("scale", "output"),
    ),
    "quantizelinear": OpDef(
        "input / scale, rounded to nearest even, + bias, clamped to the result's range",
        ("input", "scale", "bias"),
        optional_operands=1,
        elements={
            "input": (ANY_FLOAT,),
            "scale": (ANY_FLOAT,),
            "bias": (ANY_INTEGER, ANY_FLOAT),
            "output": (ANY_INTEGER, ANY_FLOAT),
        },
        same_element=("input", "scale"),
    ),
    "unpack": OpDef(
        "the two 4-bit halves of each byte, the low one first, side by side along axis",
        ("in",),
        results=("out",),
        attributes={"axis": "int", "isUnsigned": "bool"},
        required=("axis",),
        elements={"in": _PACKED, "out": _PACKED},
    ),
    # Contractions
    "backwards_data_convolution": _convolution(
        "gradient of a convolution's input: ONNX's ConvTranspose", _FLOATS, _FLOATS
    ),
    "convolution": _convolution(
        "convolution of [N, C, ...] with [K, C / group, ...]", _CONV, _CONV
    ),
    "dot": OpDef(
        "product of the matrices in the last two dimensions",
        ("in_a", "in_b"),
        attributes={"perf_config": "string"},
        elements={
            "in_a": (*_FLOATS, "f4E2M1FN"),
            "in_b": (*_FLOATS, "f4E2M1FN"),
            "output": _FLOATS,
        },
    ),
    "quant_convolution": _convolution(
        "convolution of 8-bit numbers", (*_FP8, "i8", "si8"), _QUANT_RESULT
    ),
    "quant_dot": OpDef(
        "product of matrices of 8-bit or scaled 4-bit numbers",
        ("in_a", "in_b", "scaleA", "scaleB"),
        optional_operands=2,
        attributes={"perf_config": "string"},
        elements={
            "in_a": (*_FP8, "f4E2M1FN", "i8", "si8"),
            "in_b": (*_FP8, "f4E2M1FN", "i8", "si8"),
            "scaleA": ("f8E8M0FNU", "f32"),
            "scaleB": ("f8E8M0FNU", "f32"),
            "output": _QUANT_RESULT,
        },
    ),
    "attention": OpDef(
        "softmax(region(queries · keys)) · values",
        ("queries", "keys", "values"),
        variadic=True,
        results=("output", "lse"),
        attributes={
            "softmaxType": "type",
            "features": "int",
            "splitKV": "int",
            "slidingWindowSize": "int",
        },
        elements={
            "queries": (*_FLOATS, "i8"),
            "keys": (*_FLOATS, "i8"),
            "values": _FLOATS,
        },
        has_region=True,
    ),
    "yield": OpDef("ends the region of an attention", (), variadic=True, results=()),
    # Views
    "broadcast": _view("the input with its first dimension at axis", axis="int", out_lens="ints"),
    "flatten": _view("a matrix of the dimensions before axis and those from it on", axis="int"),
    "multibroadcast": _view(
        "the input repeated to out_lens, aligned on the right", out_lens="ints"
    ),
    "reshape": OpDef(
        "the elements in row-major order in another shape",
        ("input",),
        attributes={"dims": "ints"},
        required=("dims",),
        same_element=("input", "output"),
    ),
    "slice": _view("a part of some axes", axes="ints", starts="ints", ends="ints"),
    "transpose": _view("the dimensions in another order", permutation="ints"),
    # Reductions
    "reduce_max": _reduction("largest along an axis"),
    "reduce_mean": _reduction("mean along an axis"),
    "reduce_sum": _reduction("sum along an axis"),
    "softmax": _view("eˣ over its sum along axis", axis="int"),
    # Constants
    "constant": OpDef("a constant", (), attributes={"value": "elements"}, required=("value",)),
    "literal": OpDef("a constant", (), attributes={"value": "elements"}, required=("value",)),
    # Removed from rocMLIR
    "batch_norm_inference": OpDef(
        "scale · (x - mean) / √(variance + epsilon) + bias",
        ("input", "scale", "bias", "mean", "variance"),
        attributes={"epsilon": "float", "momentum": "float", "bn_mode": "int"},
        required=("epsilon",),
    ),
    "code_object": OpDef("a compiled kernel", (), variadic=True),
    "pad": OpDef(
        "the input with value around it: all low ends, then all high ends",
        ("input",),
        attributes={"pads": "ints", "value": "float", "mode": "int"},
        required=("pads",),
    ),
    "pooling": OpDef(
        "largest, mean or p-norm of a sliding window",
        ("input",),
        attributes={
            "mode": "string",
            "padding": "ints",
            "stride": "ints",
            "length": "ints",
            "lengths": "ints",
            "ceil_mode": "any",
            "lp_order": "int",
            "count_include_pad": "any",
            "dilations": "ints",
        },
        required=("mode", "padding", "stride"),
    ),
    # Casts between tensors and shaped types, which conversions create
    "mlir.as.logical.shape": OpDef("the logical tensor of a shaped value", ("in",)),
    "mlir.as.underlying.shape": OpDef("the shaped value of a tensor", ("in",)),
}
"""The operations by mnemonic."""

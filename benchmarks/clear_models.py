"""Tells which random ONNX models have a result that ONNX defines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper
from random_onnx import Draft

REFERENCE_OPSET = 13
"""The first opset whose operators the reference implementation computes as defined."""

WRONG_REFERENCE = ("GRU", "LRN", "LSTM", "LpNormalization", "RNN")
"""The operators that the reference implementation gets wrong for some operands."""


def is_known_in_f32(candidate: Draft) -> bool:
    """Returns whether only the reference implementation computes the model in f32."""
    return candidate.opset >= REFERENCE_OPSET and candidate.op not in WRONG_REFERENCE


def is_clear(candidate: Draft) -> bool:
    """Whether ONNX defines the result, even if onnxruntime or the reference accept the model."""
    axes = candidate.attributes.get("axes", ())
    integers = any(one is not None and one.dtype.kind in "iu" for one in candidate.inputs[:1])
    if len(set(axes)) < len(axes):
        return False
    if (
        candidate.attributes.get("auto_pad", "NOTSET") != "NOTSET"
        and "pads" in candidate.attributes
    ):
        return False
    if integers and candidate.op in ("Div", "Mod"):
        return candidate.inputs[1] is not None and bool(candidate.inputs[1].all())
    if integers and candidate.op == "Pow":
        return _has_clear_power(*candidate.inputs)
    # Logarithms are rounded to integers; non-positive numbers have none.
    return not (integers and candidate.op.startswith("ReduceLog")) and _is_defined(candidate)


def averages_nothing(candidate: Draft, model: onnx.ModelProto) -> bool:
    """Whether an operator without a result for no elements may read a tensor of no elements."""
    if {candidate.op, *candidate.following}.isdisjoint(("ArgMax", "ArgMin", "ReduceMean")):
        return False
    values = (*model.graph.input, *model.graph.value_info)
    shapes = [[dim.dim_value for dim in one.type.tensor_type.shape.dim] for one in values]
    shapes += [list(tensor.dims) for tensor in model.graph.initializer]
    return any(0 in shape for shape in shapes)


_MOST = 1 << 24
"""Larger integers overflow, or are rounded where an implementation computes in `float`."""

_LARGE = 1e3
"""Sums with larger floats lose the digits of the other terms, in an order that is not defined."""


def is_extreme(candidate: Draft) -> bool:
    """Whether an operand has elements that implementations treat in different ways."""
    return any(
        bool(np.any(np.abs(one.astype(np.float64)) > _MOST))
        if one.dtype.kind in "iu"
        else one.dtype.kind == "f" and not np.all(np.abs(one) < _LARGE)
        for one in candidate.inputs
        if one is not None
    )


def _is_defined(candidate: Draft) -> bool:
    """Whether the result depends neither on an algorithm's order nor on an invalid operand."""
    if str(candidate.attributes.get("auto_pad")).startswith("SAME") and _is_cropped(candidate):
        return False
    rule = _RULES.get(candidate.op)
    return rule is None or rule(candidate)


def _has_valid_slope(candidate: Draft) -> bool:
    """Whether the slope of PRelu has no more elements than its operand."""
    shapes = [np.shape(one) for one in candidate.inputs]
    return _broadcast_shape(shapes) == shapes[0]


def _has_valid_lengths(candidate: Draft) -> bool:
    x, lengths = candidate.inputs
    time, batch = (
        candidate.attributes.get(f"{name}_axis", default)
        for name, default in (("time", 0), ("batch", 1))
    )
    return {time, batch} == {0, 1} and bool((lengths <= x.shape[time]).all())


def _has_valid_indices(candidate: Draft) -> bool:
    """Whether indices are within the dim that they index; the reference takes others modulo it."""
    x, indices = candidate.inputs[:2]
    axis = candidate.attributes.get("axis", 0)
    extent = x.shape[axis] if -x.ndim <= axis < x.ndim else 0
    return bool(((-extent <= indices) & (indices < extent)).all())


def _is_whole(candidate: Draft) -> bool:
    """Whether indices are whole numbers; OneHot truncates others, but the reference compares."""
    return bool(np.all(candidate.inputs[0] == np.trunc(candidate.inputs[0])))


def _has_epsilon(candidate: Draft) -> bool:
    """Whether equal elements, whose variance is 0 or a rounding error, are divided by a number."""
    return candidate.attributes.get("epsilon", 1e-5) > 0


def _is_finite(candidate: Draft) -> bool:
    floats = [one for one in candidate.inputs if one is not None and one.dtype.kind == "f"]
    return all(np.isfinite(one).all() for one in floats)


def _is_padded_alike(candidate: Draft) -> bool:
    """Whether padding is given, or that of windows without dilations, which both oracles ignore."""
    is_dilated = any(dilation != 1 for dilation in candidate.attributes.get("dilations", ()))
    return not is_dilated or "SAME" not in candidate.attributes.get("auto_pad", "")


def _sums_elements(candidate: Draft) -> bool:
    """Whether the result is initialised; onnxruntime may not do so for products of no elements."""
    has_elements = all(one is None or one.size for one in candidate.inputs)
    return has_elements or candidate.opset >= REFERENCE_OPSET


def _is_float_window(candidate: Draft) -> bool:
    """Whether a window has floats; numbers next to 1 are truncated to integers."""
    return _named_dtype(candidate, "output_datatype").kind not in "iu"


def _named_dtype(candidate: Draft, attribute: str) -> np.dtype:
    """Returns the type that an attribute names, f32 if it names none."""
    kind = candidate.attributes.get(attribute) or TensorProto.FLOAT
    return helper.tensor_dtype_to_np_dtype(kind)


def _fits(candidate: Draft) -> bool:
    """Whether floats that are converted to integers are within the range of the integers."""
    x, *like = candidate.inputs
    kind = like[0].dtype if like and like[0] is not None else _named_dtype(candidate, "to")
    if x is None or x.dtype.kind != "f" or kind.kind not in "iu":
        return True
    range_ = np.iinfo(kind)
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(((np.trunc(x) >= range_.min) & (np.trunc(x) <= range_.max)).all())


def _fits_product(candidate: Draft) -> bool:
    """Whether no product overflows or vanishes in any order of its factors."""
    x = candidate.inputs[0]
    if x is None:
        return True
    sizes = np.abs(x.astype(np.float64))
    powers = np.log2(sizes, out=np.zeros_like(sizes), where=sizes > 0)
    most = 31 if x.dtype.kind in "iu" else 15 if x.dtype.itemsize == 2 else 126
    return bool(np.maximum(powers, 0).sum() < most and np.minimum(powers, 0).sum() > -most)


def _is_cropped(candidate: Draft) -> bool:
    """Whether strides exceed windows: some implementations then pad by negative amounts."""
    window = candidate.attributes.get("kernel_shape")
    if window is None:
        window = np.shape(candidate.inputs[1])[2:]
    strides = candidate.attributes.get("strides", [1] * len(window))
    return any(stride > extent for stride, extent in zip(strides, window, strict=False))


def _broadcast_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def _has_clear_power(x: np.ndarray | None, exponent: np.ndarray | None) -> bool:
    """Whether integers have powers that are integers of their type, by exponents without a sign."""
    if x is None or exponent is None or exponent.dtype.kind != "u":
        return False
    with np.errstate(over="ignore"):
        try:
            powers = np.power(np.abs(x.astype(np.float64)), exponent.astype(np.float64))
        except ValueError:  # the shapes do not fit
            return False
    return bool((powers <= min(np.iinfo(x.dtype).max, 1 << 53)).all())


def _is_spread(candidate: Draft) -> bool:
    """Whether the elements that are normalized together differ by more than their rounding."""
    x = candidate.inputs[0]
    if x is None:
        return False
    axes = tuple(candidate.attributes.get("axes", [0, 2, 3]))
    try:
        spread, mean = np.std(x, axis=axes), np.mean(x, axis=axes)
    except (ValueError, TypeError):  # the axes do not fit
        return False
    return bool(np.all(spread > np.abs(mean) / 100) and np.all(spread > 0))


_RULES: dict[str, Callable[[Draft], bool]] = {
    "AveragePool": _is_padded_alike,
    "Cast": _fits,
    "CastLike": _fits,
    "ConvTranspose": _is_finite,  # implementations may multiply zeros beside the image by infinity
    "MatMul": _sums_elements,
    "MeanVarianceNormalization": _is_spread,  # of one element, a quotient of roundings
    "OneHot": _is_whole,
    "PRelu": _has_valid_slope,
    "QuantizeLinear": lambda draft: bool(np.all(draft.inputs[1])),  # zeros divided by zeros
    "ReduceProd": _fits_product,
    "ReverseSequence": _has_valid_lengths,
    "Shrink": lambda draft: not is_extreme(draft),  # as floats, which integers may not fit
    "TopK": lambda draft: bool(draft.attributes.get("sorted", 1)),
    # Which elements meet is not defined, or they are divided by an infinite scale.
    **dict.fromkeys(("Det", "DynamicQuantizeLinear", "GRU", "LSTM", "RNN"), _is_finite),
    **dict.fromkeys(("Gather", "GatherElements", "ScatterElements"), _has_valid_indices),
    **dict.fromkeys(("BatchNormalization", "GroupNormalization"), _has_epsilon),
    **dict.fromkeys(("InstanceNormalization", "LayerNormalization"), _has_epsilon),
    **dict.fromkeys(("BlackmanWindow", "HammingWindow", "HannWindow"), _is_float_window),
}


def have_inferred_shapes(results: list[np.ndarray], model: onnx.ModelProto) -> bool:
    """Whether results have the shapes that ONNX infers; other shapes mean invalid operands."""
    for result, value in zip(results, model.graph.output, strict=True):
        dims = value.type.tensor_type.shape.dim
        known = [dim.dim_value if dim.HasField("dim_value") else None for dim in dims]
        if value.type.tensor_type.HasField("shape") and len(known) != result.ndim:
            return False
        if any(one not in (None, extent) for one, extent in zip(known, result.shape, strict=False)):
            return False
    return True

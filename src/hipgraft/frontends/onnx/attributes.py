"""Finds attributes with values that ONNX does not define and libraries interpret differently."""

from __future__ import annotations

import onnx

_FLAGS = {
    "align_corners", "allowzero", "antialias", "ceil_mode", "center_point_box",
    "count_include_pad", "exclude_outside", "exclusive", "fmod", "inverse", "is_causal",
    "keepdims", "largest", "layout", "linear_before_reset", "noop_with_empty_axes", "onesided",
    "periodic", "reverse", "saturate", "select_last_index", "sorted", "storage_order",
    "training_mode", "upper",
}  # fmt: skip
"""Boolean attributes. Libraries disagree on the meaning of values other than 0 and 1."""

_REDUCTIONS = ("none", "add", "mul", "max", "min")


def invalid_attribute(node: onnx.NodeProto) -> str:
    """Returns the fault in an attribute of one of ONNX's own operators; empty if there is none."""
    for attribute in node.attribute:
        fault = _fault(node.op_type, attribute)
        if fault:
            return f"ONNX operator '{node.op_type}' with {attribute.name} = {fault}, is invalid"
    return ""


def _fault(op_type: str, attribute: onnx.AttributeProto) -> str:
    """Returns the value of an attribute and the rule that it breaks, if it breaks one."""
    if attribute.ref_attr_name:  # a node in a function takes the attribute from the caller
        return ""
    if attribute.name in _FLAGS and attribute.i not in (0, 1):
        return f"{attribute.i}, which is neither 0 nor 1"
    if attribute.name == "batch_dims" and attribute.i < 0:
        # Shape inference would read outside of a shape.
        return f"{attribute.i}, which is negative"
    if op_type in ("ScatterElements", "ScatterND") and attribute.name == "reduction":
        text = attribute.s.decode(errors="replace")
        return "" if text in _REDUCTIONS else f"'{text}', which is none of {', '.join(_REDUCTIONS)}"
    return ""

"""Finds the node that an error message of ONNX's checker or inference is about."""

from __future__ import annotations

import re

_INFERENCE = re.compile(
    r"\(op_type:(?P<operator>\w+)(?:, node name: (?P<node>.*?))?\): \[\w+\] (?P<message>.*)"
)
_OF_BODY = "Inference error(s):"
_CHECKER = re.compile(
    r"(?P<message>.*?) ==> Context: Bad node spec for node\. "
    r"Name: (?P<node>.*) OpType: (?P<operator>\w+)"
)


def node_and_message(error: Exception) -> tuple[str, str]:
    """Returns the node that an ONNX error message is about, and the message.

    Args:
        error: error of `onnx.checker` or `onnx.shape_inference`. Inference reports all nodes that
            fail, the checker the first one.

    Returns:
        The name of the first node, its operator if it has no name, or an empty text if the error
        names no node; and the message on one line.
    """
    lines = [line.strip() for line in str(error).splitlines()]
    said = " ".join(line for line in lines if line) or type(error).__name__
    match = _INFERENCE.search(said) or _CHECKER.match(said)
    if not match:
        return "", said
    message, *rest = match["message"].split(" (op_type:")
    if message == _OF_BODY and rest:  # an error in a body follows, which may have no node name
        message = rest[0].split("] ", 1)[-1]
    return match["node"] or match["operator"], message

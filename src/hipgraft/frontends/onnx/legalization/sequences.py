"""Rewrites readers of sequences whose members are known to read the members."""

from __future__ import annotations

import numpy as np
from onnx import helper

from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer, axis_of
from hipgraft.ir.diagnostics import Declined


def _members(writer: Writer) -> list[str]:
    sequence = writer.node.input[0]
    if sequence not in writer.graph.sequences:
        raise Declined("unknown-sequence", f"the members of '{sequence}' are not known")
    return writer.graph.sequences[sequence]


def _concat_from_sequence(writer: Writer) -> None:
    members = _members(writer)
    if not members:
        raise Refused("of no tensors is not supported")
    axis = int(writer.attribute("axis"))
    if writer.attribute("new_axis", 0):
        axes = writer.const([axis], np.int64)
        members = [writer.op("Unsqueeze", member, axes) for member in members]
    writer.result(writer.op("Concat", *members, axis=axis) if len(members) > 1 else members[0])


def _sequence_at(writer: Writer) -> None:
    members, position = _members(writer), writer.ints(1)[0]
    if not -len(members) <= position < len(members):
        raise Refused(f"at {position} of {len(members)} tensors is invalid")
    writer.result(members[position])


def _sequence_length(writer: Writer) -> None:
    writer.result(writer.like_int(len(_members(writer))))


def _split_to_sequence(writer: Writer) -> None:
    """Rewrites `(x, split)`: slices of given extents, of one extent, or of extent 1."""
    x = writer.node.input[0]
    shape = writer.shape(x)
    axis = axis_of(writer, 0, len(shape))
    extents, squeezes = [1] * shape[axis], not writer.attribute("keepdims", 1)
    if writer.has_input(1):
        extents, squeezes = writer.ints(1), False
        if not writer.constant(writer.node.input[1]).shape:
            whole, rest = divmod(shape[axis], max(extents[0], 1))
            extents = extents * whole + [rest] * bool(rest)
    parts: list[str] = []
    start = 0
    for extent in extents:
        part = writer.slice(x, axis, start, start + extent)
        if squeezes:
            part = writer.reshape(part, shape[:axis] + shape[axis + 1 :])
        parts.append(part)
        start += extent
    writer.nodes.append(
        helper.make_node("SequenceConstruct", parts, [writer.node.output[0]], writer.node.name)
    )


SEQUENCES: dict[str, Rewrite] = {
    "ConcatFromSequence": _concat_from_sequence,
    "SequenceAt": _sequence_at,
    "SequenceLength": _sequence_length,
    "SplitToSequence": _split_to_sequence,
}
"""The rewrites, by operator."""

"""Rewrites dropout in training, which torch-mlir treats as an identity."""

from __future__ import annotations

from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer
from hipgraft.ir.diagnostics import Declined


def _dropout(writer: Writer) -> None:
    """Rewrites the operator on `(x, ratio, training_mode)`: an identity except in training."""
    if not writer.has_input(2):
        raise Declined("supported", "it does not train")
    mode = writer.node.input[2]
    if mode not in writer.graph.constants:
        raise Refused("whose training mode is an input is not supported")
    if writer.constant(mode).any():
        raise Refused("that drops at random is not supported")
    raise Declined("supported", "it does not train")


DROPOUT: dict[str, Rewrite] = {"Dropout": _dropout}
"""The rewrites, by operator."""

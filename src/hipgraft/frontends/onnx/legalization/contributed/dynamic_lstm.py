"""Rewrites the LSTM of onnxruntime's dynamic quantisation, which multiplies bytes."""

from __future__ import annotations

import numpy as np

from hipgraft.frontends.onnx.legalization.contributed.qlinear import dynamic_product
from hipgraft.frontends.onnx.legalization.recurrent import Network
from hipgraft.frontends.onnx.legalization.writer import Rewrite, Writer

_SCALES = {1: 8, 2: 10}
"""The input that is the scale of weights by the weights' own; the zero point follows it."""


class _QuantizedLstm(Network):
    """`(x, w, r, b, lengths, h, c, p, w scale, w zero, r scale, r zero)`.

    The inputs of all steps are quantised by their common range, each step's state by its own range.
    """

    def __init__(self, writer: Writer):
        super().__init__(writer, "LSTM")
        self._quantization: dict[str, tuple[str, str]] = {}

    def weights(self, index: int, number: int) -> str:
        scale = _SCALES[index]
        name = self._part(index, number)
        self._quantization[name] = (self._part(scale, number), self._part(scale + 1, number))
        return name

    def product(self, x: str, weights: str) -> str:
        return dynamic_product(self.writer, x, weights, *self._quantization[weights])

    def _part(self, index: int, number: int) -> str:
        """Returns the part of an input for one direction, a constant for a constant input."""
        writer = self.writer
        if not writer.has_input(index):
            return ""
        name = writer.node.input[index]
        data = writer.data(name)
        if data is not None:
            return writer.const(np.ascontiguousarray(data[number]))
        return writer.op("Gather", name, writer.like_int(number), axis=0)


def _dynamic_quantize_lstm(writer: Writer) -> None:
    _QuantizedLstm(writer).write()


DYNAMIC_LSTM: dict[str, Rewrite] = {"DynamicQuantizeLSTM": _dynamic_quantize_lstm}
"""The rewrites, by operator."""

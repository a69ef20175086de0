"""Rewrites contributed operators of state-space networks."""

from __future__ import annotations

from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.contributed.norms import rms_norm
from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer, size_of

_F32 = TensorProto.FLOAT


def _causal_conv(writer: Writer) -> None:
    """`(x, w, bias, state)`: a convolution of each channel, which sees the state before `x`."""
    x, weights = writer.node.input[:2]
    if int(writer.attribute("ndim", 1)) != 1 or int(writer.attribute("state_window", 0)):
        raise Refused("of several dimensions or states is not supported")
    window, dilation = writer.shape(weights)[-1], int(writer.attribute("dilation", 1))
    kept = (window - 1) * dilation
    is_last = bool(writer.attribute("channels_last", 0))
    shape = writer.shape(x)
    x = _channels_first(writer, x, shape) if is_last else x
    batch, channels, steps = shape[0], writer.shape(weights)[0], shape[1 if is_last else 2]
    if writer.has_input(3):
        state = writer.node.input[3]
        state = _channels_first(writer, state, [batch, kept, *shape[2:]]) if is_last else state
        whole = writer.op("Concat", state, x, axis=2)
    else:
        whole = writer.pad(x, [0, 0, kept], [0, 0, 0])
    bias = [writer.node.input[2]] if writer.has_input(2) else []
    y = writer.op("Conv", whole, weights, *bias, group=channels, dilations=[dilation])
    if writer.attribute("activation", "none") != "none":
        y = writer.op("Mul", y, writer.op("Sigmoid", y))
    state = writer.slice(whole, 2, steps, steps + kept)
    if is_last:
        y, state = (writer.transpose(one, [0, 2, 1]) for one in (y, state))
        y = writer.reshape(y, shape)
        state = writer.reshape(state, [batch, kept, *shape[2:]])
    writer.result(y)
    writer.result(state, 1)


def _channels_first(writer: Writer, x: str, shape: list[int]) -> str:
    """Transposes `[B, T, d…]` to `[B, C, T]`."""
    rows = writer.reshape(x, [*shape[:2], size_of(shape[2:])])
    return writer.transpose(rows, [0, 2, 1])


def _gated_rms_norm(writer: Writer) -> None:
    """`(x, scale, gate)`, in f32; rows of as many elements as the scale has."""
    x, scale, gate = writer.node.input
    shape, element = writer.shape(x), writer.element(x)
    rows = writer.reshape(x, [-1, *writer.shape(scale)])
    epsilon = writer.attribute("epsilon", _EPSILON)
    normal = rms_norm(writer, writer.cast(rows, _F32), writer.cast(scale, _F32), _F32, epsilon)
    wide = writer.cast(gate, _F32)
    factor = writer.op("Sigmoid", wide)
    if writer.attribute("activation", "silu") != "sigmoid":
        factor = writer.op("Mul", wide, factor)
    y = writer.op("Mul", writer.reshape(normal, shape), factor)
    writer.result(writer.cast(y, element))


_EPSILON = 1e-5

STATE_SPACE: dict[str, Rewrite] = {
    "CausalConvWithState": _causal_conv,
    "GatedRMSNorm": _gated_rms_norm,
}
"""The rewrites, by operator."""

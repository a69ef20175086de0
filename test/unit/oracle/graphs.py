"""Evaluates hipDNN graphs in double precision, node by node from the definitions of the node kinds.

Values keep their double precision between nodes, so that results are those of an exact engine.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from oracle import tensors as definitions
from oracle.attention import attend
from oracle.pointwise import MODES

Array = NDArray[np.float64]
Json = dict[str, Any]

_EPSILON = 1e-5  # the epsilon of gradient nodes that have neither statistics nor an epsilon


class NoOracleError(Exception):
    """The graph has a node, or a form of one, that is not defined here."""


class _Node:
    """A node's fields, and the values of its operands by their names in hipDNN's schema."""

    def __init__(self, fields: Json, graph: _Graph):
        self.fields, self.graph = fields, graph

    def __contains__(self, name: str) -> bool:
        return self.fields.get(f"{name}_tensor_uid") is not None

    def __getitem__(self, name: str) -> Array:
        return self.graph.values[self.uid(name)]

    def optional(self, name: str, otherwise: Any) -> Any:
        """Returns an operand, or something else if the node has none."""
        if name not in self:
            return otherwise
        return self[name]

    def uid(self, name: str) -> int:
        return self.fields[f"{name}_tensor_uid"]

    def dims(self, name: str) -> list[int]:
        return self.graph.dims[self.uid(name)]

    def scalar(self, name: str) -> float:
        return float(self[name].reshape(-1)[0])

    def expect(self, name: str, *allowed: Any) -> None:
        """Raises unless a field is absent or has one of some values."""
        found = self.fields.get(name)
        if found not in (None, *allowed):
            raise NoOracleError(f"field '{name}' is {found!r}")


class _Graph:
    def __init__(self, document: Any, inputs: Mapping[int, Any]):
        self.dims = {one.uid: one.dims for one in document.tensors}
        self.values = {uid: np.asarray(given).astype(np.float64) for uid, given in inputs.items()}
        for one in document.tensors:
            if one.value_type:
                self.values[one.uid] = np.full(one.dims, one.value, np.float64)


def evaluate(document: Any, inputs: Mapping[int, Any]) -> dict[int, Array]:
    """Returns the values of all tensors of a graph, by uid.

    Args:
        document: the graph, as a `GraphDocument`: nodes with their fields, tensors with extents.
        inputs: arrays of the logical extents, by uid.

    Raises:
        NoOracleError: a node is not defined here.
    """
    for one in document.nodes:
        if one.type not in _KINDS:
            raise NoOracleError(f"node {one.type}")
    if any(one.ragged_offset_tensor_uid is not None for one in document.tensors):
        raise NoOracleError("ragged tensors")
    graph = _Graph(document, inputs)
    left = list(document.nodes)
    while left:
        ready = [one for one in left if _operands(one) <= graph.values.keys() | _results(one)]
        if not ready:
            raise ValueError("the nodes form a cycle, or inputs are missing")
        for one in ready:
            node = _Node(one.fields, graph)
            for name, value in _KINDS[one.type](node).items():
                if name in node:
                    shape = graph.dims[node.uid(name)]
                    graph.values[node.uid(name)] = _shaped(np.asarray(value, np.float64), shape)
        left = [one for one in left if one not in ready]
    return graph.values


_RESULTS = {
    "y", "dx", "dw", "c", "out", "out_0", "mean", "inv_variance", "inv_rms", "o", "stats",
    "next_running_mean", "next_running_variance", "dscale", "dbias",
}  # fmt: skip
_STATISTICS_AS_OPERANDS = ("BatchnormInference", "Backward")


def _results(node: Any) -> set[int]:
    names = _RESULTS
    if any(one in node.type for one in _STATISTICS_AS_OPERANDS):
        names = names - {"mean", "inv_variance", "inv_rms"}
    return {node.fields.get(f"{name}_tensor_uid") for name in names}


def _operands(node: Any) -> set[int]:
    keys = (key for key in node.fields if key.endswith("_tensor_uid"))
    return {node.fields[key] for key in keys if isinstance(node.fields[key], int)}


def _shaped(value: Array, dims: list[int]) -> Array:
    return value.reshape(dims) if value.size == np.prod(dims) else np.broadcast_to(value, dims)


def _window(node: _Node) -> Json:
    names = {"pre": "pre_padding", "post": "post_padding", "stride": "stride"}
    node.expect("conv_mode", "CROSS_CORRELATION", "cross_correlation")
    return {name: node.fields[key] for name, key in (names | {"dilation": "dilation"}).items()}


def _conv(node: _Node) -> Json:
    return {"y": definitions.conv(node["x"], node["w"], **_window(node))}


def _conv_gradients(node: _Node) -> Json:
    # The gradient of one factor does not depend on that factor's values.
    x = node["x"] if "x" in node else np.zeros(node.dims("dx"))
    w = node["w"] if "w" in node else np.zeros(node.dims("dw"))
    dx, dw = definitions.conv_gradients(x, w, node["dy"], **_window(node))
    return {"dx": dx, "dw": dw}


def _matmul(node: _Node) -> Json:
    for name in ("m_override", "n_override", "k_override"):
        if name in node:
            raise NoOracleError(f"matmul with '{name}'")
    return {"c": node["a"] @ node["b"]}


_POINTWISE = {
    "lower": "relu_lower_clip",
    "upper": "relu_upper_clip",
    "slope": "relu_lower_clip_slope",
    "alpha": "elu_alpha",
}


def _pointwise(node: _Node) -> Json:
    mode = node.fields["operation"].lower()
    if mode not in MODES or mode in ("binary_select", "gen_index"):
        raise NoOracleError(f"pointwise mode '{mode}'")
    function = MODES[mode]
    beta = "softplus_beta" if mode.startswith("softplus") else "swish_beta"
    takes = inspect.signature(function).parameters if mode in _WITH_ATTRIBUTES else {}
    keys = {name: key for name, key in (_POINTWISE | {"beta": beta}).items() if name in takes}
    given = {name: node.fields.get(key) for name, key in keys.items()}
    given = {name: value for name, value in given.items() if value is not None}
    operands = [node[name] for name in ("in_0", "in_1", "in_2") if name in node]
    return {"out_0": function(*operands, **given)}


_WITH_ATTRIBUTES = {
    "relu_fwd", "relu_bwd", "elu_fwd", "elu_bwd", "swish_fwd", "swish_bwd", "softplus_fwd",
    "softplus_bwd",
}  # fmt: skip


def _reduction(node: _Node) -> Json:
    x, kept = node["in"], node.dims("out")
    axes = tuple(dim for dim, extent in enumerate(kept) if extent == 1 and x.shape[dim] > 1)
    return {"out": definitions.reduce(node.fields["mode"].upper(), x, axes)}


def _channels(node: _Node) -> tuple[int, ...]:
    """The dims over which batchnorm normalises."""
    return (0, *range(2, node["x"].ndim))


def _batchnorm(node: _Node) -> Json:
    x, axes = node["x"], _channels(node)
    operands = [x, node["scale"], node["bias"], node.scalar("epsilon"), axes]
    y, mean, inverse = definitions.layernorm(*operands)
    found = {"y": y, "mean": mean, "inv_variance": inverse}
    if "next_running_mean" in node:
        momentum, count = node.scalar("momentum"), x.size // x.shape[1]
        variance = x.var(axis=axes, keepdims=True, ddof=min(1, count - 1))
        for name, current in (("mean", mean), ("variance", variance)):
            kept = (1 - momentum) * node[f"prev_running_{name}"]
            found[f"next_running_{name}"] = kept + momentum * current
    return found


def _batchnorm_inference(node: _Node) -> Json:
    inverse = (
        1 / np.sqrt(node["variance"] + node.scalar("epsilon"))
        if "variance" in node
        else node["inv_variance"]
    )
    return {"y": (node["x"] - node["mean"]) * inverse * node["scale"] + node["bias"]}


def _normalized(node: _Node, statistics: tuple[str, ...]) -> tuple[int, ...]:
    """The dims over which a norm of rows normalises: those in which its statistics have one."""
    x = node["x"]
    for name in statistics:
        if name in node:
            pairs = enumerate(zip(node.dims(name), x.shape, strict=True))
            return tuple(dim for dim, (one, extent) in pairs if one == 1 and extent > 1)
    count = node.fields.get("normalized_dim_count")
    if count:
        return tuple(range(x.ndim - count, x.ndim))
    pairs = enumerate(zip(node.dims("scale"), x.shape, strict=True))
    return tuple(dim for dim, (one, extent) in pairs if one == extent and dim > 0)


def _layernorm(node: _Node) -> Json:
    axes = _normalized(node, ("mean", "inv_variance"))
    operands = [node["x"], node["scale"], node["bias"], node.scalar("epsilon"), axes]
    return dict(zip(("y", "mean", "inv_variance"), definitions.layernorm(*operands), strict=True))


def _rmsnorm(node: _Node) -> Json:
    axes = _normalized(node, ("inv_rms",))
    y, inverse = definitions.rmsnorm(node["x"], node["scale"], node.scalar("epsilon"), axes)
    return {"y": y + node.optional("bias", 0), "inv_rms": inverse}


def _norm_gradients(node: _Node, axes: tuple[int, ...], mean: Any, inverse: Array) -> Json:
    """The gradients of `z · scale + bias`, where `z = (x - mean) · inverse` depends on x."""
    dy, z = node["dy"], (node["x"] - mean) * inverse
    over = {"axis": axes, "keepdims": True}
    inner = dy * node["scale"]
    dx = inner - z * (inner * z).mean(**over)
    if not np.isscalar(mean):
        dx = dx - inner.mean(**over)
    shape = node.dims("scale")
    summed = tuple(dim for dim, extent in enumerate(shape) if extent == 1)
    terms = {"dscale": dy * z, "dbias": dy}
    sums = {name: term.sum(axis=summed, keepdims=True) for name, term in terms.items()}
    return {"dx": inverse * dx, **sums}


def _batchnorm_gradients(node: _Node) -> Json:
    axes, x = _channels(node), node["x"]
    if "mean" in node:
        return _norm_gradients(node, axes, node["mean"], node["inv_variance"])
    mean, spread = x.mean(axis=axes, keepdims=True), x.var(axis=axes, keepdims=True)
    return _norm_gradients(node, axes, mean, 1 / np.sqrt(spread + _EPSILON))


def _layernorm_gradients(node: _Node) -> Json:
    axes = _normalized(node, ("mean", "inv_variance"))
    return _norm_gradients(node, axes, node["mean"], node["inv_variance"])


def _rmsnorm_gradients(node: _Node) -> Json:
    return _norm_gradients(node, _normalized(node, ("inv_rms",)), 0.0, node["inv_rms"])


_ATTENTION = {"q", "k", "v", "attn_mask", "scale", "seq_len_q", "seq_len_kv", "sink_token"}


def _scores_seen(node: _Node, queries: int, keys: int) -> Any:
    """Which keys each query sees [B or 1, 1, Sq, Skv]: by bounds, and by sequence lengths."""
    left, right = (
        None if node.fields.get(name) in (None, -1) else node.fields[name]
        for name in ("left_bound", "right_bound")
    )
    alignment = node.fields.get("diagonal_alignment") or "TOP_LEFT"
    is_bottom = alignment.upper() == "BOTTOM_RIGHT"
    for name, bottom in (("causal_mask", False), ("causal_mask_bottom_right", True)):
        if node.fields.get(name):
            right, is_bottom = 0, bottom
    seen = definitions.visible(queries, keys, left=left, right=right, bottom_right=is_bottom)
    seen = seen[None, None]
    if node.fields.get("padding_mask"):
        lengths = (node[name].reshape(-1, 1, 1, 1) for name in ("seq_len_q", "seq_len_kv"))
        places = (np.arange(queries)[:, None], np.arange(keys)[None])
        for length, place in zip(lengths, places, strict=True):
            seen = seen & (place < length)
    return seen


def _sdpa(node: _Node) -> Json:
    results = {"o", "stats"}
    for key in node.fields:
        name = key.removesuffix("_tensor_uid")
        if key != name and name in node and name not in _ATTENTION | results:
            raise NoOracleError(f"attention with '{name}'")
    node.expect("alibi_mask", False)
    node.expect("dropout_probability", 0, 0.0)
    q, k, v = node["q"], node["k"], node["v"]
    scale = node.scalar("scale") if "scale" in node else node.fields.get("attn_scale_value")
    seen = _scores_seen(node, q.shape[2], k.shape[2])
    sink = node.optional("sink_token", None)
    found = attend(
        *(q, k, v),
        scale=1 if scale is None else scale,
        bias=node.optional("attn_mask", 0),
        seen=seen,
        sink=None if sink is None else sink.reshape(1, -1, 1, 1),
    )
    return {name: found[name] for name in results}


_KINDS: dict[str, Callable[[_Node], Json]] = {
    "BatchnormAttributes": _batchnorm,
    "BatchnormBackwardAttributes": _batchnorm_gradients,
    "BatchnormInferenceAttributes": _batchnorm_inference,
    "BatchnormInferenceAttributesVarianceExt": _batchnorm_inference,
    "ConvolutionBwdAttributes": _conv_gradients,
    "ConvolutionFwdAttributes": _conv,
    "ConvolutionWrwAttributes": _conv_gradients,
    "LayernormAttributes": _layernorm,
    "LayernormBackwardAttributes": _layernorm_gradients,
    "MatmulAttributes": _matmul,
    "PointwiseAttributes": _pointwise,
    "RMSNormAttributes": _rmsnorm,
    "RMSNormBackwardAttributes": _rmsnorm_gradients,
    "ReductionAttributes": _reduction,
    "SdpaAttributes": _sdpa,
}

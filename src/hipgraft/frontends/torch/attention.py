"""Legalizes attention in FX graphs: keeps it whole, or decomposes it if it needs gradients."""

from __future__ import annotations

import operator
from typing import Any

from hipgraft.frontends.torch.decompositions import attention, attention_backward
from hipgraft.frontends.torch.fx import trace
from hipgraft.frontends.torch.pytorch import Node, aten
from hipgraft.ir.diagnostics import HipgraftError

_FORWARD: Any = aten._scaled_dot_product_flash_attention_for_cpu.default
_BACKWARD: Any = aten._scaled_dot_product_flash_attention_for_cpu_backward.default


def legalize_attention(module: Any) -> None:
    """Rewrites PyTorch's fused attention for CPUs, in place.

    Args:
        module: `torch.fx.GraphModule` of ATen ops.

    Raises:
        HipgraftError: attention has dropout inside.
    """
    for node in list(module.graph.nodes):
        if node.target in (_FORWARD, _BACKWARD) and _dropout(node):
            raise HipgraftError(f"'{node.target}' draws random numbers")
        if node.target is _BACKWARD:
            _inline(node, attention_backward)
        elif node.target is _FORWARD and _is_inference(node):
            _keep_whole(node)
        elif node.target is _FORWARD:
            _inline(node, attention)


def _dropout(node: Any) -> float:
    first = 3 if node.target is _FORWARD else 6
    return node.args[first] if len(node.args) > first else 0.0


def _is_inference(node: Any) -> bool:
    """Whether only the first result of attention is used."""
    return all(user.target is operator.getitem and user.args[1] == 0 for user in node.users)


def _keep_whole(node: Any) -> None:
    q, k, v = node.args[:3]
    causal = len(node.args) > 4 and node.args[4]
    mask, scale = node.kwargs.get("attn_mask"), node.kwargs.get("scale")
    for user in list(node.users):
        with node.graph.inserting_before(node):
            whole = node.graph.call_function(
                aten.scaled_dot_product_attention.default,
                (q, k, v, mask, 0.0, causal),
                {"scale": scale},
            )
        whole.meta = dict(user.meta)
        user.replace_all_uses_with(whole)
        node.graph.erase_node(user)
    node.graph.erase_node(node)


def _inline(node: Any, function: Any) -> None:
    """Replaces a node by the ops of a function with the same signature."""
    names = [name for name in ("attn_mask", "scale") if node.kwargs.get(name) is not None]
    operands = [*node.args, *(node.kwargs[name] for name in names)]
    tensors = [one for one in operands if isinstance(one, Node)]

    def body(*values: Any) -> Any:
        given = iter(values)
        filled = [next(given) if isinstance(one, Node) else one for one in operands]
        count = len(node.args)
        return function(*filled[:count], **dict(zip(names, filled[count:], strict=True)))

    traced = trace(body, [one.meta["val"] for one in tensors])
    places = [one for one in traced.nodes if one.op == "placeholder"]
    with node.graph.inserting_before(node):
        results = node.graph.graph_copy(traced, dict(zip(places, tensors, strict=True)))
    for user in list(node.users):
        user.replace_all_uses_with(results[user.args[1]])
        node.graph.erase_node(user)
    node.graph.erase_node(node)

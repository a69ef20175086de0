"""Rewrites complex tensors in exported programs as pairs of real ones, which torch-mlir imports.

Attention with rotated pairs, spectrograms and Fourier layers compute on complex numbers inside, but
take and return real ones.
"""

from __future__ import annotations

import operator
from typing import Any

from hipgraft.frontends.torch.complex_numbers import Parts
from hipgraft.frontends.torch.complex_rules import RULES
from hipgraft.frontends.torch.decompositions import default_decompositions
from hipgraft.frontends.torch.fx import trace
from hipgraft.frontends.torch.pytorch import Node, aten, torch, tree_flatten, tree_unflatten
from hipgraft.ir.diagnostics import HipgraftError

_OF_SHAPES = (aten.sym_size.int, aten.sym_numel.default)


def split_complex(program: Any) -> None:
    """Rewrites a functional `torch.export.ExportedProgram`, in place.

    Raises:
        HipgraftError: an input or a result is complex, or an op on complex numbers has no rule.
    """
    graph = program.graph
    found: dict[Any, Any] = {}
    for node in list(graph.nodes):
        reads = any(one in found for one in node.all_input_nodes)
        if node.op == "placeholder":
            if _is_complex(node):
                found[node] = _state(program, node)
        elif node.op == "output":
            if reads:
                raise HipgraftError("a result of the exported program is complex")
        elif reads or _is_complex(node):
            _rewrite(program, node, found)
    for node in reversed(list(graph.nodes)):
        if node.op == "call_function" and node in found:
            graph.erase_node(node)


def _is_complex(node: Any) -> bool:
    values, _ = tree_flatten(node.meta.get("val"))
    return any(isinstance(one, torch.Tensor) and one.is_complex() for one in values)


def _state(program: Any, node: Any) -> Parts:
    """Converts a complex constant to a real one `[..., 2]`, and selects its parts."""
    signature = program.graph_signature
    name = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }.get(node.name)
    if name is None:
        raise HipgraftError(f"the input '{node.name}' of the exported program is complex")
    for values in (program.state_dict, program.constants):
        if name in values:
            values[name] = torch.view_as_real(values[name].detach().resolve_conj())
    before = node.meta["val"]
    with before.fake_mode:
        node.meta["val"] = torch.empty((*before.shape, 2), dtype=before.real.dtype)
    first = next(one for one in node.graph.nodes if one.op != "placeholder")
    parts: list[Any] = []
    for index in range(2):
        with node.graph.inserting_before(first):
            part = node.graph.call_function(aten.select.int, (node, -1, index))
        part.meta["val"] = node.meta["val"][..., index]
        parts.append(part)
    return Parts(*parts)


def _rewrite(program: Any, node: Any, found: dict[Any, Any]) -> None:
    """Replaces a node by its rule's ops, or adds the parts of its complex results to `found`."""
    if node.target is operator.getitem:
        found[node] = found[node.args[0]][node.args[1]]
        return
    if node.target in _OF_SHAPES:
        node.args = (found[node.args[0]].real, *node.args[1:])
        return
    if node.target is aten._assert_tensor_metadata.default:
        node.graph.erase_node(node)
        return
    rule = RULES.get(node.target)
    if rule is None:
        raise HipgraftError(f"'{node.target}' of complex numbers is not supported")
    leaves, form = tree_flatten((node.args, dict(node.kwargs)))
    leaves, form = tree_flatten(
        tree_unflatten(
            [found.get(one, one) if isinstance(one, Node) else one for one in leaves], form
        )
    )
    tensors = [one for one in leaves if isinstance(one, Node)]
    results: list[Any] = []

    def body(*values: Any) -> Any:
        given = iter(values)
        filled = [next(given) if isinstance(one, Node) else one for one in leaves]
        args, options = tree_unflatten(filled, form)
        result = rule(*args, **options)
        if result is NotImplemented:
            raise HipgraftError(f"'{node.target}' of complex numbers is not supported in this form")
        flat, kind = tree_flatten(result)
        results.append(kind)
        return flat

    with tree_flatten(node.meta["val"])[0][0].fake_mode:
        traced = trace(body, [one.meta["val"] for one in tensors], default_decompositions())
    places = [one for one in traced.nodes if one.op == "placeholder"]
    with node.graph.inserting_before(node):
        copied = node.graph.graph_copy(traced, dict(zip(places, tensors, strict=True)))
    result = tree_unflatten(list(copied), results[-1])
    if _is_complex(node):
        found[node] = result
    else:
        node.replace_all_uses_with(result)
        program.graph_signature.replace_all_uses(node.name, result.name)
        node.graph.erase_node(node)

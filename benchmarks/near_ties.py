"""Tells whether a model's results differ because candidates of a ranking are almost equal.

If two elements differ by less than their computation error, their order is arbitrary, and so are
all results that depend on it. The model is then run again with the rankings of onnxruntime.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, shape_inference

from hipgraft.onnx_backend.cases import Case, Outcome, check

RANKINGS = ("ArgMax", "ArgMin", "TopK")


def near_tie(case: Case, device: str) -> str:
    """Returns the node whose near tie explains wrong results; empty if none does.

    A near tie explains them if, with the rankings of onnxruntime, all results and all elements
    that are ranked agree, and if elements of neighbouring ranks differ by less than the tolerance.
    Results that depend on no ranking must agree with the expected ones.
    """
    rankings = [node for node in case.model.graph.node if node.op_type in RANKINGS]
    if not rankings:
        return ""
    inputs = dict(zip([one.name for one in case.model.graph.input], case.inputs, strict=False))
    names = [one.name for one in case.model.graph.output]
    ranked = list(dict.fromkeys(node.input[0] for node in rankings))
    chosen = [name for node in rankings for name in node.output if name]
    wanted_names = [*names, *ranked, *chosen]
    values = dict(zip(wanted_names, _run(case.model, inputs, wanted_names), strict=True))
    forced = _forced(case.model, ranked, values, chosen)
    named = inputs | {name: values[name] for name in chosen}
    reached = _reached(case.model, chosen)
    wanted = [
        values[name] if name in reached else want
        for name, want in zip(names, case.wanted, strict=True)
    ]
    rerun = dataclasses.replace(
        case,
        model=forced,
        inputs=[named[one.name] for one in forced.graph.input if one.name in named],
        wanted=[*wanted, *(values[name] for name in ranked)],
    )
    if check(rerun, device=device).kind != "pass":
        return ""
    ties = [
        node
        for node in rankings
        if _is_close(node, values[node.input[0]], values[next(filter(None, node.output))], case)
    ]
    return (ties[0].name or ties[0].output[0]) if ties else ""


def _run(model: onnx.ModelProto, inputs: dict[str, Any], names: Sequence[str]) -> list[Any]:
    """Runs a model in onnxruntime, with values as additional results."""
    import onnxruntime

    seen = onnx.ModelProto()
    seen.CopyFrom(model)
    own = {one.name for one in model.graph.output}
    seen.graph.output.extend(
        helper.make_empty_tensor_value_info(name)
        for name in dict.fromkeys(names)
        if name not in own
    )
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        seen.SerializeToString(), options, ["CPUExecutionProvider"]
    )
    return session.run(list(names), inputs)


def _forced(
    model: onnx.ModelProto, ranked: Sequence[str], values: dict[str, Any], chosen: Sequence[str]
) -> onnx.ModelProto:
    """Returns the model with the results of rankings as inputs, and their operands as results."""
    forced = onnx.ModelProto()
    forced.CopyFrom(model)
    kept = [node for node in model.graph.node if node.op_type not in RANKINGS]
    del forced.graph.node[:]
    forced.graph.node.extend(kept)

    def info(name: str) -> onnx.ValueInfoProto:
        array = values[name]
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        return helper.make_tensor_value_info(name, kind, array.shape)

    forced.graph.input.extend(map(info, chosen))
    forced.graph.output.extend(info(name) for name in ranked)
    return shape_inference.infer_shapes(forced)


def _reached(model: onnx.ModelProto, names: Sequence[str]) -> set[str]:
    reached = set(names)
    for node in model.graph.node:
        bodies = [one.g for one in node.attribute if one.HasField("g")]
        if reached.intersection(node.input) or bodies:
            reached.update(node.output)
    return reached


def _is_close(node: onnx.NodeProto, elements: Any, chosen: Any, case: Case) -> bool:
    """Whether neighbours among the chosen elements and the next one are almost equal."""
    attributes = {one.name: one.i for one in node.attribute}
    axis = attributes.get("axis", -1 if node.op_type == "TopK" else 0)
    is_least = node.op_type == "ArgMin" or not attributes.get("largest", 1)
    rows = np.moveaxis(np.asarray(elements, np.float64), axis, -1)
    rows = np.sort(rows if is_least else -rows, axis=-1)
    count = np.shape(chosen)[axis] if node.op_type == "TopK" else 1
    first, next_ones = rows[..., :-1], rows[..., 1:]
    with np.errstate(invalid="ignore"):
        is_close = next_ones - first <= case.atol + case.rtol * np.abs(first)
    return bool(is_close[..., :count].any())


def checked(case: Case, device: str) -> Outcome:
    """Checks a case; its outcome is `near-tie` where a near tie explains wrong results."""
    outcome = check(case, device=device)
    if outcome.kind != "wrong":
        return outcome
    node = near_tie(case, device)
    return Outcome("near-tie", f"{node}: {outcome.detail}") if node else outcome

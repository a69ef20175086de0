"""Compiles plans of hipgraft's engine, which hipDNN restores without a compiler.

A plan needs no device: the graph is compiled for one or several architectures, and its
kernels and launches go into the plan as a bundle. docs/hipdnn-plans.md describes the format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hipgraft.compiler.plan_interface import unsupported_interface
from hipgraft.compiler.program import Program, compile
from hipgraft.dialects.hipdnn import GraphOp
from hipgraft.frontends import read
from hipgraft.frontends.models import Model, as_source
from hipgraft.hipdnn_io.document import TensorDocument
from hipgraft.hipdnn_io.engine_tables import SerializedExecutionPlan
from hipgraft.hipdnn_io.exporter import boundary_tensors, export_graph
from hipgraft.hipdnn_io.flatbuffer import write_flatbuffer
from hipgraft.hipdnn_io.plan_payload import (
    ENGINE_NAME,
    Overridable,
    Payload,
    encode_payload,
    engine_id,
)
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.io import function_blocks
from hipgraft.pipelines import stage_of
from hipgraft.runtime.bundle import bundle_bytes
from hipgraft.runtime.plan import PlanMetadata, workspace_size


@dataclass(frozen=True)
class GraphBoundary:
    """A hipDNN graph with the tensors that its caller passes.

    Attributes:
        module: module that holds the graph; compilation consumes it.
        inputs: tensors in the order of the program's inputs.
        results: tensors in the order of its results.
        overridable: hipDNN's FlatBuffer of the graph if executions may have other shapes; else
            empty.
    """

    module: ir.Module
    inputs: Sequence[TensorDocument]
    results: Sequence[TensorDocument]
    overridable: bytes = b""


def graph_boundary(module: ir.Module, source: str = "") -> GraphBoundary:
    """Returns the boundary of a module that is one imported hipDNN graph.

    Args:
        module: stage `hipdnn-graphs`.
        source: file name for messages.

    Raises:
        HipgraftError: the module is not a single graph, or callers cannot pass a tensor of it.
    """
    with module.context:
        graph = _only_graph(module)
        if graph is None:
            message = "a plan is made from one graph of hipDNN's, and nothing besides"
            raise HipgraftError(message, location=source)
        document = export_graph(graph)
        reason = unsupported_interface(document)
        if reason is not None:
            raise HipgraftError(reason, location=source)
        is_overridable = document.extra.get("is_override_shape_enabled", False)
        data = write_flatbuffer(document) if is_overridable else b""
        return GraphBoundary(module, *boundary_tensors(graph), data)


def _only_graph(module: ir.Module) -> GraphOp | None:
    """Returns the graph of a function that has just the graph's arguments and results."""
    if stage_of(module) != "hipdnn-graphs":
        return None
    blocks = function_blocks(module)
    ops = [op.operation for block in blocks for op in block.operations]
    if len(blocks) != 1 or len(ops) != 2 or ops[0].name != GraphOp.OP_NAME:
        return None
    graph, last = GraphOp(ops[0]), ops[1]
    takes_all = list(graph.inputs) == list(blocks[0].arguments)
    return graph if takes_all and list(graph.outputs) == list(last.operands) else None


def execution_plan(program: Program, boundary: GraphBoundary) -> SerializedExecutionPlan:
    """Returns the plan of a compiled graph.

    Args:
        program: program for GPUs at its last stage. hipDNN itself needs an AMD GPU; the plugin runs
            plans on another GPU if `HIPGRAFT_PLUGIN_DEVICE` names it.
        boundary: boundary of the module that was compiled.

    Raises:
        HipgraftError: the program is for the CPU or not at its last stage.
    """
    targets = program.config.target
    if "cpu" in targets:
        raise HipgraftError("hipDNN's plans are for GPUs, not for 'cpu'")
    recordings = [one for target in targets for one in program.recordings(target)]
    inputs, results = ([one.uid for one in group] for group in (boundary.inputs, boundary.results))
    by_value = [one.uid for one in boundary.inputs if one.is_runtime_pass_by_value]
    metadata = PlanMetadata(ENGINE_NAME, inputs, results, by_value, targets)
    for one in recordings:
        assert (len(one.inputs), len(one.results)) == (len(inputs), len(results))
    overridable = Overridable(boundary.overridable) if boundary.overridable else None
    payload = Payload(bundle_bytes(recordings, metadata.to_json()), overridable)
    return SerializedExecutionPlan(
        engine_id=engine_id(ENGINE_NAME),
        workspace_size=workspace_size(recordings, len(by_value)),
        tensor_uids=[*inputs, *results],
        plugin_payload=encode_payload(payload),
        is_override_shape_enabled=overridable is not None,
    )


def compile_plan(
    model: Model,
    target: str | Sequence[str] = "gfx942",
    *,
    sweep_case: str | None = None,
    **options: Any,
) -> SerializedExecutionPlan:
    """Compiles a hipDNN graph to a plan; hipDNN restores the plan's bytes.

    Args:
        model: a graph's file, a template's folder, or a module with one `hipdnn.graph`.
        target: architectures or products of GPUs.
        sweep_case: id of a case of a template; optional if there is only one case.
        options: options as for `hipgraft.compile`.

    Raises:
        HipgraftError: the model is not a hipDNN graph, or cannot be compiled; located.
    """
    with as_source(model) as source:
        name = "" if isinstance(source, ir.Module) else str(source)
        module = source if isinstance(source, ir.Module) else read(source, sweep_case=sweep_case)
        boundary = graph_boundary(module, name)
        return execution_plan(compile(module, target, **options), boundary)

"""Graphs for other engines than hipgraft's own: a host with hipDNN runs them."""

from __future__ import annotations

from pathlib import Path

from hipgraft.codegen.kernel import Kernel
from hipgraft.dialects.hipdnn import GraphOp
from hipgraft.engines.registry import IREE
from hipgraft.hipdnn_io import export_graph, write_json
from hipgraft.ir.bindings import ir
from hipgraft.ir.outputs import output_errors, replacing

FORMAT = "hipdnn"
"""Format of a binary that is a graph as hipDNN's JSON."""


def other_engine(container: ir.Operation) -> str:
    """Returns the engine that a graph is for; empty if hipgraft compiles the container itself."""
    if container.name != GraphOp.OP_NAME:
        return ""
    engine = GraphOp(container).engine or IREE
    return "" if engine == IREE else engine


def graph_json(container: ir.Operation) -> str:
    """Returns a graph as hipDNN's JSON.

    Raises:
        OpError: hipDNN cannot express something in it; located.
    """
    return write_json(export_graph(GraphOp(container)))


def graph_kernel(text: str, target: str) -> Kernel:
    """Returns the binary that stands for a graph of another engine."""
    return Kernel(target, FORMAT, (text.encode(),))


def write_graph(directory: str, name: str, text: str) -> None:
    """Writes a graph's JSON to `NAME.json` in a directory, which is made.

    Raises:
        HipgraftError: it cannot be written.
    """
    path = Path(directory) / f"{name}.json"
    with output_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(str(path)) as temporary:
            temporary.write_text(text)

"""Writes graphs for engines other than hipgraft's own; a host with hipDNN runs them."""

from __future__ import annotations

from pathlib import Path

from hipgraft.codegen.kernel import Kernel
from hipgraft.dialects.hipdnn import GraphOp
from hipgraft.engines.registry import IREE
from hipgraft.hipdnn_io import GraphDocument, write_flatbuffer, write_json
from hipgraft.ir.bindings import ir
from hipgraft.ir.outputs import output_errors, replacing

FORMAT = "hipdnn"
"""The format of a binary that is a graph in hipDNN's JSON."""


def other_engine(container: ir.Operation) -> str:
    """Returns the engine that a graph is for; empty if hipgraft compiles the container itself."""
    if container.name != GraphOp.OP_NAME:
        return ""
    engine = GraphOp(container).engine or IREE
    return "" if engine == IREE else engine


def graph_kernel(document: GraphDocument, target: str) -> Kernel:
    """Returns the binary that represents a graph of another engine."""
    return Kernel(target, FORMAT, (write_json(document).encode(),))


def write_graph(directory: str, name: str, document: GraphDocument) -> None:
    """Writes a graph to `NAME.json` and, in the engines' format, to `NAME.fb` in a directory.

    The directory is created if it does not exist.

    Raises:
        HipgraftError: the files cannot be written.
    """
    for suffix, data in (
        ("json", write_json(document).encode()),
        ("fb", write_flatbuffer(document)),
    ):
        path = Path(directory) / f"{name}.{suffix}"
        with output_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(str(path)) as temporary:
                temporary.write_bytes(data)

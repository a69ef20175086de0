"""Describes engines as data: the graphs that each engine of hipDNN accepts, and why not others.

An engine is a file. It lists the patterns of nodes that the engine runs, and the rules for these
nodes; `docs/engines.md` describes it. `find_engine` reads one by its name or path, `graph_of`
builds the input of `Engine.check`.
"""

from hipgraft.engines.engine import Engine, Failure
from hipgraft.engines.graph import Graph, graph_of, graph_of_ops
from hipgraft.engines.registry import engine_names, find_engine

__all__ = [
    "Engine",
    "Failure",
    "Graph",
    "engine_names",
    "find_engine",
    "graph_of",
    "graph_of_ops",
]

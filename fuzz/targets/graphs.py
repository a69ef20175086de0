"""Defines the targets that import hipDNN's graphs."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import hipdnn_graphs
import test_hostile_data

from fuzz.engine import Target
from fuzz.mutations import change_any, change_json
from fuzz.targets.modules import context
from hipgraft import frontends, hipdnn_io
from hipgraft.hipdnn_io.files import read_module
from hipgraft.hipdnn_io.json_format import document_of, parse
from hipgraft.ir.bindings import asm
from hipgraft.ir.diagnostics import HipgraftError


@cache
def _graphs() -> tuple[bytes, ...]:
    graphs = [test_hostile_data.RELU, *hipdnn_graphs.GRAPHS.values()]
    return tuple(json.dumps(each).encode() for each in graphs)


@cache
def _templates() -> tuple[bytes, ...]:
    pairs = map(hipdnn_graphs.templated, hipdnn_graphs.GRAPHS.values())
    return tuple(json.dumps(each).encode() for each in pairs)


def run_template(path: Path) -> None:
    """Imports each case of a template; the file holds the template and its sweep."""
    match parse(path.read_text(errors="replace"), str(path)):
        case [template, sweep]:
            for each in hipdnn_io.sweep_cases(sweep, "sweep.json").values():
                graph = hipdnn_io.expand_template(template, each, "graph.template.json")
                hipdnn_io.import_document(document_of(graph, "graph.json"), context())
        case _:
            pass


@cache
def _flatbuffers() -> tuple[bytes, ...]:
    documents = [hipdnn_io.read_json(each.decode(), "seed.json") for each in _graphs()]
    return tuple(map(hipdnn_io.write_flatbuffer, documents))


def run_graph(path: Path) -> None:
    """Imports hipDNN's graph; the text of the module parses again."""
    module = read_module(path, context())
    assert module.operation.verify()
    again = path.with_suffix(".mlir")
    again.write_text(asm(module))
    try:
        frontends.read(again, context())
    except HipgraftError as error:
        raise AssertionError(f"does not parse again: {error}") from None
    finally:
        again.unlink()


TARGETS = (
    Target("hipdnn-json", ".json", _graphs, change_json, run_graph),
    Target("hipdnn-template", ".json", _templates, change_json, run_template),
    Target("hipdnn-flatbuffer", ".fb", _flatbuffers, change_any, run_graph),
)

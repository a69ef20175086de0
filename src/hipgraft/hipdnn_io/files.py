"""hipDNN's files on disk, by path."""

from __future__ import annotations

import warnings
from pathlib import Path

from hipgraft.hipdnn_io.document import GraphDocument
from hipgraft.hipdnn_io.flatbuffer_reader import read_flatbuffer
from hipgraft.hipdnn_io.importer import import_document
from hipgraft.hipdnn_io.json_reader import document_of, parse
from hipgraft.hipdnn_io.templates import expand_template, is_template, sweep_cases
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError, HipgraftWarning
from hipgraft.ir.foreign_data import read_file as read_bytes

_TEMPLATE = "graph.template.json"


def read_module(path: str | Path, context: ir.Context) -> ir.Module:
    """Reads a graph as a module of one function; warns of what the file has besides.

    Raises:
        HipgraftError: the file is missing or no graph.
    """
    document = read_file(path)
    module = import_document(document, context)
    warn(document)
    return module


def warn(document: GraphDocument) -> None:
    """Emits what reading or writing a graph found, e.g. unknown fields, as Python warnings."""
    for message in document.warnings:
        warnings.warn(HipgraftWarning(message, document.source), stacklevel=2)


def read_file(path: str | Path) -> GraphDocument:
    """Reads a graph from a `.json` file or a FlatBuffer.

    Raises:
        HipgraftError: the file is missing or no graph.
    """
    if Path(path).suffix == ".json":
        return read_json_file(path)
    return read_flatbuffer(_bytes(path), str(path))


def read_json_file(
    path: str | Path, sweep_case: str | None = None, sweep: str | None = None
) -> GraphDocument:
    """Reads a graph from JSON, or one case of a template.

    Args:
        path: the file.
        sweep_case: id of the case, for a template.
        sweep: file with the cases; by default the one that belongs to the template by name.

    Raises:
        HipgraftError: a file is missing or of another kind, or the sweep has no such case.
    """
    source = str(path)
    graph = parse(_text(path), source)
    if sweep_case is not None:
        sweep = sweep or source.removesuffix(_TEMPLATE) + "sweep.json"
        cases = sweep_cases(parse(_text(sweep), sweep), sweep)
        if sweep_case not in cases:
            names = ", ".join(f"'{name}'" for name in cases)
            raise HipgraftError(f"no case '{sweep_case}'; there are {names}", location=sweep)
        graph = expand_template(graph, cases[sweep_case], source)
    elif is_template(graph):
        message = "the graph is a template; choose a case with 'hipgraft-translate --sweep-case'"
        raise HipgraftError(message, location=source)
    return document_of(graph, source)


def _text(path: str | Path) -> str:
    try:
        return _bytes(path).decode()
    except UnicodeDecodeError:
        raise HipgraftError("expected JSON, but found other bytes", location=str(path)) from None


def _bytes(path: str | Path) -> bytes:
    return read_bytes(path, "input file")

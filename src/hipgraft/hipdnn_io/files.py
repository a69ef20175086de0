"""Reads hipDNN's files by path: graphs, and cases of graph templates."""

from __future__ import annotations

import warnings
from pathlib import Path

from hipgraft.hipdnn_io.document import GraphDocument, Json
from hipgraft.hipdnn_io.flatbuffer import read_flatbuffer
from hipgraft.hipdnn_io.importer import import_document
from hipgraft.hipdnn_io.json_format import document_of, parse
from hipgraft.hipdnn_io.templates import (
    SweepCase,
    choose,
    expand_template,
    is_template,
    sweep_cases,
    sweep_of,
    template_of,
)
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError, HipgraftWarning
from hipgraft.ir.foreign_data import read_file as read_bytes


def read_module(
    path: str | Path, context: ir.Context, sweep_case: str | None = None, sweep: str | None = None
) -> ir.Module:
    """Reads a graph as a module of one function, and emits the reader's warnings.

    Arguments and errors are those of `read_file`.
    """
    document = read_file(path, sweep_case, sweep)
    module = import_document(document, context)
    warn(document)
    return module


def warn(document: GraphDocument) -> None:
    """Emits a document's warnings, such as unknown fields, as Python warnings."""
    for message in document.warnings:
        warnings.warn(HipgraftWarning(message, document.source), stacklevel=2)


def read_file(
    path: str | Path, sweep_case: str | None = None, sweep: str | None = None
) -> GraphDocument:
    """Reads a graph from JSON or a FlatBuffer, or one case of a template.

    Args:
        path: a `.json` file, a folder with a template, or a FlatBuffer.
        sweep_case: id of the case of a template; optional if there is only one.
        sweep: file with the cases; by default the one whose name matches the template's.

    Raises:
        HipgraftError: a file is missing or malformed, or the sweep has no such case.
    """
    path = template_of(path)
    if Path(path).suffix == ".json":
        return read_json_file(path, sweep_case, sweep)
    _refuse_case(path, sweep_case, sweep)
    return read_flatbuffer(_bytes(path), path)


def read_json_file(
    path: str | Path, sweep_case: str | None = None, sweep: str | None = None
) -> GraphDocument:
    """Reads a graph from JSON, or one case of a template; see `read_file`."""
    source = template_of(path)
    return read_json_text(_text(source), source, sweep_case, sweep)


def read_json_text(
    text: str, source: str, sweep_case: str | None = None, sweep: str | None = None
) -> GraphDocument:
    """Reads a graph from JSON, or one case of a template; messages call it `source`.

    Raises:
        HipgraftError: the text is not a graph, or the sweep is missing or has no such case.
    """
    graph = parse(text, source)
    if not is_template(graph) and sweep_of(source) is None:
        _refuse_case(source, sweep_case, sweep)
        return document_of(graph, source)
    cases, where = _cases(source, sweep)
    unused: list[str] = []
    case = choose(cases, sweep_case, where)
    document = document_of(expand_template(graph, case, source, unused), source)
    document.warnings += unused
    return document


def case_names(path: str | Path, sweep: str | None = None) -> list[str]:
    """Returns the ids of a template's cases, in the order of its sweep.

    Args:
        path: the template, or its folder.
        sweep: file with the cases; by default the one whose name matches the template's.

    Raises:
        HipgraftError: a file is missing or malformed.
    """
    template = template_of(path)
    if sweep is None and sweep_of(template) is None and not is_template(_json(template)):
        _refuse_case(template, "", sweep)
    return list(_cases(template, sweep)[0])


def _cases(template: str, sweep: str | None) -> tuple[dict[str, SweepCase], str]:
    """Returns the cases of a template and the path of their file."""
    source = sweep or sweep_of(template)
    if source is None:
        message = "the graph is a template without a sweep; give its cases with '--sweep'"
        raise HipgraftError(message, location=template)
    if not Path(source).is_file():
        raise HipgraftError(f"the template's sweep '{source}' is missing", location=template)
    return sweep_cases(_json(source), source), source


def _refuse_case(path: str, sweep_case: str | None, sweep: str | None) -> None:
    if sweep_case is not None or sweep is not None:
        raise HipgraftError("the file is no template and has no cases", location=path)


def _json(path: str) -> Json:
    return parse(_text(path), path)


def _text(path: str | Path) -> str:
    try:
        return _bytes(path).decode()
    except UnicodeDecodeError:
        raise HipgraftError("expected JSON, but found other bytes", location=str(path)) from None


def _bytes(path: str | Path) -> bytes:
    return read_bytes(path, "input file")

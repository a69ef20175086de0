"""hipDNN's files on disk, by path, and graph templates.

A template is one JSON graph for many shapes and types, whose strings may hold `${case.PATH}`. A
sweep lists cases, each with an `id` and the `values` that the paths lead into. A string that is
one placeholder becomes the value itself, so that extents stay lists.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import cast

from hipgraft.hipdnn_io.document import GraphDocument, Json
from hipgraft.hipdnn_io.flatbuffer import read_flatbuffer
from hipgraft.hipdnn_io.importer import import_document
from hipgraft.hipdnn_io.json_format import Fields, document_of, parse
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError, HipgraftWarning
from hipgraft.ir.foreign_data import read_file as read_bytes

_TEMPLATE = "graph.template.json"


_PLACEHOLDER = re.compile(r"\$\{case\.([^}]*)\}")


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


def sweep_cases(sweep: Json, source: str) -> dict[str, Json]:
    """Returns the values of each case of a sweep, by its id.

    Raises:
        HipgraftError: it is no sweep; the field is named.
    """
    cases: dict[str, Json] = {}
    for at, one in enumerate(Fields.of(sweep, "sweep", source).take_list("cases")):
        case = Fields.of(one, f"cases[{at}]", source)
        name = case.take("id", str)
        if name in cases:
            raise case.error(f"has the id '{name}' of another case")
        cases[name] = case.take("values", dict)
    return cases


def is_template(graph: Json) -> bool:
    """Returns whether a JSON value holds placeholders."""
    if isinstance(graph, str):
        return _PLACEHOLDER.search(graph) is not None
    if isinstance(graph, list):
        return any(map(is_template, cast(list[Json], graph)))
    return isinstance(graph, dict) and any(map(is_template, cast(dict[str, Json], graph).values()))


def expand_template(template: Json, values: Json, source: str) -> Json:
    """Returns a template with the values of one case.

    Raises:
        HipgraftError: the case has no value for a placeholder.
    """

    def value_at(path: str) -> Json:
        try:
            return reduce(_member, path.split("."), values)
        except (LookupError, TypeError, ValueError):
            message = f"the case has no value for '${{case.{path}}}'"
            raise HipgraftError(message, location=source) from None

    return _expanded(template, value_at)


def _member(value: Json, step: str) -> Json:
    return cast(list[Json], value)[int(step)] if isinstance(value, list) else value[step]


def _expanded(value: Json, value_at: Callable[[str], Json]) -> Json:
    if isinstance(value, list):
        return [_expanded(one, value_at) for one in cast(list[Json], value)]
    if isinstance(value, dict):
        members = cast(dict[str, Json], value)
        return {key: _expanded(one, value_at) for key, one in members.items()}
    if not isinstance(value, str):
        return value
    whole = _PLACEHOLDER.fullmatch(value)
    if whole is not None:
        return value_at(whole[1])
    return _PLACEHOLDER.sub(lambda match: str(value_at(match[1])), value)

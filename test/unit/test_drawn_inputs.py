"""Inputs that hypothesis draws from their grammar: mutations of seeds rarely reach these."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Sequence
from typing import Any, get_args, get_origin, get_type_hints

import hipdnn_graphs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hipgraft import hipdnn_io
from hipgraft.ir.bindings import asm, ir, make_context
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.passmanager import registry
from hipgraft.passmanager.pipeline import resolve, to_text

_PASSES = sorted(
    entry.name
    for entry in registry.entries().values()
    if entry.kind == "pass" and dataclasses.fields(registry.pass_class(entry.name))
)
_WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)


def _values(kind: Any) -> st.SearchStrategy[str]:
    """Text of an option's value: mostly of its type, and otherwise anything."""
    if get_origin(kind) in (tuple, list, Sequence):
        return st.lists(_values(get_args(kind)[0]), max_size=3).map(",".join)
    good: st.SearchStrategy[Any] = _WORDS
    if kind is bool:
        good = st.sampled_from(["true", "false", "1", "0"])
    elif kind in (int, float):
        good = st.one_of(st.integers(), st.floats()).map(str)
    return st.one_of(good, good, good, st.builds("{{{}}}".format, _WORDS), _WORDS)


@st.composite
def _pass_texts(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(_PASSES))
    kinds = {k: v for k, v in get_type_hints(registry.pass_class(name)).items() if k != "name"}
    fields = [field.name for field in dataclasses.fields(registry.pass_class(name))]
    chosen = draw(st.lists(st.sampled_from(fields), max_size=3))
    words = [f"{each.replace('_', '-')}={draw(_values(kinds[each]))}" for each in chosen]
    return f"{name}{{{' '.join(words)}}}" if words else name


_PIPELINES = st.recursive(
    st.lists(_pass_texts(), min_size=1, max_size=3).map(",".join),
    lambda inner: st.builds("{}({})".format, st.sampled_from(["builtin.module", "any"]), inner),
    max_leaves=3,
)


@pytest.mark.slow
@given(_PIPELINES)
def test_pipelines_with_options_resolve_or_are_errors(text: str) -> None:
    try:
        printed = to_text(resolve(text))
    except HipgraftError:
        return
    assert to_text(resolve(printed)) == printed


_NAMES = st.one_of(_WORDS, st.sampled_from(["name", "nodes", "dims", "type", "uid", "value"]))
_JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**65), 2**65),
        st.floats(),
        _NAMES,
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(_NAMES, inner, max_size=3)
    ),
    max_leaves=6,
)
_CONTEXT = make_context()


def _members(value: Any) -> list[Any]:
    """A document's objects and lists, itself first."""
    inner = value.values() if isinstance(value, dict) else value
    return [value, *(m for each in inner if isinstance(each, dict | list) for m in _members(each))]


@pytest.mark.slow
@given(st.sampled_from(sorted(hipdnn_graphs.GRAPHS)), _NAMES, _JSON, st.data())
def test_graphs_with_drawn_members_import_or_are_errors(
    name: str, field: str, value: Any, data: st.DataObject
) -> None:
    """An imported graph prints, parses, and exports to a graph that round-trips."""
    document = copy.deepcopy(hipdnn_graphs.GRAPHS[name])
    member = data.draw(st.sampled_from(range(len(_members(document)))))
    where = _members(document)[member]
    if isinstance(where, dict):
        where[field] = value
    else:
        where.append(value)
    try:
        module = hipdnn_io.import_document(hipdnn_io.read_json(json.dumps(document)), _CONTEXT)
    except HipgraftError:
        return
    again = ir.Module.parse(asm(module), _CONTEXT)
    exported = hipdnn_io.write_json(hipdnn_io.export_graph(hipdnn_io.find_graph(again)))
    third = hipdnn_io.import_document(hipdnn_io.read_json(exported), _CONTEXT)
    assert hipdnn_io.write_json(hipdnn_io.export_graph(hipdnn_io.find_graph(third))) == exported

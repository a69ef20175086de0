"""Graph templates and their sweeps: one JSON graph for many shapes and types.

A template is a graph whose strings may hold `${case.PATH}`; a sweep lists cases, each with an
`id` and the `values` that the paths lead into. A string that is one placeholder becomes the value
itself, so that extents stay lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from typing import cast

from hipgraft.hipdnn_io.checked import Fields
from hipgraft.hipdnn_io.document import Json
from hipgraft.ir.diagnostics import HipgraftError

_PLACEHOLDER = re.compile(r"\$\{case\.([^}]*)\}")


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

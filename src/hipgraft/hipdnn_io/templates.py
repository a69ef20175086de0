"""Expands graph templates: one JSON graph for many shapes and types, and the sweep of its cases.

A template is hipDNN's JSON with placeholders `${case.PATH}`. A string that is one placeholder
becomes the value itself, so that extents stay lists. A sweep lists cases: an `id`, the `values`,
and `tensor_patches`, which change fields of single tensors afterwards. Inside of a tensor (an
object with a `uid`), a placeholder is looked up in that uid's entry of the case's `values.tensors`,
then in `values`; `dims`, `strides` and `data_type` are only looked up in the entry.

Source: ROCm/rocm-libraries, dnn-providers/integration-tests/docs/file-formats.md, of 2026. hipDNN
replaces whole strings only; here, placeholders within longer strings are replaced as well, and a
path may index a list.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from hipgraft.hipdnn_io.document import Json, shortened
from hipgraft.hipdnn_io.json_format import Fields
from hipgraft.ir.diagnostics import HipgraftError

TEMPLATE = "graph.template.json"
SWEEP = "sweep.json"

_PLACEHOLDER = re.compile(r"\$\{case\.([^}]*)\}")
_INDEX = re.compile(r"[0-9]{1,9}")
_OF_TENSORS = ("dims", "strides", "data_type")
_MOST_NAMES = 16

_NO_TENSORS: dict[int, dict[str, Json]] = {}


@dataclass(frozen=True)
class SweepCase:
    """A case of a sweep.

    Attributes:
        name: id of the case.
        values: values that placeholders refer to.
        tensors: values of single tensors, by uid.
        patches: changes of tensors, as written in the file.
    """

    name: str
    values: dict[str, Json]
    tensors: dict[int, dict[str, Json]] = field(default_factory=_NO_TENSORS.copy)
    patches: Sequence[Json] = ()


def template_of(path: str | Path) -> str:
    """Returns the template at a path; in a folder, it has a fixed name.

    Raises:
        HipgraftError: the folder contains no template.
    """
    folder = Path(path)
    if not folder.is_dir():
        return str(path)
    if not (folder / TEMPLATE).is_file():
        raise HipgraftError(f"the folder has no '{TEMPLATE}'", location=str(path))
    return str(folder / TEMPLATE)


def sweep_of(template: str) -> str | None:
    """Returns `X.sweep.json` for `X.graph.template.json`; None for a file of another name."""
    beside = template.removesuffix(TEMPLATE) + SWEEP
    return beside if template.endswith(TEMPLATE) else None


def sweep_cases(sweep: Json, source: str) -> dict[str, SweepCase]:
    """Returns the cases of a sweep by their ids.

    Raises:
        HipgraftError: the value is not a sweep; the message names the field.
    """
    members = Fields.of(sweep, "sweep", source)
    version = members.take("version", int, 1)
    if version != 1:
        raise members.error(f"expected version 1, but found {version}")
    cases: dict[str, SweepCase] = {}
    for at, one in enumerate(members.take_list("cases")):
        case = Fields.of(one, f"cases[{at}]", source)
        name = case.take("id", str)
        if not name:
            raise case.error("expected field 'id' to be a name, but found \"\"")
        if name in cases:
            raise case.error(f"has the id '{name}' of another case")
        values = cast(dict[str, Json], case.take("values", dict, {}))
        patches = case.take_list("tensor_patches", [])
        cases[name] = SweepCase(name, values, _by_uid(values, case), patches)
    if not cases:
        raise members.error("has no cases")
    return cases


def _by_uid(values: dict[str, Json], case: Fields) -> dict[int, dict[str, Json]]:
    tensors: dict[int, dict[str, Json]] = {}
    entries: Json = values.get("tensors")
    if not isinstance(entries, list):
        return tensors
    for entry in cast(list[Json], entries):
        members = cast(dict[str, Json], entry) if isinstance(entry, dict) else {}
        uid = members.get("uid")
        # Lists without uids are accessed by paths with an index.
        if not _is_uid(uid):
            continue
        if uid in tensors:
            raise case.error(f"has values of the tensor with uid {uid} twice")
        tensors[cast(int, uid)] = members
    return tensors


def choose(cases: dict[str, SweepCase], name: str | None, source: str) -> SweepCase:
    """Returns the named case, or the only one.

    Raises:
        HipgraftError: there is no such case, or there are several and none is named.
    """
    if name is None and len(cases) == 1:
        return next(iter(cases.values()))
    if name is None:
        message = f"the graph is a template; choose a case with '--sweep-case': {_names(cases)}"
        raise HipgraftError(message, location=source)
    if name not in cases:
        raise HipgraftError(f"no case '{name}'; there are {_names(cases)}", location=source)
    return cases[name]


def _names(cases: dict[str, SweepCase]) -> str:
    shown = ", ".join(f"'{name}'" for name in list(cases)[:_MOST_NAMES])
    rest = len(cases) - _MOST_NAMES
    return shown if rest <= 0 else f"{shown} and {rest} more, which '--list-cases' prints"


def is_template(graph: Json) -> bool:
    """Returns whether a JSON value holds placeholders."""
    if isinstance(graph, str):
        return _PLACEHOLDER.search(graph) is not None
    if isinstance(graph, list):
        return any(map(is_template, cast(list[Json], graph)))
    return isinstance(graph, dict) and any(map(is_template, cast(dict[str, Json], graph).values()))


def expand_template(
    template: Json, case: SweepCase, source: str, warnings: list[str] | None = None
) -> Json:
    """Returns a template with the values of one case inserted.

    Args:
        template: the JSON of the template.
        case: case to insert.
        source: name of the template's file, for messages.
        warnings: list to which warnings about unused values are added.

    Raises:
        HipgraftError: the case has no value for a placeholder, which is named with its path
            in the template, or patches a tensor that does not exist.
    """
    expansion = _Expansion(case, source)
    graph = expansion.expanded(template, None, "")
    _patch(graph, case, source)
    if warnings is not None:
        warnings += expansion.unused()
    return graph


class _Expansion:
    def __init__(self, case: SweepCase, source: str):
        self.case = case
        self.source = source
        self.used: set[tuple[int | None, str]] = set()

    def expanded(self, value: Json, uid: int | None, where: str) -> Json:
        if isinstance(value, list):
            items = enumerate(cast(list[Json], value))
            return [self.expanded(one, uid, f"{where}[{at}]") for at, one in items]
        if isinstance(value, dict):
            members = cast(dict[str, Json], value)
            own = members.get("uid")
            uid = cast(int, own) if _is_uid(own) else uid
            within = f"{where}." if where else ""
            return {key: self.expanded(one, uid, f"{within}{key}") for key, one in members.items()}
        if not isinstance(value, str):
            return value
        whole = _PLACEHOLDER.fullmatch(value)
        if whole is not None:
            return self._value(whole[1], uid, where)
        return _PLACEHOLDER.sub(lambda match: str(self._value(match[1], uid, where)), value)

    def _value(self, path: str, uid: int | None, where: str) -> Json:
        steps = path.split(".")
        if uid is not None:
            entry = self.case.tensors.get(uid, {})
            found = _at(entry, steps)
            if found is not _MISSING:
                self.used.add((uid, steps[0]))
                return found
            if path in _OF_TENSORS:
                raise self._missing(path, where, f" of the tensor with uid {uid}")
        found = _at(self.case.values, steps)
        if found is _MISSING:
            raise self._missing(path, where, "")
        self.used.add((None, steps[0]))
        return found

    def _missing(self, path: str, where: str, whose: str) -> HipgraftError:
        message = f"case '{self.case.name}' has no value{whose} for '${{case.{path}}}'"
        return HipgraftError(f"{where}: {message}" if where else message, location=self.source)

    def unused(self) -> list[str]:
        """Returns warnings about the values of the case that no placeholder uses."""
        case = self.case
        messages = [
            f"case '{case.name}': no placeholder uses the value '{key}'"
            for key in case.values
            if key != "tensors" and (None, key) not in self.used
        ]
        if (None, "tensors") in self.used:
            return messages
        for uid, entry in case.tensors.items():
            messages += [
                f"case '{case.name}': no placeholder uses the value '{key}' of the tensor with "
                f"uid {uid}"
                for key in entry
                if key != "uid" and (uid, key) not in self.used
            ]
        return messages


_MISSING = object()


def _at(value: Json, steps: Sequence[str]) -> Json:
    """Returns the value at a path, `_MISSING` if there is none."""
    for step in steps:
        if isinstance(value, dict):
            value = cast(dict[str, Json], value).get(step, _MISSING)
        elif isinstance(value, list) and _INDEX.fullmatch(step):
            items = cast(list[Json], value)
            value = items[int(step)] if int(step) < len(items) else _MISSING
        else:
            return _MISSING
    return value


def _is_uid(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _patch(graph: Json, case: SweepCase, source: str) -> None:
    """Applies the case's patches to tensors of an expanded graph: sets, then removes fields."""
    for at, one in enumerate(case.patches):
        where = f"case '{case.name}': tensor_patches[{at}]"
        patch = Fields.of(one, where, source)
        uid = patch.take("uid", int)
        tensor = _tensor(graph, uid)
        if tensor is None:
            raise patch.error(f"no tensor has the uid {uid}")
        tensor |= cast(dict[str, Json], patch.take("set", dict, {}))
        for key in patch.take_list("remove", []):
            if not isinstance(key, str):
                raise patch.error(f"expected names in field 'remove', but found {shortened(key)}")
            tensor.pop(key, None)


def _tensor(graph: Json, uid: int) -> dict[str, Json] | None:
    tensors: Json = cast(dict[str, Json], graph).get("tensors") if isinstance(graph, dict) else []
    for one in cast(list[Json], tensors) if isinstance(tensors, list) else []:
        if isinstance(one, dict) and cast(dict[str, Json], one).get("uid") == uid:
            return cast(dict[str, Json], one)
    return None

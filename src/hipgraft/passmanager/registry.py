"""Finds passes and named pipelines by name, without importing them.

The file of a pass determines its name: `hipdnn-outline` is `passes/hipdnn_outline.py`. A file whose
name starts with an underscore holds helpers. Other packages add passes through the entry point
group `hipgraft.passes`: the entry's name is the pass's name, its value `module:Class`.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.registration import Registry, plugins
from hipgraft.ir.signals import deferred
from hipgraft.passmanager.base import Pass

_GROUPS = {"hipgraft.passes": "pass", "hipgraft.pipelines": "pipeline"}
"""The entry point groups through which other packages provide passes and pipeline builders."""

PipelineElement = Pass | str
"""An element of a pipeline: a pass, or the text of native passes."""

_FOLDERS = {"passes": "pass", "passes/testing": "pass", "pipelines": "pipeline"}


@dataclass(frozen=True)
class Entry:
    """A registered pass or pipeline, which is not imported yet.

    Attributes:
        name: command-line name.
        kind: `pass` or `pipeline`.
        module: module to import.
        attribute: name of the pass's class or of the pipeline's builder in the module; empty
            to search the module.
        origin: provider of the entry, for messages.
        testing: whether the entry is for tests only.
    """

    name: str
    kind: str
    module: str
    attribute: str = ""
    origin: str = "hipgraft"
    testing: bool = False


@dataclass(frozen=True)
class NamedPipeline:
    """A pipeline with a name and options.

    Attributes:
        name: command-line name.
        config: the frozen dataclass of its options.
        build: function that builds the elements from a configuration.
        doc: the builder's docstring.
    """

    name: str
    config: type[Any]
    build: Callable[[Any], Sequence[PipelineElement]]
    doc: str


@cache
def entries() -> Registry[Entry]:
    """Returns all passes and pipelines by name, sorted; imports none of them.

    Raises:
        RegisteredTwiceError: two entries have the same name.
    """
    found = Registry[Entry]("pass or pipeline", provider=_provider)
    for entry in sorted((*_own_entries(), *_plugin_entries()), key=lambda entry: entry.name):
        found.add(entry.name, entry)
    return found


def pass_class(name: str) -> type[Pass]:
    """Imports the pass `name`."""
    entry = entries()[name]
    with deferred():  # most passes load numpy
        module = import_module(entry.module)
    if entry.attribute:
        return getattr(module, entry.attribute)
    for value in vars(module).values():
        if _is_pass_of(value, entry):
            return value
    raise HipgraftError(f"{_provider(entry)} defines no pass named '{name}'")


def make_pass(name: str, **options: object) -> Pass:
    """Returns the pass `name` with options by the names of its fields."""
    make: Callable[..., Pass] = pass_class(name)
    return make(**options)


def named_pipeline(name: str) -> NamedPipeline:
    """Imports the pipeline `name`."""
    entry = entries()[name]
    module = import_module(entry.module)
    own = f"build_{name.replace('-', '_')}_pipeline"
    build = getattr(module, entry.attribute or own, None)
    if build is None or (not entry.attribute and getattr(module, "PIPELINE_NAME", None) != name):
        raise HipgraftError(f"{_provider(entry)} defines no pipeline named '{name}'")
    config = next(kind for key, kind in get_type_hints(build).items() if key != "return")
    return NamedPipeline(name, config, build, inspect.getdoc(build) or "")


def _is_pass_of(value: Any, entry: Entry) -> bool:
    return (
        isinstance(value, type)
        and issubclass(value, Pass)
        and dataclasses.is_dataclass(value)
        and value.__module__ == entry.module
        and getattr(value, "name", None) == entry.name
    )


def _own_entries() -> Iterator[Entry]:
    root = Path(__file__).parent.parent
    for folder, kind in _FOLDERS.items():
        for path in sorted((root / folder).glob("[!_]*.py")):
            module = f"hipgraft.{folder.replace('/', '.')}.{path.stem}"
            name = path.stem.replace("_", "-")
            yield Entry(name, kind, module, testing=folder.endswith("testing"))


def _plugin_entries() -> Iterator[Entry]:
    for group, kind in _GROUPS.items():
        for point in plugins(group):
            origin = point.dist.name if point.dist is not None else "a plug-in"
            yield Entry(point.name, kind, point.module, point.attr, origin)


def _provider(entry: Entry) -> str:
    return f"{entry.origin} ({entry.module})"

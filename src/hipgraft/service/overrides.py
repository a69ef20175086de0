"""Compiler flags of single graphs, from a YAML file.

- graph: conv_fprop_*          # a glob of the graph's name, or the start of its digest
  target: gfx942               # optional: only for this architecture
  flags: [--iree-codegen-...]  # after the flags that all graphs get
  tuning_spec: conv.mlir       # optional: a transform-dialect library, beside this file
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

from hipgraft.diagnostics import HipgraftError

_FIELDS = ("graph", "target", "flags", "tuning_spec")
_SHORTEST_DIGEST = 8


@dataclass(frozen=True)
class Override:
    """Flags for the graphs that a pattern matches.

    Attributes:
        graph: a glob of names, or the start of a digest (`container_key`).
        target: architecture; empty for any.
        flags: compiler flags.
    """

    graph: str
    target: str = ""
    flags: tuple[str, ...] = ()

    def matches(self, name: str, digest: str, target: str) -> bool:
        """Whether a graph is meant, compiled for `target`."""
        if self.target not in ("", target):
            return False
        by_digest = len(self.graph) >= _SHORTEST_DIGEST and digest.startswith(self.graph)
        return by_digest or fnmatchcase(name, self.graph)


def tuning_spec_flag(path: str | Path) -> str:
    """Returns the compiler's flag for a tuning spec.

    Raises:
        HipgraftError: there is no such file.
    """
    if not Path(path).is_file():
        raise HipgraftError(f"cannot open tuning spec '{path}': no such file")
    # Whoever compiles may be in another directory.
    return f"--iree-codegen-tuning-spec-path={Path(path).resolve()}"


def read_overrides(path: str | Path) -> list[Override]:
    """Reads a file of overrides; of several that match a graph, later ones win.

    Raises:
        HipgraftError: the file cannot be read or is malformed; located.
    """
    items = read_list(path, "overrides", _FIELDS)
    return [_override(fields, index, Path(path)) for index, fields in enumerate(items)]


def read_list(path: str | Path, what: str, names: Sequence[str]) -> list[Mapping[str, Any]]:
    """Reads a YAML list of mappings, each with a list `flags` if any.

    Args:
        path: the file.
        what: what it holds, for messages.
        names: the fields that a mapping may have.

    Raises:
        HipgraftError: the file cannot be read or is malformed; located.
    """
    # Only now: every tool imports this module, and few have a file to read.
    import yaml

    try:
        document: Any = yaml.safe_load(Path(path).read_text())
    except OSError as error:
        raise HipgraftError(f"cannot open {what} '{path}': {error.strerror}") from None
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise HipgraftError(f"malformed {what}: {reason}", location=str(path)) from None
    if not isinstance(document, list):
        raise HipgraftError(f"expected a list of {what}", location=str(path))
    items = cast("list[Any]", document)
    return [_mapping(item, f"#{index}", names, str(path)) for index, item in enumerate(items)]


def flags_for(
    overrides: Sequence[Override], name: str, digest: str, target: str
) -> tuple[str, ...]:
    """Returns the flags that a graph gets besides those of all graphs."""
    matching = [override for override in overrides if override.matches(name, digest, target)]
    return tuple(flag for override in matching for flag in override.flags)


def _mapping(item: Any, where: str, names: Sequence[str], path: str) -> Mapping[str, Any]:
    if not isinstance(item, Mapping):
        raise HipgraftError(f"{where}: expected a mapping", location=path)
    fields = cast("Mapping[str, Any]", item)
    for name in fields:
        if name not in names:
            reason = f"{where}: unknown field '{name}'; expected one of {', '.join(names)}"
            raise HipgraftError(reason, location=path)
    if not isinstance(fields.get("flags", []), list):
        raise HipgraftError(f"{where}: expected a list 'flags'", location=path)
    return fields


def own_flags(fields: Mapping[str, Any], path: Path) -> tuple[str, ...]:
    """Returns `flags` and `tuning_spec` of one mapping as flags.

    Raises:
        HipgraftError: there is no such tuning spec.
    """
    flags = [str(flag) for flag in cast("list[Any]", fields.get("flags", []))]
    if "tuning_spec" in fields:
        flags.append(tuning_spec_flag(path.parent / str(fields["tuning_spec"])))
    return tuple(flags)


def _override(fields: Mapping[str, Any], index: int, path: Path) -> Override:
    if not isinstance(fields.get("graph"), str):
        raise HipgraftError(f"#{index}: expected a text 'graph'", location=str(path))
    target = str(fields.get("target", ""))
    return Override(fields["graph"], target, own_flags(fields, path))

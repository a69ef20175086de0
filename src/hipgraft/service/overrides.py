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
    return f"--iree-codegen-tuning-spec-path={path}"


def read_overrides(path: str | Path) -> list[Override]:
    """Reads a file of overrides; of several that match a graph, later ones win.

    Raises:
        HipgraftError: the file cannot be read or is malformed; located.
    """
    # Only now: every tool imports this module, and few have a file to read.
    import yaml

    try:
        document: Any = yaml.safe_load(Path(path).read_text())
    except OSError as error:
        raise HipgraftError(f"cannot open overrides '{path}': {error.strerror}") from None
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise HipgraftError(f"malformed overrides: {reason}", location=str(path)) from None
    if not isinstance(document, list):
        raise HipgraftError("expected a list of overrides", location=str(path))
    items = cast("list[Any]", document)
    return [_override(item, index, Path(path)) for index, item in enumerate(items)]


def flags_for(
    overrides: Sequence[Override], name: str, digest: str, target: str
) -> tuple[str, ...]:
    """Returns the flags that a graph gets besides those of all graphs."""
    matching = [override for override in overrides if override.matches(name, digest, target)]
    return tuple(flag for override in matching for flag in override.flags)


def _override(item: Any, index: int, path: Path) -> Override:
    where = f"override #{index}"
    if not isinstance(item, Mapping):
        raise HipgraftError(f"{where}: expected a mapping", location=str(path))
    fields = cast("Mapping[str, Any]", item)
    unknown = [name for name in fields if name not in _FIELDS]
    if unknown:
        expected = ", ".join(_FIELDS)
        raise HipgraftError(
            f"{where}: unknown field '{unknown[0]}'; expected one of {expected}", location=str(path)
        )
    flags = fields.get("flags", [])
    if not isinstance(fields.get("graph"), str) or not isinstance(flags, list):
        raise HipgraftError(
            f"{where}: expected a text 'graph' and a list 'flags'", location=str(path)
        )
    chosen = [str(flag) for flag in cast("list[Any]", flags)]
    if "tuning_spec" in fields:
        chosen.append(tuning_spec_flag(path.parent / str(fields["tuning_spec"])))
    return Override(fields["graph"], str(fields.get("target", "")), tuple(chosen))

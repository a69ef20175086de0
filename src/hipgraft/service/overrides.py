"""Compiler flags for single graphs, from a YAML file.

- graph: conv_fprop_*          # a glob of the graph's name, or the start of its digest
  target: gfx942               # optional: only for this architecture
  flags: [--iree-codegen-...]  # after the flags that all graphs get
  tuning_spec: conv.mlir       # optional: a transform-dialect library, beside this file
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from hipgraft.ir.foreign_data import read_yaml

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
        """Whether the override applies to a graph that is compiled for `target`."""
        if self.target not in ("", target):
            return False
        by_digest = len(self.graph) >= _SHORTEST_DIGEST and digest.startswith(self.graph)
        return by_digest or fnmatchcase(name, self.graph)


def read_overrides(path: str | Path) -> list[Override]:
    """Reads a file of overrides; if several match a graph, the flags of later ones win.

    Raises:
        HipgraftError: the file cannot be read or is malformed; located.
    """
    # Imported here because every tool imports this module, and few read a file.
    from hipgraft.service.override_fields import OverrideFields

    items = read_yaml(path, list[OverrideFields], "overrides")
    return [Override(one.graph, one.target, one.all_flags(path)) for one in items]


def flags_for(
    overrides: Sequence[Override], name: str, digest: str, target: str
) -> tuple[str, ...]:
    """Returns the flags of the overrides that match a graph."""
    matching = [override for override in overrides if override.matches(name, digest, target)]
    return tuple(flag for override in matching for flag in override.flags)

"""Defines the fields of engine files, as `docs/engines.md` describes them."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field


class RuleFields(Struct, forbid_unknown_fields=True, frozen=True):
    """A condition, and the message if it does not hold."""

    require: str
    because: str


class NodeFields(Struct, forbid_unknown_fields=True, frozen=True):
    """A slot for a node in a pattern, and the rules about the node."""

    op: str | list[str]
    name: str = ""
    optional: bool = False
    reads: str | list[str] | dict[str, str | list[str]] = ""
    modes: list[str] = field(default_factory=list[str])
    types: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    compute_types: list[str] = field(default_factory=list[str])
    ranks: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    layouts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    attributes: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    absent: list[str] = field(default_factory=list[str])
    constant: list[str] = field(default_factory=list[str])
    because: dict[str, str] = field(default_factory=dict[str, str])
    rules: list[RuleFields] = field(default_factory=list[RuleFields])


class PatternFields(Struct, forbid_unknown_fields=True, frozen=True):
    """A form of graphs that an engine accepts."""

    name: str
    nodes: list[NodeFields]
    form: Literal["sequence", "any"] = "sequence"
    architectures: list[str] = field(default_factory=list[str])
    taps: bool = False
    types: list[str] = field(default_factory=list[str])
    rules: list[RuleFields] = field(default_factory=list[RuleFields])


class EngineFields(Struct, forbid_unknown_fields=True, frozen=True):
    """An engine."""

    hipgraft_engine: Literal[1]
    name: str
    summary: str
    patterns: list[PatternFields]
    architectures: list[str] = field(default_factory=list[str])

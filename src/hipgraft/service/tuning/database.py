"""The tuning database: the best plan for each graph and architecture.

It is a JSON file with sorted entries, which can be compared and merged as text:

    {"format": 2, "entries": [{"graph": DIGEST, "target": "gfx942", "compiler": "3.13.0",
      "name": "sdpa_0", "plan": "hipdnn.sdpa=padded", "cost_model": "counted",
      "costs": {"default": 9.0e6, "hipdnn.sdpa=padded": 3.2e6}}]}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from math import isfinite
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from hipgraft.codegen.plan import Plan
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.foreign_data import decode_json, malformed, read_file
from hipgraft.service.tuning.cost_model import AUTHORITY
from hipgraft.service.tuning.decision import Decision

_FORMAT = 2
_SHIPPED = "database.json"


@dataclass(frozen=True)
class Tuned:
    """The best plan of a graph.

    Attributes:
        graph: digest of the graph (`container_key`).
        target: architecture.
        compiler: version of IREE's compiler.
        name: name of the graph, for readers.
        plan: text of the best plan.
        cost_model: name of the cost model.
        costs: cost of each plan that was tried and compiled.
    """

    graph: str
    target: str
    compiler: str
    name: str
    plan: str
    cost_model: str
    costs: Mapping[str, float]

    @classmethod
    def of(cls, graph: str, target: str, compiler: str, name: str, decision: Decision) -> Tuned:
        """Returns the entry for a decision with costs."""
        candidates = [decision.chosen, *decision.rejected]
        costs = {
            str(candidate.plan): candidate.cost
            for candidate in candidates
            if isfinite(candidate.cost)
        }
        cost_model = decision.chosen.costs[0].cost_model
        return cls(graph, target, compiler, name, str(decision.chosen.plan), cost_model, costs)

    @property
    def key(self) -> tuple[str, str, str]:
        """The key of the entry in a database."""
        return (self.graph, self.target, self.compiler)

    @property
    def trust(self) -> int:
        """The rank of the entry's cost model; a higher rank is more reliable."""
        return -AUTHORITY.index(self.cost_model)


class Database:
    """Tuning entries by graph, architecture and compiler version."""

    def __init__(self, entries: Iterable[Tuned] = ()):
        self._entries: dict[tuple[str, str, str], Tuned] = {}
        self.merge(entries)

    @property
    def entries(self) -> list[Tuned]:
        """All entries, in the order of their keys."""
        return [self._entries[key] for key in sorted(self._entries)]

    @property
    def identity(self) -> str:
        """The keys and plans of all entries, as text; equal for databases with equal effect."""
        return "\n".join(f"{' '.join(entry.key)} {entry.plan}" for entry in self.entries)

    def merge(self, entries: Iterable[Tuned]) -> None:
        """Adds entries; each replaces one with the same key unless its model is less reliable."""
        for entry in entries:
            old = self._entries.get(entry.key)
            if old is None or entry.trust >= old.trust:
                self._entries[entry.key] = entry

    def find(self, graph: str, target: str, compiler: str) -> Plan | None:
        """Returns the best plan of a graph, None if it is unknown."""
        found = self._entries.get((graph, target, compiler))
        return None if found is None else Plan.parse(found.plan)

    def to_json(self) -> str:
        """Returns the file's text, with one line per entry."""
        entries = ",\n".join(json.dumps(asdict(entry)) for entry in self.entries)
        return f'{{"format": {_FORMAT}, "entries": [\n{entries}\n]}}\n'


def read_database(path: str | Path) -> Database:
    """Reads a database file.

    Raises:
        HipgraftError: the file cannot be read or is malformed; located.
    """
    return _parse(read_file(path, "tuning database"), str(path))


def shipped_database() -> Database:
    """Returns the database that comes with the package."""
    data = (resources.files("hipgraft.service.tuning") / _SHIPPED).read_bytes()
    return _parse(data, _SHIPPED)


class _Entry(Struct, forbid_unknown_fields=True, frozen=True):
    """A `Tuned` in the file."""

    graph: str
    target: str
    compiler: str
    name: str
    plan: str
    cost_model: str
    costs: dict[str, float]


class _Document(Struct, forbid_unknown_fields=True, frozen=True):
    format: Literal[2]
    entries: list[_Entry]


def _parse(data: bytes, path: str) -> Database:
    document = decode_json(data, _Document, "tuning database", path)
    with malformed("tuning database", path):
        return Database(_tuned(one, at) for at, one in enumerate(document.entries))


def _tuned(entry: _Entry, at: int) -> Tuned:
    if entry.cost_model not in AUTHORITY:
        known = ", ".join(AUTHORITY)
        raise HipgraftError(
            f"entry {at}: expected a cost model of {known}, found '{entry.cost_model}'"
        )
    try:
        Plan.parse(entry.plan)
    except HipgraftError as error:
        raise HipgraftError(f"entry {at}: {error.message}") from None
    return Tuned(**structs.asdict(entry))

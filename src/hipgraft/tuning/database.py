"""The tuning database: which plan is best for a graph on an architecture.

A JSON file of entries, sorted, so that it can be compared and merged as text:

    {"format": 1, "entries": [{"graph": DIGEST, "target": "gfx942", "compiler": "3.13.0",
      "name": "sdpa_0", "plan": "hipdnn.sdpa=padded", "judge": "counted",
      "figures": {"usual": 9.0e6, "hipdnn.sdpa=padded": 3.2e6}}]}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from importlib import resources
from math import isfinite
from pathlib import Path
from typing import Any, cast

from hipgraft.codegen.plan import Plan
from hipgraft.diagnostics import HipgraftError
from hipgraft.tuning.decision import Decision
from hipgraft.tuning.judges import AUTHORITY

_FORMAT = 1
_SHIPPED = "database.json"


@dataclass(frozen=True)
class Tuned:
    """The best plan of a graph.

    Attributes:
        graph: digest of the graph (`container_key`).
        target: architecture.
        compiler: version of IREE's compiler.
        name: of the graph, for readers.
        plan: text of the best plan.
        judge: who said so.
        figures: cost by plan, of all that were tried and compile.
    """

    graph: str
    target: str
    compiler: str
    name: str
    plan: str
    judge: str
    figures: Mapping[str, float]

    @classmethod
    def of(cls, graph: str, target: str, compiler: str, name: str, decision: Decision) -> Tuned:
        """Returns the entry of a decision that was judged."""
        trials = [decision.chosen, *decision.rejected]
        figures = {str(trial.plan): trial.cost for trial in trials if isfinite(trial.cost)}
        judge = decision.chosen.verdicts[0].judge
        return cls(graph, target, compiler, name, str(decision.chosen.plan), judge, figures)

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is found by."""
        return (self.graph, self.target, self.compiler)

    @property
    def trust(self) -> int:
        """Larger for judges who know more."""
        return -AUTHORITY.index(self.judge)


_FIELDS = {field.name for field in fields(Tuned)}


class Database:
    """Entries by graph, architecture and compiler."""

    def __init__(self, entries: Iterable[Tuned] = ()):
        self._entries: dict[tuple[str, str, str], Tuned] = {}
        self.merge(entries)

    @property
    def entries(self) -> list[Tuned]:
        """All entries, in the order of their keys."""
        return [self._entries[key] for key in sorted(self._entries)]

    @property
    def identity(self) -> str:
        """What decides its plans, as text."""
        return "\n".join(f"{' '.join(entry.key)} {entry.plan}" for entry in self.entries)

    def merge(self, entries: Iterable[Tuned]) -> None:
        """Adds entries; of two for one key, the later, unless the earlier's judge knew more."""
        for entry in entries:
            old = self._entries.get(entry.key)
            if old is None or entry.trust >= old.trust:
                self._entries[entry.key] = entry

    def find(self, graph: str, target: str, compiler: str) -> Plan | None:
        """Returns the best plan of a graph, None if it is not known."""
        found = self._entries.get((graph, target, compiler))
        return None if found is None else Plan.parse(found.plan)

    def to_json(self) -> str:
        """Returns the file's text, a line for each entry."""
        entries = ",\n".join(json.dumps(asdict(entry)) for entry in self.entries)
        return f'{{"format": {_FORMAT}, "entries": [\n{entries}\n]}}\n'


def read_database(path: str | Path) -> Database:
    """Reads a file.

    Raises:
        HipgraftError: it cannot be read or is malformed; located.
    """
    try:
        text = Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise HipgraftError(f"cannot open tuning database '{path}': {reason}") from None
    return _parse(text, str(path))


def shipped_database() -> Database:
    """Returns the database that comes with the package."""
    text = (resources.files("hipgraft.tuning") / _SHIPPED).read_text()
    return _parse(text, _SHIPPED)


def _parse(text: str, path: str) -> Database:
    try:
        document: Any = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"{path}:{error.lineno}:{error.colno}"
        message = f"malformed tuning database: {error.msg[:1].lower()}{error.msg[1:]}"
        raise HipgraftError(message, location=where) from None
    try:
        return Database(_entry(given, at) for at, given in enumerate(_entries(document)))
    except HipgraftError as error:
        message = f"malformed tuning database: {error.message}"
        raise HipgraftError(message, location=path) from None


def _entries(document: Any) -> list[Any]:
    if not isinstance(document, dict):
        raise HipgraftError("expected an object")
    values = cast("dict[str, Any]", document)
    if values.get("format") != _FORMAT:
        raise HipgraftError(f"expected 'format' {_FORMAT}, found {values.get('format')}")
    if not isinstance(values.get("entries"), list):
        raise HipgraftError("expected a list 'entries'")
    return values["entries"]


def _entry(given: Any, at: int) -> Tuned:
    where = f"entry {at}"
    if not isinstance(given, dict):
        raise HipgraftError(f"{where}: expected an object")
    values = cast("dict[str, Any]", given)
    for name in sorted(values.keys() ^ _FIELDS):
        what = "unknown" if name in values else "no"
        raise HipgraftError(f"{where}: {what} field '{name}'")
    for name in sorted(_FIELDS - {"figures"}):
        if not isinstance(values[name], str):
            raise HipgraftError(f"{where}: expected a text '{name}', found {values[name]}")
    if values["judge"] not in AUTHORITY:
        known = ", ".join(AUTHORITY)
        raise HipgraftError(f"{where}: expected a judge of {known}, found '{values['judge']}'")
    if not _are_figures(values["figures"]):
        raise HipgraftError(f"{where}: expected costs by plan as 'figures'")
    try:
        Plan.parse(values["plan"])
    except HipgraftError as error:
        raise HipgraftError(f"{where}: {error.message}") from None
    return Tuned(**values)


def _are_figures(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    costs = cast("dict[str, Any]", value).values()
    return all(isinstance(cost, int | float) for cost in costs)

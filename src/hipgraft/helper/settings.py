"""Reads the settings of compilations that hipDNN's knobs select.

Requests name a target: an architecture, and the settings that differ from the defaults as
`;NAME=VALUE`, in the order of `TEXT_KNOBS`. The plugin writes it from hipDNN's knobs. A last
setting, `overrides`, is the number of bytes after the graph that hold the shapes of an execution
(`hipgraft.hipdnn_io.overrides`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hipgraft.ir.diagnostics import HipgraftError

if TYPE_CHECKING:
    from hipgraft.service import CompileService

SEARCHED = "searched"
"""The value that selects the plan that the search finds."""


@dataclass(frozen=True)
class TextKnob:
    """A hipDNN knob whose value is text.

    Attributes:
        name: name in targets; hipDNN's name is `hipgraft.compile.NAME`.
        description: description for users.
        default: value if the user does not set it.
        values: allowed values; empty for any text.
    """

    name: str
    description: str
    default: str
    values: tuple[str, ...] = ()


TEXT_KNOBS = (
    TextKnob(
        "search",
        "which lowerings are tried: only the known one, others where it has problems, all",
        "default",
        ("none", "default", "full"),
    ),
    TextKnob(
        "plan",
        "the lowering, e.g. hipdnn.sdpa=padded, in place of what the search finds",
        SEARCHED,
    ),
    TextKnob(
        "cost_model",
        "which cost model decides among lowerings",
        "static",
        ("static", "counted", "estimated", "timed"),
    ),
)


@dataclass(frozen=True)
class Settings:
    """The settings of a compilation for an architecture.

    Attributes:
        architecture: architecture, such as `gfx942`.
        search: mode of the search.
        plan: text of a plan, or `SEARCHED`.
        cost_model: name of the cost model that decides.
        overrides: number of bytes of overrides after the graph.
    """

    architecture: str
    search: str = "default"
    plan: str = SEARCHED
    cost_model: str = "static"
    overrides: int = 0

    @classmethod
    def parse(cls, target: str) -> Settings:
        """Parses a target in the form that requests use.

        Raises:
            HipgraftError: a setting is unknown, or its value is not allowed.
        """
        architecture, *pairs = target.split(";")
        given = {name: value for name, _, value in (pair.partition("=") for pair in pairs)}
        knobs = {knob.name: knob for knob in TEXT_KNOBS}
        count = given.pop("overrides", "0")
        if not (count.isascii() and count.isdigit()):
            raise HipgraftError(f"setting 'overrides' is '{count}': expected a number of bytes")
        for name, value in given.items():
            if name not in knobs:
                raise HipgraftError(f"unknown setting '{name}': expected {', '.join(knobs)}")
            values = knobs[name].values
            if values and value not in values:
                listed = ", ".join(values)
                raise HipgraftError(f"setting '{name}' is '{value}': expected {listed}")
        return cls(architecture, **given, overrides=int(count))

    def open_service(self) -> CompileService:
        """Returns a compile service with these settings and the user's cache.

        Raises:
            HipgraftError: the plan is malformed, or the cost model lacks its device.
        """
        # Imported here because the server starts without MLIR.
        from hipgraft.codegen.plan import Plan
        from hipgraft.service import default_service
        from hipgraft.service.tuning.database import shipped_database
        from hipgraft.service.tuning.search import Search, open_cost_models

        plan = None if self.plan == SEARCHED else Plan.parse(self.plan)
        mode = self.search
        assert mode in ("none", "default", "full")
        models = open_cost_models([self.cost_model])
        return default_service(search=Search(mode, models, shipped_database(), plan=plan))

"""Enumerates the compilation plans for a graph."""

from __future__ import annotations

from dataclasses import dataclass

from hipgraft.codegen.lowering.all_ops import lower_container
from hipgraft.codegen.lowering.context import alternatives_of
from hipgraft.codegen.plan import DEFAULT_PLAN, FLAG_SETS, Plan
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.dialects.hipdnn import wrap
from hipgraft.ir.bindings import ir
from hipgraft.service.tuning.work import GraphWork, graph_work


@dataclass(frozen=True)
class Choices:
    """The plans for one container and one target.

    Attributes:
        container: the container; it must not change while this object is used.
        target: target to compile for.
    """

    container: ir.Operation
    target: Target

    def work(self) -> GraphWork:
        """Returns the least work of the container."""
        return graph_work(self.container)

    def lower(self, plan: Plan) -> str:
        """Returns the compiler's input."""
        return lower_container(self.container, self.target, plan)

    def plans(self) -> list[Plan]:
        """Returns the plans that differ from the default by one alternative or flag set."""
        default = self.lower(DEFAULT_PLAN)
        alternatives = [plan for plan in self._alternatives() if self.lower(plan) != default]
        # Other targets use IREE's defaults already, to which the flag sets would revert.
        is_amdgpu = self.target.kind is TargetKind.AMDGPU
        names = [name for name, each in FLAG_SETS.items() if is_amdgpu and each.matters(default)]
        return [*alternatives, *(Plan(flag_set=name) for name in names)]

    def _alternatives(self) -> list[Plan]:
        body = self.container.regions[0].blocks[0].operations
        plans = [
            Plan(((op.operation.name, name),), alternative.flag_set)
            for op in body
            for name, alternative in alternatives_of(op.operation.name).items()
            if alternative.applies(wrap(op), self.target)
        ]
        return list(dict.fromkeys(plans))

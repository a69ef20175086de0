"""Defines stages: the forms of a program, and the phases that convert one form to the next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError, location_text
from hipgraft.ir.symbols import modules_in, symbols_of
from hipgraft.passmanager.contracts import CONTRACTS, Contract
from hipgraft.passmanager.registry import PipelineElement

Phase = Callable[[Any], Sequence[PipelineElement]]
"""Returns the passes of a phase for the options of a pipeline."""


@dataclass(frozen=True)
class Contents:
    """The properties by which stages recognize a module.

    Attributes:
        ops: names of its ops. A `torch.operator` is named with the operator that it stands for, as
            `torch.operator onnx.Relu`.
        signatures: types of its functions, as text.
        notes: names of the attributes of the module and of nested modules.
    """

    ops: frozenset[str]
    signatures: tuple[str, ...]
    notes: frozenset[str]

    @classmethod
    def of(cls, module: ir.Module) -> Contents:
        """Reads a module, its functions, and those of nested modules."""
        functions: list[str] = []
        names: set[str] = set()
        notes: set[str] = set()
        for inner in modules_in(module.operation):
            notes.update(inner.attributes)
            for symbol in symbols_of(inner):
                names.update(map(_full_name, _with_body(symbol)))
                if symbol.name == "func.func":
                    functions.append(str(symbol.attributes["function_type"]))
        return cls(frozenset(names), tuple(functions), frozenset(notes))

    def has(self, *prefixes: str) -> bool:
        """Returns whether the name of some op starts with one of these prefixes."""
        return any(name.startswith(prefixes) for name in self.ops)

    def takes(self, text: str) -> bool:
        """Returns whether the text of some operand or result type of a function contains `text`."""
        return any(text in signature for signature in self.signatures)


@dataclass(frozen=True)
class Stage:
    """A form of a program that can be printed, parsed and compiled further.

    Attributes:
        name: name on command lines and in contracts.
        recognizes: returns whether a module is at this stage, given that it is at no later one.
        phases: phases that produce this stage, by the name of the preceding stage. A phase under
            this stage's own name completes a module that only looks like this stage.
    """

    name: str
    recognizes: Callable[[Contents], bool]
    phases: Mapping[str, Phase] = field(default_factory=dict[str, Phase])

    @property
    def contract(self) -> Contract | None:
        """The contract of modules at this stage, if there is one."""
        return CONTRACTS.get(self.name)


def stage_of(module: ir.Module, stages: Sequence[Stage]) -> str:
    """Returns the name of the last of `stages` that recognizes a module.

    Raises:
        HipgraftError: the module has no function.
    """
    contents = Contents.of(module)
    if "func.func" not in contents.ops:
        where = location_text(module.operation.location)
        raise HipgraftError("the module has no function", location=where)
    return next(stage.name for stage in reversed(stages) if stage.recognizes(contents))


def route(stages: Sequence[Stage], current: str, last: str) -> list[tuple[Stage, Phase]]:
    """Returns the shortest sequence of phases from one stage to another.

    Each phase comes with the stage that it produces. The result is empty at or past `last`.
    """
    by_name = {stage.name: stage for stage in stages}
    own = by_name[current].phases.get(current)
    found: dict[str, list[tuple[Stage, Phase]]] = {
        current: [] if own is None else [(by_name[current], own)]
    }
    queue = deque([current])
    while queue and last not in found:
        name = queue.popleft()
        for stage in stages:
            if name in stage.phases and stage.name not in found:
                found[stage.name] = [*found[name], (stage, stage.phases[name])]
                queue.append(stage.name)
    return found.get(last, [])


def _with_body(symbol: ir.Operation) -> Iterator[ir.Operation]:
    yield symbol
    for region in symbol.regions:
        for block in region.blocks:
            yield from (op.operation for op in block.operations)


def _full_name(op: ir.Operation) -> str:
    if op.name != "torch.operator":
        return op.name
    return f"{op.name} {ir.StringAttr(op.attributes['name']).value}"

"""Compiles groups of nodes, and releases nodes that do not compile.

Claimed nodes must compile: ONNX Runtime cannot recover from a later failure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import onnx

from hipgraft.compiler.program import Program
from hipgraft.compiler.program import compile as compile_program
from hipgraft.compiler.trial import Trials
from hipgraft.frontends.onnx.variants import read_each, read_onnx
from hipgraft.frontends.symbols import Extents, combinations
from hipgraft.ir.bindings import make_context
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.onnxruntime.claims import Left, better_left, handed_on, unsupported_nodes
from hipgraft.onnxruntime.extents import AnyExtents, any_extents
from hipgraft.onnxruntime.graph import Boundary, SessionGraph, Shape, make_info
from hipgraft.onnxruntime.partition import partition
from hipgraft.onnxruntime.request import Request
from hipgraft.onnxruntime.selections import Selection, selections

_STEM = "group"
_NODE = re.compile(rf"\b{_STEM}[0-9]*\.onnx:([0-9]+):")


@dataclass(frozen=True)
class Variant:
    """A group for certain extents.

    Attributes:
        extents: extents of symbolic dimensions, by name.
        inputs: shapes of the group's inputs.
    """

    extents: Extents
    inputs: tuple[Shape, ...]


@dataclass(frozen=True)
class Group:
    """Nodes that form one program.

    Attributes:
        nodes: indices of the nodes, in order.
        boundary: names of the program's inputs and results, in its order.
        variants: variants of the program, in its order; empty if it is for all extents.
        program: the program.
    """

    nodes: tuple[int, ...]
    boundary: Boundary
    variants: tuple[Variant, ...]
    program: Program


class Trial:
    """Decides which nodes of a session are taken.

    Args:
        graph: graph of the session.
        request: the provider's request.

    Attributes:
        variants: extents of symbolic dimensions of each variant.
        kinds: types of values by name, of each variant; for one example if programs are for all
            extents.
        left: the nodes that are not taken.

    Raises:
        HipgraftError: an option is malformed.
    """

    def __init__(self, graph: SessionGraph, request: Request):
        self.graph = graph
        self.request = request
        self.variants = combinations({}, request.dims)
        given = {name for one in self.variants for name in one}
        missing = [name for name in graph.symbols if name not in given]
        self._any: AnyExtents | None = None
        if missing and len(self.variants) == 1:
            if request.is_nested:
                graph.forget_names(given)
            self._any = any_extents(graph, self.variants[0])
            self.kinds = [self._any.kinds]
        else:
            self.kinds = [graph.kinds(one) for one in self.variants]
        advice = "" if self._any else _advice(missing)
        self.left = unsupported_nodes(graph, self.kinds, self._any, advice)
        self._selections: dict[int, Selection] = {}
        if not missing:
            self._selections = selections(graph, self.kinds, self.left)
            self.left = {i: why for i, why in self.left.items() if i not in self._selections}
        self._trials = Trials[int, Group](self._compiled, self._check, self._named)

    def run(self) -> list[Group]:
        """Compiles the nodes that hipgraft can take; returns the groups in an executable order."""
        while True:
            groups = self._groups()
            more = self._better_left(groups) or {
                number: self._because(refusal.error, refusal.nodes)
                for number, refusal in self._trials.run(groups).items()
            }
            if not more:
                return [self._trials.compiled[tuple(group)] for group in groups]
            for number in [one for one in more if one in self._selections]:
                nodes = self._selections[number].nodes
                more |= {one: self._selections[one].left for one in nodes if one not in more}
            self.left |= more

    def _better_left(self, groups: Sequence[Sequence[int]]) -> dict[int, Left]:
        found = better_left(self.graph, self.kinds, groups)
        for group in groups:
            found |= {
                number: self._selections[number].left
                for number in group
                if number in self._selections and not self._selections[number].nodes <= {*group}
            }
            if self._varies(group):
                found |= handed_on(self.graph, group)
        return found

    def _groups(self) -> list[list[int]]:
        taken = [number for number in range(len(self.graph.nodes)) if number not in self.left]
        return partition(self.graph.sources, taken)

    def _check(self, number: int) -> None:
        """Compiles a single node up to outlining, unless only its group has static shapes."""
        if number in self._selections:
            return
        self._compiled([number], "torch" if self._varies([number]) else "hipdnn-graphs")

    def _named(self, error: HipgraftError) -> list[int]:
        return [int(number) for number in _NODE.findall(error.location)]

    def _because(self, error: HipgraftError, group: Sequence[int]) -> Left:
        hint = "; the option dims gives extents" if self._varies(group) else ""
        return Left("compile", error.message + hint)

    def _varies(self, group: Sequence[int]) -> bool:
        """Returns whether the program for a group must be for all extents."""
        nodes = (self.graph.nodes[number] for number in group)
        return self._any is not None and any(
            self._any.varies(name) for node in nodes for name in (*node.input, *node.output)
        )

    def _compiled(self, group: Sequence[int], last: str = "") -> Group:
        if self._any is not None and self._varies(group):
            return self._for_all_extents(group, self._any, last)
        boundary = self.graph.boundary(group)
        for name in (*boundary.inputs, *boundary.outputs):
            if self.kinds[0][name].shape is None:
                raise HipgraftError(f"the shape of '{name}' is not known before it is computed")
        variants: dict[tuple[Shape, ...], Extents] = {}
        models: list[tuple[Path, Extents]] = []
        try:
            for extents, each in zip(self.variants, self.kinds, strict=True):
                shapes = tuple(each[name].shape or () for name in boundary.inputs)
                if shapes in variants:
                    continue
                variants[shapes] = extents
                path = self.graph.path.with_name(f"{_STEM}{len(models)}.onnx")
                infos = {
                    name: make_info(name, each[name].element, each[name].shape)
                    for name in (*boundary.inputs, *boundary.outputs)
                }
                onnx.save(self.graph.extract(group, infos), path)
                models.append((path, extents))
            module = read_each(models, make_context())
        finally:
            for path, _ in models:
                with suppress(OSError):
                    path.unlink()
        program = compile_program(module, self.request.architecture, compile_to=last)
        made = tuple(Variant(extents, shapes) for shapes, extents in variants.items())
        return Group(tuple(group), boundary, made, program)

    def _for_all_extents(self, group: Sequence[int], types: AnyExtents, last: str) -> Group:
        boundary = self.graph.boundary(group)
        path = self.graph.path.with_name(f"{_STEM}.onnx")
        infos = {
            name: make_info(name, types.kinds[name].element, types.dims[name])
            for name in (*boundary.inputs, *boundary.outputs)
        }
        try:
            onnx.save(self.graph.extract(group, infos), path)
            module = read_onnx(path, make_context(), {}, [{}], dynamic=True)
        finally:
            with suppress(OSError):
                path.unlink()
        program = compile_program(module, self.request.architecture, compile_to=last)
        return Group(tuple(group), boundary, (), program)


def _advice(missing: Sequence[str]) -> str:
    """Returns advice for shapes that depend on dimensions without extents."""
    names = ", ".join(f"'{one}'" for one in missing)
    example = ";".join(f"{one}=N" for one in missing)
    return f"{names}: give extents by option dims={example}" if missing else ""

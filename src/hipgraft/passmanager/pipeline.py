"""Resolves pipelines: names to passes, options to fields; MLIR checks native passes."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hipgraft.ir.bindings import ir, passmanager
from hipgraft.ir.diagnostics import PipelineParseError
from hipgraft.passmanager import options as pass_options
from hipgraft.passmanager import registry
from hipgraft.passmanager.base import Pass
from hipgraft.passmanager.registry import PipelineElement
from hipgraft.passmanager.text import (
    NestNode,
    Node,
    PassNode,
    merge_nests,
    parse_nodes,
    print_pipeline,
)


@dataclass(frozen=True)
class NativeStep:
    """A native MLIR pass with the ops on which it is nested.

    Attributes:
        node: tree of the pass; a nest has one child.
        source: text that it was parsed from, for errors.
    """

    node: Node
    source: str

    @property
    def name(self) -> str:
        """The command-line name of the pass, without nests and options."""
        node = self.node
        while isinstance(node, NestNode):
            node = node.children[0]
        return node.name


Step = Pass | NativeStep


def resolve(pipeline: str | Sequence[PipelineElement]) -> tuple[Step, ...]:
    """Returns the passes of a pipeline in order; named pipelines are expanded.

    Args:
        pipeline: text, or a sequence of passes and texts.

    Raises:
        PipelineParseError: malformed text, an unknown pass or option, or one of our passes nested
            on an op.
    """
    elements = [pipeline] if isinstance(pipeline, str) else pipeline
    steps: list[Step] = []
    for element in elements:
        steps += _resolve_text(element) if isinstance(element, str) else [element]
    return tuple(steps)


def check_native(steps: Sequence[Step], context: ir.Context) -> None:
    """Lets MLIR parse each native pass, so that a bad name stops a run before it starts.

    Raises:
        PipelineParseError: MLIR does not know a pass or one of its options.
    """
    for step in steps:
        if isinstance(step, NativeStep):
            try:
                native_manager([step], context)
            except ValueError as error:
                raise _native_error(step, str(error)) from None


def native_manager(steps: Sequence[NativeStep], context: ir.Context) -> passmanager.PassManager:
    """Returns MLIR's pass manager over native passes."""
    text = print_pipeline(merge_nests([step.node for step in steps]))
    return passmanager.PassManager.parse(text, context)


def step_node(step: Step) -> Node:
    """Returns the tree of a step; options of our passes at their defaults are omitted."""
    if isinstance(step, NativeStep):
        return step.node
    return PassNode(step.name, pass_options.to_text(step) or None)


def to_text(steps: Sequence[Step]) -> str:
    """Returns the text that `resolve` reads back as `steps`."""
    return print_pipeline(merge_nests([step_node(step) for step in steps]))


def _resolve_text(text: str) -> list[Step]:
    try:
        return list(_resolve_nodes(parse_nodes(text), (), text))
    except PipelineParseError as error:
        error.text = error.text or text
        raise


def _resolve_nodes(
    nodes: Sequence[Node], anchors: tuple[NestNode, ...], text: str
) -> Iterator[Step]:
    for node in nodes:
        if isinstance(node, NestNode):
            yield from _resolve_nodes(node.children, (*anchors, node), text)
            continue
        entry = registry.entries().get(node.name)
        if entry is None:
            yield _native_step(node, anchors, text)
            continue
        if anchors:
            raise PipelineParseError(
                f"'{node.name}' runs on 'builtin.module' and cannot be nested on "
                f"'{anchors[-1].anchor}'",
                column=node.column,
            )
        yield from _own_steps(node, entry)


def _own_steps(node: PassNode, entry: registry.Entry) -> tuple[Step, ...]:
    options = pass_options.parse_options(node.options, node.options_column)
    if entry.kind == "pass":
        return (pass_options.make(registry.pass_class(node.name), node.name, options),)
    pipeline = registry.named_pipeline(node.name)
    return resolve(pipeline.build(pass_options.make(pipeline.config, node.name, options)))


def _native_step(node: PassNode, anchors: tuple[NestNode, ...], text: str) -> NativeStep:
    nested: Node = node
    for anchor in reversed(anchors):
        nested = replace(anchor, children=(nested,))
    return NativeStep(nested, text)


def _native_error(step: NativeStep, mlir_message: str) -> PipelineParseError:
    leaf = step.node
    while isinstance(leaf, NestNode):
        leaf = leaf.children[0]
    unknown = "does not refer to a registered pass" in mlir_message
    message = f"'{leaf.name}' is not a pass or pipeline" if unknown else _first_line(mlir_message)
    nearest = difflib.get_close_matches(leaf.name, registry.entries(), n=1)
    if unknown and nearest:
        message += f"; did you mean '{nearest[0]}'?"
    return PipelineParseError(message, column=leaf.column, text=step.source)


def _first_line(mlir_message: str) -> str:
    line = mlir_message.strip().splitlines()[0].rsplit("error: ", 1)[-1]
    return line[:1].lower() + line[1:]

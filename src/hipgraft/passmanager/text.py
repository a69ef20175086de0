"""Parses and prints the syntax of MLIR's textual pass pipelines.

    builtin.module(cse,func.func(canonicalize{max-iterations=3}),hipdnn-outline{policy=a,b})

The tree does not resolve names and options; `hipgraft.passmanager.pipeline` does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from hipgraft.ir.diagnostics import PipelineParseError

MODULE_ANCHOR = "builtin.module"

_NAME = re.compile(r"[^\s,(){}]+")
_CLOSERS = {"{": "}", "[": "]", "(": ")"}


@dataclass(frozen=True)
class PassNode:
    """A pass or named pipeline.

    Attributes:
        name: name as written.
        options: raw text between the braces; None without braces.
        column: 1-based column of the name.
    """

    name: str
    options: str | None = None
    column: int = field(default=1, compare=False)

    def __str__(self) -> str:
        return self.name if self.options is None else f"{self.name}{{{self.options}}}"

    @property
    def options_column(self) -> int:
        """The 1-based column of the first character between the braces."""
        return self.column + len(self.name) + 1


@dataclass(frozen=True)
class NestNode:
    """A pipeline nested on the ops named by `anchor`."""

    anchor: str
    children: tuple[Node, ...]
    column: int = field(default=1, compare=False)

    def __str__(self) -> str:
        return f"{self.anchor}({print_nodes(self.children)})"


Node = PassNode | NestNode


@dataclass(frozen=True)
class OptionText:
    """One `key=value` of a pass; `value` is None for a bare key."""

    key: str
    value: str | None
    column: int = field(default=1, compare=False)


def parse_nodes(text: str) -> tuple[Node, ...]:
    """Parses pipeline text into the elements of a module pipeline.

    An outermost `builtin.module(...)` is removed, because it only anchors the whole pipeline.

    Raises:
        PipelineParseError: the text is malformed; has the column at which parsing stopped.
    """
    parser = _Parser(text)
    try:
        nodes = parser.elements()
    except RecursionError:
        raise PipelineParseError("the pipeline is nested too deeply", column=1) from None
    if not parser.at_end():
        raise parser.error(f"expected ',' or the end of the pipeline, found '{parser.peek()}'")
    outermost = nodes[0] if len(nodes) == 1 else None
    if isinstance(outermost, NestNode) and outermost.anchor == MODULE_ANCHOR:
        return outermost.children
    return nodes


def print_nodes(nodes: Sequence[Node]) -> str:
    """Returns the text of pipeline elements, comma-separated."""
    return ",".join(str(node) for node in nodes)


def print_pipeline(nodes: Sequence[Node]) -> str:
    """Returns the text of a module pipeline, in its `builtin.module(...)`."""
    return f"{MODULE_ANCHOR}({print_nodes(nodes)})"


def merge_nests(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Joins neighbouring nests on the same anchor, as MLIR's pass managers do."""
    merged: list[Node] = []
    for anchor, run in groupby(nodes, key=lambda n: n.anchor if isinstance(n, NestNode) else None):
        group = list(run)
        if anchor is None:
            merged += group
            continue
        children = [
            child for nest in group if isinstance(nest, NestNode) for child in nest.children
        ]
        merged.append(NestNode(anchor, merge_nests(children), group[0].column))
    return tuple(merged)


def split_options(text: str, column: int = 1) -> list[OptionText]:
    """Splits the text between a pass's braces into options, at blanks outside of quotes and braces.

    Args:
        text: the raw text.
        column: 1-based column of its first character, for errors.
    """
    options: list[OptionText] = []
    for start, word in split_outside(text, str.isspace):
        if word:
            key, equals, value = word.partition("=")
            options.append(OptionText(key, value if equals else None, column + start))
    return options


def split_outside(text: str, is_separator: Callable[[str], bool]) -> list[tuple[int, str]]:
    """Splits text at separators outside of quotes and brackets; returns pieces with offsets."""
    pieces: list[tuple[int, str]] = []
    start = position = 0
    while position < len(text):
        if is_separator(text[position]):
            pieces.append((start, text[start:position]))
            start = position + 1
        position = skip_group(text, position)
    return [*pieces, (start, text[start:])]


def skip_group(text: str, position: int) -> int:
    """Returns the position after the character, quoted string or bracketed group at `position`.

    Raises:
        PipelineParseError: a quote or bracket is not closed; the column counts from `text`'s start.
    """
    opener = text[position]
    if opener in "\"'":
        end = text.find(opener, position + 1)
        if end < 0:
            raise _unclosed(text, position)
        return end + 1
    if opener not in _CLOSERS:
        return position + 1
    current = position + 1
    while current < len(text):
        if text[current] == _CLOSERS[opener]:
            return current + 1
        current = skip_group(text, current)
    raise _unclosed(text, position)


def _unclosed(text: str, position: int) -> PipelineParseError:
    return PipelineParseError(f"unclosed '{text[position]}'", column=position + 1, text=text)


class _Parser:
    """A recursive descent parser of pipeline text."""

    def __init__(self, text: str):
        self.text = text
        self.position = 0

    def peek(self) -> str:
        while self.position < len(self.text) and self.text[self.position].isspace():
            self.position += 1
        return self.text[self.position : self.position + 1]

    def at_end(self) -> bool:
        return self.peek() == ""

    def accept(self, character: str) -> bool:
        found = self.peek() == character
        self.position += found
        return found

    def error(self, message: str) -> PipelineParseError:
        return PipelineParseError(message, column=self.position + 1, text=self.text)

    def elements(self) -> tuple[Node, ...]:
        if self.peek() in ("", ")"):
            return ()
        nodes = [self.element()]
        while self.accept(","):
            nodes.append(self.element())
        return tuple(nodes)

    def element(self) -> Node:
        self.peek()
        match = _NAME.match(self.text, self.position)
        if match is None:
            raise self.error("expected the name of a pass, a pipeline or an op")
        column = self.position + 1
        self.position = match.end()
        if self.text[self.position : self.position + 1] == "{":
            return PassNode(match[0], self.options(), column)
        if self.accept("("):
            return self.nest(match[0], column)
        return PassNode(match[0], None, column)

    def options(self) -> str:
        start = self.position
        self.position = skip_group(self.text, start)
        return self.text[start + 1 : self.position - 1]

    def nest(self, anchor: str, column: int) -> NestNode:
        children = self.elements()
        if not self.accept(")"):
            raise self.error(f"expected ',' or ')' in the pipeline on '{anchor}'")
        return NestNode(anchor, children, column)

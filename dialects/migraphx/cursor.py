"""Reads MLIR text from left to right, and locates errors."""

from __future__ import annotations

import re

from hipgraft.ir.diagnostics import HipgraftError

_BLANK = re.compile(r"(?:\s+|//[^\n]*)+")
_OPAQUE = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*')
"""Strings and comments, which contain no syntax."""

_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*')
_CLOSING = {"{": "}", "(": ")", "[": "]", "<": ">"}

VALUE = re.compile(r"%[\w.$-]+(?:#\d+)?")
WORD = re.compile(r"[A-Za-z_][\w$.]*")
INTEGER = re.compile(r"-?\d+")


class Cursor:
    """A position in a source.

    Args:
        text: the whole source.
        name: name of the source in locations.
        first_line: 1-based line at which the text begins.
    """

    def __init__(self, text: str, name: str, first_line: int = 1):
        self.text = text
        self.name = name
        self.first_line = first_line
        self.position = 0

    def error(self, message: str, position: int | None = None) -> HipgraftError:
        """Returns an error at `position`, or here."""
        at = self.position if position is None else position
        line = self.first_line + self.text.count("\n", 0, at)
        column = at - self.text.rfind("\n", 0, at)
        return HipgraftError(message, location=f"{self.name}:{line}:{column}")

    def skip_blank(self) -> None:
        """Moves past white space and comments."""
        match = _BLANK.match(self.text, self.position)
        if match is not None:
            self.position = match.end()

    def peek(self) -> str:
        """Returns the next character after white space; empty at the end."""
        blank = _BLANK.match(self.text, self.position)
        at = self.position if blank is None else blank.end()
        return self.text[at : at + 1]

    def take(self, pattern: re.Pattern[str]) -> str | None:
        """Consumes the next text if it matches."""
        start = self.position
        self.skip_blank()
        match = pattern.match(self.text, self.position)
        if match is None:
            self.position = start
            return None
        self.position = match.end()
        return match[0]

    def take_text(self, literal: str) -> bool:
        """Consumes `literal` if it is next; a word must end there."""
        pattern = re.escape(literal) + (r"(?!\w)" if literal[-1].isalpha() else "")
        return self.take(re.compile(pattern)) is not None

    def expect(self, literal: str) -> None:
        """Consumes `literal`.

        Raises:
            HipgraftError: something else is next.
        """
        if not self.take_text(literal):
            raise self.error(f"expected '{literal}'")

    def expect_match(self, pattern: re.Pattern[str], what: str) -> str:
        """Consumes a match of a pattern.

        Raises:
            HipgraftError: the pattern does not match.
        """
        found = self.take(pattern)
        if found is None:
            raise self.error(f"expected {what}")
        return found

    def take_balanced(self) -> str:
        """Consumes text from an opening bracket to the matching closing bracket.

        Raises:
            HipgraftError: the bracket is not closed.
        """
        self.skip_blank()
        start = self.position
        stack: list[str] = []
        while self.position < len(self.text):
            self._step(stack)
            if not stack:
                return self.text[start : self.position]
        raise self.error(f"expected '{stack[-1]}'", start)

    def _step(self, stack: list[str]) -> None:
        """Consumes a character, a string, a comment or an arrow."""
        opaque = _OPAQUE.match(self.text, self.position)
        if opaque is not None:
            self.position = opaque.end()
            return
        if self.text.startswith("->", self.position):
            self.position += 2
            return
        character = self.text[self.position]
        if character in _CLOSING:
            stack.append(_CLOSING[character])
        elif stack and character == stack[-1]:
            stack.pop()
        self.position += 1


def one_line(text: str) -> str:
    """Returns text without comments and line breaks."""
    plain = _COMMENT.sub(lambda match: match[1] or "", text)
    return " ".join(plain.split()) if "\n" in plain else plain


def split_list(text: str) -> list[str]:
    """Splits text at commas outside of brackets and strings."""
    cursor = Cursor(text, "")
    items: list[str] = []
    start = 0
    while cursor.position < len(text):
        if text[cursor.position] == ",":
            items.append(text[start : cursor.position].strip())
            cursor.position += 1
            start = cursor.position
        elif text[cursor.position] in "{([<":
            cursor.take_balanced()
        elif text[cursor.position] == '"':
            cursor.position += len(_quoted(text, cursor.position))
        else:
            cursor.position += 1
    last = text[start:].strip()
    return [*items, last] if last else items


def _quoted(text: str, position: int) -> str:
    match = _OPAQUE.match(text, position)
    return text[position] if match is None else match[0]

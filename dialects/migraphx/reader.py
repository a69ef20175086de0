"""Converts migraphx text of any version to the generic form, which MLIR parses.

There are three forms: generic (`"migraphx.dot"(%a, %b) ...`), with parenthesized operands
(`migraphx.dot(%a, %b) : (t, t) -> t`) and today's (`migraphx.dot %a, %b : <...>, <...> -> <...>`).
Every operation stays on its line, so that locations are those of the source.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hipgraft.dialects.migraphx.cursor import INTEGER, VALUE, WORD, Cursor
from hipgraft.dialects.migraphx.features import FEATURES, encode_features
from hipgraft.dialects.migraphx.operation import OPS
from hipgraft.dialects.migraphx.syntax import (
    SEGMENTS,
    OpText,
    read_attributes,
    read_generic,
    read_type,
    read_type_list,
    read_types,
    take_region,
)
from hipgraft.dialects.migraphx.types import PREFIX

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|[!#@%^]?[A-Za-z_][\w$.]*')
"""Tokens that may contain the dialect's name; strings and comments match as a whole."""

_FEATURES = re.compile(r'"[\w|\s]*"|\w+')


def holds_migraphx(text: str) -> bool:
    """Whether text may hold operations or types of the dialect."""
    return "migraphx." in text


def to_generic(text: str, name: str, first_line: int = 1, *, plain_returns: bool = True) -> str:
    """Returns a source with its migraphx operations in generic form and its types normalised.

    Args:
        text: MLIR text.
        name: name of the source in locations.
        first_line: 1-based line at which it begins.
        plain_returns: whether MLIR parses `return`; it then compares the operands with the
        function's type before our verifier can tell which operation is wrong. Otherwise an
        unregistered operation replaces `return`.

    Raises:
        HipgraftError: an operation or type is malformed; located.
    """
    return _Reader(Cursor(text, name, first_line), plain_returns).rewrite(len(text))


class _Reader:
    """Rewrites one source from left to right."""

    def __init__(self, cursor: Cursor, plain_returns: bool):
        self._cursor = cursor
        self._plain_returns = plain_returns

    def rewrite(self, end: int) -> str:
        """Rewrites from the cursor to `end`."""
        cursor = self._cursor
        pieces: list[str] = []
        while True:
            match = _TOKEN.search(cursor.text, cursor.position, end)
            if match is None:
                pieces.append(cursor.text[cursor.position : end])
                cursor.position = end
                return "".join(pieces)
            pieces.append(cursor.text[cursor.position : match.start()])
            cursor.position = match.start()
            pieces.append(self._token(match))

    def _token(self, match: re.Match[str]) -> str:
        cursor = self._cursor
        if match[0] == PREFIX:
            written = read_type(cursor)
        elif match[0].startswith("migraphx.") and not self._names_attribute(match):
            written = self._operation()
        elif match[0].startswith('"migraphx.') and cursor.text.startswith("(", match.end()):
            cursor.position = match.end()
            written = read_generic(cursor, match[0].strip('"'), self.rewrite).generic()
        elif match[0] in _RETURNS and not self._plain_returns:
            written = self._return()
        else:
            cursor.position = match.end()
            return match[0]
        # Later lines keep their numbers.
        lines = cursor.text.count("\n", match.start(), cursor.position)
        return written + "\n" * (lines - written.count("\n"))

    def _names_attribute(self, match: re.Match[str]) -> bool:
        following = self._cursor.text[match.end() :].lstrip()[:1]
        return following in ("=", ",") and bool(following)

    def _operation(self) -> str:
        cursor = self._cursor
        start = cursor.position
        name = cursor.expect_match(WORD, "an operation")
        mnemonic = name.removeprefix("migraphx.")
        if name not in OPS:
            raise cursor.error(f"custom op '{name}' is unknown", start)
        op = OpText(name)
        forms = {
            "literal": self._literal,
            "yield": self._yield,
            "quant_dot": self._quant_dot,
            "attention": self._attention,
            "convert": self._convert,
        }
        forms.get(mnemonic, self._plain)(op)
        if len(op.operands) != len(op.operand_types):
            raise cursor.error(
                f"'{name}' op {len(op.operands)} operands present, but expected "
                f"{len(op.operand_types)}",
                start,
            )
        return op.generic()

    def _return(self) -> str:
        self._cursor.expect_match(WORD, "an operation")
        op = OpText("hipgraft.return")
        self._yield(op)
        return op.generic()

    def _operands(self) -> list[str]:
        cursor = self._cursor
        if cursor.peek() != "%":
            return []
        names = [cursor.expect_match(VALUE, "an operand")]
        while cursor.take_text(","):
            names.append(cursor.expect_match(VALUE, "an operand"))
        return names

    def _plain(self, op: OpText) -> None:
        cursor = self._cursor
        in_brackets = cursor.take_text("(")
        op.operands = self._operands()
        if in_brackets:
            cursor.expect(")")
        op.attributes = read_attributes(cursor)
        cursor.expect(":")
        types = read_type_list(cursor)
        if cursor.take_text("->") or cursor.take_text("to"):
            op.operand_types, op.result_types = types, read_type_list(cursor)
        elif op.operands:
            raise cursor.error("expected '->'")
        else:
            op.result_types = types

    def _convert(self, op: OpText) -> None:
        # Modules of 2024 mark an unsigned operand with this word.
        zero_extend = self._cursor.take_text("zero_extend")
        self._plain(op)
        if zero_extend:
            op.attributes["zeroExtend"] = ""

    def _literal(self, op: OpText) -> None:
        cursor = self._cursor
        if cursor.peek() != "(":
            self._plain(op)
            return
        op.attributes["value"] = cursor.take_balanced()[1:-1].strip()
        op.attributes |= read_attributes(cursor)
        cursor.expect(":")
        op.result_types = [read_type(cursor)]

    def _yield(self, op: OpText) -> None:
        op.operands = self._operands()
        op.attributes = read_attributes(self._cursor)
        if op.operands:
            self._cursor.expect(":")
            op.operand_types = read_types(self._cursor)

    def _quant_dot(self, op: OpText) -> None:
        cursor = self._cursor
        if cursor.peek() == "(":
            self._plain(op)
            return
        matrices, scales = self._scaled(lambda: cursor.expect_match(VALUE, "an operand"))
        op.attributes = read_attributes(cursor)
        cursor.expect(":")
        matrix_types, scale_types = self._scaled(lambda: read_type(cursor))
        cursor.expect("->")
        op.result_types = [read_type(cursor)]
        if [scale is None for scale in scales] != [kind is None for kind in scale_types]:
            raise cursor.error("expected a type for each scale")
        op.operands = [*matrices, *(scale for scale in scales if scale)]
        op.operand_types = [*matrix_types, *(kind for kind in scale_types if kind)]
        present = [1, 1, *(int(scale is not None) for scale in scales)]
        op.attributes[SEGMENTS] = f"array<i32: {', '.join(map(str, present))}>"

    def _scaled(self, read: Callable[[], str]) -> tuple[list[str], list[str | None]]:
        """Reads `a [scaled by x], b [scaled by y]`."""
        cursor = self._cursor
        items: list[str] = []
        scales: list[str | None] = []
        for number in range(2):
            if number:
                cursor.expect(",")
            items.append(read())
            scaled = cursor.take_text("scaled")
            if scaled:
                cursor.expect("by")
            scales.append(read() if scaled else None)
        return items, scales

    def _attention(self, op: OpText) -> None:
        cursor = self._cursor
        start = cursor.position
        op.operands = self._operands()
        groups = [self._group(name) for name in _ATTENTION_GROUPS]
        op.lines_before_region = cursor.text.count("\n", start, cursor.position)
        op.region = take_region(cursor, self.rewrite)
        op.attributes = self._attention_attributes() | read_attributes(cursor)
        cursor.expect(":")
        op.operand_types = read_types(cursor)
        counts = [1] * len(op.operands) + [len(names) for names, _ in groups]
        for names, types in groups:
            op.operands += names
            op.operand_types += types
        op.attributes[SEGMENTS] = f"array<i32: {', '.join(map(str, counts))}>"
        cursor.expect("->")
        op.result_types = read_types(cursor)

    def _group(self, name: str) -> tuple[list[str], list[str]]:
        """Reads `name(%a, %b : t, t)`, if it is next."""
        cursor = self._cursor
        if not cursor.take_text(name):
            return [], []
        cursor.expect("(")
        names = self._operands()
        cursor.expect(":")
        types = read_types(cursor)
        cursor.expect(")")
        return names, types

    def _attention_attributes(self) -> dict[str, str]:
        cursor = self._cursor
        attributes: dict[str, str] = {}
        while (word := cursor.take(_ATTENTION_ATTRIBUTE)) is not None:
            cursor.expect("=")
            if word == "softmax_type":
                attributes["softmaxType"] = read_type(cursor)
            elif word == "features":
                attributes[word] = f"{self._features()} : i32"
            else:
                attributes[word] = f"{cursor.expect_match(INTEGER, 'a number')} : i32"
        return attributes

    def _features(self) -> int:
        cursor = self._cursor
        text = cursor.expect_match(_FEATURES, "a feature").strip('"')
        try:
            return encode_features(word.strip() for word in text.split("|"))
        except ValueError:
            raise cursor.error(
                f"expected features to be one of [{', '.join(FEATURES)}], found '{text}'"
            ) from None


_RETURNS = frozenset({"return", "func.return"})
_ATTENTION_GROUPS = ("pre_softmax_inputs", "current_seq_len", "prefix_offset")
_ATTENTION_ATTRIBUTE = re.compile(r"(?:softmax_type|features|splitKV|slidingWindowSize)\b")

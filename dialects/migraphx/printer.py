"""Converts the generic form of migraphx operations, as MLIR prints it, to native syntax."""

from __future__ import annotations

import re

from hipgraft.dialects.framework.fields import Arity
from hipgraft.dialects.migraphx.cursor import Cursor
from hipgraft.dialects.migraphx.features import decode_features
from hipgraft.dialects.migraphx.operation import OPS
from hipgraft.dialects.migraphx.syntax import (
    SEGMENTS,
    OpText,
    attribute_text,
    read_generic,
)
from hipgraft.dialects.migraphx.types import PREFIX

_TOKEN = re.compile(r'"migraphx\.[\w.]+"(?=\()|"(?:[^"\\]|\\.)*"|//[^\n]*')


def to_native(text: str) -> str:
    """Returns printed IR with its migraphx operations as rocMLIR writes them.

    Operations on builtin tensors stay generic: native syntax has only shaped types.
    """
    return _Printer(Cursor(text, "")).rewrite(len(text))


class _Printer:
    """Rewrites printed IR from left to right."""

    def __init__(self, cursor: Cursor):
        self._cursor = cursor

    def rewrite(self, end: int) -> str:
        cursor = self._cursor
        pieces: list[str] = []
        while True:
            match = _TOKEN.search(cursor.text, cursor.position, end)
            if match is None:
                pieces.append(cursor.text[cursor.position : end])
                cursor.position = end
                return "".join(pieces)
            pieces.append(cursor.text[cursor.position : match.start()])
            cursor.position = match.end()
            is_op = match[0].startswith('"migraphx.') and end >= match.end()
            pieces.append(self._operation(match) if is_op else match[0])

    def _operation(self, match: re.Match[str]) -> str:
        op = read_generic(self._cursor, match[0].strip('"'), self.rewrite)
        mnemonic = op.name.removeprefix("migraphx.")
        shaped = all(kind.startswith(PREFIX) for kind in (*op.operand_types, *op.result_types))
        if op.name not in OPS or not (shaped or mnemonic in _CONVERSIONS):
            return op.generic()
        return _FORMS.get(mnemonic, _plain)(op)


def _short(kind: str) -> str:
    return kind.removeprefix(PREFIX)


def _attributes(op: OpText, *without: str) -> str:
    kept = {name: text for name, text in op.attributes.items() if name not in without}
    return f" {attribute_text(kept)}" if kept else ""


def _plain(op: OpText) -> str:
    mnemonic = op.name.removeprefix("migraphx.")
    # Optional operands are printed with their full type.
    required = sum(field.arity is Arity.ONE for field in OPS[op.name].operand_fields)
    types = [
        _short(kind) if index < required else kind for index, kind in enumerate(op.operand_types)
    ]
    arrow = "to" if mnemonic == "convert" or mnemonic in _CONVERSIONS else "->"
    results = ", ".join(map(_short, op.result_types))
    operands = f" {', '.join(op.operands)}" if op.operands else ""
    signature = f"{', '.join(types)} {arrow} {results}" if types else results
    return f"{op.name}{operands}{_attributes(op)} : {signature}"


def _convert(op: OpText) -> str:
    if "zeroExtend" not in op.attributes:
        return _plain(op)
    del op.attributes["zeroExtend"]
    return _plain(op).replace(op.name, f"{op.name} zero_extend", 1)


def _literal(op: OpText) -> str:
    value = op.attributes["value"]
    return f"{op.name}({value}){_attributes(op, 'value')} : {_short(op.result_types[0])}"


def _yield(op: OpText) -> str:
    operands = f" {', '.join(op.operands)} : {', '.join(op.operand_types)}" if op.operands else ""
    return f"{op.name}{_attributes(op)}{operands}"


def _quant_dot(op: OpText) -> str:
    has_a, has_b = [count != 0 for count in _segments(op)[2:]]
    first, second, *scales = op.operands
    kinds = op.operand_types[:2]
    scale_kinds = op.operand_types[2:]
    names = [f"{first}{_by(scales[0]) if has_a else ''}"]
    names.append(f"{second}{_by(scales[-1]) if has_b else ''}")
    types = [f"{_short(kinds[0])}{_by(scale_kinds[0]) if has_a else ''}"]
    types.append(f"{_short(kinds[1])}{_by(scale_kinds[-1]) if has_b else ''}")
    attributes = _attributes(op, SEGMENTS)
    return (
        f"{op.name} {', '.join(names)}{attributes} : {', '.join(types)} "
        f"-> {_short(op.result_types[0])}"
    )


def _by(text: str) -> str:
    return f" scaled by {text}"


def _attention(op: OpText) -> str:
    names, types = list(op.operands), list(op.operand_types)
    parts = [f"{op.name} {', '.join(names[:3])}"]
    position = 3
    for name, count in zip(_GROUPS, _segments(op)[3:], strict=True):
        if count:
            group = slice(position, position + count)
            parts.append(f"{name}({', '.join(names[group])} : {', '.join(types[group])})")
        position += count
    attributes = [_attention_attribute(op, name) for name in _INLINE if name in op.attributes]
    first, *lse = op.result_types
    results = ", ".join([_short(first), *lse])
    rest = _attributes(op, SEGMENTS, *_INLINE)
    inline = "".join(f" {text}" for text in attributes)
    operand_types = ", ".join(map(_short, types[:3]))
    return f"{' '.join(parts)} {op.region}{inline}{rest} : {operand_types} -> {results}"


def _attention_attribute(op: OpText, name: str) -> str:
    value = op.attributes[name].partition(" : ")[0]
    if name == "features":
        words = decode_features(int(value))
        value = words[0] if len(words) == 1 else f'"{"|".join(words)}"'
    return f"{_INLINE[name]} = {value}"


def _segments(op: OpText) -> list[int]:
    text = op.attributes.get(SEGMENTS)
    if text is None:
        return [1] * len(op.operands) + [0] * (4 - len(op.operands))
    return [int(word) for word in text.partition(":")[2].rstrip("> ").split(",")]


_CONVERSIONS = frozenset({"mlir.as.logical.shape", "mlir.as.underlying.shape"})
_GROUPS = ("pre_softmax_inputs", "current_seq_len", "prefix_offset")
_INLINE = {
    "softmaxType": "softmax_type",
    "features": "features",
    "splitKV": "splitKV",
    "slidingWindowSize": "slidingWindowSize",
}
"""The attributes that have a special form in native syntax, by name."""
_FORMS = {
    "convert": _convert,
    "literal": _literal,
    "yield": _yield,
    "quant_dot": _quant_dot,
    "attention": _attention,
}

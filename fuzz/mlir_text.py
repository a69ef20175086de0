"""Changes MLIR's generic text so that it mostly still parses: types, attributes, operands, ops."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

_OP = re.compile(
    r'^(?P<indent> *)(?:(?P<results>%[\w:, %#]+) = )?"(?P<name>[\w.]+)"\((?P<operands>[^()]*)\)'
    r"(?P<middle>.*) : \((?P<inputs>.*)\) -> (?P<outputs>.*)$",
    re.MULTILINE,
)
_ATTRIBUTE = re.compile(
    r"(?<=[\w\"] = )(?:-?[\d.]+ : \w+|\"[^\"]*\"|array<\w+(?:: [^>]*)?>|@\w+|true|false|\w+)"
)
_TYPE = re.compile(r"!?(?:\w+\.)?(?:v?tensor|memref)<[^<>]*(?:<[^<>]*>[^<>]*)?>")
_ELEMENT = re.compile(r"(?<=[x,])(?:[su]?i\d+|b?f\d+)(?=[,>])")
_EXTENT = re.compile(r"(?<=[<x\[,])\d+(?=[x,\]])")
_INTEGER = re.compile(r"(?<![\w%#.x])-?\d+(?![\w.x])")
_TERMINATORS = ("func.return", "hipdnn.yield")

_ATTRIBUTES = (
    *("unit", "true", "0 : i64", "-1 : i64", "9223372036854775807 : i64", "1 : i1", "7 : ui8"),
    *("1.5 : f32", "0x7FC00000 : f32", '""', '"x"', '"relu_fwd"', "[]", "[1, 2]", "[[]]", "{}"),
    *("array<i64>", "array<i64: 0>", "array<i64: -1, 1>", "array<i64: 1, 1, 1, 1, 1, 1, 1>"),
    *("array<i8: 1>", "array<i32: 1, 1>", "array<f32: 1.0>", "array<i1: true>"),
    *("@main", "@nothing", "@a::@b", "f32", "tensor<2xf32>", "() -> ()", "index", "none"),
    *("dense<1> : tensor<2xi64>", "dense<[]> : tensor<0xf32>", "dense<1.0> : vector<2xf32>"),
    *("dense<2> : tensor<2xui8>", "dense_resource<no> : tensor<2xf32>", 'opaque<"x">'),
    *("affine_map<(d0) -> (d0)>", "affine_map<() -> ()>", "strided<[1], offset: ?>"),
    *('#hipdnn<"x">', "unit", 'loc("x":1:2)', "dense<> : tensor<0xi1>", "distinct[0]<unit>"),
)
_ELEMENTS = (
    *("f32", "f16", "bf16", "f64", "f8E4M3FN", "i1", "i8", "i64", "si8", "ui8", "index"),
    *("complex<f32>", "i4", "i127", "tf32", "none"),
)
_EXTENTS = ("0", "1", "2", "3", "?", "7", "65536", "4294967296", "9223372036854775807")
_INTEGERS = ("0", "1", "-1", "2", "3", "7", "64", "2147483648", "9223372036854775807", "-4096")

Change = Callable[[str, random.Random], str]


def changed_module(data: bytes, seeds: Sequence[bytes], generator: random.Random) -> bytes:
    """Returns a copy with one thing changed; may take a line of another seed."""
    text = data.decode(errors="replace")
    if generator.random() < 0.05:
        return _spliced(text, generator.choice(seeds).decode(), generator).encode()
    return generator.choice(_CHANGES)(text, generator).encode()


def _replaced(text: str, match: re.Match[str], new: str) -> str:
    return text[: match.start()] + new + text[match.end() :]


def _one(pattern: re.Pattern[str], text: str, generator: random.Random) -> re.Match[str] | None:
    found = list(pattern.finditer(text, text.find("\n") + 1))
    return generator.choice(found) if found else None


def _attribute(text: str, generator: random.Random) -> str:
    match = _one(_ATTRIBUTE, text, generator)
    return text if match is None else _replaced(text, match, generator.choice(_ATTRIBUTES))


def _integer(text: str, generator: random.Random) -> str:
    match = _one(_INTEGER, text, generator)
    return text if match is None else _replaced(text, match, generator.choice(_INTEGERS))


def _type(text: str, generator: random.Random) -> str:
    """Replaces a type everywhere by another type of the module, or changes a part of it."""
    match = _one(_TYPE, text, generator)
    if match is None:
        return text
    old = new = match[0]
    kind = generator.randrange(4)
    if kind == 0:
        new = _one(_TYPE, text, generator)[0]  # type: ignore[index]
    elif kind == 1 and (part := _one(_ELEMENT, f"\n{old}", generator)):
        new = _replaced(f"\n{old}", part, generator.choice(_ELEMENTS))[1:]
    elif part := _one(_EXTENT, f"\n{old}", generator):
        new = _replaced(f"\n{old}", part, generator.choice(_EXTENTS))[1:]
    if generator.random() < 0.5:
        return text.replace(old, new)
    return _replaced(text, match, new)


def _operand(text: str, generator: random.Random) -> str:
    """Replaces an operand by another value, mostly of the same type."""
    match = _one(_OP, text, generator)
    if match is None or not match["operands"]:
        return text
    operands = match["operands"].split(", ")
    place = generator.randrange(len(operands))
    named = re.findall(r"%[\w#]+", text[: match.start()])
    if generator.random() < 0.3 and len(operands) == len(_split(match["inputs"])):
        del operands[place]
        inputs = _split(match["inputs"])
        del inputs[place]
        text = text[: match.start("inputs")] + ", ".join(inputs) + text[match.end("inputs") :]
    elif named:
        operands[place] = generator.choice(named)
    return text[: match.start("operands")] + ", ".join(operands) + text[match.end("operands") :]


def _split(types: str) -> list[str]:
    parts, depth, start = list[str](), 0, 0
    for place, letter in enumerate(types):
        depth += letter in "<([{"
        depth -= letter in ">)]}"
        if letter == "," and depth == 0:
            parts.append(types[start:place].strip())
            start = place + 1
    return [*parts, types[start:].strip()] if types else []


def _without_results(text: str, generator: random.Random) -> str:
    """Removes an op's results, and lets another op define the values in their place."""
    match = _one(_OP, text, generator)
    if match is None or match["results"] is None:
        return text
    line, results, outputs = match[0], match["results"], match["outputs"]
    dumb = line.replace(f"{results} = ", "", 1)
    dumb = dumb[: len(dumb) - len(outputs)] + "()"
    source = f'{match["indent"]}{results} = "test.value"() : () -> {outputs}'
    kept = [source] if generator.random() < 0.3 else [dumb, source]
    return _replaced(text, match, "\n".join(kept))


def _renamed(text: str, generator: random.Random) -> str:
    """Gives an op the name of another op."""
    match, other = _one(_OP, text, generator), _one(_OP, text, generator)
    if match is None or other is None or match["name"] in _TERMINATORS:
        return text
    return text[: match.start("name")] + other["name"] + text[match.end("name") :]


def _line(text: str, generator: random.Random) -> str:
    """Drops, repeats or moves a line."""
    first, _, rest = text.partition("\n")
    lines = rest.split("\n")
    place, other = generator.randrange(len(lines)), generator.randrange(len(lines))
    kind = generator.randrange(3)
    if kind == 0:
        del lines[place]
    elif kind == 1:
        lines.insert(other, lines[place])
    else:
        lines[place], lines[other] = lines[other], lines[place]
    return "\n".join([first, *lines])


def _attribute_gone(text: str, generator: random.Random) -> str:
    pattern = re.compile(r"\w+ = (?:\"[^\"]*\"|-?[\d.]+ : \w+|array<[^>]*>), ")
    match = _one(pattern, text, generator)
    return text if match is None else _replaced(text, match, "")


def _word(text: str, generator: random.Random) -> str:
    """Cuts out, repeats or replaces some characters; this rarely parses."""
    place = generator.randrange(len(text) + 1)
    length = generator.choice((1, 1, 3, 10))
    middle = generator.choice(
        ("", text[place : place + length] * 2, "<", "%", '"', "\\FF", "0", "é")
    )
    return text[:place] + middle + text[place + length :]


def _spliced(text: str, other: str, generator: random.Random) -> str:
    lines = text.split("\n")
    lines.insert(generator.randrange(1, len(lines) + 1), generator.choice(other.split("\n")))
    return "\n".join(lines)


_CHANGES: tuple[Change, ...] = (
    *(_attribute, _attribute, _integer, _type, _type, _operand, _without_results),
    *(_renamed, _attribute_gone, _line, _word),
)

"""Converts options of passes and pipelines between text and dataclass fields."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from hipgraft.ir.diagnostics import PipelineParseError
from hipgraft.passmanager.text import OptionText, split_options, split_outside

T = TypeVar("T")

_TRUE = ("true", "1")
_FALSE = ("false", "0")


@dataclasses.dataclass(frozen=True)
class OptionInfo:
    """The description of an option: name, type, default (as text) and documentation."""

    name: str
    type_name: str
    default: str
    doc: str


def make(cls: type[T], name: str, options: Sequence[OptionText]) -> T:
    """Builds a pass or a pipeline configuration from its options.

    Args:
        cls: a dataclass whose fields are the options.
        name: the command-line name, for errors.
        options: options as written.

    Raises:
        PipelineParseError: an option is unknown, given twice, or has a value that does not fit.
    """
    types = _option_types(cls)
    values: dict[str, Any] = {}
    for option in options:
        if option.key not in types:
            raise _unknown_option(name, option, list(types))
        field_name = option.key.replace("-", "_")
        if field_name in values:
            message = f"option '{option.key}' of '{name}' is given twice"
            raise PipelineParseError(message, column=option.column)
        values[field_name] = _value(name, option, types[option.key])
    return _construct(cls, name, values, options)


def to_text(instance: Any) -> str:
    """Returns the options of a pass that differ from their defaults, as in pipeline text."""
    words: list[str] = []
    for field in dataclasses.fields(instance):
        value = getattr(instance, field.name)
        if value != field.default:
            words.append(f"{_kebab(field.name)}={_print(value)}")
    return " ".join(words)


def describe(cls: type[Any]) -> list[OptionInfo]:
    """Returns the options of a pass or pipeline configuration, in order of declaration."""
    types = _option_types(cls)
    return [
        OptionInfo(
            name=_kebab(field.name),
            type_name=type_name(types[_kebab(field.name)]),
            default="" if field.default is dataclasses.MISSING else _print(field.default),
            doc=field.metadata.get("doc", ""),
        )
        for field in dataclasses.fields(cls)
    ]


def type_name(kind: Any) -> str:
    """Returns an option type's name for users, e.g. `list of int`."""
    return f"list of {get_args(kind)[0].__name__}" if get_origin(kind) is tuple else kind.__name__


def parse_options(text: str | None, column: int) -> list[OptionText]:
    """Returns the options between a pass's braces; empty if there are no braces."""
    return [] if text is None else split_options(text, column)


def _option_types(cls: Any) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {_kebab(field.name): hints[field.name] for field in dataclasses.fields(cls)}


def _construct(cls: type[T], name: str, values: dict[str, Any], options: Sequence[OptionText]) -> T:
    column = options[0].column if options else 1
    missing = [
        _kebab(field.name)
        for field in dataclasses.fields(cls)  # pyright: ignore[reportArgumentType]
        if field.default is dataclasses.MISSING and field.name not in values
    ]
    if missing:
        raise PipelineParseError(f"'{name}' needs option '{missing[0]}'", column=column)
    try:
        return cls(**values)
    except ValueError as error:
        raise PipelineParseError(f"'{name}': {error}", column=column) from error


def _unknown_option(name: str, option: OptionText, known: list[str]) -> PipelineParseError:
    message = f"'{name}' has no option '{option.key}'"
    nearest = difflib.get_close_matches(option.key, known, n=1, cutoff=0.5)
    if nearest:
        message += f"; did you mean '{nearest[0]}'?"
    elif known:
        message += f"; it has {', '.join(known)}"
    return PipelineParseError(message, column=option.column)


def _value(name: str, option: OptionText, kind: Any) -> Any:
    text = option.value
    if text is None and kind is not bool:
        message = f"option '{option.key}' of '{name}' needs a value"
        raise PipelineParseError(message, column=option.column)
    if text is None:
        # A bare key switches a flag on, as in MLIR.
        text = "true"
    try:
        return _parse_value(text, kind)
    except ValueError:
        message = (
            f"invalid value '{text}' for option '{option.key}' of '{name}': "
            f"expected {type_name(kind)}"
        )
        raise PipelineParseError(message, column=option.column) from None


def _parse_value(text: str, kind: Any) -> Any:
    if get_origin(kind) is tuple:
        element = _SCALARS[get_args(kind)[0]]
        inner = _unwrap(text, "{", "}")
        items = split_outside(inner, lambda character: character == ",") if inner else []
        return tuple(element(item) for _, item in items)
    return _SCALARS[kind](text)


def _parse_bool(text: str) -> bool:
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise ValueError(text)


def _parse_str(text: str) -> str:
    for opener, closer in (('"', '"'), ("'", "'"), ("{", "}")):
        inner = _unwrap(text, opener, closer)
        if inner != text:
            return inner
    return text


_SCALARS: dict[type, Callable[[str], Any]] = {
    bool: _parse_bool,
    int: lambda text: int(text, 0),
    float: float,
    str: _parse_str,
}


def _unwrap(text: str, opener: str, closer: str) -> str:
    wrapped = len(text) >= 2 and text.startswith(opener) and text.endswith(closer)
    return text[1:-1] if wrapped else text


def _print(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(_print(item) for item in value)  # pyright: ignore[reportUnknownVariableType]
    return _quote(value) if isinstance(value, str) else repr(value)


def _quote(text: str) -> str:
    if text and not any(one.isspace() or one in ",{}[]()\"'" for one in text):
        return text
    return f"'{text}'" if '"' in text else f'"{text}"'


def _kebab(name: str) -> str:
    return name.replace("_", "-")

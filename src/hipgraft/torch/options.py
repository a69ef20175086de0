"""Defines the options of the backend, for `torch.compile(..., options={...})`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from hipgraft.ir.diagnostics import HipgraftError


class OptionError(HipgraftError):
    """An option is unknown or has an invalid value; this is always an error."""


@dataclass(frozen=True)
class Options:
    """Options of the backend.

    Attributes:
        target: architecture to compile for; by default that of the tensors' device.
        extra_flags: further flags for IREE's compiler.
        fallback: `eager` to let PyTorch run graphs that do not compile, `error` to raise an error.
        dynamic: `program` to compile one program for all extents of a dynamic dimension,
            `specialize` to compile one for each shape that occurs.
        specializations: limit on the number of shapes for which one graph is compiled; PyTorch runs
            all other shapes.
    """

    target: str = ""
    extra_flags: tuple[str, ...] = ()
    fallback: str = "eager"
    dynamic: str = "program"
    specializations: int = 8

    @classmethod
    def parse(cls, given: Mapping[str, Any] | None) -> Options:
        """Checks options by name.

        Raises:
            OptionError: an option is unknown or has an invalid value.
        """
        known = {field.name: field.default for field in fields(cls)}
        values: dict[str, Any] = {}
        for name, value in (given or {}).items():
            if name not in known:
                names = ", ".join(f"'{one}'" for one in known)
                raise OptionError(f"unknown option '{name}' of backend 'hipgraft': it has {names}")
            if name == "extra_flags" and not isinstance(value, str):
                value = tuple(value)
            if type(value) is not type(known[name]):
                expected = type(known[name]).__name__
                raise OptionError(f"option '{name}' has to be of type '{expected}', got {value!r}")
            if value not in _CHOICES.get(name, (value,)):
                choices = " or ".join(f"'{one}'" for one in _CHOICES[name])
                raise OptionError(f"option '{name}' has to be {choices}, got {value!r}")
            values[name] = value
        return cls(**values)


_CHOICES = {"fallback": ("eager", "error"), "dynamic": ("program", "specialize")}

"""Options of the backend: what `torch.compile(..., options={...})` may hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from hipgraft.ir.diagnostics import HipgraftError


class OptionError(HipgraftError):
    """An option that is unknown or has a wrong value, for which nothing falls back."""


@dataclass(frozen=True)
class Options:
    """Options of the backend.

    Attributes:
        target: architecture to compile for; by default that of the tensors' device.
        extra_flags: further flags for IREE's compiler.
        fallback: `eager` if PyTorch runs what does not compile, `error` if that is an error.
        dynamic: `program` if one program is compiled for all extents of a dynamic dimension, and
            `specialize` if one is compiled for each shape that comes.
        specializations: the most shapes to compile one graph for; PyTorch runs further ones.
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
            OptionError: there is no option of a name, or it has no such value.
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

"""Defines plans: deviations from the default compilation of a container."""

from __future__ import annotations

from dataclasses import dataclass

from hipgraft.codegen.target import FUSE_PADDING, SPLIT_REDUCTIONS, TRANSPOSES_THROUGH_CONVOLUTIONS
from hipgraft.ir.diagnostics import HipgraftError


@dataclass(frozen=True)
class FlagSet:
    """Flags of IREE's compiler, added after the target's own.

    Attributes:
        flags: the flags.
        needs: texts; the flags have no effect on an input that contains none of them.
    """

    flags: tuple[str, ...]
    needs: tuple[str, ...]

    def matters(self, text: str) -> bool:
        """Whether the flags may affect the compilation of this input."""
        return any(need in text for need in self.needs)


FLAG_SETS = {
    # IREE splits long reductions over workgroups, which pays off only if few workgroups would run.
    "whole-reductions": FlagSet(
        (f"{SPLIT_REDUCTIONS}=false",),
        ('"reduction"', "linalg.matmul"),
    ),
    # Padded operands are materialized instead of masked at each read.
    "materialized-padding": FlagSet(
        tuple(f"{flag}=false" for flag in FUSE_PADDING), ("tensor.pad ",)
    ),
    # IREE does not move reshapes, so that a dispatch keeps its named op.
    "reshapes-stay": FlagSet(
        ("--iree-dispatch-creation-enable-aggressive-reshape-movement=false",), ("_shape ",)
    ),
    # A transposed operand of a convolution is materialized, instead of folded into the convolution.
    "transposes-stay": FlagSet(
        (f"{TRANSPOSES_THROUGH_CONVOLUTIONS}=false",), ("linalg.transpose",)
    ),
}

_FLAGS = "flags"


@dataclass(frozen=True, order=True)
class Plan:
    """The lowering alternatives and flags that replace the defaults for a container.

    Its text is `default` if it replaces nothing, else for example
    `hipdnn.sdpa=padded,flags=materialized-padding`.

    Attributes:
        alternatives: name of an alternative by full op name; where it does not apply, ops get the
            default lowering.
        flag_set: one of `FLAG_SETS`, or empty.
    """

    alternatives: tuple[tuple[str, str], ...] = ()
    flag_set: str = ""

    @classmethod
    def parse(cls, text: str) -> Plan:
        """Reads a plan's text.

        Raises:
            HipgraftError: the text is malformed, or names an unknown flag set.
        """
        if text == "default":
            return cls()
        pairs = [_pair(part) for part in text.split(",")]
        chosen = dict(pairs)
        flag_set = chosen.pop(_FLAGS, "")
        if flag_set and flag_set not in FLAG_SETS:
            raise HipgraftError(f"unknown flag set '{flag_set}': expected {', '.join(FLAG_SETS)}")
        return cls(tuple(sorted(chosen.items())), flag_set)

    def __str__(self) -> str:
        pairs = [*self.alternatives, *([(_FLAGS, self.flag_set)] if self.flag_set else [])]
        return ",".join(f"{name}={value}" for name, value in pairs) or "default"

    @property
    def flags(self) -> tuple[str, ...]:
        """The compiler flags that the plan adds."""
        return FLAG_SETS[self.flag_set].flags if self.flag_set else ()


DEFAULT_PLAN = Plan()


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals or not value:
        raise HipgraftError(f"expected 'default' or 'op=alternative,...' as a plan, found '{text}'")
    return name, value

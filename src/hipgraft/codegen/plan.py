"""How a container is compiled where that is not the usual way."""

from __future__ import annotations

from dataclasses import dataclass

from hipgraft.codegen.target import FUSE_PADDING, SPLIT_REDUCTIONS
from hipgraft.diagnostics import HipgraftError


@dataclass(frozen=True)
class FlagSet:
    """Flags of IREE's compiler that follow the target's own.

    Attributes:
        flags: the flags.
        needs: the compiler's input must hold one of these for them to matter.
    """

    flags: tuple[str, ...]
    needs: tuple[str, ...]

    def matters(self, text: str) -> bool:
        """Whether the flags may change how this input of the compiler is compiled."""
        return any(need in text for need in self.needs)


FLAG_SETS = {
    # IREE splits long reductions over workgroups, which pays off only where few would run.
    "whole-reductions": FlagSet(
        (f"{SPLIT_REDUCTIONS}=false",),
        ('"reduction"', "linalg.matmul"),
    ),
    # Padding is copied before its consumer reads it instead of masked at each read.
    "padding-apart": FlagSet(tuple(f"{flag}=false" for flag in FUSE_PADDING), ("tensor.pad ",)),
    # Reshapes stay where they are, so that a dispatch keeps its named op.
    "reshapes-stay": FlagSet(
        ("--iree-dispatch-creation-enable-aggressive-reshape-movement=false",), ("_shape ",)
    ),
    # A transposed operand of a convolution is made, instead of a convolution in another order.
    "transposes-stay": FlagSet(
        ("--iree-global-opt-propagate-transposes-through-conv=false",), ("linalg.transpose",)
    ),
}

_FLAGS = "flags"


@dataclass(frozen=True, order=True)
class Plan:
    """What differs from the usual way to compile a container.

    Its text is `hipdnn.sdpa=padded,flags=padding-apart`; that of the usual way is `usual`.

    Attributes:
        variants: names of variants by full op name; each lowers those ops that it applies to.
        flag_set: one of `FLAG_SETS`, or empty.
    """

    variants: tuple[tuple[str, str], ...] = ()
    flag_set: str = ""

    @classmethod
    def parse(cls, text: str) -> Plan:
        """Reads a plan's text.

        Raises:
            HipgraftError: it is malformed, or names an unknown flag set.
        """
        if text == "usual":
            return cls()
        pairs = [_pair(part) for part in text.split(",")]
        chosen = dict(pairs)
        flag_set = chosen.pop(_FLAGS, "")
        if flag_set and flag_set not in FLAG_SETS:
            raise HipgraftError(f"unknown flag set '{flag_set}': expected {', '.join(FLAG_SETS)}")
        return cls(tuple(sorted(chosen.items())), flag_set)

    def __str__(self) -> str:
        pairs = [*self.variants, *([(_FLAGS, self.flag_set)] if self.flag_set else [])]
        return ",".join(f"{name}={value}" for name, value in pairs) or "usual"

    @property
    def flags(self) -> tuple[str, ...]:
        """The compiler's flags that this adds."""
        return FLAG_SETS[self.flag_set].flags if self.flag_set else ()


USUAL = Plan()


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals or not value:
        raise HipgraftError(f"expected 'usual' or 'op=variant,...' as a plan, found '{text}'")
    return name, value

"""The fields of override files and candidate files."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, field

from hipgraft.codegen.target import TUNING_SPEC
from hipgraft.ir.diagnostics import HipgraftError


class FlagFields(Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Compiler flags, and a transform-dialect library in the file's folder."""

    flags: list[str] = field(default_factory=list[str])
    tuning_spec: str | None = None

    def all_flags(self, path: str | Path) -> tuple[str, ...]:
        """Returns the flags, including the flag for the tuning spec.

        Args:
            path: path of the file that holds these fields.

        Raises:
            HipgraftError: there is no such tuning spec.
        """
        if self.tuning_spec is None:
            return tuple(self.flags)
        return (*self.flags, tuning_spec_flag(Path(path).parent / self.tuning_spec))


class OverrideFields(FlagFields, frozen=True):
    """One override."""

    graph: str
    target: str = ""


class CandidateFields(FlagFields, frozen=True):
    """One candidate."""

    name: str = ""


def tuning_spec_flag(path: str | Path) -> str:
    """Returns the compiler's flag for a tuning spec.

    Raises:
        HipgraftError: there is no such file.
    """
    if not Path(path).is_file():
        raise HipgraftError(f"cannot open tuning spec '{path}': no such file")
    # The process that compiles may run in another directory.
    return f"{TUNING_SPEC}={Path(path).resolve()}"

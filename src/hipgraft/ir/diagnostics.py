"""Defines errors and diagnostics in MLIR's style.

A user error carries a location and reads like MLIR's own: lower case, no full stop, the op in
single quotes, what was expected and what was found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hipgraft.ir.bindings import ir

MEMORY_NAME = "-"
"""The bindings' name for the source of a module that was parsed from memory."""


_NOT_CONVERTED = re.compile(r"failed to legalize operation 'torch.operator'.*name = \"([^\"]+)\"")


class Severity(Enum):
    """The severity of a diagnostic, as MLIR spells it."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    REMARK = "remark"


@dataclass(frozen=True)
class Diagnostic:
    """One message of MLIR, a verifier or a pass, with its location.

    Attributes:
        severity: error, warning, note or remark.
        message: what is wrong, without location.
        location: `file:line:col`, or empty.
        notes: further diagnostics that belong to this one.
    """

    severity: Severity
    message: str
    location: str = ""
    notes: tuple[Diagnostic, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.location or '<unknown>:0'}: {self.severity.value}: {self.message}"]
        lines += [str(note) for note in self.notes]
        return "\n".join(lines)


class HipgraftWarning(UserWarning):
    """A warning about an input file; tools print its diagnostic.

    Attributes:
        diagnostic: the warning and its location.
    """

    def __init__(self, message: str, location: str = ""):
        self.diagnostic = Diagnostic(Severity.WARNING, message, location)
        super().__init__(str(self.diagnostic))


class HipgraftError(Exception):
    """A user-facing error; tools print it and exit with status 1.

    Attributes:
        message: what went wrong, without location.
        location: the location as MLIR prints it (`model.mlir:3:7`), or empty.
        notes: further lines, printed as `note:`.
        reported: whether a diagnostic handler has already shown the error.
    """

    def __init__(self, message: str, *, location: str = "", notes: tuple[str, ...] = ()):
        super().__init__(message)
        self.message = message
        self.location = location
        self.notes = notes
        self.reported = False

    def diagnostic(self) -> Diagnostic:
        """Returns the error as a diagnostic with notes at the same location."""
        notes = tuple(Diagnostic(Severity.NOTE, note, self.location) for note in self.notes)
        return Diagnostic(Severity.ERROR, self.message, self.location, notes)

    def __str__(self) -> str:
        prefix = f"{self.location}: " if self.location else ""
        lines = [f"{prefix}error: {self.message}"]
        lines += [f"{prefix}note: {note}" for note in self.notes]
        return "\n".join(lines)


class OpError(HipgraftError):
    """An error at an operation."""

    def __init__(
        self,
        message: str,
        op: ir.Operation | ir.OpView | None = None,
        *,
        notes: tuple[str, ...] = (),
    ):
        where = "" if op is None else location_text(op.operation.location)
        super().__init__(message, location=where, notes=notes)


class PassFailure(OpError):
    """A pass cannot do its work on this module."""


class VerifyError(OpError):
    """An operation breaks a rule of its dialect or of the stage it is in."""


class CodegenError(HipgraftError):
    """A graph could not be compiled; the message includes the compiler's own."""


class PipelineParseError(HipgraftError):
    """Pipeline text is malformed or names something unknown.

    Attributes:
        column: 1-based column in the text at which parsing stopped.
    """

    def __init__(self, message: str, *, column: int, text: str = ""):
        super().__init__(message, location=f"<pass-pipeline>:1:{column}")
        self.column = column
        self.text = text


class RemarkKind(Enum):
    """The kind of a remark: work done, work declined with its reason, or an observation."""

    PASSED = "passed"
    MISSED = "missed"
    ANALYSIS = "analysis"


@dataclass(frozen=True)
class Remark:
    """One line of optimisation feedback.

    Attributes:
        kind: passed, missed or analysis.
        pass_name: command-line name of the pass that emits the remark.
        name: short kebab-case identifier of the reason, e.g. `unsupported-dtype`.
        message: the sentence for the reader.
        location: `file:line:col` of the op.
        function: symbol of the enclosing function, or empty.
        args: further data by name.
        op: name of the op.
    """

    kind: RemarkKind
    pass_name: str
    name: str
    message: str
    location: str = ""
    function: str = ""
    args: dict[str, str] = field(default_factory=dict[str, str])
    op: str = ""


class Declined(Exception):
    """A rewrite does not apply to an op; the reason becomes a missed-optimisation remark.

    Attributes:
        name: short kebab-case identifier of the reason.
        reason: the sentence for the reader.
    """

    def __init__(self, name: str, reason: str):
        super().__init__(reason)
        self.name = name
        self.reason = reason


def location_text(location: ir.Location) -> str:
    """Returns `file:line:col` of a location, or its name if the file is unknown."""
    from hipgraft.ir.bindings import ir

    if isinstance(location, ir.FileLineColLoc):
        return f"{location.filename}:{location.start_line}:{location.start_col}"
    if isinstance(location, ir.NameLoc):
        return location_text(location.child_loc) or location.name_str
    if isinstance(location, ir.CallSiteLoc):
        return location_text(location.callee)
    if isinstance(location, ir.FusedLoc):
        return next(iter(location_texts(location)), "")
    return ""


def node_name(location: ir.Location) -> str:
    """Returns the name of a location, or of the first named one that it was fused from.

    Frontends store the name of the model's node in the location. The text is empty if there is no
    name.
    """
    from hipgraft.ir.bindings import ir

    if isinstance(location, ir.NameLoc):
        return location.name_str
    if isinstance(location, ir.CallSiteLoc):
        return node_name(location.callee)
    if isinstance(location, ir.FusedLoc):
        names = [node_name(child) for child in location.locations]
        return next((name for name in names if name), "")
    return ""


def location_texts(location: ir.Location) -> list[str]:
    """Returns the texts of a location, or of all locations that it was fused from."""
    from hipgraft.ir.bindings import ir

    if isinstance(location, ir.FusedLoc):
        return [text for child in location.locations for text in location_texts(child)]
    return [text] if (text := location_text(location)) else []


def native_diagnostic(info: ir.Diagnostic) -> Diagnostic:
    """Converts a diagnostic of MLIR to a `Diagnostic`."""
    return Diagnostic(
        severity=Severity[info.severity.name],
        message=_readable(_message(info)),
        location=location_text(info.location),
        notes=tuple(native_diagnostic(note) for note in info.notes),
    )


def _message(info: ir.Diagnostic) -> str:
    try:
        return info.message
    except RuntimeError:  # the bindings fail to decode the message
        return "a name that is not UTF-8 is part of this message"


def _readable(message: str) -> str:
    """Shortens torch-mlir's message about an operator that it cannot convert: it prints the op."""
    operator = _NOT_CONVERTED.search(message)
    if operator is None:
        return message
    return f"operator '{operator[1].removeprefix('torch.')}' is not supported in this form"


@contextmanager
def diagnostics_to(
    context: ir.Context, take: Callable[[Diagnostic], None]
) -> Generator[None, None, None]:
    """Passes all diagnostics of MLIR to `take`; without a handler, emitted errors are lost."""

    def handle(info: ir.Diagnostic) -> bool:
        take(native_diagnostic(info))
        return True

    emitted_before = context.emit_error_diagnostics
    context.emit_error_diagnostics = True
    handler = context.attach_diagnostic_handler(handle)
    try:
        yield
    finally:
        handler.detach()
        context.emit_error_diagnostics = emitted_before


def split_location(text: str) -> tuple[str, int, int] | None:
    """Returns (file, line, column) of a `file:line:col` text, None for any other."""
    parts = text.rsplit(":", 2)
    if len(parts) != 3 or not (parts[1].isdigit() and parts[2].isdigit()):
        return None
    return parts[0], int(parts[1]), int(parts[2])

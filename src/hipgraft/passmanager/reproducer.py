"""Writes reproducers: a module, the command that repeats a failure, and MLIR's pipeline for it.

The command is the first line. The pipeline is a resource `mlir_reproducer`, in the form of MLIR's
own tools: `iree-opt --run-reproducer` runs native passes, and fails at our own passes.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError, diagnostics_to
from hipgraft.ir.io import MOST_DIGITS
from hipgraft.ir.outputs import output_errors
from hipgraft.passmanager.pipeline import NativeStep, Step, native_manager, to_text

_RUN_LINE = re.compile(r"^// RUN: (?P<command>.*--pass-pipeline=.*)$", re.MULTILINE)
# The form in which MLIR's own tools append their pipeline to a module.
_NATIVE_PIPELINE = re.compile(r'mlir_reproducer:\s*\{[^}]*?pipeline:\s*"(?P<pipeline>[^"]*)"')


_NATIVE_FORM = """
{{-#
  external_resources: {{
    mlir_reproducer: {{
      pipeline: {pipeline},
      disable_threading: true,
      verify_each: true
    }}
  }}
#-}}
"""


_are_left: ContextVar[bool] = ContextVar("reproducers", default=True)


@contextmanager
def without_reproducers() -> Generator[None, None, None]:
    """Suppresses reproducers, for compilations that are expected to fail."""
    token = _are_left.set(False)
    try:
        yield
    finally:
        _are_left.reset(token)


def are_left() -> bool:
    """Whether failures write reproducers."""
    return _are_left.get()


def write(path: Path, op: ir.Operation, steps: Sequence[Step]) -> None:
    """Writes `op` and the command that runs `steps` on it."""
    # The file is UTF-8, but an option may not be.
    pipeline = to_text(steps).encode(errors="backslashreplace").decode()
    command = f"// RUN: hipgraft-opt %s --pass-pipeline={shlex.quote(pipeline)}\n"
    # The text omits elements of constants: weights may be large, and failures rarely depend on
    # them.
    text = op.get_asm(enable_debug_info=True, large_resource_limit=MOST_DIGITS)
    with output_errors(path):
        native = _NATIVE_FORM.format(pipeline=ir.StringAttr.get(pipeline, op.context))
        path.write_text(command + text + native, encoding="utf-8")


def leave(path: Path | None, before: ir.Operation, steps: Sequence[Step]) -> Path:
    """Writes the reproducer of a failure, and returns its path.

    Args:
        path: path of the file; None creates a temporary file.
        before: the module before `steps`; this function may change it.
        steps: one of our passes, or a group of native ones of which one failed.

    Raises:
        HipgraftError: the file cannot be written; a temporary file is then removed.
    """
    op, step = _narrow(before, steps)
    if path is not None:
        write(path, op, [step])
        return path
    with output_errors("a temporary file"):
        handle, name = tempfile.mkstemp(prefix=f"hipgraft-{step.name}-", suffix=".mlir")
        os.close(handle)
    try:
        write(Path(name), op, [step])
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    return Path(name)


def read_pipeline(text: str) -> str:
    """Returns the pipeline that a reproducer, ours or MLIR's, contains.

    Raises:
        HipgraftError: the text is not a reproducer.
    """
    if match := _RUN_LINE.search(text):
        try:
            words = shlex.split(match["command"])
        except ValueError as error:
            message = f"cannot read the reproducer's '// RUN:' line: {str(error).lower()}"
            raise HipgraftError(message) from None
        option = next((word for word in words if word.startswith("--pass-pipeline=")), "=")
        return option.partition("=")[2]
    if match := _NATIVE_PIPELINE.search(text):
        return match["pipeline"]
    raise HipgraftError("no reproducer: expected a '// RUN:' line with '--pass-pipeline='")


def _narrow(before: ir.Operation, steps: Sequence[Step]) -> tuple[ir.Operation, Step]:
    """Runs native passes one by one to find the one that fails, and the module before it."""
    # The user has already seen the diagnostics of the failure.
    with diagnostics_to(before.context, lambda _: None):
        for step in steps[:-1]:
            attempt = before.clone(ip=False)
            if not isinstance(step, NativeStep) or not _succeeds(step, attempt):
                return before, step
            before = attempt
    return before, steps[-1]


def _succeeds(step: NativeStep, op: ir.Operation) -> bool:
    try:
        native_manager([step], op.context).run(op)
    except ir.MLIRError:
        return False
    return True

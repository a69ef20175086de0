"""Writes files that reproduce a failure of the compiler without hipgraft."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence
from contextlib import suppress

from hipgraft.codegen.iree.entry import effective_flags
from hipgraft.service.keys import compiler_version

# Writes each kernel's assembly (`*.rocmasm`), which shows its resource usage.
_ASSEMBLY = "--iree-hal-dump-executable-intermediates-to=%t"


def leave_input(name: str, text: bytes, flags: Sequence[str], problems: Sequence[str] = ()) -> str:
    """Writes the compiler's input, with the command that reproduces a problem, to a temporary file.

    Args:
        name: part of the file's name.
        text: the compiler's input.
        flags: all of the compiler's flags.
        problems: problems of the kernels; if there are any, the command also writes their assembly.

    Returns:
        A note with the file's path.
    """
    more = f" {_ASSEMBLY}" if problems else ""
    options = shlex.join(effective_flags(text.decode(), flags))
    command = f"// RUN: iree-compile %s {options}{more} -o /dev/null\n"
    command += "".join(f"// IREE {compiler_version()}: {problem}\n" for problem in problems)
    path = ""
    try:
        handle, path = tempfile.mkstemp(prefix=f"hipgraft-{name}-", suffix=".mlir")
        with os.fdopen(handle, "wb") as file:
            file.write(command.encode() + text)
    except OSError as error:
        with suppress(OSError):
            os.unlink(path)
        return f"the compiler's input could not be left: {error.strerror}"
    return f"the compiler's input and its command are in {path}"

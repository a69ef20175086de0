"""Files that show a failure of the compiler again, without hipgraft."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence


def leave_input(name: str, text: bytes, flags: Sequence[str]) -> str:
    """Writes the compiler's input and the command that fails on it to a temporary file.

    Args:
        name: goes into the file's name.
        text: the compiler's input.
        flags: all of the compiler's flags.

    Returns:
        A note that says where it is.
    """
    command = f"// RUN: iree-compile %s {shlex.join(flags)} -o /dev/null\n"
    try:
        handle, path = tempfile.mkstemp(prefix=f"hipgraft-{name}-", suffix=".mlir")
        with os.fdopen(handle, "wb") as file:
            file.write(command.encode() + text)
    except OSError as error:
        return f"the compiler's input could not be left: {error.strerror}"
    return f"the compiler's input and its command are in {path}"

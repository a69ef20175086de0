"""hipgraft-opt: reads a module, runs passes on it, writes it; in the manners of iree-opt."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from hipgraft.bindings import make_context
from hipgraft.diagnostic_printer import DiagnosticPrinter
from hipgraft.diagnostics import HipgraftError
from hipgraft.tools import opt_flags
from hipgraft.tools.opt_driver import OptDriver
from hipgraft.tools.opt_flags import OptFlags


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the tool and returns its exit status.

    Args:
        arguments: the command line without the program's name; None takes the process's own.
    """
    try:
        return _run(opt_flags.parse(sys.argv[1:] if arguments is None else arguments))
    except HipgraftError as error:
        DiagnosticPrinter(sys.stderr).print_error(error)
        return 1
    except BrokenPipeError:
        # The reader has gone; Python would complain once more when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(flags: OptFlags) -> int:
    if flags.help is not None or flags.list_passes or flags.version:
        sys.stdout.write(_about(flags))
        return 0
    return OptDriver(flags, make_context()).run()


def _about(flags: OptFlags) -> str:
    # Imported only here: most runs need neither the texts nor the passes that they describe.
    from hipgraft.tools import opt_help

    if flags.help is not None:
        return opt_help.help_text(flags.help)
    return opt_help.list_passes() if flags.list_passes else opt_help.version_text()


if __name__ == "__main__":
    sys.exit(main())

"""hipgraft-opt: reads a module, runs passes on it and writes it, like iree-opt."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hipgraft.ir.outputs import standard_output_errors
from hipgraft.tools import opt_flags, running
from hipgraft.tools.opt_flags import OptFlags


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the tool and returns its exit status.

    Args:
        arguments: the command line without the program's name; None takes the process's own.
    """
    given = sys.argv[1:] if arguments is None else arguments
    return running.run_tool(lambda: _run(opt_flags.parse(given)))


def _run(flags: OptFlags) -> int:
    if any(
        (
            flags.help is not None,
            flags.help_list,
            flags.help_hidden,
            flags.list_passes,
            flags.show_dialects,
            flags.version,
        )
    ):
        with standard_output_errors():
            sys.stdout.buffer.write(_about(flags).encode())
            sys.stdout.buffer.flush()
        return 0
    if flags.list_cases:
        from hipgraft.tools.cli import print_cases

        return print_cases(flags.input)
    # Imported here because loading MLIR takes most of the start-up time.
    from hipgraft.ir.bindings import make_context
    from hipgraft.tools.opt_driver import OptDriver

    if words := opt_flags.native_words(flags):
        from hipgraft.tools.native_options import set_options

        set_options(words)  # must precede the context, which reads some of the options
    return OptDriver(flags, make_context()).run()


def _about(flags: OptFlags) -> str:
    # Imported here because most runs need neither the texts nor the passes that they describe.
    from hipgraft.tools import opt_help

    if flags.show_dialects:
        return opt_help.dialects_text()
    if flags.help is not None or flags.help_list or flags.help_hidden:
        return opt_help.help_text(flags.help or "", hidden=flags.help_hidden)
    return opt_help.list_passes() if flags.list_passes else opt_help.version_text()


if __name__ == "__main__":
    sys.exit(main())

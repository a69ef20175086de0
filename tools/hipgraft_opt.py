"""hipgraft-opt: reads a module, runs passes on it, writes it; in the manners of iree-opt."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from hipgraft import ir_io
from hipgraft.bindings import ir, make_context
from hipgraft.diagnostic_printer import DiagnosticPrinter
from hipgraft.diagnostics import HipgraftError
from hipgraft.runner import Runner
from hipgraft.tools import opt_flags
from hipgraft.tools.opt_flags import OptFlags


def main(arguments: Sequence[str] | None = None) -> int:
    printer = DiagnosticPrinter(sys.stderr)
    try:
        flags = opt_flags.parse(sys.argv[1:] if arguments is None else arguments)
        context = make_context()
        data = ir_io.read_bytes(flags.input)
        module = ir_io.parse_file(flags.input, data, context)
        pipeline = flags.pass_pipeline or ",".join(
            p.name if p.options is None else f"{p.name}{{{p.options}}}" for p in flags.passes
        )
        Runner(on_diagnostic=printer.print).run(module, pipeline)
        ir_io.write_output(flags.output, module.operation.get_asm().encode())
    except (HipgraftError, ir.MLIRError) as error:
        if isinstance(error, HipgraftError):
            printer.print_error(error)
        else:
            print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

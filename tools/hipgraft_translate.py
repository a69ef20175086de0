"""hipgraft-translate: converts hipDNN's own files to MLIR, and back."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hipgraft.ir.command_line import Parser
from hipgraft.tools import cli

if TYPE_CHECKING:
    from hipgraft.hipdnn_io import GraphDocument

Translation = Callable[[argparse.Namespace], bytes]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the tool and returns its exit status.

    Args:
        arguments: the command line without the program's name; None takes the process's own.
    """
    parser = _parser()
    flags = parser.parse_args(arguments)
    if flags.translation is None and not flags.list_cases:
        parser.error("one of " + ", ".join(f"--{name}" for name in _TRANSLATIONS) + " is required")
    return cli.run_tool(lambda: _run(flags))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="hipgraft-translate",
        description="Translates hipDNN's graphs, as JSON or as FlatBuffers, to MLIR and back.",
    )
    add = parser.add_argument
    add(
        "input",
        metavar="INPUT",
        nargs="?",
        default="-",
        help="input file, or a graph template's folder; - is standard input",
    )
    add("-o", "--output", default="-", metavar="OUT", help="output file; - is standard output")
    group = parser.add_mutually_exclusive_group()
    for name, (_, text) in _TRANSLATIONS.items():
        group.add_argument(
            f"--{name}", dest="translation", action="store_const", const=name, help=text
        )
    add("--graph", metavar="NAME", help="graph to export, where the module has several")
    cli.add_sweep_case(parser)
    cli.add_list_cases(parser)
    add("--sweep", metavar="FILE", help="the sweep; X.sweep.json for X.graph.template.json")
    add("--version", action=cli.VersionAction)
    return parser


def _run(flags: argparse.Namespace) -> int:
    # Imported here because `--help` and wrong flags need no compiler.
    from hipgraft.ir import io as ir_io

    if flags.list_cases:
        return cli.print_cases(flags.input, flags.sweep)
    translate, _ = _TRANSLATIONS[flags.translation]
    ir_io.write_output(flags.output, translate(flags))
    return 0


def _import_json(flags: argparse.Namespace) -> bytes:
    from hipgraft.hipdnn_io.files import read_json_file, read_json_text

    chosen = (flags.sweep_case, flags.sweep)
    if flags.input != "-":
        return _module_text(read_json_file(flags.input, *chosen))
    return _module_text(read_json_text(sys.stdin.read(), "<stdin>", *chosen))


def _import_flatbuffer(flags: argparse.Namespace) -> bytes:
    from hipgraft import hipdnn_io
    from hipgraft.ir import io as ir_io

    data = ir_io.read_bytes(flags.input)
    return _module_text(hipdnn_io.read_flatbuffer(data, _name(flags.input)))


def _export_json(flags: argparse.Namespace) -> bytes:
    from hipgraft import hipdnn_io

    return hipdnn_io.write_json(_exported(flags)).encode()


def _export_flatbuffer(flags: argparse.Namespace) -> bytes:
    from hipgraft import hipdnn_io
    from hipgraft.hipdnn_io.files import warn

    document = _exported(flags)
    data = hipdnn_io.write_flatbuffer(document)
    warn(document)
    return data


_TRANSLATIONS: dict[str, tuple[Translation, str]] = {
    "import-hipdnn-json": (_import_json, "hipDNN's JSON to a module with a hipdnn.graph"),
    "export-hipdnn-json": (_export_json, "a hipdnn.graph to hipDNN's JSON"),
    "import-hipdnn-fb": (_import_flatbuffer, "hipDNN's FlatBuffer to a module"),
    "export-hipdnn-fb": (_export_flatbuffer, "a hipdnn.graph to hipDNN's FlatBuffer"),
}


def _module_text(document: GraphDocument) -> bytes:
    from hipgraft import hipdnn_io
    from hipgraft.hipdnn_io.files import warn
    from hipgraft.ir.bindings import asm

    module = hipdnn_io.import_document(document)
    warn(document)
    return (asm(module) + "\n").encode()


def _exported(flags: argparse.Namespace) -> GraphDocument:
    from hipgraft import hipdnn_io
    from hipgraft.frontends.torch.text import read_mlir
    from hipgraft.ir.bindings import make_context

    module = read_mlir(Path(flags.input), make_context())
    return hipdnn_io.export_graph(hipdnn_io.find_graph(module, flags.graph))


def _name(path: str) -> str:
    return "<stdin>" if path == "-" else path


if __name__ == "__main__":
    sys.exit(main())

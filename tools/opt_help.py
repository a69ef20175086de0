"""Prints information about hipgraft-opt: `--help`, `--list-passes`, `--version`."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.passmanager import options as pass_options
from hipgraft.passmanager import registry
from hipgraft.tools.opt_flags import flag_fields

PASS_HELP = Path(__file__).with_name("pass_help.json")
"""The rows of our passes and pipelines, by name: importing all of them takes a second.

`make docs` writes them; a test compares them with the passes.
"""

_OVERVIEW = """\
OVERVIEW: hipgraft modular optimizer driver

USAGE: hipgraft-opt [options] [--PASS[=OPTIONS] ...] [FILE]

FILE is MLIR text or bytecode; '-' or none is standard input. A flag that is no option names a
pass or pipeline, ours or MLIR's, and its options:

  hipgraft-opt ops.mlir --hipdnn-outline=wide-virtuals=false --canonicalize="max-iterations=2"

"""


def version_text() -> str:
    """Returns the versions of hipgraft and of its compiler."""
    from importlib.metadata import PackageNotFoundError, version

    versions: list[str] = []
    for distribution in ("hipgraft", "iree-base-compiler"):
        try:
            versions.append(version(distribution))
        except PackageNotFoundError:
            versions.append("(not installed)")
    return f"hipgraft {versions[0]} (IREE {versions[1]})\n"


def dialects_text() -> str:
    """Returns the dialects of MLIR and IREE, and those that are defined in Python."""
    from hipgraft.dialects.source import own_dialects

    first = next(line for line in _iree_opt("--show-dialects").splitlines() if "," in line)
    native = re.split(r", *", first.removeprefix("Available Dialects: "))
    return f"Available Dialects: {', '.join(sorted({*native, *own_dialects()}))}\n"


def help_text(topic: str, *, hidden: bool = False) -> str:
    """Returns the page of a pass or pipeline, or the page of all when `topic` is empty.

    Args:
        topic: a pass or pipeline, ours or a native one.
        hidden: whether passes that are only for tests are listed.

    Raises:
        HipgraftError: there is no such pass.
    """
    if topic:
        return _page(topic)
    options = "".join(_flag_line(name, field) for name, field in flag_fields().items())
    return f"{_OVERVIEW}OPTIONS:\n{options}\n{_own_passes(hidden=hidden)}"


def list_passes() -> str:
    """Returns all passes and pipelines with their options: ours, then MLIR's."""
    return f"{_own_passes(hidden=True)}\nNative {_iree_opt('--list-passes')}"


def _own_passes(*, hidden: bool) -> str:
    lines: list[str] = []
    for title, kind in (("Passes", "pass"), ("Pass Pipelines", "pipeline")):
        lines.append(f"{title}:\n")
        for entry in registry.entries().values():
            if entry.kind == kind and (hidden or not entry.testing):
                lines += _lines_of(entry)
    return "".join(lines)


def rows_of(name: str) -> list[tuple[str, str]]:
    """Imports a pass or pipeline; returns its row in the help and one per option.

    Returns:
        The flag and the meaning of each row.
    """
    options_class, doc = _documented(name)
    rows = [(f"  --{name}", doc.partition("\n")[0])]
    for option in pass_options.describe(options_class):
        default = f" (default: {option.default})" if option.default.strip('"') else ""
        rows.append((f"    --{option.name}=<{option.type_name}>", option.doc + default))
    return rows


def _lines_of(entry: registry.Entry) -> list[str]:
    """Returns the help of a pass, or the reason why a plug-in cannot be imported."""
    is_ours = entry.origin == "hipgraft"
    try:
        rows = (_rows_of_ours().get(entry.name) if is_ours else None) or rows_of(entry.name)
    except Exception as error:
        if is_ours:
            raise
        reason = f"cannot be imported from {entry.origin}: {type(error).__name__}: {error}"
        rows = [(f"  --{entry.name}", " ".join(reason.split()))]
    return [_line(*row) for row in rows]


@cache
def _rows_of_ours() -> dict[str, list[tuple[str, str]]]:
    return json.loads(PASS_HELP.read_text())


def _page(name: str) -> str:
    if name not in registry.entries():
        if native := _native_page(name):
            return native
        raise HipgraftError(f"'{name}' is not a pass or pipeline of hipgraft or MLIR")
    options = "".join(_line(*row) for row in rows_of(name)[1:])
    return f"{name}: {_documented(name)[1]}\n\nOptions:\n{options or '  none'}\n"


def _documented(name: str) -> tuple[type[Any], str]:
    if registry.entries()[name].kind == "pass":
        pass_ = registry.pass_class(name)
        return pass_, inspect.getdoc(pass_) or ""
    pipeline = registry.named_pipeline(name)
    return pipeline.config, pipeline.doc


def _native_page(name: str) -> str:
    """Returns MLIR's help on a native pass and its options; empty if there is none."""
    lines = _iree_opt("--help").splitlines()
    start = next(
        (n for n, line in enumerate(lines) if re.match(rf" +--{re.escape(name)} ", line)), -1
    )
    if start < 0:
        return ""
    indent = len(lines[start]) - len(lines[start].lstrip())
    rest = takewhile(lambda line: re.match(rf" {{{indent + 1},}}--| +=", line), lines[start + 1 :])
    return "\n".join(
        [lines[start].strip(), *(line.removeprefix(" " * indent) for line in rest), ""]
    )


def _flag_line(name: str, field: dataclasses.Field[Any]) -> str:
    value = field.metadata["value"]
    optional = field.metadata["bare"] is not None
    suffix = "" if not value else f"[=<{value}>]" if optional else f"=<{value}>"
    dashes = "-" if len(name) == 1 else "--"
    return _line(f"  {dashes}{name}{suffix}", field.metadata["doc"])


def _line(left: str, right: str) -> str:
    return f"{left:<52} - {right}\n"


def _iree_opt(*arguments: str) -> str:
    # Imported here because it loads the bindings.
    from hipgraft.tools.native_options import iree_opt

    return iree_opt(*arguments)

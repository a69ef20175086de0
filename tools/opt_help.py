"""Prints information about hipgraft-opt: `--help`, `--list-passes`, `--version`."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from itertools import takewhile
from typing import Any

from hipgraft.frontends.source import own_dialects
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.passmanager import options as pass_options
from hipgraft.passmanager import registry
from hipgraft.tools.native_options import iree_opt
from hipgraft.tools.opt_flags import flag_fields

_OVERVIEW = """\
OVERVIEW: hipgraft modular optimizer driver

USAGE: hipgraft-opt [options] [--PASS[=OPTIONS] ...] [FILE]

FILE is MLIR text or bytecode; '-' or none is standard input. A flag that is no option names a
pass or pipeline, ours or MLIR's, and its options:

  hipgraft-opt ops.mlir --hipdnn-outline=wide-virtuals=false --canonicalize="max-iterations=2"

"""


def version_text() -> str:
    """Returns the versions of hipgraft and of the compiler that it is made for."""
    return f"hipgraft {_version('hipgraft')} (IREE {_version('iree-base-compiler')})\n"


def dialects_text() -> str:
    """Returns the dialects of MLIR and IREE, and those that are defined in Python."""
    first = next(line for line in iree_opt("--show-dialects").splitlines() if "," in line)
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
    return f"{_own_passes(hidden=True)}\nNative {iree_opt('--list-passes')}"


def _own_passes(*, hidden: bool) -> str:
    lines: list[str] = []
    for title, kind in (("Passes", "pass"), ("Pass Pipelines", "pipeline")):
        lines.append(f"{title}:\n")
        for entry in registry.entries().values():
            if entry.kind == kind and (hidden or not entry.testing):
                lines += _lines_of(entry)
    return "".join(lines)


def _lines_of(entry: registry.Entry) -> list[str]:
    """The help for a pass; for a plug-in that cannot be imported, the reason."""
    try:
        return list(_entry_lines(entry.name))
    except Exception as error:
        if entry.origin == "hipgraft":
            raise
        reason = f"cannot be imported from {entry.origin}: {type(error).__name__}: {error}"
        return [_line(f"  --{entry.name}", " ".join(reason.split()))]


def _entry_lines(name: str) -> Iterator[str]:
    options_class, doc = _documented(name)
    yield _line(f"  --{name}", doc.partition("\n")[0])
    for option in pass_options.describe(options_class):
        default = f" (default: {option.default})" if option.default else ""
        yield _line(f"    --{option.name}=<{option.type_name}>", option.doc + default)


def _page(name: str) -> str:
    if name not in registry.entries():
        if native := _native_page(name):
            return native
        raise HipgraftError(f"'{name}' is not a pass or pipeline of hipgraft or MLIR")
    lines = list(_entry_lines(name))
    return f"{name}: {_documented(name)[1]}\n\nOptions:\n{''.join(lines[1:]) or '  none'}\n"


def _documented(name: str) -> tuple[type[Any], str]:
    if registry.entries()[name].kind == "pass":
        pass_ = registry.pass_class(name)
        return pass_, inspect.getdoc(pass_) or ""
    pipeline = registry.named_pipeline(name)
    return pipeline.config, pipeline.doc


def _native_page(name: str) -> str:
    """Returns what MLIR's help says of a native pass and its options; empty if there is none."""
    lines = iree_opt("--help").splitlines()
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


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "(not installed)"

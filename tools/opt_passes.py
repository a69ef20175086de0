"""Converts passes on hipgraft-opt's command line to pipeline text."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from hipgraft.ir.bindings import ir, passmanager
from hipgraft.passmanager import registry
from hipgraft.tools import native_options
from hipgraft.tools.opt_flags import PassFlag, UsageError, flag_fields

_RESTRICTED = re.compile(r"restricted to '([^']+)'")


def pipeline_of_flags(flags: Sequence[PassFlag], context: ir.Context) -> str:
    """Returns the pipeline text of pass flags in their order, and sets options of the compiler.

    A native pass on smaller ops is nested on them, as iree-opt does.

    Raises:
        UsageError: a flag names neither a pass nor a pipeline.
    """
    elements = [_element(flag, context) for flag in flags]
    others = [flag for flag, element in zip(flags, elements, strict=True) if element is None]
    if others:
        _set_options(others)
    return ",".join(element for element in elements if element is not None)


def _set_options(flags: Sequence[PassFlag]) -> None:
    """Sets options of the compiler, such as `--iree-codegen-...`."""
    known = native_options.known_options()
    for flag in flags:
        if (reason := native_options.LACKING.get(flag.name)) is not None:
            raise UsageError(f"'--{flag.name}' is an option of iree-opt only: {reason}")
        if flag.name not in known:
            raise UsageError(_unknown_flag(flag.name))
    given = ((flag.name, "" if flag.options is None else f"={flag.options}") for flag in flags)
    native_options.set_options([f"--{name}{value}" for name, value in given])


def check_names(option: str, names: Iterable[str], context: ir.Context) -> None:
    """Checks that each name in the value of `option` is a pass.

    Raises:
        UsageError: a name is not a pass.
    """
    for name in names:
        if name not in registry.entries() and _native_anchor(name, context) is None:
            raise UsageError(f"for the --{option} option: cannot find a pass named '{name}'")


def _element(flag: PassFlag, context: ir.Context) -> str | None:
    """Returns the text of a pass; None if the flag is not a pass."""
    text = flag.name if flag.options is None else f"{flag.name}{{{flag.options}}}"
    if flag.name in registry.entries():
        return text
    anchor = _native_anchor(flag.name, context)
    if anchor is None:
        return None
    return f"{anchor}({text})" if anchor else text


def _native_anchor(name: str, context: ir.Context) -> str | None:
    """Returns the op that a native pass must be nested on, empty for none; None if unknown."""
    if not re.fullmatch(r"[\w.-]+", name):
        return None
    try:
        passmanager.PassManager.parse(f"builtin.module({name})", context)
    except ValueError as error:
        restricted = _RESTRICTED.search(str(error))
        return restricted[1] if restricted else None
    return ""


def _unknown_flag(name: str) -> str:
    message = f"unknown command line argument '--{name}'; try 'hipgraft-opt --help'"
    nearest = difflib.get_close_matches(name, [*flag_fields(), *registry.entries()], n=1)
    return f"{message}; did you mean '--{nearest[0]}'?" if nearest else message

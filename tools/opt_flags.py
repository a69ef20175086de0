"""Defines the flags of hipgraft-opt, and parses its command line.

The flags are the fields of `OptFlags`. Any other flag names a pass or pipeline, which run in the
order of the command line.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_origin, get_type_hints

from hipgraft.ir.diagnostics import HipgraftError

_ALIASES = {"h": "help", "p": "pass-pipeline"}


class UsageError(HipgraftError):
    """The command line is invalid."""


def flag(
    default: Any,
    doc: str,
    *,
    value: str = "",
    bare: str | None = None,
    name: str = "",
    choices: Sequence[str] = (),
    native: bool = False,
) -> Any:
    """Declares a flag.

    Args:
        default: value of an absent flag.
        doc: line in `--help`.
        value: placeholder for the value in `--help`.
        bare: value of the flag without `=`; None if the next word is the value.
        name: name of the flag, if it differs from the field's.
        choices: allowed values, if there are few.
        native: whether the flag is passed to the compiler's library.
    """
    metadata = {"doc": doc, "value": value or "|".join(choices), "bare": bare, "name": name}
    metadata |= {"choices": choices, "native": native}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True)
class PassFlag:
    """A flag that names a pass or pipeline; `options` is the text after `=`."""

    name: str
    options: str | None


@dataclass(frozen=True)
class OptFlags:
    """The flags of hipgraft-opt, after the input and the passes."""

    input: str = "-"
    passes: tuple[PassFlag, ...] = ()

    output: str = flag("-", "Write here instead of to standard output", value="FILE", name="o")
    pass_pipeline: str | None = flag(None, "Run this textual pass pipeline", value="TEXT")
    allow_unregistered_dialect: bool = flag(False, "Accept ops of unknown dialects")
    color: str = flag(
        "auto", "Print diagnostics in colour; by default on a terminal", bare="true",
        choices=("auto", "true", "false"),
    )  # fmt: skip
    debug_only: tuple[str, ...] = flag((), "Let these passes print what they do", value="PASS,...")
    dump_pass_pipeline: bool = flag(False, "Print the pipeline before running it")
    emit_bytecode: bool = flag(False, "Write bytecode instead of text")
    emit_bytecode_version: int | None = flag(None, "Write this version of bytecode", value="N")
    help: str | None = flag(
        None, "Print this page, or all that is known of a pass", value="PASS", bare=""
    )
    help_hidden: bool = flag(False, "Print this page with passes that are only for tests")
    help_list: bool = flag(False, "Print this page")
    list_passes: bool = flag(False, "Print all passes and pipelines")
    list_cases: bool = flag(False, "Print the cases of the input, a hipDNN graph template")
    migraphx_kernel_info: bool = flag(
        False, "Print the names and launch sizes of merged kernels instead of the module"
    )
    mlir_disable_diagnostic_notes: bool = flag(False, "Leave out notes", native=True)
    mlir_disable_threading: bool = flag(True, "Run native passes on one thread; always so")
    mlir_elide_elementsattrs_if_larger: int | None = flag(
        None, "Print elements attributes of more elements as '...'", value="N"
    )
    mlir_elide_resource_strings_if_larger: int | None = flag(
        None, "Print no resource of more characters", value="N"
    )
    mlir_generate_reproducer: str | None = flag(
        None, "Write the input and the pipeline here as a reproducer", value="FILE"
    )
    mlir_pass_pipeline_crash_reproducer: str | None = flag(
        None, "Leave the reproducer of a failure or crash here", value="FILE"
    )
    mlir_pass_pipeline_local_reproducer: bool = flag(
        True, "Put only the failing pass into the reproducer; always so"
    )
    mlir_pass_statistics: bool = flag(False, "Print what passes counted")
    mlir_pass_statistics_display: str = flag(
        "list", "Order of native statistics", choices=("list", "pipeline")
    )
    mlir_pretty_debuginfo: bool = flag(False, "Print locations briefly", native=True)
    mlir_print_debuginfo: bool = flag(False, "Print locations")
    mlir_print_elementsattrs_with_hex_if_larger: int | None = flag(
        None, "Print elements attributes of more elements in hexadecimal", value="N", native=True
    )
    mlir_print_ir_after: tuple[str, ...] = flag((), "Print after these passes", value="PASS,...")
    mlir_print_ir_after_all: bool = flag(False, "Print after each pass")
    mlir_print_ir_after_change: bool = flag(False, "Print after passes only if they changed it")
    mlir_print_ir_after_failure: bool = flag(False, "Print after a pass that failed")
    mlir_print_ir_before: tuple[str, ...] = flag((), "Print before these passes", value="PASS,...")
    mlir_print_ir_before_all: bool = flag(False, "Print before each pass")
    mlir_print_ir_module_scope: bool = flag(False, "Print the whole module for nested passes too")
    mlir_print_ir_tree_dir: str | None = flag(
        None, "Write printed IR into files in this folder", value="DIR"
    )
    mlir_print_local_scope: bool = flag(False, "Print without aliases")
    mlir_print_op_generic: bool = flag(False, "Print the generic form")
    mlir_print_op_on_diagnostic: bool = flag(True, "Print the op with a diagnostic", native=True)
    mlir_print_skip_regions: bool = flag(False, "Print no regions", native=True)
    mlir_print_stacktrace_on_diagnostic: bool = flag(
        False, "Print the stack with a diagnostic", native=True
    )
    mlir_print_unique_ssa_ids: bool = flag(
        False, "Print values by numbers that are unique in the module", native=True
    )
    mlir_print_value_users: bool = flag(False, "Print the users of values", native=True)
    mlir_timing: bool = flag(False, "Print the time of each pass")
    mlir_timing_display: str = flag(
        "tree", "In the order of the passes, or by time", choices=("tree", "list")
    )
    mlir_use_nameloc_as_prefix: bool = flag(False, "Name values after their locations", native=True)
    no_implicit_module: bool = flag(False, "Put no module around the input")
    output_split_marker: str = flag(
        "// -----", "Put this line between parts of the output", value="MARKER"
    )
    print_native: bool = flag(
        False,
        "Print migraphx operations in rocMLIR's syntax; without passes, rules are not checked",
    )
    remarks: str | None = flag(
        None, "Print remarks, or write them to this file as YAML", value="FILE", bare=""
    )
    run_reproducer: bool = flag(False, "Run the pipeline that the input says")
    show_dialects: bool = flag(False, "Print the dialects that the input may hold")
    sweep_case: str | None = flag(
        None, "Case of the input, a hipDNN graph template; by default the only one", value="ID"
    )
    split_input_file: str | None = flag(
        None, "Take each part of the input, between lines of '// -----', alone",
        value="MARKER", bare="// -----",
    )  # fmt: skip
    verify_contracts: bool = flag(False, "Check what passes require and ensure")
    verify_diagnostics: bool = flag(False, "Check 'expected-error' and its kind in the input")
    verify_each: bool = flag(True, "Verify before the first and after each pass")
    verify_roundtrip: bool = flag(False, "Check that the input is read back as it is printed")
    version: bool = flag(False, "Print versions")


def native_words(flags: OptFlags) -> list[str]:
    """Returns the flags for the compiler's library that differ from their defaults."""
    words: list[str] = []
    for name, field in flag_fields().items():
        value = getattr(flags, field.name)
        if field.metadata["native"] and value != field.default:
            words.append(f"--{name}={str(value).lower()}")
    return words


def flag_fields() -> dict[str, dataclasses.Field[Any]]:
    """Returns the fields that are flags, by their name on the command line."""
    fields = (field for field in dataclasses.fields(OptFlags) if field.metadata)
    return {field.metadata["name"] or field.name.replace("_", "-"): field for field in fields}


def parse(arguments: Sequence[str]) -> OptFlags:
    """Reads a command line.

    Raises:
        UsageError: a value is missing or wrong, or there are two inputs.
    """
    known = flag_fields()
    types = get_type_hints(OptFlags)
    values: dict[str, Any] = {}
    passes: list[PassFlag] = []
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == "-" or not word.startswith("-"):
            if "input" in values:
                raise UsageError(f"too many positional arguments: '{word}'")
            values["input"] = word
            continue
        name, equals, text = word.removeprefix("-").removeprefix("-").partition("=")
        name = _ALIASES.get(name, name)
        field = known.get(name)
        if field is None:
            passes.append(PassFlag(name, text if equals else None))
            continue
        kind = types[field.name]
        text = text if equals else _bare_value(name, field, kind, words)
        value = _convert(name, text, kind)
        if (choices := field.metadata["choices"]) and value not in choices:
            raise UsageError(
                f"for the --{name} option: expected one of {', '.join(choices)}, found '{text}'"
            )
        # A list flag may be given several times.
        values[field.name] = values.get(field.name, ()) + value if _is_list(kind) else value
    return OptFlags(passes=tuple(passes), **values)


def _bare_value(name: str, field: dataclasses.Field[Any], kind: Any, words: list[str]) -> str:
    if kind is bool:
        return "true"
    if field.metadata["bare"] is not None:
        return field.metadata["bare"]
    if not words:
        raise UsageError(f"for the --{name} option: requires a value!")
    return words.pop(0)


def _convert(name: str, text: str, kind: Any) -> Any:
    if _is_list(kind):
        return tuple(item for item in text.split(",") if item)
    if kind is bool:
        if text.lower() not in ("true", "false", "1", "0"):
            raise UsageError(f"for the --{name} option: '{text}' is no boolean; try 0 or 1")
        return text.lower() in ("true", "1")
    if int in get_args(kind):
        if not (text.isascii() and text.isdigit() and len(text) < 19):
            raise UsageError(f"for the --{name} option: '{text}' is no number")
        return int(text)
    return text


def _is_list(kind: Any) -> bool:
    return get_origin(kind) is tuple

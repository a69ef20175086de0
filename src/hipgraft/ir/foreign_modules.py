"""Checks modules from outside for properties at which MLIR or its bindings crash.

The checks scan text for brackets that nest so deeply that parsing, verifying or printing would
overflow the stack, and for aliases that expand beyond the memory. Bytecode, and text with forms
that crash MLIR or its bindings, is first read in a copy of the process.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hipgraft.ir.bindings import ir
from hipgraft.ir.contained import why_lost
from hipgraft.ir.diagnostics import HipgraftError

DEEPEST = 256
"""Limit on the nesting of brackets, regions and aliases in a module; models nest about 30 levels.
Stacks hold some ten thousand levels of MLIR's recursion, and 1000 of Python's passes."""

_LEAST_SECONDS = 4  # CPU time limit for the smallest files, which are read in milliseconds
_BYTES_A_SECOND = 1 << 20
_LARGEST_ALIAS = 1 << 20  # attributes; the text of any real module is longer
_FEW_ELEMENTS = 16
_NO_BRACKETS = bytes(set(range(256)) - set(b"()[]{}<>"))
_ODD_ESCAPE = re.compile(rb"\\[89A-Fa-f][0-9A-Fa-f]")
# MLIR's verifiers and printers crash on elements of a memref, and on binaries without a handler.
_MEMREF_ELEMENTS = b"> : memref<"
_GENERIC_BINARY = b'"gpu.binary"('
_STRING_OR_COMMENT = re.compile(rb'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|//[^\n]*')
_ARROW = re.compile(rb"->|[<>]=")
_ALIAS = re.compile(rb"^[ \t]*([#!][\w.$-]+)[ \t]*=([^\n]*[#!][^\n]*)$", re.MULTILINE)
_ALIAS_NAME = re.compile(rb"[#!][\w.$-]+")
# Ops whose string attributes hold bytes.
_BINARY = frozenset({"gpu.binary", "hipdnn.custom_op", "hipdnn.executable", "llvm.mlir.global"})


def check_text(data: bytes, location: str, parse: Callable[[], ir.Module | ir.OpView]) -> None:
    """Checks the text of a module.

    Args:
        data: the text.
        location: location of the file, for errors.
        parse: parses the text.

    Raises:
        HipgraftError: it nests or expands too deeply, or a name or location is not UTF-8.
    """
    check_nesting(data, location)
    if _is_odd(data):
        check_reader(len(data), location, parse)


def _is_odd(data: bytes) -> bool:
    """Returns whether text may have a form at which reading or printing crashes."""
    handlers = data.count(b"offloadingHandler")
    return bool(
        _ODD_ESCAPE.search(data)
        or _MEMREF_ELEMENTS in data
        or data.count(_GENERIC_BINARY) > handlers
    )


def check_reader(nbytes: int, location: str, parse: Callable[[], ir.Module | ir.OpView]) -> None:
    """Checks in a copy of the process that a file can be read.

    Args:
        nbytes: size of the file, which bounds the time.
        location: location of the file, for errors.
        parse: parses the file.

    Raises:
        HipgraftError: the reader crashes or does not end, or its module crashes verifiers or
            printers.
    """
    busy_seconds = _LEAST_SECONDS + nbytes // _BYTES_A_SECOND
    reason = why_lost(lambda: _try(parse), busy_seconds=busy_seconds)
    if reason:
        raise HipgraftError(f"malformed module: {reason}", location=location)


def check_nesting(data: bytes, location: str) -> None:
    """Checks how deeply brackets and aliases nest.

    Raises:
        HipgraftError: they nest more than `DEEPEST` levels, or an alias expands too far.
    """
    # Almost all files end here: a few passes over few bytes remove each pair of brackets.
    if _depth(data) > DEEPEST and _depth(_STRING_OR_COMMENT.sub(b"", data)) > DEEPEST:
        raise HipgraftError(f"nested more than {DEEPEST} levels", location=location)
    _check_aliases(data, location)


def _depth(data: bytes) -> int:
    """Returns how deeply brackets nest; each bracket without a partner counts as one level."""
    brackets = _ARROW.sub(b"", data).translate(None, _NO_BRACKETS)
    depth, length = 0, -1
    while len(brackets) != length and depth <= DEEPEST:
        depth, length = depth + 1, len(brackets)
        for pair in (b"()", b"[]", b"{}", b"<>"):
            brackets = brackets.replace(pair, b"")
    return depth + max(brackets.count(opening) for opening in b"([{<")


def _check_aliases(data: bytes, location: str) -> None:
    levels: dict[bytes, int] = {}
    sizes: dict[bytes, int] = {}
    for name, value in _ALIAS.findall(data):
        used = _ALIAS_NAME.findall(value)
        levels[name] = 1 + max((levels.get(each, 0) for each in used), default=0)
        sizes[name] = 1 + sum(sizes.get(each, 1) for each in used)
        if levels[name] > DEEPEST or sizes[name] > _LARGEST_ALIAS:
            alias = name.decode(errors="replace")
            raise HipgraftError(f"alias '{alias}' is nested too deeply", location=location)


def _try(parse: Callable[[], ir.Module | ir.OpView]) -> None:
    try:
        op = parse().operation
    except (ir.MLIRError, HipgraftError):
        return  # the caller will get the same error
    text = op.get_asm(
        large_elements_limit=_FEW_ELEMENTS,
        large_resource_limit=_FEW_ELEMENTS,
        enable_debug_info=True,
    ).encode()
    check_nesting(text, "")
    if _ODD_ESCAPE.search(text):
        _read_strings(op)


def _read_strings(op: ir.Operation) -> None:
    """Reads each name, location and string, as passes do; the bindings crash at malformed ones."""
    try:
        _read_location(op.location)
        is_binary = op.name in _BINARY
        for number in range(len(op.attributes)):
            named = op.attributes[number]
            _read_attribute(named.name, named.attr, is_binary=is_binary)
    except (RuntimeError, UnicodeDecodeError):
        raise HipgraftError("a name, location or string is not UTF-8") from None
    for region in op.regions:
        for block in region.blocks:
            for argument in block.arguments:
                _read_location(argument.location)
            for nested in block.operations:
                _read_strings(nested.operation)


def _read_location(location: ir.Location) -> None:
    if isinstance(location, ir.FileLineColLoc):
        _ = location.filename
    elif isinstance(location, ir.NameLoc):
        _ = location.name_str
        _read_location(location.child_loc)
    elif isinstance(location, ir.CallSiteLoc):
        _read_location(location.callee)
        _read_location(location.caller)
    elif isinstance(location, ir.FusedLoc):
        for each in location.locations:
            _read_location(each)


def _read_attribute(name: str, value: ir.Attribute, *, is_binary: bool) -> None:
    if isinstance(value, ir.StringAttr):
        _ = value.value_bytes if is_binary and name != "sym_name" else value.value
    elif isinstance(value, ir.FlatSymbolRefAttr | ir.SymbolRefAttr):
        _ = value.value
    elif isinstance(value, ir.ArrayAttr):
        for each in value:
            _read_attribute(name, each, is_binary=is_binary)
    elif isinstance(value, ir.DictAttr):
        for number in range(len(value)):
            _read_attribute(value[number].name, value[number].attr, is_binary=is_binary)

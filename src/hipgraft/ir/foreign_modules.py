"""Modules from outside: checks what neither MLIR nor its bindings withstand, before they read it.

Text is scanned: brackets that nest so deeply that parsing, verifying or printing would overflow the
stack, and aliases that expand to more than the memory holds. Bytecode, and text with forms at which
MLIR or its bindings crash, is read in a copy of the process first.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hipgraft.ir.bindings import ir
from hipgraft.ir.contained import why_lost
from hipgraft.ir.diagnostics import HipgraftError

DEEPEST = 256
"""Levels of brackets, regions and aliases that a module may have; models have about 30. Stacks hold
some ten thousand levels of MLIR's, and Python's passes 1000 calls."""

_LEAST_SECONDS = 4  # of the processor, for the smallest file; they are read in milliseconds
_BYTES_A_SECOND = 1 << 20
_LARGEST_ALIAS = 1 << 20  # attributes; the text of a module is far longer
_FEW_ELEMENTS = 16
_NO_BRACKETS = bytes(set(range(256)) - set(b"()[]{}<>"))
_ODD_ESCAPE = re.compile(rb"\\[89A-Fa-f][0-9A-Fa-f]")
# MLIR's verifiers and printers crash at elements of a memref, and at binaries without a handler.
_MEMREF_ELEMENTS = b"> : memref<"
_GENERIC_BINARY = b'"gpu.binary"('
_STRING_OR_COMMENT = re.compile(rb'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|//[^\n]*')
_ARROW = re.compile(rb"->|[<>]=")
_ALIAS = re.compile(rb"^[ \t]*([#!][\w.$-]+)[ \t]*=([^\n]*[#!][^\n]*)$", re.MULTILINE)
_ALIAS_NAME = re.compile(rb"[#!][\w.$-]+")
# Of these ops, strings hold bytes.
_BINARY = frozenset({"gpu.binary", "hipdnn.custom_op", "hipdnn.executable", "llvm.mlir.global"})


def check_text(data: bytes, location: str, parse: Callable[[], ir.Module | ir.OpView]) -> None:
    """Checks the text of a module.

    Args:
        data: the text.
        location: of the file, for errors.
        parse: parses it.

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
    """Checks what a reader makes of a file that it may not withstand.

    Args:
        nbytes: size of the file, which bounds the time.
        location: of the file, for errors.
        parse: parses it.

    Raises:
        HipgraftError: the reader crashes or does not end; or it makes a module that others do not
            withstand.
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
    # Almost all text is done here: few passes over few bytes remove each pair of brackets.
    if _depth(data) > DEEPEST and _depth(_STRING_OR_COMMENT.sub(b"", data)) > DEEPEST:
        raise HipgraftError(f"nested more than {DEEPEST} levels", location=location)
    _check_aliases(data, location)


def _depth(data: bytes) -> int:
    """Returns how deeply brackets nest; brackets without a partner count one each."""
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
    """Reads each name, location and string, as passes do; the bindings crash at one that is odd."""
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

"""Parses MLIR sources, text or bytecode, with locations in their files."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from hipgraft.ir import io as ir_io
from hipgraft.ir.activity import doing
from hipgraft.ir.bindings import ir
from hipgraft.ir.bytecode import parse_bytecode
from hipgraft.ir.diagnostics import MEMORY_NAME, VerifyError
from hipgraft.ir.foreign_modules import check_reader, check_text

T = TypeVar("T", bound="ir.Module | ir.OpView")


def parse_file(path: str, data: bytes, context: ir.Context) -> ir.Module:
    """Parses a whole source; its locations name `path` as given.

    Several ops at the top are put into a module.

    Raises:
        ir.MLIRError: it does not parse or verify; the context's handlers hold the diagnostics.
    """
    if _holds_migraphx(data):
        return parse_chunk(ir_io.decode(data, path), 1, path, context)
    # Only if MLIR reads the file itself do locations have the file's name; a pipe can be read
    # only once.
    if Path(path).is_file() and (_is_mapped(path) or not ir_io.is_bytecode_file(path)):
        size = Path(path).stat().st_size
        source = size if ir_io.is_bytecode_file(path) else data or ir_io.read_bytes(path)
        return _checked(source, path, lambda: ir.Module.parseFile(path, context))
    data = data or ir_io.read_bytes(path)
    if ir_io.is_bytecode(data):
        return _checked(len(data), path, lambda: parse_bytecode(data, context))
    return _checked(data, path, lambda: ir.Module.parse(ir_io.decode(data, path), context))


def _checked(source: bytes | int, path: str, parse: Callable[[], T]) -> T:
    """Parses text or bytecode after checking that it does not crash the parser."""
    doing(f"parsing {ir_io.shown_path(path)}")
    if isinstance(source, int):
        check_reader(source, path, parse)
    else:
        check_text(source, path, parse)
    return parse()


def parse_chunk(text: str, line: int, name: str, context: ir.Context) -> ir.Module:
    """Parses a part of a source that begins at 1-based `line`, with the source's own locations."""
    if _holds_migraphx(text.encode()):
        # Imported here, because most modules do not use the dialect.
        from hipgraft.dialects.migraphx.parsing import parse_module

        parse = partial(parse_module, text, line, name, context)
    else:
        parse = partial(ir.Module.parse, "\n" * (line - 1) + text, context)
    module = _checked(text.encode(), name, parse)
    _name_source(module, name)
    return module


def parse_op(text: str, name: str, context: ir.Context) -> ir.OpView:
    """Parses the one op of a source, which need not be a module.

    Raises:
        ir.MLIRError: it does not parse or verify; the context's handlers hold the diagnostics.
    """
    return _checked(
        text.encode(), name, lambda: ir.Operation.parse(text, source_name=name, context=context)
    )


def check_registered(op: ir.Operation) -> None:
    """Checks that each op is known to MLIR or belongs to a dialect that is defined in Python.

    Raises:
        VerifyError: an op is unknown; at the first such op.
    """
    own = own_dialects()
    for each in ir_io.walk(op):
        name = each.name
        if name.partition(".")[0] in own or each.context.is_registered_operation(name):
            continue
        raise VerifyError(
            f"'{name}' op created with unregistered dialect. If this is intended, please use "
            "--allow-unregistered-dialect",
            each,
        )


def own_dialects() -> frozenset[str]:
    """Returns the names of the dialects that are defined in Python."""
    root = Path(__file__).parent
    return frozenset(path.name for path in root.iterdir() if (path / "__init__.py").is_file())


def _is_mapped(path: str) -> bool:
    """Whether LLVM maps a file, which requires a zero byte after its end; small files are read."""
    size = Path(path).stat().st_size
    return size >= 4 * mmap.PAGESIZE and size % mmap.PAGESIZE != 0


def _holds_migraphx(data: bytes) -> bool:
    return b"migraphx." in data and not ir_io.is_bytecode(data)


def _name_source(module: ir.Module, name: str) -> None:
    with module.context:
        for op in ir_io.walk(module.operation):
            location = op.location
            if isinstance(location, ir.FileLineColLoc) and location.filename == MEMORY_NAME:
                op.location = ir.Location.file(name, location.start_line, location.start_col)

"""Modules in from files, text or bytecode, and out to files, whole or not at all."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterator
from pathlib import Path

from hipgraft.bindings import ir
from hipgraft.bytecode import parse_bytecode
from hipgraft.diagnostics import MEMORY_NAME, HipgraftError, VerifyError
from hipgraft.element_types import byte_size
from hipgraft.outputs import replacing

STDIN_NAME = "<stdin>"
RESOURCE_ALIGNMENT = 16
"""Bytes. MLIR reads bytecode only where the memory that it is in has its resources' alignment, and
no allocator promises more than this."""

MOST_DIGITS = 1 << 21
"""Hexadecimal digits of a resource in text that nobody asked for: a mebibyte."""

# By op, the attribute that may hold elements.
_CONSTANTS = {
    "arith.constant": "value",
    "memref.global": "initial_value",
    "torch.operator": "torch.onnx.value",
    "torch.vtensor.literal": "value",
}
_BYTECODE_MAGIC = b"ML\xefR"


def is_bytecode_file(path: str | Path) -> bool:
    """Returns whether a file begins like bytecode, which MLIR maps."""
    try:
        with Path(path).open("rb") as file:
            return is_bytecode(file.read(len(_BYTECODE_MAGIC)))
    except OSError:
        return False


def read_bytes(path: str) -> bytes:
    """Reads a file, or standard input for `-`.

    Raises:
        HipgraftError: it cannot be read.
    """
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise HipgraftError(f"cannot open input file '{path}': {error.strerror}") from None


def is_bytecode(data: bytes) -> bool:
    """Returns whether data is MLIR bytecode rather than text."""
    return data.startswith(_BYTECODE_MAGIC)


def decode(data: bytes, name: str) -> str:
    """Returns the text of a source.

    Raises:
        HipgraftError: it is not UTF-8; located at the first bad byte.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        location = f"{name}:{line}:{column}"
        raise HipgraftError("invalid UTF-8 in MLIR text", location=location) from None


def parse_file(path: str, data: bytes, context: ir.Context) -> ir.Module:
    """Parses a whole source; its locations name `path` as given.

    Several ops at the top are put into a module.

    Raises:
        ir.MLIRError: it does not parse or verify; the context's handlers hold the diagnostics.
    """
    if _holds_migraphx(data):
        return parse_chunk(decode(data, path), 1, path, context)
    # Only MLIR's own reading of a file puts the file's name into locations, and a pipe can be
    # read only once.
    if Path(path).is_file() and (_is_mapped(path) or not is_bytecode_file(path)):
        return ir.Module.parseFile(path, context)
    data = data or read_bytes(path)
    if is_bytecode(data):
        return parse_bytecode(data, context)
    return ir.Module.parse(decode(data, path), context)


def parse_chunk(text: str, line: int, name: str, context: ir.Context) -> ir.Module:
    """Parses a part of a source that begins at 1-based `line`, with the source's own locations."""
    if _holds_migraphx(text.encode()):
        # Imported only here: other modules do not pay for the dialect.
        from hipgraft.dialects.migraphx.parsing import parse_module

        module = parse_module(text, line, name, context)
    else:
        module = ir.Module.parse("\n" * (line - 1) + text, context)
    _name_source(module, name)
    return module


def parse_op(text: str, name: str, context: ir.Context) -> ir.OpView:
    """Parses the one op of a source, which need not be a module.

    Raises:
        ir.MLIRError: it does not parse or verify; the context's handlers hold the diagnostics.
    """
    return ir.Operation.parse(text, source_name=name, context=context)


def clone_module(module: ir.Module) -> ir.Module:
    """Returns a copy in the same context."""
    with module.context, module.operation.location:
        copy = ir.Module.create()
        for position in range(len(module.operation.attributes)):
            named = module.operation.attributes[position]
            copy.operation.attributes[named.name] = named.attr
        for op in module.body.operations:
            copy.body.append(op.operation.clone(ip=False))
    return copy


def check_registered(op: ir.Operation) -> None:
    """Checks that each op is known to MLIR or belongs to a dialect that is defined in Python.

    Raises:
        VerifyError: at the first op that does not.
    """
    own_dialects = _own_dialects()
    for each in walk(op):
        name = each.name
        if name.partition(".")[0] in own_dialects or each.context.is_registered_operation(name):
            continue
        raise VerifyError(
            f"'{name}' op created with unregistered dialect. If this is intended, please use "
            "--allow-unregistered-dialect",
            each,
        )


def walk(op: ir.Operation) -> Iterator[ir.Operation]:
    """Yields `op` and all ops nested in it, outer ones first."""
    yield op
    for region in op.regions:
        for block in region.blocks:
            for nested in block.operations:
                yield from walk(nested.operation)


def function_blocks(module: ir.Module) -> list[ir.Block]:
    """Returns the blocks of a module's functions, in order."""
    return [
        block
        for op in module.body.operations
        if op.operation.name == "func.func"
        for block in op.operation.regions[0].blocks
    ]


def write_output(path: str, data: bytes) -> None:
    """Writes a file, or standard output for `-`; a file is replaced only as a whole."""
    if path == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def write_module(
    path: str, module: ir.Module, *, bytecode: bool = False, elide_above: int | None = None
) -> None:
    """Writes a module to a file, or to standard output for `-`.

    Args:
        path: of the file, which is replaced only as a whole.
        module: any module.
        bytecode: bytecode instead of text; it is never in memory as a whole.
        elide_above: leave resources with more hexadecimal digits than this out of the text. None
            writes all.

    Raises:
        HipgraftError: the file cannot be written.
    """
    if not bytecode:
        text = module.operation.get_asm(large_resource_limit=elide_above)
        write_output(path, (text + "\n").encode())
    elif path == "-":
        module.operation.write_bytecode(sys.stdout.buffer)
        sys.stdout.buffer.flush()
    else:
        with replacing(path) as temporary, temporary.open("wb") as file:
            module.operation.write_bytecode(file)


def largest_resource(module: ir.Module) -> int:
    """Returns the bytes of the largest resource that a constant of the module refers to."""
    return max((_resource_bytes(op) for op in walk(module.operation)), default=0)


def _resource_bytes(op: ir.Operation) -> int:
    name = _CONSTANTS.get(op.name)
    if name is None or name not in op.attributes:
        return 0
    value = op.attributes[name]
    # Only a resource is no list of elements.
    if isinstance(value, ir.DenseElementsAttr) or not isinstance(value.type, ir.RankedTensorType):
        return 0
    kind = ir.RankedTensorType(value.type)
    return byte_size(tuple(kind.shape), kind.element_type) or 0


def _own_dialects() -> frozenset[str]:
    root = Path(__file__).parent / "dialects"
    return frozenset(path.name for path in root.iterdir() if path.is_dir())


def _is_mapped(path: str) -> bool:
    """Whether LLVM maps a file: it wants a zero after the end, and reads small files."""
    size = Path(path).stat().st_size
    return size >= 4 * mmap.PAGESIZE and size % mmap.PAGESIZE != 0


def _holds_migraphx(data: bytes) -> bool:
    return b"migraphx." in data and not is_bytecode(data)


def _name_source(module: ir.Module, name: str) -> None:
    with module.context:
        for op in walk(module.operation):
            location = op.location
            if isinstance(location, ir.FileLineColLoc) and location.filename == MEMORY_NAME:
                op.location = ir.Location.file(name, location.start_line, location.start_col)

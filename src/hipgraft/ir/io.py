"""Reads modules from files, as text or bytecode, and writes files atomically."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError, OpError
from hipgraft.ir.element_types import byte_size
from hipgraft.ir.foreign_data import os_reason
from hipgraft.ir.outputs import replacing, standard_output_errors

STDIN_NAME = "<stdin>"
RESOURCE_ALIGNMENT = 16
"""Alignment in bytes. MLIR only reads bytecode from memory with the alignment of its resources, and
no allocator guarantees a larger alignment than this."""

MOST_DIGITS = 1 << 21
"""The most hexadecimal digits of a resource in text that the user did not request: a mebibyte."""

# The attribute that may hold elements, by op.
_CONSTANTS = {
    "arith.constant": "value",
    "memref.global": "initial_value",
    "torch.operator": "torch.onnx.value",
    "torch.vtensor.literal": "value",
}
_BYTECODE_MAGIC = b"ML\xefR"


def is_graph_file(path: str | Path) -> bool:
    """Returns whether a path is a hipDNN graph, by its suffix or as a template's folder."""
    return Path(path).suffix in (".json", ".fb") or Path(path).is_dir()


def is_bytecode_file(path: str | Path) -> bool:
    """Returns whether a file begins like bytecode, which MLIR maps."""
    try:
        with Path(path).open("rb") as file:
            return is_bytecode(file.read(len(_BYTECODE_MAGIC)))
    except (OSError, ValueError):
        return False


def shown_path(path: str) -> str:
    """Returns a path in quotes, with escapes for bytes that are not text."""
    return f"'{path}'" if path.isprintable() else ascii(path)


def read_bytes(path: str) -> bytes:
    """Reads a file, or standard input for `-`.

    Raises:
        HipgraftError: the file cannot be read.
    """
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:  # a null byte in a path is a ValueError
        reason = os_reason(error)
        raise HipgraftError(f"cannot open input file {shown_path(path)}: {reason}") from None


def is_bytecode(data: bytes) -> bool:
    """Returns whether data is MLIR bytecode rather than text."""
    return data.startswith(_BYTECODE_MAGIC)


def decode(data: bytes, name: str) -> str:
    """Returns the text of a source.

    Raises:
        HipgraftError: the source is not UTF-8; located at the first bad byte.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        location = f"{name}:{line}:{column}"
        raise HipgraftError("invalid UTF-8 in MLIR text", location=location) from None


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


def walk(op: ir.Operation) -> Iterator[ir.Operation]:
    """Yields `op` and all ops nested in it, outer ones first."""
    yield op
    for region in op.regions:
        for block in region.blocks:
            for nested in block.operations:
                yield from walk(nested.operation)


def collect(module: ir.Module, names: Iterable[str]) -> list[ir.Operation]:
    """Returns the ops of the given names, outer ones first."""
    wanted = frozenset(names)
    return [op for op in walk(module.operation) if op.name in wanted]


def function_blocks(module: ir.Module) -> list[ir.Block]:
    """Returns the blocks of a module's functions, in order.

    Raises:
        OpError: a function does not end in `func.return`.
    """
    functions = [op.operation for op in module.body.operations if op.operation.name == "func.func"]
    blocks = [block for function in functions for block in function.regions[0].blocks]
    for block in blocks:
        return_of(block)
    return blocks


def return_of(block: ir.Block) -> ir.Operation:
    """Returns the `func.return` at the end of a function's block.

    Raises:
        OpError: the block ends in another op, such as one of an unregistered dialect.
    """
    *_, last = block.operations
    if last.operation.name != "func.return":
        raise OpError(f"expected 'func.return', but found '{last.operation.name}'", last)
    return last.operation


def write_output(path: str, data: bytes) -> None:
    """Writes a file, or standard output for `-`; a file is replaced atomically."""
    if path == "-":
        with standard_output_errors():
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
        path: path of the file, which is replaced atomically.
        module: any module.
        bytecode: whether to write bytecode, which is never in memory as a whole, instead of text.
        elide_above: omit resources with more hexadecimal digits than this from the text. None
            writes all.

    Raises:
        HipgraftError: the file cannot be written.
    """
    if not bytecode:
        text = module.operation.get_asm(large_resource_limit=elide_above)
        write_output(path, (text + "\n").encode())
    elif path == "-":
        with standard_output_errors():
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
    # Every dense constant that is not a list of elements is a resource.
    if isinstance(value, ir.DenseElementsAttr) or not isinstance(value.type, ir.RankedTensorType):
        return 0
    kind = ir.RankedTensorType(value.type)
    return byte_size(tuple(kind.shape), kind.element_type) or 0

"""Computes keys under which containers that compute the same share one kernel."""

from __future__ import annotations

import hashlib
import re

from hipgraft.ir.bindings import ir
from hipgraft.ir.io import function_blocks
from hipgraft.ir.resources import resource_bytes

_HANDLE = re.compile(r'dense_resource<("(?:[^"\\]|\\.)*"|[^">]*)>')

_CONTAINERS = ("hipdnn.graph", "hipdnn.fallback")


def container_text(op: ir.Operation) -> str:
    """Returns the computation of a container as text, one line per op, values numbered in order.

    The text leaves out the container's name, its operands and the locations, because containers
    that differ in those alone compute the same. MLIR's own printer would walk the whole function to
    number its values.
    """
    attributes = [text for name, text in _attributes(op) if name != "name"]
    lines = [op.name, *attributes, *(f"-> {result.type}" for result in op.results)]
    _append_regions(op, lines, {})
    return "\n".join(lines)


def container_key(op: ir.Operation) -> str:
    """Returns a digest that is equal for containers that one kernel can serve."""
    return hashlib.sha256(container_text(op).encode()).hexdigest()


def find_containers(module: ir.Module) -> list[ir.Operation]:
    """Returns all `hipdnn.graph` and `hipdnn.fallback` ops in a module's functions, in order."""
    return [
        op.operation
        for block in function_blocks(module)
        for op in block.operations
        if op.operation.name in _CONTAINERS
    ]


def _append_regions(op: ir.Operation, lines: list[str], numbers: dict[ir.Value, int]) -> None:
    for region in op.regions:
        for block in region.blocks:
            arguments = [f"%{_number(value, numbers)}: {value.type}" for value in block.arguments]
            lines.append(f"^({', '.join(arguments)})")
            for nested in block.operations:
                _append_op(nested.operation, lines, numbers)


def _append_op(op: ir.Operation, lines: list[str], numbers: dict[ir.Value, int]) -> None:
    operands = ", ".join(f"%{_number(value, numbers)}" for value in op.operands)
    results = ", ".join(f"%{_number(value, numbers)}: {value.type}" for value in op.results)
    attributes = ", ".join(_with_content(text, op) for _, text in _attributes(op))
    lines.append(f"{op.name}({operands}) {{{attributes}}} -> ({results})")
    _append_regions(op, lines, numbers)


def _with_content(text: str, op: ir.Operation) -> str:
    """Replaces a resource's handle by a digest of its content.

    The same handle may name another constant in another module.
    """
    if "dense_resource<" not in text:
        return text
    digest = hashlib.sha256(resource_bytes(op) or b"").hexdigest()
    return _HANDLE.sub(f"dense_resource<{digest}>", text)


def _number(value: ir.Value, numbers: dict[ir.Value, int]) -> int:
    return numbers.setdefault(value, len(numbers))


def _attributes(op: ir.Operation) -> list[tuple[str, str]]:
    # A name with a prefix (`tool.note`) is an annotation of the op and does not change what it
    # computes.
    return [(name, f"{name} = {op.attributes[name]}") for name in op.attributes if "." not in name]

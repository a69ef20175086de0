"""Modules in modules: MLIR nests the modules of a file in one."""

from __future__ import annotations

from collections.abc import Iterator

from hipgraft.ir.bindings import ir


def modules_in(module: ir.Operation) -> Iterator[ir.Operation]:
    """Yields a module and those nested in it, outer ones first."""
    yield module
    for op in list(symbols_of(module)):
        if op.name == "builtin.module":
            yield from modules_in(op)


def symbols_of(module: ir.Operation) -> Iterator[ir.Operation]:
    """Yields the operations directly in a module."""
    for op in module.regions[0].blocks[0].operations:
        yield op.operation

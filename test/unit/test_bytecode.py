"""Bytecode in memory: its resources keep their contents, and are found at any size."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.bytecode import parse_bytecode, to_bytecode
from hipgraft.ir.resources import resource_bytes

# As PyTorch's exports have it: a resource begins with its alignment.
_MODULE = """
func.func @{name}() -> tensor<{count}xi32> {{
  %0 = arith.constant dense_resource<weights> : tensor<{count}xi32>
  return %0 : tensor<{count}xi32>
}}
{{-# dialect_resources: {{ builtin: {{ weights: "0x40000000{digits}" }} }} #-}}
"""


def _bytecode(count: int, name: str = "main") -> tuple[bytes, bytes]:
    """Returns a module as bytecode, and the contents of its resource."""
    held = np.arange(count, dtype="<i4").tobytes()
    text = _MODULE.format(name=name, count=count, digits=held.hex())
    return to_bytecode(ir.Module.parse(text, make_context())), held


def _held(module: ir.Module) -> bytes | None:
    return resource_bytes(module.body.operations[0].regions[0].blocks[0].operations[0].operation)


@pytest.mark.parametrize("count", [1, 16, 1000, 4000, 5000, 100_000])
def test_aligned_resources_are_read(count: int) -> None:
    data, held = _bytecode(count)
    assert _held(parse_bytecode(data, make_context())) == held


@pytest.mark.slow
def test_whole_pages_are_read() -> None:
    data, _ = _bytecode(16, "f" * mmap.PAGESIZE)
    lengths = range(2 * mmap.PAGESIZE - len(data) % mmap.PAGESIZE, 0, -1)
    sized = (_bytecode(16, "f" * length) for length in lengths)
    data, held = next(each for each in sized if len(each[0]) % mmap.PAGESIZE == 0)
    # All modules live at the same time, so that their addresses differ.
    modules = [parse_bytecode(data, make_context()) for _ in range(8)]
    assert [_held(module) for module in modules] == [held] * 8

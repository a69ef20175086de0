"""Reads, from a merged module, the data from which MIGraphX makes a `migraphx::code_object_op`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hipgraft.dialects.migraphx.cursor import Cursor
from hipgraft.ir.bindings import gpu_d, ir
from hipgraft.ir.symbols import modules_in, symbols_of

Triple = tuple[int, int, int]

_METADATA = re.compile(r'#gpu\.kernel_metadata<"((?:[^"\\]|\\.)*)"')
_SIZE = r"\b{name} = (?:(\d+) : i\d+|array<i\d+: ([\d, ]+)>)"


@dataclass(frozen=True)
class KernelInfo:
    """One kernel.

    Attributes:
        name: symbol in the code object.
        local: work items of a workgroup.
        grid: workgroups.
        binary_size: bytes of the code object.
    """

    name: str
    local: Triple
    grid: Triple
    binary_size: int

    @property
    def global_size(self) -> Triple:
        """All work items, as the HIP module API counts."""
        x, y, z = (block * count for block, count in zip(self.local, self.grid, strict=True))
        return x, y, z

    def __str__(self) -> str:
        return (
            f"kernel: {self.name}\n"
            f"  local: {list(self.local)}\n"
            f"  global: {list(self.global_size)}\n"
            f"  binary: {self.binary_size} bytes\n"
        )


def kernel_infos(module: ir.Operation) -> list[KernelInfo]:
    """Returns the kernels of all `gpu.binary` ops that record how their kernels are launched."""
    return [
        info
        for inner in modules_in(module)
        for op in symbols_of(inner)
        if op.name == "gpu.binary"
        for info in _of_binary(op)
    ]


def _of_binary(binary: ir.Operation) -> Iterator[KernelInfo]:
    found = gpu_d.ObjectAttr(ir.ArrayAttr(binary.attributes["objects"])[0])
    cursor = Cursor("" if found.kernels is None else str(found.kernels), "")
    for match in _METADATA.finditer(cursor.text):
        cursor.position = match.start() + len("#gpu.kernel_metadata")
        text = cursor.take_balanced()
        local, grid = _size(text, "block_size"), _size(text, "grid_size")
        if local is not None and grid is not None:
            yield KernelInfo(match[1], local, grid, len(found.object))


def _size(text: str, name: str) -> Triple | None:
    match = re.search(_SIZE.format(name=name), text)
    if match is None:
        return None
    if match[1]:
        return int(match[1]), 1, 1
    x, y, z = (int(word) for word in match[2].split(","))
    return x, y, z

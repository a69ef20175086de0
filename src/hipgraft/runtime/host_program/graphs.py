"""Runs compiled graphs (`hipdnn.executable`) on a device that runs whole graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hipgraft.codegen.kernel import kernels_of
from hipgraft.codegen.layout import Layout
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import OpError
from hipgraft.ir.strided_view import row_major_strides
from hipgraft.ir.symbols import symbol_of
from hipgraft.runtime.devices.registry import GraphDevice, TypedMemory
from hipgraft.runtime.host_program.memref import MemRef

Packed = tuple[tuple[int, ...] | None, str]
"""A tensor's shape (None if it is dynamic) and element type."""


@dataclass(frozen=True)
class Graph:
    """A loaded graph with the types of its packed operands and results."""

    device: GraphDevice
    module: Any
    inputs: tuple[Packed, ...]
    outputs: tuple[Packed, ...]

    @staticmethod
    def load(op: ir.Operation, device: GraphDevice) -> Graph:
        """Loads the `vmfb` binary of an executable.

        Raises:
            OpError: the executable has no such binary.
        """
        executable = hipdnn.ExecutableOp(op)
        if executable.engine is not None:
            raise OpError(executable.needs_host, op)
        modules = [kernel.objects[0] for kernel in kernels_of(op) if kernel.format == "vmfb"]
        if not modules:
            name = symbol_of(op)
            raise OpError(f"'hipdnn.executable' op '@{name}' has no binary for 'cpu'", op)
        inputs, outputs = tuple(_inputs(executable)), tuple(_outputs(executable))
        return Graph(device, device.load_module(modules[0]), inputs, outputs)

    def run(self, memrefs: Sequence[MemRef]) -> None:
        """Runs the graph on the memory of the operands, then of the results."""
        packed = zip(memrefs, [*self.inputs, *self.outputs], strict=True)
        tensors = [
            TypedMemory(memref.first, memref.shape if shape is None else shape, element_type)
            for memref, (shape, element_type) in packed
        ]
        count = len(self.inputs)
        self.device.call(self.module, tensors[:count], tensors[count:])


def _inputs(executable: hipdnn.ExecutableOp) -> Iterator[Packed]:
    types = executable.operand_types
    offsets = executable.arg_offsets or [0] * len(types)
    return _packed(types, executable.arg_strides, offsets)


def _outputs(executable: hipdnn.ExecutableOp) -> Iterator[Packed]:
    types = executable.result_types
    return _packed(types, executable.result_strides, [0] * len(types))


def _packed(
    types: Sequence[ir.Type],
    strides: Sequence[Sequence[int] | None] | None,
    offsets: Sequence[int],
) -> Iterator[Packed]:
    """Returns tensors as the kernel binds them: packed whole rows of their memory."""
    for kind, steps, offset in zip(types, strides or [None] * len(types), offsets, strict=True):
        tensor = ir.RankedTensorType(kind)
        if not tensor.has_static_shape:
            yield None, str(tensor.element_type)
            continue
        shape = tuple(tensor.shape)
        dense = row_major_strides(shape)
        layout = Layout(shape, tuple(steps or dense), offset, str(tensor.element_type))
        yield layout.physical_shape, str(tensor.element_type)

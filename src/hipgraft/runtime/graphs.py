"""Compiled graphs (`hipdnn.executable`) on a device that runs them whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hipgraft.bindings import ir
from hipgraft.codegen.kernel import variants
from hipgraft.codegen.layout import Layout, row_major_strides
from hipgraft.diagnostics import OpError
from hipgraft.runtime.cpu import TypedMemory
from hipgraft.runtime.devices import GraphDevice

Packed = tuple[tuple[int, ...], ir.Type]


@dataclass(frozen=True)
class Graph:
    """A loaded graph, and the packed tensors that it takes and gives."""

    device: GraphDevice
    module: Any
    inputs: tuple[Packed, ...]
    outputs: tuple[Packed, ...]

    @staticmethod
    def load(op: ir.Operation, device: GraphDevice) -> Graph:
        """Loads the `vmfb` variant of an executable.

        Raises:
            OpError: it has none.
        """
        modules = [kernel.objects[0] for kernel in variants(op) if kernel.format == "vmfb"]
        if not modules:
            name = ir.StringAttr(op.attributes["sym_name"]).value
            raise OpError(f"'hipdnn.executable' op '@{name}' has no variant for 'cpu'", op)
        return Graph(
            device, device.load_module(modules[0]), tuple(_inputs(op)), tuple(_outputs(op))
        )

    def run(self, addresses: Sequence[int]) -> None:
        """Runs the graph on memory: the address of each operand, then of each result."""
        tensors = [
            TypedMemory(address, shape, element_type)
            for address, (shape, element_type) in zip(
                addresses, [*self.inputs, *self.outputs], strict=True
            )
        ]
        count = len(self.inputs)
        self.device.call(self.module, tensors[:count], tensors[count:])


def _types(op: ir.Operation, name: str) -> list[ir.RankedTensorType]:
    types = [ir.TypeAttr(attribute).value for attribute in ir.ArrayAttr(op.attributes[name])]
    return [ir.RankedTensorType(tensor) for tensor in types]


def _inputs(op: ir.Operation) -> Iterator[Packed]:
    """The operands as the kernel binds them: whole rows of the memory that they lie in."""
    types = _types(op, "operand_types")
    attributes = op.attributes
    offsets = list(attributes["arg_offsets"]) if "arg_offsets" in attributes else [0] * len(types)
    strides = (
        list(attributes["arg_strides"]) if "arg_strides" in attributes else [None] * len(types)
    )
    for tensor, stride, offset in zip(types, strides, offsets, strict=True):
        shape = tuple(tensor.shape)
        listed = isinstance(stride, ir.DenseI64ArrayAttr)
        steps = tuple(stride) if listed else row_major_strides(shape)
        layout = Layout(shape, steps, offset, str(tensor.element_type))
        yield layout.physical_shape, tensor.element_type


def _outputs(op: ir.Operation) -> Iterator[Packed]:
    for tensor in _types(op, "result_types"):
        yield tuple(tensor.shape), tensor.element_type

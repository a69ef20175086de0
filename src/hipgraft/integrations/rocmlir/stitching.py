"""Combines the kernels of a function that was compiled graph by graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hipgraft.codegen.iree.constant_fills import dense_bytes, fills
from hipgraft.codegen.kernel import Copy, Dispatch, Fill, Kernel, Step, kernels_of
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import CodegenError
from hipgraft.ir.element_types import byte_width
from hipgraft.ir.symbols import symbol_of

_ALIGNMENT = 256  # bytes; alignment of device allocations


@dataclass(frozen=True)
class _Address:
    """A range of memory from `offset` bytes into a buffer."""

    buffer: int
    offset: int = 0

    def at(self, offset: int) -> _Address:
        return _Address(self.buffer, self.offset + offset)


def stitch(module: ir.Module, function: str) -> Kernel:
    """Returns the steps of a function at stage `hipdnn-buffers`, all transients in one workspace.

    Raises:
        CodegenError: a constant is too large to be written by fills.
    """
    symbols = {symbol_of(op): op.operation for op in module.body.operations}
    stitcher = _Stitcher(symbols)
    body = symbols[function].regions[0].blocks[0]
    stitcher.workspace = len(body.arguments)
    for index, argument in enumerate(body.arguments):
        stitcher.addresses[argument] = _Address(index)
    for op in body.operations:
        stitcher.take(op.operation)
    return Kernel(
        target=stitcher.target,
        format="hsaco",
        objects=tuple(stitcher.objects),
        workspace_size=stitcher.size,
        steps=tuple(stitcher.steps),
    )


@dataclass
class _Stitcher:
    """Collects steps and their addresses."""

    symbols: Mapping[str, ir.Operation]
    workspace: int = 0
    size: int = 0
    target: str = ""
    addresses: dict[ir.Value, _Address] = field(default_factory=dict[ir.Value, _Address])
    shifts: dict[ir.Value, int] = field(default_factory=dict[ir.Value, int])
    steps: list[Step] = field(default_factory=list[Step])
    objects: list[bytes] = field(default_factory=list[bytes])

    def take(self, op: ir.Operation) -> None:
        """Adds the steps of one op."""
        match op.name:
            case "hipdnn.execute":
                self._execute(op)
            case "memref.alloc":
                self.addresses[op.results[0]] = self._room(
                    ir.MemRefType(op.results[0].type).shape[0]
                )
            case "memref.get_global":
                self.addresses[op.results[0]] = self._constant(op)
            case "memref.view":
                shift = self.shifts[op.operands[1]]
                self.addresses[op.results[0]] = self.addresses[op.operands[0]].at(shift)
            case "memref.reinterpret_cast":
                (offset,) = ir.DenseI64ArrayAttr(op.attributes["static_offsets"])
                width = byte_width(ir.MemRefType(op.results[0].type).element_type) or 0
                self.addresses[op.results[0]] = self.addresses[op.operands[0]].at(offset * width)
            case "arith.constant":
                self.shifts[op.results[0]] = ir.IntegerAttr(op.attributes["value"]).value
            case "func.return":
                pass
            case _:
                raise CodegenError(f"'{op.name}' op is unexpected among buffers")

    def _room(self, nbytes: int) -> _Address:
        address = _Address(self.workspace, self.size)
        self.size += -(-nbytes // _ALIGNMENT) * _ALIGNMENT
        return address

    def _constant(self, op: ir.Operation) -> _Address:
        name = ir.FlatSymbolRefAttr(op.attributes["name"]).value
        data = dense_bytes(self.symbols[name].attributes["initial_value"])
        address = self._room(len(data))
        self.steps += fills(data, address.buffer, address.offset)
        return address

    def _execute(self, op: ir.Operation) -> None:
        callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        (kernel,) = kernels_of(self.symbols[callee])
        self.target = kernel.target
        addresses = [self.addresses[operand] for operand in op.operands]
        if kernel.workspace_size:
            addresses.append(self._room(kernel.workspace_size))
        first = len(self.objects)
        self.objects += kernel.objects
        self.steps += [_moved(step, addresses, first) for step in kernel.steps]


def _moved(step: Step, addresses: list[_Address], first: int) -> Step:
    """Returns the step with the buffers and offsets of the whole function."""
    match step:
        case Fill():
            address = addresses[step.buffer].at(step.offset)
            return replace(step, buffer=address.buffer, offset=address.offset)
        case Copy():
            source = addresses[step.source].at(step.source_offset)
            target = addresses[step.target].at(step.target_offset)
            return Copy(source.buffer, source.offset, target.buffer, target.offset, step.length)
        case Dispatch():
            moved = [(addresses[bound.buffer].at(bound.offset), bound) for bound in step.bindings]
            bindings = tuple(
                replace(bound, buffer=address.buffer, offset=address.offset)
                for address, bound in moved
            )
            return replace(step, object=first + step.object, bindings=bindings)

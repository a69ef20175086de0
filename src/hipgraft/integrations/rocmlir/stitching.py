"""Makes one kernel of a function that was compiled graph by graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hipgraft.codegen.iree.constant_fills import dense_bytes, fills
from hipgraft.codegen.kernel import Copy, Dispatch, Fill, Kernel, Step, variants
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import CodegenError
from hipgraft.ir.element_types import byte_width
from hipgraft.ir.symbols import symbol_of

_ALIGNMENT = 256  # bytes; as of the memory that devices allocate


@dataclass(frozen=True)
class _Place:
    """A range of memory from `offset` bytes into a buffer."""

    buffer: int
    offset: int = 0

    def at(self, offset: int) -> _Place:
        return _Place(self.buffer, self.offset + offset)


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
        stitcher.places[argument] = _Place(index)
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
    """Collects steps and places."""

    symbols: Mapping[str, ir.Operation]
    workspace: int = 0
    size: int = 0
    target: str = ""
    places: dict[ir.Value, _Place] = field(default_factory=dict[ir.Value, _Place])
    shifts: dict[ir.Value, int] = field(default_factory=dict[ir.Value, int])
    steps: list[Step] = field(default_factory=list[Step])
    objects: list[bytes] = field(default_factory=list[bytes])

    def take(self, op: ir.Operation) -> None:
        """Adds what one op does."""
        match op.name:
            case "hipdnn.execute":
                self._execute(op)
            case "memref.alloc":
                self.places[op.results[0]] = self._room(ir.MemRefType(op.results[0].type).shape[0])
            case "memref.get_global":
                self.places[op.results[0]] = self._constant(op)
            case "memref.view":
                shift = self.shifts[op.operands[1]]
                self.places[op.results[0]] = self.places[op.operands[0]].at(shift)
            case "memref.reinterpret_cast":
                (offset,) = ir.DenseI64ArrayAttr(op.attributes["static_offsets"])
                width = byte_width(ir.MemRefType(op.results[0].type).element_type) or 0
                self.places[op.results[0]] = self.places[op.operands[0]].at(offset * width)
            case "arith.constant":
                self.shifts[op.results[0]] = ir.IntegerAttr(op.attributes["value"]).value
            case "func.return":
                pass
            case _:
                raise CodegenError(f"'{op.name}' op is unexpected among buffers")

    def _room(self, nbytes: int) -> _Place:
        place = _Place(self.workspace, self.size)
        self.size += -(-nbytes // _ALIGNMENT) * _ALIGNMENT
        return place

    def _constant(self, op: ir.Operation) -> _Place:
        name = ir.FlatSymbolRefAttr(op.attributes["name"]).value
        data = dense_bytes(self.symbols[name].attributes["initial_value"])
        place = self._room(len(data))
        self.steps += fills(data, place.buffer, place.offset)
        return place

    def _execute(self, op: ir.Operation) -> None:
        callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        (kernel,) = variants(self.symbols[callee])
        self.target = kernel.target
        places = [self.places[operand] for operand in op.operands]
        if kernel.workspace_size:
            places.append(self._room(kernel.workspace_size))
        first = len(self.objects)
        self.objects += kernel.objects
        self.steps += [_moved(step, places, first) for step in kernel.steps]


def _moved(step: Step, places: list[_Place], first: int) -> Step:
    """The step on the places of the whole function's buffers."""
    match step:
        case Fill():
            place = places[step.buffer].at(step.offset)
            return replace(step, buffer=place.buffer, offset=place.offset)
        case Copy():
            source = places[step.source].at(step.source_offset)
            target = places[step.target].at(step.target_offset)
            return Copy(source.buffer, source.offset, target.buffer, target.offset, step.length)
        case Dispatch():
            moved = [(places[bound.buffer].at(bound.offset), bound) for bound in step.bindings]
            bindings = tuple(
                replace(bound, buffer=place.buffer, offset=place.offset) for place, bound in moved
            )
            return replace(step, object=first + step.object, bindings=bindings)

"""Writes host functions for dynamic shapes: IREE's schedule and its arithmetic in upstream ops.

`memref.dim` reads the extents. Copies of the ops that IREE generated compute workgroup counts,
sizes and the constants of kernels from the extents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from hipgraft.codegen.iree.schedule import BOOKKEEPING, entry_point, read_exports, segments
from hipgraft.codegen.kernel import Binding, Dispatch
from hipgraft.ir import builders
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import CodegenError

_ARITHMETIC = ("affine.", "arith.")

_IGNORED = BOOKKEEPING | {"util.return"}
_ALIASES = frozenset({"stream.timepoint.await", "util.assume.int", "util.optimization_barrier"})


class Numbers:
    """Copies the integer arithmetic of a schedule from its context to the insertion point.

    Args:
        buffers: memrefs for the arguments of the schedule's function.
    """

    def __init__(self, buffers: Sequence[ir.Value]):
        self.buffers = buffers
        self.location = ir.Location.unknown()
        self._numbers: dict[ir.Value, ir.Value] = {}

    def number(self, value: ir.Value) -> ir.Value:
        """Returns the host function's counterpart of `value`.

        Raises:
            CodegenError: the value does not depend on extents alone.
        """
        if value not in self._numbers:
            raise CodegenError("the schedule depends on a value that is no extent")
        return self._numbers[value]

    def write(self, op: ir.Operation) -> bool:
        """Copies an op if it computes or asserts a number; returns whether it does."""
        if op.name.startswith(_ARITHMETIC) or op.name == "cf.assert":
            self._numbers.update(zip(op.results, self._copied(op), strict=True))
        elif op.name == "hal.buffer_view.dim":
            buffer = self.buffers[ir.BlockArgument(op.operands[0]).arg_number]
            position = ir.IntegerAttr(op.attributes["index"]).value
            self._numbers[op.results[0]] = builders.dim(buffer, position, self.location)
        elif op.name == "util.align":
            self._numbers[op.results[0]] = self._aligned(*map(self.number, op.operands))
        elif op.name in _ALIASES:
            for operand, result in zip(op.operands, op.results, strict=False):
                if operand in self._numbers:
                    self._numbers[result] = self._numbers[operand]
            return op.name == "util.assume.int"
        else:
            return False
        return True

    def grid(self, count: ir.Block, workload: Sequence[ir.Value]) -> list[ir.Value]:
        """Writes the workgroup counts of a launch: a copy of the block `count`."""
        _device, *arguments = count.arguments
        self._numbers.update(zip(arguments, map(self.number, workload), strict=True))
        *body, terminator = [op.operation for op in count.operations]
        for op in body:
            self.write(op)
        return [self.number(operand) for operand in terminator.operands]

    def _copied(self, op: ir.Operation) -> Sequence[ir.Value]:
        attributes = builders.attributes_of(op)
        return ir.Operation.create(
            op.name,
            results=[ir.Type.parse(str(result.type)) for result in op.results],
            operands=[self.number(operand) for operand in op.operands],
            attributes={key: ir.Attribute.parse(str(one)) for key, one in attributes.items()},
            loc=self.location,
        ).results

    def _aligned(self, value: ir.Value, alignment: ir.Value) -> ir.Value:
        """Rounds `value` up to a multiple of `alignment`."""
        one = builders.index_constant(1, self.location)
        more = self._binary("arith.addi", value, self._binary("arith.subi", alignment, one))
        return self._binary("arith.muli", self._binary("arith.divui", more, alignment), alignment)

    def _binary(self, name: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        return ir.Operation.create(
            name, results=[lhs.type], operands=[lhs, rhs], loc=self.location
        ).results[0]


class Commands(Numbers):
    """Writes a whole schedule: memory, launches and the arithmetic for both.

    Args:
        module: the schedule, after `executable-targets`.
        binary: symbol of the `gpu.binary` that holds the kernels.
        buffers: memrefs of the operands, then of the results.
        inputs: number of operands among the buffers.

    Attributes:
        dispatches: the signature of each launch, with an empty grid.
    """

    def __init__(self, module: ir.Module, binary: str, buffers: Sequence[ir.Value], inputs: int):
        super().__init__(buffers)
        self._holder = binary
        self.dispatches: list[Dispatch] = []
        self._exports = dict(read_exports(module))
        self._inputs = inputs
        self._memory: dict[ir.Value, ir.Value] = {}
        self._allocated: list[ir.Value] = []
        self._token = builders.wait_async(self.location).results[0]
        self._writers: dict[str, Callable[[ir.Operation], None]] = {
            "stream.cmd.concurrent": self._write_nested,
            "stream.cmd.copy": self._write_copy,
            "stream.cmd.dispatch": self._write_dispatch,
            "stream.cmd.execute": self._write_execute,
            "stream.cmd.fill": self._write_fill,
            "stream.cmd.serial": self._write_nested,
            "stream.resource.alloca": self._write_allocation,
            "stream.resource.dealloca": self._write_deallocation,
            "stream.tensor.export": self._check_export,
            "stream.tensor.import": self._write_import,
        }

    def write_function(self, function: ir.Operation) -> None:
        """Writes a schedule function, which has one block, and terminates the host function.

        Raises:
            CodegenError: the function has control flow, or an op that the host cannot run.
        """
        blocks = list(function.regions[0].blocks)
        if len(blocks) != 1:
            raise CodegenError("the schedule has control flow")
        ops = [view.operation for view in blocks[0].operations]
        # Extents are compared before any kernel is launched on them.
        self._write_ops([op for op in ops if not self.write(op)])
        builders.wait(self._token, self.location)
        builders.return_(self.location)

    def _write_block(self, block: ir.Block) -> None:
        self._write_ops([op.operation for op in block.operations])

    def _write_ops(self, ops: Sequence[ir.Operation]) -> None:
        for op in ops:
            if op.name in _IGNORED or self.write(op):
                continue
            if op.name in _ALIASES:
                self._alias(op.operands, op.results)
            elif op.name in self._writers:
                self._writers[op.name](op)
            else:
                raise CodegenError(f"the schedule of dynamic shapes holds '{op.name}'")

    def _alias(self, sources: Sequence[ir.Value], targets: Sequence[ir.Value]) -> None:
        for source, target in zip(sources, targets, strict=False):
            if source in self._memory:
                self._memory[target] = self._memory[source]

    def _write_nested(self, op: ir.Operation) -> None:
        self._write_block(op.regions[0].blocks[0])

    def _write_import(self, op: ir.Operation) -> None:
        argument = ir.BlockArgument(op.operands[0])
        self._memory[op.results[0]] = self.buffers[argument.arg_number]

    def _check_export(self, op: ir.Operation) -> None:
        if self._memory.get(op.operands[0]) not in self.buffers[self._inputs :]:
            raise CodegenError("a result is not written to the buffer given for it")

    def _write_allocation(self, op: ir.Operation) -> None:
        size = self.number(op.operands[0])
        allocation = builders.gpu_alloc_dynamic(size, self._token, self.location)
        self._memory[op.results[0]], self._token = allocation.results

    def _write_deallocation(self, op: ir.Operation) -> None:
        memory = self._memory[op.operands[0]]
        self._token = builders.gpu_dealloc(memory, self._token, self.location)

    def _write_execute(self, op: ir.Operation) -> None:
        resources, *_ = segments(op)
        (block,) = op.regions[0].blocks
        self._alias(resources, list(block.arguments))
        self._write_block(block)

    def _write_copy(self, op: ir.Operation) -> None:
        source, _size, source_offset, target, _target_size, target_offset, length = op.operands
        self._token = builders.memcpy(
            self._bytes(target, target_offset, length),
            self._bytes(source, source_offset, length),
            self._token,
            self.location,
        )

    def _write_fill(self, op: ir.Operation) -> None:
        """Fills a range, in words of 16 or 32 bits where the length allows it.

        Upstream lowers `gpu.memset` for words of 16 and 32 bits only.
        """
        target, _size, offset, length, pattern = op.operands
        width = ir.IntegerType(pattern.type).width // 8
        unit = _factor(length)
        word = next((one for one in (4, 2) if unit % one == 0 and one >= width), width)
        bits = _constant(pattern) & (1 << 8 * width) - 1
        repeated = int.from_bytes(bits.to_bytes(width, "little") * (word // width), "little")
        value = builders.integer_constant(repeated, 8 * word, self.location)
        words = self._range(target, offset, length, word)
        self._token = builders.memset(words, value, self._token, self.location)

    def _bytes(self, resource: ir.Value, offset: ir.Value, length: ir.Value) -> ir.Value:
        """Returns a range of memory as a memref of bytes."""
        return self._range(resource, offset, length, 1)

    def _range(
        self, resource: ir.Value, offset: ir.Value, length: ir.Value, width: int
    ) -> ir.Value:
        """Returns a range of memory, given in bytes, as a memref of words of `width` bytes."""
        memory, first, count = self._memory[resource], self.number(offset), self.number(length)
        if width > 1:
            size = builders.index_constant(width, self.location)
            count = self._binary("arith.divui", count, size)
        make = builders.elements_at if memory in self.buffers else builders.view_dynamic
        return make(memory, first, count, self.location, ir.IntegerType.get_signless(8 * width))

    def _write_dispatch(self, op: ir.Operation) -> None:
        workload, constants, resources, _sizes, offsets, lengths = segments(op)
        kernel = entry_point(op)
        export = self._exports[kernel]
        ranges = zip(resources, offsets, lengths, strict=True)
        pointers = [self._pointer(*one) for one in ranges]
        (count,) = export.operation.regions[0].blocks
        x, y, z = (builders.index_constant(n, self.location) for n in export.workgroup_size)
        shared = export.dynamic_shared_memory
        self._token = builders.launch(
            (self._holder, kernel),
            self.grid(count, workload),
            [x, y, z],
            builders.integer_constant(shared, 32, self.location) if shared else None,
            [*pointers, *map(self.number, constants)],
            self._token,
            self.location,
        )
        self._remember(kernel, op, len(constants))

    def _remember(self, kernel: str, op: ir.Operation, constants: int) -> None:
        resources = segments(op)[2]
        accesses = [
            ir.IntegerAttr(one).value for one in ir.ArrayAttr(op.attributes["resource_accesses"])
        ]
        for resource, access in zip(resources, accesses, strict=True):
            if access != 1 and self._memory[resource] in self.buffers[: self._inputs]:
                raise CodegenError("the schedule of dynamic shapes writes to an operand")
        export = self._exports[kernel]
        self.dispatches.append(
            Dispatch(
                object=0,
                kernel=kernel,
                grid=(0, 0, 0),
                block=export.workgroup_size,
                dynamic_shared_memory=export.dynamic_shared_memory,
                bindings=(Binding(0, 0, 0, "read_write"),) * len(resources),
                constants=(0,) * constants,
            )
        )

    def _pointer(self, resource: ir.Value, offset: ir.Value, length: ir.Value) -> ir.Value:
        """Returns the memref of a range, which may start at an offset in scratch memory only."""
        memory = self._memory[resource]
        if _is_zero(offset):
            return memory
        if memory in self.buffers:
            raise CodegenError("the schedule of dynamic shapes binds a part of an operand")
        return builders.view_dynamic(
            memory, self.number(offset), self.number(length), self.location
        )


def _is_zero(value: ir.Value) -> bool:
    return _is_constant(value) and _constant(value) == 0


def _is_constant(value: ir.Value) -> bool:
    owner = value.owner
    return not isinstance(owner, ir.Block) and owner.name == "arith.constant"


def _constant(value: ir.Value) -> int:
    if not _is_constant(value):
        raise CodegenError("the schedule fills memory with a value that is not constant")
    return ir.IntegerAttr(ir.OpResult(value).owner.attributes["value"]).value


def _factor(value: ir.Value) -> int:
    """Returns a power of two that divides a number, derived from the ops that compute it."""
    if _is_constant(value):
        return _constant(value) & -_constant(value)
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.muli":
        return 1
    lhs, rhs = owner.operands
    return _factor(lhs) * _factor(rhs)


def write_extents(numbers: Numbers, function: ir.Operation) -> list[ir.Value]:
    """Writes the extents of a schedule's results.

    Returns:
        The extents of all results in order, static extents included.

    Raises:
        CodegenError: an extent does not depend on the operands' extents alone.
    """
    exported: dict[ir.Value, list[ir.Value]] = {}
    for view in function.regions[0].blocks[0].operations:
        op = view.operation
        if op.name == "stream.tensor.export":
            exported[op.results[0]] = _exported_extents(numbers, op)
        elif op.name == "util.return":
            return [extent for value in op.operands for extent in _known(exported, value)]
        else:
            # Extents that depend on values are computed and asserted by the program alone.
            with suppress(CodegenError):
                numbers.write(op)
    raise CodegenError("the schedule has control flow")


def _known(exported: dict[ir.Value, list[ir.Value]], result: ir.Value) -> list[ir.Value]:
    if result not in exported:
        raise CodegenError("a result is no tensor of its own")
    return exported[result]


def _exported_extents(numbers: Numbers, export: ir.Operation) -> list[ir.Value]:
    shape = ir.RankedTensorType(ir.TypeAttr(export.attributes["source_encoding"]).value).shape
    dims = iter(list(export.operands)[1:])
    dynamic = ir.ShapedType.get_dynamic_size()
    return [
        numbers.number(next(dims))
        if extent == dynamic
        else builders.index_constant(extent, numbers.location)
        for extent in shape
    ]

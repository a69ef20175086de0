"""Reads the steps of a compiled module, and the memory that they use, from IREE's IR.

After the `executable-targets` phase the entry function holds the schedule: it imports or allocates
buffers, and its `stream.cmd.execute` regions fill, copy and dispatch on them. IREE orders the
bindings of a dispatch by use and drops unused arguments, so this module reads a kernel's arguments
and never derives them from operand positions. This IR is not a public interface and changes between
releases; an unknown op is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from hipgraft.codegen.iree.constant_fills import constant_bytes, fills
from hipgraft.codegen.iree.entry import find_entry
from hipgraft.codegen.iree.foreign_ir import plain_name
from hipgraft.codegen.iree.static_values import StaticValues
from hipgraft.codegen.iree.step_rewrites import (
    aligned,
    protect_operands,
    uses,
    write_results_directly,
)
from hipgraft.codegen.kernel import Access, Binding, Copy, Dispatch, Fill, Step, Triple
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import CodegenError
from hipgraft.ir.symbols import symbol_of

_ACCESSES: dict[int, Access] = {1: "read", 2: "write", 3: "read_write"}

BOOKKEEPING = frozenset(
    {
        "hal.buffer_view.assert",
        "hal.element_type",
        "hal.encoding_type",
        "stream.cmd.discard",
        "stream.cmd.flush",
        "stream.cmd.invalidate",
        "stream.timepoint.immediate",
        "stream.timepoint.join",
        "stream.yield",
    }
)
"""Ops of a schedule that have no effect on the launches or their memory."""

_IGNORED = BOOKKEEPING | {"cf.br", "stream.resource.dealloca", "util.align", "util.assume.int"}

# The reader evaluates these ops when a command needs their value.
_ARITHMETIC = ("affine.", "arith.")


@dataclass(frozen=True)
class Export:
    """A kernel's launch configuration.

    Attributes:
        operation: the kernel's `hal.executable.export`; valid until the module changes.
        workgroup_size: work items in x, y, z.
        subgroup_size: lanes in a wavefront, 0 if unspecified.
        dynamic_shared_memory: bytes of shared memory that the launch provides.
    """

    operation: ir.Operation
    workgroup_size: Triple
    subgroup_size: int
    dynamic_shared_memory: int

    def grid(self, workload: Sequence[int]) -> Triple:
        """Returns the workgroup counts for the workload operands of a dispatch."""
        (block,) = self.operation.regions[0].blocks
        _device, *arguments = block.arguments
        values = StaticValues(dict(zip(arguments, workload, strict=True)))
        *_, terminator = block.operations
        x, y, z = (values(operand) for operand in terminator.operation.operands)
        return x, y, z


@dataclass(frozen=True)
class Schedule:
    """The steps of a module's entry function.

    Buffers are numbered: operands, then results, then the workspace. All dispatches have object
    index 0; the caller sets it.

    Attributes:
        steps: fills, copies and dispatches in order.
        workspace_size: bytes of scratch memory.
        subgroup_sizes: lanes in a wavefront, by kernel.
    """

    steps: tuple[Step, ...]
    workspace_size: int
    subgroup_sizes: dict[str, int]


def read_schedule(module: ir.Module, num_operands: int, num_results: int) -> Schedule:
    """Reads the schedule of `@main`, whose arguments are the operands and result buffers.

    Args:
        module: the module after `executable-targets`.
        num_operands: leading arguments that are operands.
        num_results: arguments after them that are the results' buffers.

    Raises:
        CodegenError: the module holds something that cannot be launched from a static program.
    """
    reader = _ScheduleReader(module, num_operands, num_results)
    for op in module.body.operations:
        if plain_name(op.operation) == "util.initializer":
            reader.read_initializer(op.operation)
    reader.read_function(find_entry(module))
    return reader.finish()


@dataclass(frozen=True)
class _Region:
    """The memory that an SSA value refers to: a buffer and an offset in bytes."""

    buffer: int
    offset: int = 0

    def at(self, offset: int) -> _Region:
        return replace(self, offset=self.offset + offset)


class _ScheduleReader:
    def __init__(self, module: ir.Module, num_operands: int, num_results: int):
        self._num_operands = num_operands
        self._workspace = num_operands + num_results
        self._workspace_size = 0
        self._exports = dict(read_exports(module))
        self._number = StaticValues()
        self._regions: dict[ir.Value, _Region] = {}
        self._globals: dict[str, _Region] = {}
        self._exported: dict[ir.Value, _Region] = {}
        self._steps: list[Step] = []
        self._readers: dict[str, Callable[[ir.Operation], None]] = {
            "cf.cond_br": self._read_mapped_branch,
            "stream.cmd.concurrent": self._read_nested,
            "stream.cmd.copy": self._read_copy,
            "stream.cmd.dispatch": self._read_dispatch,
            "stream.cmd.execute": self._read_execute,
            "stream.cmd.fill": self._read_fill,
            "stream.cmd.serial": self._read_nested,
            "stream.resource.alloc": self._read_allocation,
            "stream.resource.alloca": self._read_allocation,
            "stream.resource.subview": self._read_subview,
            "stream.resource.try_map": self._read_map,
            "stream.tensor.export": self._read_export,
            "stream.tensor.import": self._read_import,
            "stream.timepoint.await": self._read_alias,
            "util.buffer.constant": self._read_constant,
            "util.global.load": self._read_global_load,
            "util.global.store": self._read_global_store,
            "util.optimization_barrier": self._read_alias,
            "util.return": self._read_return,
        }

    def read_function(self, function: ir.Operation) -> None:
        """Reads a function of one block."""
        blocks = list(function.regions[0].blocks)
        if len(blocks) != 1:
            raise CodegenError("the schedule has control flow")
        self._read_block(blocks[0])

    def read_initializer(self, initializer: ir.Operation) -> None:
        """Reads the initializer of a global constant, which each call then writes to the workspace.

        IREE maps a constant from the module, or loads it if the device cannot map it. The entry
        block branches to the last block with the mapping, or else to a block in between that loads
        the constant.
        """
        blocks = list(initializer.regions[0].blocks)
        self._read_block(blocks[0])
        if len(blocks) > 1:
            self._read_block(blocks[-1])

    def finish(self) -> Schedule:
        """Returns the schedule, rewritten to keep operands and to write results directly."""
        steps, workspace_size = protect_operands(
            self._steps, self._num_operands, self._workspace, self._workspace_size
        )
        steps = write_results_directly(steps, self._workspace)
        return Schedule(
            steps=tuple(steps),
            workspace_size=workspace_size if uses(steps, self._workspace) else 0,
            subgroup_sizes={name: export.subgroup_size for name, export in self._exports.items()},
        )

    def _read_block(self, block: ir.Block) -> None:
        for op in block.operations:
            self._read(op.operation)

    def _read(self, op: ir.Operation) -> None:
        name = plain_name(op)
        if name in _IGNORED or name.startswith(_ARITHMETIC):
            return
        reader = self._readers.get(name)
        if reader is None:
            raise CodegenError(f"the schedule holds '{name}', which cannot be launched")
        reader(op)

    def _read_nested(self, op: ir.Operation) -> None:
        self._read_block(op.regions[0].blocks[0])

    # Memory.

    def _allocate(self, size: int) -> _Region:
        region = _Region(self._workspace, self._workspace_size)
        self._workspace_size += aligned(size)
        return region

    def _read_import(self, op: ir.Operation) -> None:
        argument = op.operands[0]
        if not isinstance(argument, ir.BlockArgument):
            raise CodegenError("the schedule imports memory that is no argument")
        self._regions[op.results[0]] = _Region(argument.arg_number)

    def _read_allocation(self, op: ir.Operation) -> None:
        self._regions[op.results[0]] = self._allocate(self._number(op.operands[0]))

    def _read_subview(self, op: ir.Operation) -> None:
        source, _source_size, offset, _size = op.operands
        self._regions[op.results[0]] = self._regions[source].at(self._number(offset))

    def _read_alias(self, op: ir.Operation) -> None:
        for operand, result in zip(op.operands, op.results, strict=False):
            self._alias(operand, result)

    def _alias(self, source: ir.Value, target: ir.Value) -> None:
        if source in self._regions:
            self._regions[target] = self._regions[source]

    def _read_export(self, op: ir.Operation) -> None:
        self._exported[op.results[0]] = self._regions[op.operands[0]]

    def _read_return(self, op: ir.Operation) -> None:
        for index, value in enumerate(op.operands):
            expected = _Region(self._num_operands + index)
            if self._exported.get(value) != expected:
                raise CodegenError(f"result {index} is not written to the buffer given for it")

    # Constants.

    def _read_constant(self, op: ir.Operation) -> None:
        data = constant_bytes(op.attributes["value"])
        region = self._allocate(len(data))
        self._regions[op.results[0]] = region
        self._steps += fills(data, region.buffer, region.offset)

    def _read_map(self, op: ir.Operation) -> None:
        source, offset, _size = op.operands
        self._regions[op.results[1]] = self._regions[source].at(self._number(offset))

    def _read_mapped_branch(self, op: ir.Operation) -> None:
        arguments = op.successors[0].arguments
        for operand, argument in zip(list(op.operands)[1:], arguments, strict=False):
            self._alias(operand, argument)

    def _read_global_load(self, op: ir.Operation) -> None:
        self._regions[op.results[0]] = self._globals[str(op.attributes["global"])]

    def _read_global_store(self, op: ir.Operation) -> None:
        self._globals[str(op.attributes["global"])] = self._regions[op.operands[0]]

    # Commands.

    def _read_execute(self, op: ir.Operation) -> None:
        resources, _sizes, _await = segments(op)
        (block,) = op.regions[0].blocks
        for resource, argument in zip(resources, block.arguments, strict=True):
            self._alias(resource, argument)
        self._read_block(block)

    def _read_fill(self, op: ir.Operation) -> None:
        target, _size, offset, length, pattern = op.operands
        region = self._regions[target].at(self._number(offset))
        width = ir.IntegerType(pattern.type).width
        value = self._number(pattern) & ((1 << width) - 1)
        length_bytes = self._number(length)
        self._steps.append(Fill(region.buffer, region.offset, length_bytes, value, width // 8))

    def _read_copy(self, op: ir.Operation) -> None:
        source, _size, source_offset, target, _target_size, target_offset, length = op.operands
        origin = self._regions[source].at(self._number(source_offset))
        goal = self._regions[target].at(self._number(target_offset))
        self._steps.append(
            Copy(origin.buffer, origin.offset, goal.buffer, goal.offset, self._number(length))
        )

    def _read_dispatch(self, op: ir.Operation) -> None:
        workload, constants, resources, _sizes, offsets, lengths = segments(op)
        accesses: list[Access] = [_access(attr) for attr in _array(op, "resource_accesses")]
        kernel = entry_point(op)
        export = self._exports[kernel]
        self._steps.append(
            Dispatch(
                object=0,
                kernel=kernel,
                grid=export.grid([self._number(value) for value in workload]),
                block=export.workgroup_size,
                dynamic_shared_memory=export.dynamic_shared_memory,
                bindings=tuple(
                    self._binding(resource, offset, length, access)
                    for resource, offset, length, access in zip(
                        resources, offsets, lengths, accesses, strict=True
                    )
                ),
                constants=tuple(self._word(value) for value in constants),
            )
        )

    def _binding(
        self, resource: ir.Value, offset: ir.Value, length: ir.Value, access: Access
    ) -> Binding:
        region = self._regions[resource].at(self._number(offset))
        return Binding(region.buffer, region.offset, self._number(length), access)

    def _word(self, value: ir.Value) -> int:
        if value.type != ir.IntegerType.get_signless(32, value.context):
            raise CodegenError(f"a dispatch passes a constant of type {value.type}, expected i32")
        return self._number(value)


def read_exports(module: ir.Module) -> Iterator[tuple[str, Export]]:
    """Yields the kernels of a module after `executable-targets`, by name."""
    for executable in module.body.operations:
        if plain_name(executable.operation) != "hal.executable":
            continue
        for variant in _children(executable.operation, "hal.executable.variant"):
            for export in _children(variant, "hal.executable.export"):
                yield symbol_of(export), _export(export)


def _children(op: ir.Operation, name: str) -> Iterator[ir.Operation]:
    for child in op.regions[0].blocks[0].operations:
        if plain_name(child.operation) == name:
            yield child.operation


def _export(op: ir.Operation) -> Export:
    sizes = [ir.IntegerAttr(size).value for size in _array(op, "workgroup_size")]
    x, y, z = (*sizes, 1, 1)[:3]
    return Export(
        operation=op,
        workgroup_size=(x, y, z),
        subgroup_size=_integer(op, "subgroup_size"),
        dynamic_shared_memory=_integer(op, "workgroup_local_memory"),
    )


def _array(op: ir.Operation, name: str) -> ir.ArrayAttr:
    return ir.ArrayAttr(op.attributes[name])


def _access(attr: ir.Attribute) -> Access:
    return _ACCESSES[ir.IntegerAttr(attr).value]


def _integer(op: ir.Operation, name: str) -> int:
    return ir.IntegerAttr(op.attributes[name]).value if name in op.attributes else 0


def entry_point(op: ir.Operation) -> str:
    """Returns the kernel that a dispatch launches.

    Raises:
        CodegenError: the dispatch selects one of several kernels at run time.
    """
    entry_points = _array(op, "entry_points")
    if len(entry_points) != 1:
        raise CodegenError("a dispatch has several variants, expected one")
    return ir.SymbolRefAttr(entry_points[0]).value[-1]


def segments(op: ir.Operation) -> list[list[ir.Value]]:
    """Returns an op's operands in groups, as `operandSegmentSizes` divides them."""
    sizes = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
    operands = iter(op.operands)
    return [[next(operands) for _ in range(size)] for size in sizes]

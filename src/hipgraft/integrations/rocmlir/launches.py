"""Replaces launches by launches of IREE's kernels, or adds these to new host functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hipgraft.codegen.kernel import Copy, Dispatch, Fill
from hipgraft.integrations.rocmlir.export import Exported
from hipgraft.ir import builders
from hipgraft.ir.bindings import ir
from hipgraft.transforms.global_constants import GlobalConstants
from hipgraft.transforms.host_builder import HostBuilder, Region

_ASYNC, _GRID, _ARGUMENTS, _OBJECT = 0, 1, 11, 12
"""Positions in the segment sizes of `gpu.launch_func`."""


class LaunchMismatch(Exception):
    """A kernel cannot replace another; the message says why."""


def check_launch(launch: ir.Operation, exported: Exported) -> None:
    """Checks that a launch can be replaced.

    Raises:
        LaunchMismatch: it cannot be replaced.
    """
    found, wanted = len(_segment(launch, _ARGUMENTS)), exported.inputs + exported.results
    # The prototype's own results do not include the number of arguments.
    if found != wanted and exported.function:
        raise LaunchMismatch(f"a launch passes {found} arguments, expected {wanted}")


def replace_launch(
    launch: ir.Operation, binaries: Sequence[str], exported: Exported, constants: GlobalConstants
) -> None:
    """Replaces a launch by equivalent ones; the number of arguments must fit."""
    with ir.InsertionPoint(launch), launch.location:
        if exported.single is not None:
            _replace_by_one(launch, binaries[0], exported.single)
        else:
            _replace_by_chain(launch, binaries, exported, constants)
    launch.erase()


def _replace_by_one(launch: ir.Operation, binary: str, step: Dispatch) -> None:
    """Keeps the launch's form: with or without tokens, with indices or LLVM's integers."""
    given = _segment(launch, _ARGUMENTS)
    arguments = [given[binding.buffer] for binding in step.bindings]
    size_type = _segment(launch, _GRID)[0].type
    sizes = [_constant(extent, size_type, launch.location) for extent in (*step.grid, *step.block)]
    tokens, objects = _segment(launch, _ASYNC), _segment(launch, _OBJECT)
    attributes = builders.attributes_of(launch)
    # rocMLIR's shared memory is no longer needed; IREE's is mostly static.
    memory = step.dynamic_shared_memory
    shared = [_constant(memory, ir.IntegerType.get_signless(32), launch.location)] if memory else []
    segments = [len(tokens), *[1] * 6, 0, 0, 0, len(shared), len(arguments), len(objects)]
    attributes["kernel"] = ir.SymbolRefAttr.get([binary, step.kernel])
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(segments)
    made = ir.Operation.create(
        "gpu.launch_func",
        results=[result.type for result in launch.results],
        operands=[*tokens, *sizes, *shared, *arguments, *objects],
        attributes=attributes,
        loc=launch.location,
    )
    for old, new in zip(launch.results, made.results, strict=True):
        old.replace_all_uses_with(new)


def _replace_by_chain(
    launch: ir.Operation, binaries: Sequence[str], exported: Exported, constants: GlobalConstants
) -> None:
    tokens, streams = _segment(launch, _ASYNC), _segment(launch, _OBJECT)
    stream = streams[0] if streams else None
    builder = HostBuilder(_enclosing(launch), constants, launch.location, tokens, stream)
    buffers = [
        _region(value, index, exported, launch.location)
        for index, value in enumerate(_segment(launch, _ARGUMENTS))
    ]
    emit_steps(builder, binaries, exported, buffers)
    if len(launch.results):
        launch.results[0].replace_all_uses_with(builder.token)
    elif stream is None:  # later ops on a stream wait anyway
        builders.wait(builder.token, launch.location)


def emit_steps(
    builder: HostBuilder, binaries: Sequence[str], exported: Exported, buffers: Sequence[Region]
) -> None:
    """Appends the steps of a kernel, with transients in newly allocated memory."""
    size = exported.kernel.workspace_size
    workspace = None
    if size:
        made = builders.gpu_alloc(size, builder.token, builder.location)
        workspace, builder.token = made.results
        buffers = [*buffers, Region(workspace)]
    for step in exported.kernel.steps:
        match step:
            case Fill():
                builder.fill(step, buffers)
            case Copy():
                builder.copy(step, buffers)
            case Dispatch():
                builder.launch(binaries[step.object], step, buffers)
    if workspace is not None:
        builder.token = builders.gpu_dealloc(workspace, builder.token, builder.location)


def _segment(launch: ir.Operation, index: int) -> list[ir.Value]:
    """Returns the operands of one segment; grid and block sizes have three segments each."""
    sizes = list(ir.DenseI32ArrayAttr(launch.attributes["operandSegmentSizes"]))
    start = sum(sizes[:index])
    return list(launch.operands)[start : start + sizes[index]]


def _constant(value: int, kind: ir.Type, location: ir.Location) -> ir.Value:
    if isinstance(kind, ir.IndexType):
        return builders.index_constant(value, location)
    return builders.llvm_constant(value, kind, location)


def _region(value: ir.Value, index: int, exported: Exported, location: ir.Location) -> Region:
    """Returns the memory of an argument; for a pointer, the range that the kernels access."""
    if isinstance(value.type, ir.MemRefType):
        return Region(value)
    nbytes = max((end for buffer, end in _touched(exported) if buffer == index), default=0)
    return Region(builders.bytes_of_pointer(value, nbytes, location))


def _touched(exported: Exported) -> Iterator[tuple[int, int]]:
    """Yields each buffer of a step, with the end in bytes of the range that the step accesses."""
    for step in exported.kernel.steps:
        match step:
            case Fill():
                yield step.buffer, step.offset + step.length
            case Copy():
                yield step.source, step.source_offset + step.length
                yield step.target, step.target_offset + step.length
            case Dispatch():
                for binding in step.bindings:
                    yield binding.buffer, binding.offset + binding.length


def _enclosing(op: ir.Operation) -> ir.Operation:
    """Returns the symbol that encloses an op and is directly in a module."""
    current = op
    while current.parent is not None and current.parent.operation.name != "builtin.module":
        current = current.parent.operation
    return current

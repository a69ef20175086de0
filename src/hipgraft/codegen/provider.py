"""Implements the IREE kernel provider, which compiles a graph to code objects and a schedule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from hipgraft.codegen.iree.block_tiles import correct_blocks
from hipgraft.codegen.iree.constant_fills import dense_bytes
from hipgraft.codegen.iree.cuda_tiles import set_tiles
from hipgraft.codegen.iree.dynamic_functions import write_empty_host, write_host
from hipgraft.codegen.iree.entry import (
    add_result_buffers,
    effective_flags,
    import_builtin,
    is_dynamic,
    lower_torch,
    needs_input_phase,
    schedule_dispatches,
    signature,
)
from hipgraft.codegen.iree.extent_checks import check_extents
from hipgraft.codegen.iree.gathers import fuse_gathers
from hipgraft.codegen.iree.matrix_tiles import correct_tiles
from hipgraft.codegen.iree.pointer_alignment import relax_alignment
from hipgraft.codegen.iree.row_tiles import set_rows
from hipgraft.codegen.iree.schedule import Schedule, read_schedule
from hipgraft.codegen.iree.session import IreeSession, get_session
from hipgraft.codegen.kernel import Dispatch, Kernel, Step
from hipgraft.codegen.objects.code_object import CodeObject, check_dispatch, extract_code_objects
from hipgraft.codegen.objects.elf_note import without_access_qualifiers
from hipgraft.codegen.objects.ptx import extract_ptx, parse_ptx
from hipgraft.codegen.target import FUSE_PADDING, Target, TargetKind, has_tuning_spec, turned_off
from hipgraft.codegen.workarounds.counted_booleans import select_factors
from hipgraft.codegen.workarounds.extract_of_slice import read_whole_sources
from hipgraft.codegen.workarounds.inexact_functions import expand_functions
from hipgraft.codegen.workarounds.inexact_powers import expand_powers
from hipgraft.codegen.workarounds.inexact_remainders import rewrite_remainders
from hipgraft.codegen.workarounds.integer_division import guard_divisions
from hipgraft.codegen.workarounds.integer_powers import expand_integer_powers
from hipgraft.codegen.workarounds.log_sigmoid import expand_log_sigmoids
from hipgraft.codegen.workarounds.lone_padding import has_lone_padding
from hipgraft.codegen.workarounds.lost_nans import keep_nans
from hipgraft.codegen.workarounds.mixed_comparisons import match_numbers
from hipgraft.codegen.workarounds.nan_order import order_nans
from hipgraft.codegen.workarounds.narrow_floats import expand_conversions
from hipgraft.codegen.workarounds.narrow_sums import widen_sums
from hipgraft.codegen.workarounds.partial_widening import separate_widening
from hipgraft.codegen.workarounds.serial_scatter import parallelize_scatters
from hipgraft.codegen.workarounds.shared_fills import refuse_shared_fills, separate_fills
from hipgraft.codegen.workarounds.shared_positions import separate_positions
from hipgraft.codegen.workarounds.signed_extremes import reorder_extremes
from hipgraft.codegen.workarounds.undefined_lanes import freeze_arguments
from hipgraft.codegen.workarounds.unmasked_gathers import guard_gathers
from hipgraft.ir.bindings import asm, ir
from hipgraft.ir.diagnostics import CodegenError, HipgraftError

# IREE must not evaluate constants at compile time, which would run another compiler, or at load
# time, because a host program of launches has no load-time code.
SCHEDULE_FLAGS = ("--iree-opt-const-eval=false", "--iree-opt-const-expr-hoisting=false")

# The phases after which tile sizes are known, and after which the launches are known and the CPU's
# kernels are in LLVM's dialect.
_CONFIGURED, _SCHEDULED = "executable-configurations", "executable-targets"

_PRINTED_ELEMENTS = 16  # printed weights would make a schedule unreadable

# Functions that override IREE's choice of tile sizes in dispatches.
_TILINGS = {TargetKind.AMDGPU: set_rows, TargetKind.CUDA: set_tiles}


@dataclass(frozen=True)
class _Format:
    """A format of code objects, with the functions that extract and read them."""

    name: str
    extract: Callable[[bytes], list[bytes]]
    parse: Callable[[bytes], CodeObject]


def _extract_hsaco(container: bytes) -> list[bytes]:
    return [without_access_qualifiers(data) for data in extract_code_objects(container)]


_FORMATS = {
    TargetKind.AMDGPU: _Format("hsaco", _extract_hsaco, CodeObject.parse),
    TargetKind.CUDA: _Format("ptx", extract_ptx, parse_ptx),
}


class Temps(Protocol):
    """Receives the intermediate files of a compilation."""

    def write(self, suffix: str, data: str | bytes) -> None:
        """Receives one file, by the suffix of its name."""
        ...


@dataclass(frozen=True)
class SaveTemps:
    """Writes the intermediate files of a compilation to `directory/name.<stage>`."""

    directory: Path
    name: str

    def write_all(self, files: Mapping[str, bytes]) -> None:
        """Writes files, by the suffixes of their names; see `write`."""
        for suffix, data in files.items():
            self.write(suffix, data)

    def write(self, suffix: str, data: str | bytes) -> None:
        """Writes one file, replacing an existing one.

        Raises:
            HipgraftError: the file cannot be written.
        """
        path = self.directory / f"{self.name}.{suffix}"
        content = data.encode() if isinstance(data, str) else data
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError as error:
            raise HipgraftError(f"cannot write '{path}': {error.strerror}") from None


def compile_container(
    op: ir.Operation | ir.OpView,
    target: Target,
    flags: Sequence[str] | None = None,
    save_temps: Temps | None = None,
) -> Kernel:
    """Compiles a `hipdnn.graph` or `hipdnn.fallback`.

    Args:
        op: the container.
        target: target of the kernel.
        flags: compiler flags in place of the target's default flags.
        save_temps: receives the intermediate files.

    Raises:
        CodegenError: the container has no lowering or does not compile.
    """
    # Imported here because worker processes compile text and start without the lowerings.
    from hipgraft.codegen.lowering.all_ops import lower_container

    return compile_text(lower_container(op, target), target, flags, save_temps)


def compile_text(
    text: str,
    target: Target,
    flags: Sequence[str] | None = None,
    save_temps: Temps | None = None,
) -> Kernel:
    """Compiles a module with one function `@main` on builtin tensors; its body may hold torch ops.

    Args:
        text: the module; operands and results of `@main` are the kernel's.
        target: target of the kernel.
        flags: compiler flags in place of the target's default flags.
        save_temps: receives the intermediate files.

    Raises:
        CodegenError: the module does not compile, or its schedule depends on values.
        HipgraftError: a flag is unknown.
    """
    if save_temps is not None:
        save_temps.write("input.mlir", text)
    chosen = (*target.device_flags, *(target.default_flags if flags is None else flags))
    if target.kind is TargetKind.CPU:
        return _compile_for_cpu(text, target, chosen, save_temps)
    return _compile_for_gpu(text, target, chosen, save_temps)


def _compile_for_cpu(
    text: str, target: Target, flags: tuple[str, ...], save_temps: Temps | None
) -> Kernel:
    session = get_session(flags)
    module = _parse(session, text, target.kind)
    kind, host = signature(module), ""
    _run_to_flow(session, module, text, flags)
    separate_fills(module)
    session.run(module, compile_from="flow", compile_to=_SCHEDULED)
    if is_dynamic(kind):
        host = write_empty_host(module, kind)
    expand_conversions(module)
    data = session.compile_to_vmfb(module, compile_from=_SCHEDULED)
    if save_temps is not None:
        save_temps.write("vmfb", data)
    return Kernel(target=target.name, format="vmfb", objects=(data,), host=host)


def _compile_for_gpu(
    text: str, target: Target, flags: tuple[str, ...], save_temps: Temps | None
) -> Kernel:
    form = _FORMATS[target.kind]
    flags = effective_flags(text, flags)
    session, module, kind = _translated(text, target, flags)
    schedule, host = _read(module, kind)
    if save_temps is not None:
        save_temps.write("schedule.mlir", _schedule_text(module))
    _keep_executables(module)
    if target.kind is TargetKind.AMDGPU:
        freeze_arguments(module)
    session.run(module, compile_from=_SCHEDULED, compile_to="hal")
    objects = [data for binary in executable_binaries(module) for data in form.extract(binary)]
    if save_temps is not None:
        for index, data in enumerate(objects):
            save_temps.write(f"{index}.{form.name}", data)
    return replace(make_kernel(target, objects, schedule), host=host)


def _read(module: ir.Module, kind: ir.FunctionType) -> tuple[Schedule, str]:
    """Reads the schedule of a module, and writes the host functions if shapes are dynamic."""
    if is_dynamic(kind):
        return write_host(module, kind)
    return read_schedule(module, len(kind.inputs), len(kind.results)), ""


def _translated(
    text: str, target: Target, flags: tuple[str, ...]
) -> tuple[IreeSession, ir.Module, ir.FunctionType]:
    """Compiles up to the phase after which the launch of each dispatch is known."""
    session, module, kind = _formed_dispatches(text, target, flags)
    if has_lone_padding(module):
        flags = turned_off(flags, FUSE_PADDING)
        session, module, kind = _formed_dispatches(text, target, flags)
    is_tiled = _TILINGS[target.kind](module, target)
    try:
        is_tiled |= _pick_tiles(session, module, target, is_free=not has_tuning_spec(flags))
        session.run(module, compile_from=_CONFIGURED, compile_to=_SCHEDULED)
    except CodegenError:
        if not is_tiled:
            raise
        # IREE may fail with these tile sizes and succeed with its own.
        session, module, kind = _formed_dispatches(text, target, flags)
        _pick_tiles(session, module, target, is_free=False)
        session.run(module, compile_from=_CONFIGURED, compile_to=_SCHEDULED)
    return session, module, kind


def _pick_tiles(session: IreeSession, module: ir.Module, target: Target, *, is_free: bool) -> bool:
    """Compiles up to the phase after which tile sizes are known; see `correct_blocks`."""
    schedule_dispatches(module)
    session.run(module, compile_from="stream", compile_to="executable-sources")
    relax_alignment(module)
    session.run(module, compile_from="executable-sources", compile_to=_CONFIGURED)
    is_changed = correct_blocks(module, target, is_free=is_free)
    guard_gathers(module, target)
    select_factors(module, target)
    return (is_free and correct_tiles(module, target)) or is_changed


def _formed_dispatches(
    text: str, target: Target, flags: tuple[str, ...]
) -> tuple[IreeSession, ir.Module, ir.FunctionType]:
    """Compiles up to the phase after which the computation of each dispatch is known."""
    session = get_session((*flags, *SCHEDULE_FLAGS))
    module = _parse(session, text, target.kind)
    kind = signature(module)
    add_result_buffers(module)
    _run_to_flow(session, module, text, flags)
    refuse_shared_fills(module)
    return session, module, kind


def _run_to_flow(
    session: IreeSession, module: ir.Module, text: str, flags: tuple[str, ...]
) -> None:
    if needs_input_phase(text, flags):
        session.run(module, compile_to="flow")
    else:
        import_builtin(module)
        session.run(module, compile_from="input", compile_to="flow")
    read_whole_sources(module)


def _parse(session: IreeSession, text: str, kind: TargetKind) -> ir.Module:
    module = session.parse(_without_torch(text, kind) if "torch" in text else text)
    if kind is TargetKind.CPU:
        guard_divisions(module)
    else:
        reorder_extremes(module)
        separate_widening(module)
    expand_integer_powers(module)
    # On AMDGPU, ROCm's device library has the functions.
    only_constants = kind is TargetKind.AMDGPU
    expand_functions(module, only_constants=only_constants)
    expand_powers(module, only_constants=only_constants)
    if is_dynamic(signature(module)):
        check_extents(module)
    return module


def _without_torch(text: str, kind: TargetKind) -> str:
    """Returns a module with its torch ops lowered; a separate context lowers them.

    Once a context has loaded the torch dialect, each canonicalization in it prepares its patterns
    for that dialect's many ops, too, and any small graph takes a third longer to compile.
    """
    module = get_session(()).parse(text)
    widen_sums(module)
    keep_nans(module)
    expand_log_sigmoids(module)
    rewrite_remainders(module)
    match_numbers(module)
    lower_torch(module)
    order_nans(module)
    if kind is not TargetKind.CPU:
        fuse_gathers(module)
        parallelize_scatters(module)
    separate_positions(module)
    return asm(module)


def _schedule_text(module: ir.Module) -> str:
    """Prints the host program and the kernels' declarations, without the kernels' code."""
    bodies = [(op.block, op) for op in _kernel_bodies(module)]
    for _, body in bodies:
        body.detach_from_parent()
    text = module.operation.get_asm(large_elements_limit=_PRINTED_ELEMENTS)
    for block, body in bodies:
        ir.InsertionPoint.at_block_terminator(block).insert(body)
    return text


def _kernel_bodies(module: ir.Module) -> list[ir.Operation]:
    return [
        op.operation
        for executable in module.body.operations
        if executable.operation.name == "hal.executable"
        for variant in executable.operation.regions[0].blocks[0].operations
        if variant.operation.name == "hal.executable.variant"
        for op in variant.operation.regions[0].blocks[0].operations
        if op.operation.name == "builtin.module"
    ]


def _keep_executables(module: ir.Module) -> None:
    """Drops the host code, which would take longer to compile than a small kernel.

    The code objects do not depend on the host code. Executables become public, because the compiler
    removes private ones without a caller.
    """
    public = ir.StringAttr.get("public", module.context)
    for op in [op.operation for op in module.body.operations]:
        if op.name == "hal.executable":
            op.attributes["sym_visibility"] = public
        else:
            op.erase()


def executable_binaries(module: ir.Module) -> list[bytes]:
    """Returns IREE's containers of code objects from a module after the `hal` phase."""
    binaries: list[bytes] = []
    for executable in module.body.operations:
        if executable.operation.name != "hal.executable":
            continue
        for op in executable.operation.regions[0].blocks[0].operations:
            if op.operation.name == "hal.executable.binary":
                binaries.append(dense_bytes(op.operation.attributes["data"]))
    return binaries


def make_kernel(target: Target, objects: Sequence[bytes], schedule: Schedule) -> Kernel:
    """Returns a kernel that consists of code objects and the schedule that launches them.

    Raises:
        CodegenError: code objects, schedule and target do not match.
    """
    form = _FORMATS[target.kind]
    parsed = [form.parse(data) for data in objects]
    for code_object in parsed:
        _check_architecture(code_object, target)
    return Kernel(
        target=target.name,
        format=form.name,
        objects=tuple(objects),
        workspace_size=schedule.workspace_size,
        steps=tuple(_with_object(step, parsed, schedule) for step in schedule.steps),
    )


def _check_architecture(code_object: CodeObject, target: Target) -> None:
    if code_object.architecture != target.name:
        found = code_object.architecture
        raise CodegenError(f"the compiler made a code object for {found}, expected {target.name}")


def _with_object(step: Step, code_objects: Sequence[CodeObject], schedule: Schedule) -> Step:
    if not isinstance(step, Dispatch):
        return step
    holders = [i for i, code in enumerate(code_objects) if step.kernel in code.kernels]
    if len(holders) != 1:
        raise CodegenError(f"kernel '{step.kernel}' is in {len(holders)} code objects, expected 1")
    kernel = code_objects[holders[0]].kernels[step.kernel]
    check_dispatch(step, kernel, schedule.subgroup_sizes[step.kernel])
    return replace(step, object=holders[0])

"""Implements the IREE kernel provider, which compiles a graph to code objects and a schedule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from hipgraft.codegen.iree.borders import write_borders
from hipgraft.codegen.iree.constant_fills import dense_bytes
from hipgraft.codegen.iree.dynamic_functions import write_empty_host, write_host
from hipgraft.codegen.iree.entry import effective_flags, is_dynamic, signature
from hipgraft.codegen.iree.schedule import Schedule, read_schedule
from hipgraft.codegen.iree.session import get_session
from hipgraft.codegen.kernel import Dispatch, Kernel, Step
from hipgraft.codegen.objects.code_object import CodeObject, check_dispatch, extract_code_objects
from hipgraft.codegen.objects.elf_note import without_access_qualifiers
from hipgraft.codegen.objects.ptx import extract_ptx, parse_ptx
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.translation import (
    SCHEDULED,
    Translated,
    parse_input,
    run_to_flow,
    translate,
)
from hipgraft.codegen.workarounds.narrow_floats import expand_conversions
from hipgraft.codegen.workarounds.shared_fills import separate_fills
from hipgraft.codegen.workarounds.undefined_lanes import freeze_arguments
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import CodegenError, Declined, HipgraftError

_PRINTED_ELEMENTS = 16  # printed weights would make a schedule unreadable


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
    module = parse_input(session, text, target.kind)
    kind, host = signature(module), ""
    run_to_flow(session, module, text, flags)
    separate_fills(module)
    session.run(module, compile_from="flow", compile_to=SCHEDULED)
    if is_dynamic(kind):
        host = write_empty_host(module, kind)
    expand_conversions(module)
    data = session.compile_to_vmfb(module, compile_from=SCHEDULED)
    if save_temps is not None:
        save_temps.write("vmfb", data)
    return Kernel(target=target.name, format="vmfb", objects=(data,), host=host)


def _compile_for_gpu(
    text: str, target: Target, flags: tuple[str, ...], save_temps: Temps | None
) -> Kernel:
    flags = effective_flags(text, flags)
    made = translate(text, target, flags, takes_borders=target.kind is TargetKind.AMDGPU)
    schedule, host = _read(made.module, made.kind)
    try:
        schedule = write_borders(made.module, schedule, len(made.kind.inputs), made.borders)
    except Declined:  # another kernel pads
        made = translate(text, target, flags, takes_borders=False)
        schedule, host = _read(made.module, made.kind)
    return replace(_finished(made, schedule, target, save_temps), host=host)


def _finished(
    made: Translated, schedule: Schedule, target: Target, save_temps: Temps | None
) -> Kernel:
    form, session, module = _FORMATS[target.kind], made.session, made.module
    if save_temps is not None:
        save_temps.write("schedule.mlir", _schedule_text(module))
    _keep_executables(module)
    if target.kind is TargetKind.AMDGPU:
        freeze_arguments(module)
    session.run(module, compile_from=SCHEDULED, compile_to="hal")
    objects = [data for binary in executable_binaries(module) for data in form.extract(binary)]
    if save_temps is not None:
        for index, data in enumerate(objects):
            save_temps.write(f"{index}.{form.name}", data)
    return make_kernel(target, objects, schedule)


def _read(module: ir.Module, kind: ir.FunctionType) -> tuple[Schedule, str]:
    """Reads the schedule of a module, and writes the host functions if shapes are dynamic."""
    if is_dynamic(kind):
        return write_host(module, kind)
    return read_schedule(module, len(kind.inputs), len(kind.results)), ""


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

"""Defines the API that compiles a model or module into a program to save and run."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hipgraft import frontends
from hipgraft.codegen.chips import GPUS
from hipgraft.codegen.progress import PROGRESS, Progress, Started
from hipgraft.compiler import report
from hipgraft.compiler.coverage import coverage_rows
from hipgraft.compiler.program_cache import CachedProgram, find_program, keep_program, program_key
from hipgraft.compiler.report import Report
from hipgraft.frontends.models import Model, as_source
from hipgraft.ir import io as ir_io
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.outputs import together
from hipgraft.passmanager.pipeline import resolve, to_text
from hipgraft.passmanager.registry import PipelineElement
from hipgraft.passmanager.runner import Runner
from hipgraft.pipelines import HipgraftConfig, final_stage, has_symbols, last_stage, route, stage_of
from hipgraft.runtime.bundle import write_bundle, write_host_bundle
from hipgraft.runtime.host_program.bytecode import host_bytes
from hipgraft.runtime.known_code import remember_file
from hipgraft.runtime.parameter_files import check_replaceable, constant_buffers, write_parameters
from hipgraft.runtime.recording import Recording
from hipgraft.runtime.runnable import Runnable
from hipgraft.runtime.session import Session
from hipgraft.service import (
    CompileService,
    current_service,
    default_service,
    is_service_used,
    use_service,
)

StageObserver = Callable[[str, ir.Module], None]
ProgressObserver = Callable[[Started | Progress], None]

_LOG = logging.getLogger("hipgraft")


@dataclass(eq=False)
class Program(Runnable):
    """A compiled program.

    Attributes:
        module: module at the last stage of the compilation.
        config: configuration of the compilation.
        report: the outlined graphs, and the declined rewrites with reasons.
        outlined: the program at stage `hipdnn-graphs`, which can be compiled for another
            target; None if the model was already past that stage.
        directory: folder of the model's file, where a host program's parameter file is.
    """

    module: ir.Module
    config: HipgraftConfig
    report: Report
    outlined: ir.Module | None = None
    directory: Path = Path()
    _recordings: dict[str, tuple[Recording, ...]] = field(
        default_factory=dict[str, tuple[Recording, ...]], repr=False
    )

    def __post_init__(self) -> None:
        """Prepares the state that all devices share."""
        super().__init__()

    def save(self, path: str | Path, *, bytecode: bool = False) -> None:
        """Writes the module as text with all of its constants, or as bytecode.

        Raises:
            HipgraftError: the file cannot be written; it is then removed.
        """
        ir_io.write_module(str(path), self.module, bytecode=bytecode)
        remember_file(path)

    @property
    def is_host(self) -> bool:
        """Whether the program is a host program, the last stage."""
        return last_stage(self.config) == "host"

    def externalize_constants(self, file: str | Path = "") -> int:
        """Makes large constants of a host program arguments, and writes their values to a file.

        Args:
            file: a `.safetensors` or `.irpa` file in the folder where the program will be saved.

        Returns:
            The number of constants that were moved.

        Raises:
            HipgraftError: the file cannot be written.
        """
        # Imported here because few programs are written this way.
        from hipgraft.passes.hipgraft_externalize_constants import (
            HipgraftExternalizeConstantsPass,
        )

        if not self.is_host:
            return 0
        externalize = HipgraftExternalizeConstantsPass(file=str(file))
        result = Runner().run(self.module, (externalize,))
        return sum(record.state.counters.total() for record in result.records)

    def save_bundle(self, path: str | Path) -> None:
        """Writes the program with its constants as one file, which runs without the compiler.

        A program with dynamic shapes still needs MLIR's bindings, which interpret its host program.

        Raises:
            HipgraftError: the file cannot be written, or the program is not at its last stage.
        """
        metadata = {"extra_flags": self.config.extra_flags}
        if has_symbols(self.module):
            host = host_bytes(self.module)
            write_host_bundle(path, host, self.config.target, metadata)
            return
        recordings = [one for target in self.config.target for one in self.recordings(target)]
        write_bundle(path, recordings, metadata)

    def save_object(self, path: str | Path) -> list[Path]:
        """Writes an object file of the host program, and a C header beside it; returns all files.

        The function is named after the file: `_mlir_ciface_hipgraft_STEM`. It calls MLIR's
        GPU runtime (`mgpu*`), with which it must be linked. Constants are arguments; their values
        are written to `STEM.safetensors`.

        Raises:
            HipgraftError: a file cannot be written, or the program is not for a single GPU.
        """
        # Imported here because lowering needs torch-mlir's wheel, which takes a while to load.
        from hipgraft.host.lowering import lower_host, write_object
        from hipgraft.host.object_header import object_header

        target = Path(path)
        entry = "hipgraft_" + re.sub(r"\W", "_", target.stem)
        lowered = lower_host(self.module, self.config.target[0], entry)
        header = target.with_suffix(".h")
        constants = constant_buffers(self.module, lowered.constants)
        parameters = target.with_suffix(".safetensors")
        if constants:
            check_replaceable(parameters)
        with together():
            if constants:
                write_parameters(parameters, constants)
            write_object(lowered, target)
            ir_io.write_output(str(header), object_header(lowered, header.name).encode())
        return [target, header, *([parameters] if constants else [])]

    def recordings(self, architecture: str) -> tuple[Recording, ...]:
        """Returns the calls that the program makes on a device, in each of its variants.

        The CPU runs the same outlined graphs, compiled for it.

        Raises:
            HipgraftError: the program is not for this device, or not at its last stage.
        """
        from hipgraft.runtime.recorder import record_variants

        if architecture not in self._recordings:
            module = self._module_for(architecture)
            self._recordings[architecture] = record_variants(module, architecture, self.directory)
        return self._recordings[architecture]

    def _open_session(self, device: Any) -> Session:
        from hipgraft.runtime.recorder import open_session

        if not has_symbols(self.module):
            return super()._open_session(device)
        return open_session(self.module, device, self.directory)

    def _module_for(self, architecture: str) -> ir.Module:
        if architecture != "cpu" or self.config.target == ("cpu",):
            return self.module
        if self.outlined is None:
            raise HipgraftError(
                "the program is past outlining and holds no code for the CPU; "
                "run the model or the program at stage 'hipdnn-graphs'"
            )
        return compile(ir_io.clone_module(self.outlined), "cpu").module


def compile(
    model: Model,
    target: str | Sequence[str] = "gfx942",
    *,
    compile_to: str = "",
    gpu: str = "",
    calibration: str = "",
    extra_flags: Sequence[str] = (),
    save_temps: str = "",
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    specialize: Mapping[str, Sequence[int]] | None = None,
    sweep_case: str | None = None,
    on_stage: StageObserver | None = None,
    on_progress: ProgressObserver | None = None,
    service: CompileService | None = None,
) -> Program:
    """Compiles a model, or a module of any stage, which is consumed.

    An exception from a callback ends the compilation and its workers; so does `KeyboardInterrupt`.

    Args:
        model: the path of an `.onnx`, MLIR or hipDNN file, or of a hipDNN template's folder; MLIR
            as text of several lines or as bytecode; an `onnx.ModelProto` or its bytes; a module of
            any bindings. A module whose context refuses unregistered dialects, or of other
            bindings, is copied.
        target: architecture or product (`gfx942`, `mi300x`), several, or `cpu`.
        compile_to: the last stage; by default `host`, and `hipdnn-buffers` for the CPU.
        gpu: product that graphs are formed for (`mi325x`, see docs/cost.md); by default the first
            target, or a GPU of its architecture.
        calibration: a JSON file of measured factors for the estimates of graphs.
        extra_flags: further flags for IREE's compiler.
        save_temps: directory for compiler inputs, schedules and code objects.
        shapes: extents of dynamic inputs by name.
        dims: extents of symbolic dimensions by name. Those without one stay dynamic in programs
            for GPUs, and are an error for the CPU.
        specialize: several extents of symbolic dimensions by name; the program has a variant for
            every combination, and runs the variant that fits the inputs' shapes.
        sweep_case: id of a case of a hipDNN template; optional if there is only one case.
        on_stage: called with each stage and the module when it is reached; only with the last stage
            if the whole program is in the cache.
        on_progress: called in this thread when the compilation of a graph starts (`Started`) and
            when it ends (`Progress`, see `hipgraft.codegen.progress`).
        service: service that compiles graphs; by default the one that `use_service` set, or else
            a process per core, with the user's cache.

    Raises:
        HipgraftError: the model is invalid, a target or stage unknown, or an op cannot be
            compiled; located.
    """
    config = HipgraftConfig(
        target=_targets(target),
        extra_flags=tuple(extra_flags),
        save_temps=save_temps,
        compile_to=compile_to,
        gpu=_gpu(gpu, target),
        calibration=calibration,
    )
    given: dict[str, Any] = {
        "shapes": shapes or {},
        "dims": dims or {},
        "specialize": specialize or {},
    }
    last = last_stage(config)
    # hipDNN's graphs are static: programs with dynamic shapes skip the stages in between.
    dynamic = last in ("torch", final_stage(config))
    observer = on_stage or _ignore
    with as_source(model) as source, _service(service) as active, _told(on_progress):
        if isinstance(source, ir.Module):
            if sweep_case is not None:
                raise HipgraftError("the model is no template and has no cases")
            frontends.give_extents(source, **given, dynamic=dynamic)
            return _Compilation(source, config, observer).run()
        # The file of an in-memory model has a different name each time, and locations contain it.
        is_file = isinstance(model, str | os.PathLike)
        key = program_key(source, config, repr(given), active) if is_file else None
        found = None if key is None else find_program(key, active)
        if found is not None:
            observer(last, found.module)
            return Program(found.module, config, found.report, found.outlined, source.parent)
        if last in ("hipdnn-executables", final_stage(config)):
            active.workers.prepare()
        module = frontends.read(source, **given, sweep_case=sweep_case, dynamic=dynamic)
        lost = active.statistics.lost
        program = _Compilation(module, config, observer).run()
        program.directory = source.parent
        # A graph that was split after a crash or a timeout may compile as a whole next time.
        if key is not None and active.statistics.lost == lost:
            kept = CachedProgram(program.module, program.outlined, program.report)
            keep_program(key, source.name, kept, active)
        return program


def _targets(given: str | Sequence[str]) -> tuple[str, ...]:
    """Returns the architectures for names of architectures or products."""
    from hipgraft.codegen.target import Target

    targets = tuple(dict.fromkeys(Target.parse(name).name for name in _names(given)))
    if "cpu" in targets and len(targets) > 1:
        raise HipgraftError("target 'cpu' cannot be combined with others")
    return targets


def _names(given: str | Sequence[str]) -> Sequence[str]:
    return given.split(",") if isinstance(given, str) else given


def _gpu(given: str, target: str | Sequence[str]) -> str:
    """Returns the GPU that graphs are formed for: `given`, or the first target if it is one."""
    name = given.strip().lower()
    if not name:
        first = _names(target)[0].strip().lower()
        return first if first in GPUS else ""
    if name not in GPUS:
        raise HipgraftError(f"unknown GPU '{given}'; expected one of {', '.join(GPUS)}")
    architecture, targets = GPUS[name].architecture, _targets(target)
    if architecture not in targets:
        listed = ", ".join(f"'{one}'" for one in targets)
        raise HipgraftError(f"GPU '{given}' is of '{architecture}', but the target is {listed}")
    return name


@contextmanager
def _told(on_progress: ProgressObserver | None) -> Generator[None, None, None]:
    """Makes the service call `on_progress`, if it is given."""
    if on_progress is None:
        yield
        return
    token = PROGRESS.set(on_progress)
    try:
        yield
    finally:
        PROGRESS.reset(token)


@contextmanager
def _service(given: CompileService | None) -> Generator[CompileService, None, None]:
    if given is not None:
        with use_service(given):
            yield given
    elif is_service_used():
        yield current_service()
    else:
        with default_service() as service, use_service(service):
            yield service


def _ignore(stage: str, module: ir.Module) -> None:
    pass


class _Compilation:
    """A run of one compilation through the stages."""

    def __init__(self, module: ir.Module, config: HipgraftConfig, on_stage: StageObserver):
        self.module = module
        self.config = config
        self.on_stage = on_stage
        self.report = Report()
        self.outlined: ir.Module | None = None

    def run(self) -> Program:
        """Compiles the module to the last stage of its configuration."""
        frontends.keep_names(self.module)
        frontends.keep_signs(self.module)
        current = stage_of(self.module)
        phases = route(current, self.config, dynamic=has_symbols(self.module))
        # Only the stage's own phase can decide whether a module of torch ops is at that stage.
        if current not in ("onnx", "torch"):
            self._reached(current)
        for stage, phase in phases:
            self._run(stage, phase)
        return Program(self.module, self.config, self.report, self.outlined)

    def _run(self, stage: str, pipeline: Sequence[PipelineElement]) -> None:
        """Runs the pipeline that produces `stage`."""
        start = time.perf_counter()
        self.report.pipelines[stage] = to_text(resolve(pipeline))
        result = Runner().run(self.module, pipeline)
        self.report.add_records(result.records)
        self.report.seconds[stage] = time.perf_counter() - start
        _LOG.info("reached stage %s in %.2f s", stage, self.report.seconds[stage])
        self._reached(stage)

    def _reached(self, stage: str) -> None:
        if stage == "torch":
            self.report.graphs = report.function_rows(self.module)
        if stage == "host" and not self.report.executables:
            self.report.executables = report.function_launch_rows(self.module)
            self.report.kernels = report.function_kernel_rows(self.module)
        if stage == "hipdnn-graphs":
            self.outlined = ir_io.clone_module(self.module)
            self.report.graphs = report.graph_rows(self.module)
            self.report.coverage = coverage_rows(self.module, self.report.remarks)
        if stage == "hipdnn-executables":
            self.report.executables = report.launch_rows(self.module)
            self.report.kernels = report.kernel_rows(self.module)
        self.on_stage(stage, self.module)

"""Compiles by running another `iree-compile`, or one with flags that only its command line has."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hipgraft.codegen.iree.entry import add_result_buffers, signature
from hipgraft.codegen.iree.foreign_ir import without_dialects
from hipgraft.codegen.iree.schedule import read_schedule
from hipgraft.codegen.kernel import Dispatch, Kernel
from hipgraft.codegen.objects.code_object import CodeObject
from hipgraft.codegen.provider import make_kernel
from hipgraft.codegen.target import Target
from hipgraft.codegen.translation import SCHEDULE_FLAGS
from hipgraft.integrations.rocmlir.settings import RENAMED, Settings
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import CodegenError
from hipgraft.service.child_python import python_command

_TIMEOUT = 600  # seconds until the compiler counts as hung
_UNKNOWN = re.compile(r"Unknown command line argument '(--[\w-]+)")

# Names of flags in other releases.
_OTHER_NAMES = {
    "--iree-rocm-target": "--iree-hip-target",
    "--iree-hip-target": "--iree-rocm-target-chip",
    **RENAMED,
    **{new: old for old, new in RENAMED.items()},
}


def compile_externally(
    text: str, target: Target, flags: Sequence[str], settings: Settings
) -> Kernel:
    """Compiles a module with one function `@main`, as `provider.compile_text` does.

    Raises:
        CodegenError: there is no such compiler, it fails, or its internal IR has an
            unsupported form.
    """
    with tempfile.TemporaryDirectory() as folder, make_context(), ir.Location.unknown():
        work = Path(folder)
        module = ir.Module.parse(text)
        kind = signature(module)
        add_result_buffers(module)
        (work / "input.mlir").write_text(str(module))
        compiler = _Compiler(work, [*target.device_flags, *flags, *SCHEDULE_FLAGS], settings)
        compiler.run(
            "input.mlir",
            "--compile-to=executable-targets",
            "--mlir-print-op-generic",
            "-o",
            "schedule.mlir",
        )
        scheduled = _parse((work / "schedule.mlir").read_text())
        schedule = read_schedule(scheduled, len(kind.inputs), len(kind.results))
        compiler.run(
            "schedule.mlir",
            "--compile-from=executable-targets",
            "--compile-to=hal",
            "--iree-hal-dump-executable-binaries-to=binaries",
            "-o",
            "binary.mlir",
        )
        objects = [path.read_bytes() for path in sorted((work / "binaries").glob("*.hsaco"))]
        return _with_static_memory(make_kernel(target, objects, schedule))


def _with_static_memory(kernel: Kernel) -> Kernel:
    """Removes static shared memory from launches, where older versions count it a second time."""
    codes = [CodeObject.parse(data) for data in kernel.objects]
    steps = [
        replace(step, dynamic_shared_memory=0)
        if isinstance(step, Dispatch)
        and step.dynamic_shared_memory <= codes[step.object].kernels[step.kernel].lds_size
        else step
        for step in kernel.steps
    ]
    return replace(kernel, steps=tuple(steps))


def _parse(text: str) -> ir.Module:
    try:
        return ir.Module.parse(without_dialects(text))
    except ir.MLIRError as error:
        raise CodegenError(f"the compiler's internal IR is of another version: {error}") from None


class _Compiler:
    """The compiler command, which remembers unknown flags and omits them in later calls, too."""

    def __init__(self, work: Path, flags: Sequence[str], settings: Settings):
        self._work = work
        self._flags = list(flags)
        self._settings = settings
        self._unknown: set[str] = set()
        self._program = _program(settings)

    def run(self, *arguments: str) -> None:
        """Runs the compiler in the work folder.

        Raises:
            CodegenError: the compiler cannot be started, fails, or hangs.
        """
        while True:
            command = [*self._program, *self._flags, *arguments]
            done = self._call(command)
            if done.returncode == 0:
                return
            self._settings.tell(2, f"{' '.join(command)}\n{done.stdout}{done.stderr}")
            unknown = _UNKNOWN.findall(done.stderr)
            if not any([self._replace(name) for name in unknown]):
                raise CodegenError(_first_error(done.stderr))

    def _call(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                command, cwd=self._work, capture_output=True, text=True, timeout=_TIMEOUT
            )
        except OSError as error:
            raise CodegenError(f"cannot run '{command[0]}': {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise CodegenError(f"'iree-compile' did not end within {_TIMEOUT} s") from None

    def _replace(self, name: str) -> bool:
        """Renames or drops an unknown flag; returns whether there was one of ours."""
        self._unknown.add(name)
        known = [flag for flag in self._flags if flag.partition("=")[0] == name]
        other = _OTHER_NAMES.get(name, name)
        for flag in known:
            self._flags.remove(flag)
            if other not in self._unknown:
                self._flags.append(other + flag.removeprefix(name))
            else:
                # Users must learn of their unknown flags; omitting ours only changes the kernels.
                level = 0 if self._is_users(flag) else 2
                self._settings.tell(level, f"warning: 'iree-compile' has no flag '{name}'")
        return bool(known)

    def _is_users(self, flag: str) -> bool:
        name, equals, value = flag.partition("=")
        names = {name, *(old for old, new in _OTHER_NAMES.items() if new == name)}
        return any(f"{each}{equals}{value}" in self._settings.flags for each in names)


def _program(settings: Settings) -> list[str]:
    """Returns the compiler in the configured folder, or the one that belongs to the bindings."""
    if settings.bin is not None:
        return [str(settings.bin.resolve() / "iree-compile")]
    return python_command("-m", "iree.compiler.tools.scripts.iree_compile")


def _first_error(output: str) -> str:
    # An unknown pass pipeline is reported and then omitted.
    lines = [
        line
        for line in output.splitlines()
        if "error:" in line and not line.startswith("MLIR Textual PassPipeline Parser")
    ]
    message = lines[0].partition("error:")[2].strip() if lines else output.strip()
    return message or "the compiler failed without a message"

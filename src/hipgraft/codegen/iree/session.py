"""Runs IREE's compiler in this process: sessions, phases, diagnostics.

A session holds one set of flags and one MLIR context; many invocations share it. The phases of
the pipeline are chosen through the C API, which the wheel's `ctypes` wrapper does not cover.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from enum import IntEnum
from functools import cache
from typing import Any, ClassVar

from iree.compiler.api import ctypes_dl  # noqa: TID251 (the compiler, not the bindings)

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import CodegenError, HipgraftError

PROGRAM = "hipgraft"
"""The program name in the compiler's errors about process flags."""

_MAX_REPORTED_ERRORS = 3
_MAX_ERROR_CHARACTERS = 200

# A location in generated text, such as `-:3:12: `, is meaningless to the user.
_LOCATION = re.compile(r"^\S+:\d+:\d+: ")

_DIAGNOSTIC_CALLBACK = ctypes.CFUNCTYPE(
    None, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
)


class _Severity(IntEnum):
    NOTE = 0
    WARNING = 1
    ERROR = 2
    REMARK = 3


class IreeSession:
    """A compiler session with fixed flags.

    Attributes:
        context: the MLIR context in which modules for this session are built.
        unattended: see `compile_unattended`.
        process_flags: see `set_process_flags`.
    """

    unattended: ClassVar[bool] = False
    process_flags: ClassVar[tuple[str, ...]] = ()

    def __init__(self, flags: Sequence[str]):
        """Starts a session with `flags`.

        Raises:
            HipgraftError: the compiler does not know a flag or its value.
        """
        self._session = ctypes_dl.Session()
        try:
            self._session.set_flags(*(flag for flag in flags if flag not in self.process_flags))
        except ValueError as error:
            reason = str(error).strip().splitlines()[-1].strip()
            raise HipgraftError(f"invalid compiler flags: {reason}") from None
        self.context: ir.Context = self._session.context
        if self.unattended:
            self.context.enable_multithreading(False)

    def parse(self, text: str) -> ir.Module:
        """Parses a module into the session's context.

        Raises:
            CodegenError: the text is not valid MLIR.
        """
        try:
            return ir.Module.parse(text, context=self.context)
        except ir.MLIRError as error:
            raise CodegenError(f"invalid compiler input: {_first_line(error)}") from None

    def run(
        self, module: ir.Module, *, compile_from: str | None = None, compile_to: str | None = None
    ) -> None:
        """Runs the compiler's pipeline on `module` in place, from one phase to another.

        Raises:
            CodegenError: compilation failed; the message holds the first errors.
        """
        self._run(module, compile_from, compile_to).close()

    def compile_to_vmfb(self, module: ir.Module, compile_from: str | None = None) -> bytes:
        """Runs the pipeline from the phase `compile_from` to its end and returns the VM bytecode.

        Raises:
            CodegenError: compilation failed; the message holds the first errors.
        """
        invocation = self._run(module, compile_from, None)
        with ctypes_dl.Output.open_membuffer() as output:
            invocation.output_vm_bytecode(output)
            data = bytes(output.map_memory())
        invocation.close()
        return data

    def _run(self, module: ir.Module, compile_from: str | None, compile_to: str | None) -> Any:
        errors: list[str] = []
        callback = _DIAGNOSTIC_CALLBACK(_error_collector(errors))
        invocation = self._session.invocation()
        pointer = ctypes.c_void_p(invocation._inv_p)  # pyright: ignore[reportPrivateUsage]
        library = _library()
        library.ireeCompilerInvocationEnableCallbackDiagnostics(pointer, 0, callback, None)
        library.ireeCompilerInvocationSetVerifyIR(pointer, not self.unattended)
        if compile_from is not None:
            library.ireeCompilerInvocationSetCompileFromPhase(pointer, compile_from.encode())
        if compile_to is not None:
            library.ireeCompilerInvocationSetCompileToPhase(pointer, compile_to.encode())
        invocation.import_module(module.operation)
        if not invocation.execute():
            invocation.close()
            raise _failure(errors)
        _check_valid(module)
        return invocation


def compile_unattended() -> None:
    """Makes later sessions of this process compile in less time; for worker processes.

    Their contexts run single-threaded; the compiler's global option for that would also freeze
    `--iree-opt-level` at its default. They do not verify the module after each of some hundred
    passes, which takes a sixth of the time; a check after the last pass still finds invalid IR, and
    a crash ends this worker process alone.
    """
    IreeSession.unattended = True


def process_flags(flags: Sequence[str]) -> tuple[str, ...]:
    """Returns the flags that no session accepts because they are options of the whole process."""
    return tuple(flag for flag in flags if _flag_name(flag) not in _session_flags())


def set_process_flags(flags: Sequence[str]) -> None:
    """Sets compiler flags for the whole process, once, before its first session; for workers.

    The compiler ends the process if it does not know a flag or its value.

    Args:
        flags: process flags, and all flags of later sessions, because the compiler decides
            here what `--iree-opt-level` implies for each of them.
    """
    ctypes_dl._initializeGlobalCL(PROGRAM, *flags)  # pyright: ignore[reportPrivateUsage]
    IreeSession.process_flags = process_flags(flags)


@cache
def _session_flags() -> frozenset[str]:
    flags = ctypes_dl.Session().get_flags(non_default_only=False)
    return frozenset(_flag_name(flag) for flag in flags)


def _flag_name(flag: str) -> str:
    return flag.partition("=")[0].lstrip("-")


@cache
def get_session(flags: tuple[str, ...]) -> IreeSession:
    """Returns this process's session for `flags`, starting it at first use."""
    return IreeSession(flags)


@cache
def _library() -> Any:
    library: Any = ctypes_dl._dylib  # pyright: ignore[reportPrivateUsage]
    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    for name, arguments in {
        "ireeCompilerInvocationEnableCallbackDiagnostics": [
            pointer,
            ctypes.c_int,
            _DIAGNOSTIC_CALLBACK,
            pointer,
        ],
        "ireeCompilerInvocationSetCompileFromPhase": [pointer, text],
        "ireeCompilerInvocationSetCompileToPhase": [pointer, text],
        "ireeCompilerInvocationSetVerifyIR": [pointer, ctypes.c_bool],
    }.items():
        function = getattr(library, name)
        function.restype, function.argtypes = None, arguments
    return library


def _error_collector(errors: list[str]) -> Any:
    def collect(severity: int, message: int, size: int, _user_data: int) -> None:
        if severity == _Severity.ERROR:
            errors.append(ctypes.string_at(message, size).decode(errors="replace"))

    return collect


def _check_valid(module: ir.Module) -> None:
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise CodegenError(f"the compiler made invalid IR: {_first_line(error)}") from None


def _failure(errors: Sequence[str]) -> CodegenError:
    if not errors:
        return CodegenError("the compiler failed without a message")
    first, *others = (_headline(error) for error in errors[:_MAX_REPORTED_ERRORS])
    return CodegenError(first, notes=tuple(others))


def _headline(error: str) -> str:
    """Returns the first line of a diagnostic, without the dump of IR that follows."""
    line = _LOCATION.sub("", error.strip().splitlines()[0])
    return line if len(line) <= _MAX_ERROR_CHARACTERS else line[:_MAX_ERROR_CHARACTERS] + "..."


def _first_line(error: ir.MLIRError) -> str:
    diagnostics = error.error_diagnostics
    return diagnostics[0].message if diagnostics else str(error).splitlines()[0]

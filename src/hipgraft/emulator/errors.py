"""Errors of the emulator."""

from hipgraft.ir.diagnostics import HipgraftError


class EmulatorError(HipgraftError):
    """A kernel cannot be executed."""


class ExecutionError(EmulatorError):
    """A kernel does something that a GPU does not allow, such as an access out of bounds."""


class MissingEmulatorError(EmulatorError):
    """This machine lacks LLVM's disassembler, or the core was not built."""


class UnknownInstructionError(EmulatorError):
    """The emulator has no definition of an instruction."""

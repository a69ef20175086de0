"""Errors of the emulator."""

from hipgraft.ir.diagnostics import HipgraftError


class EmulatorError(HipgraftError):
    """A kernel cannot be executed, or does what a GPU would not allow."""


class MissingEmulatorError(EmulatorError):
    """This machine lacks LLVM's disassembler, or the core was not built."""


class UnknownInstructionError(EmulatorError):
    """The emulator has no definition of an instruction."""

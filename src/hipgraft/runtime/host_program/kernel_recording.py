"""Builds a program from a single kernel, which then runs on a device without its model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hipgraft.codegen import kernel as kernels
from hipgraft.codegen.objects.code_object import CodeObject
from hipgraft.codegen.objects.formats import read_object
from hipgraft.runtime.recording import (
    Buffer,
    Call,
    Command,
    Copy,
    Fill,
    Launch,
    Pointer,
    Recording,
    Tensor,
)


def kernel_recording(
    kernel: kernels.Kernel, inputs: Sequence[Tensor], results: Sequence[Tensor]
) -> Recording:
    """Returns the program that calls a kernel once.

    Args:
        kernel: kernel for one target.
        inputs: packed operands, in order.
        results: packed results, in order.
    """
    tensors = (*inputs, *results)
    if kernel.format == "vmfb":
        arguments = tuple((Pointer(number, 0), tensor) for number, tensor in enumerate(tensors))
        call = Call(0, arguments[: len(inputs)], arguments[len(inputs) :])
        return _recording(kernel, inputs, results, (), (call,))
    steps = _Steps([read_object(data) for data in kernel.objects])
    commands = tuple(steps.command(step) for step in kernel.steps)
    return _recording(kernel, inputs, results, tuple(steps.kernels), commands)


def _recording(
    kernel: kernels.Kernel,
    inputs: Sequence[Tensor],
    results: Sequence[Tensor],
    symbols: tuple[tuple[int, str], ...],
    commands: tuple[Command, ...],
) -> Recording:
    """Numbers buffers in a kernel's order: operands, results, the workspace."""
    return Recording(
        architecture=kernel.target,
        inputs=tuple(inputs),
        results=tuple(results),
        buffers=(Buffer(kernel.workspace_size),),
        objects=kernel.objects,
        kernels=symbols,
        commands=commands,
    )


@dataclass
class _Steps:
    """Converts a kernel's steps to commands, and collects the symbols that they launch."""

    objects: list[CodeObject]
    kernels: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def command(self, step: kernels.Step) -> Command:
        match step:
            case kernels.Fill():
                pattern = step.pattern.to_bytes(step.pattern_length, "little")
                return Fill(Pointer(step.buffer, step.offset), pattern, step.length)
            case kernels.Copy():
                source = Pointer(step.source, step.source_offset)
                return Copy(Pointer(step.target, step.target_offset), source, step.length)
            case kernels.Dispatch():
                return self._launch(step)

    def _launch(self, step: kernels.Dispatch) -> Launch:
        symbol = (step.object, step.kernel)
        if symbol not in self.kernels:
            self.kernels.append(symbol)
        info = self.objects[step.object].kernels[step.kernel]
        offsets = [argument.offset for argument in info.arguments]
        pointers = [Pointer(binding.buffer, binding.offset) for binding in step.bindings]
        segment = bytearray(info.kernarg_size)
        for offset, word in zip(offsets[len(pointers) :], step.constants, strict=True):
            segment[offset : offset + 4] = (word & 0xFFFFFFFF).to_bytes(4, "little")
        return Launch(
            kernel=self.kernels.index(symbol),
            grid=step.grid,
            block=step.block,
            shared_bytes=step.dynamic_shared_memory,
            kernarg=bytes(segment),
            pointers=tuple(zip(offsets, pointers, strict=False)),
        )

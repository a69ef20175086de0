"""Commands of recordings as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hipgraft.runtime.recording import Call, Command, Copy, Fill, Launch, Pointer, Tensor


def command_to_json(command: Command) -> list[Any]:
    """Returns a command as a list that starts with its kind; bytes are hexadecimal."""
    match command:
        case Launch():
            return [
                "launch",
                command.kernel,
                command.grid,
                command.block,
                command.shared_bytes,
                command.kernarg.hex(),
                [[offset, *_place(pointer)] for offset, pointer in command.pointers],
            ]
        case Fill():
            return ["fill", _place(command.target), command.pattern.hex(), command.nbytes]
        case Copy():
            return ["copy", _place(command.target), _place(command.source), command.nbytes]
        case Call():
            return ["call", command.module, _placed(command.inputs), _placed(command.outputs)]


def command_from_json(fields: Sequence[Any]) -> Command:
    """Returns what `command_to_json` wrote."""
    kind, *rest = fields
    match kind:
        case "launch":
            kernel, grid, block, shared, kernarg, pointers = rest
            places = tuple((offset, Pointer(*place)) for offset, *place in pointers)
            segment = bytes.fromhex(kernarg)
            return Launch(kernel, tuple(grid), tuple(block), shared, segment, places)
        case "fill":
            target, pattern, nbytes = rest
            return Fill(Pointer(*target), bytes.fromhex(pattern), nbytes)
        case "copy":
            target, source, nbytes = rest
            return Copy(Pointer(*target), Pointer(*source), nbytes)
        case "call":
            module, inputs, outputs = rest
            return Call(module, _unplaced(inputs), _unplaced(outputs))
        case _:
            raise ValueError(f"unknown command '{kind}'")


def _place(pointer: Pointer) -> tuple[int, int]:
    return pointer.buffer, pointer.offset


def _placed(tensors: Sequence[tuple[Pointer, Tensor]]) -> list[Any]:
    return [[*_place(pointer), one.shape, one.element_type] for pointer, one in tensors]


def _unplaced(fields: Sequence[Sequence[Any]]) -> tuple[tuple[Pointer, Tensor], ...]:
    return tuple(
        (Pointer(buffer, offset), Tensor("", tuple(shape), element_type))
        for buffer, offset, shape, element_type in fields
    )

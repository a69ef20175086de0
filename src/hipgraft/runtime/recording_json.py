"""Converts variants of recordings to JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hipgraft.runtime.recording import (
    Call,
    Command,
    Copy,
    Fill,
    Launch,
    Pointer,
    Recording,
    Tensor,
)


def variant_to_json(variant: Recording) -> dict[str, Any]:
    """Returns the fields of a variant that other variants of the program do not share."""
    return {
        "name": variant.variant,
        "inputs": [_tensor_to_json(tensor) for tensor in variant.inputs],
        "results": [_tensor_to_json(tensor) for tensor in variant.results],
        "commands": [command_to_json(command) for command in variant.commands],
        "row_counts": variant.row_counts,
    }


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
                [[offset, *_address(pointer)] for offset, pointer in command.pointers],
            ]
        case Fill():
            return ["fill", _address(command.target), command.pattern.hex(), command.nbytes]
        case Copy():
            return ["copy", _address(command.target), _address(command.source), command.nbytes]
        case Call():
            return ["call", command.module, _placed(command.inputs), _placed(command.outputs)]


def _address(pointer: Pointer) -> tuple[int, int]:
    return pointer.buffer, pointer.offset


def _placed(tensors: Sequence[tuple[Pointer, Tensor]]) -> list[Any]:
    return [[*_address(pointer), one.shape, one.element_type] for pointer, one in tensors]


def _tensor_to_json(tensor: Tensor) -> list[Any]:
    fields = (tensor.name, tensor.shape, tensor.element_type, tensor.strides, tensor.offset)
    return [*fields, tensor.nbytes]

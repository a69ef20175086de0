"""Reads in-memory models: text, bytes, ONNX messages, and modules of any context or bindings."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

from hipgraft.frontends.torch.exported import import_exported
from hipgraft.frontends.torch.text import parse_mlir
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.bytecode import to_bytecode


@runtime_checkable
class MlirModule(Protocol):
    """A module of any MLIR bindings: hipgraft's, IREE's or torch-mlir's."""

    @property
    def operation(self) -> Any:
        """The module's op."""
        ...


@runtime_checkable
class OnnxModel(Protocol):
    """An `onnx.ModelProto`."""

    def SerializeToString(self) -> bytes:  # noqa: N802 (protobuf's name)
        """Returns the model's bytes."""
        ...


@runtime_checkable
class ExportedProgram(Protocol):
    """A `torch.export.ExportedProgram`."""

    def run_decompositions(self, decomp_table: Any = None) -> Any:
        """Returns the program with ops decomposed."""
        ...


Model: TypeAlias = str | os.PathLike[str] | bytes | MlirModule | OnnxModel | ExportedProgram
"""A model: a path, MLIR as text or bytecode, an ONNX model or its bytes, a module, or a program
that PyTorch exported."""

_NAME = "<model>"  # in locations


@contextmanager
def as_source(model: Model) -> Generator[Path | ir.Module, None, None]:
    """Yields a model as a file that exists until the exit, or as a module of our own bindings.

    A module whose context rejects unregistered dialects, or that has other bindings, is copied to
    a context of hipgraft's; other modules stay as they are.

    Raises:
        HipgraftError: text or bytecode does not parse; located.
        TypeError: the value is not a model.
    """
    given: object = model.encode() if isinstance(model, str) and "\n" in model else model
    with _source(given) as source:
        yield source


@contextmanager
def _source(model: object) -> Generator[Path | ir.Module, None, None]:
    if isinstance(model, str | os.PathLike):
        yield Path(cast("str | os.PathLike[str]", model))
    elif isinstance(model, ExportedProgram):
        yield import_exported(model)
    elif isinstance(model, ir.Module):
        yield model if model.context.allow_unregistered_dialects else _copied(model)
    elif isinstance(model, MlirModule):
        text = model.operation.get_asm(enable_debug_info=True)
        yield parse_mlir(text.encode(), _NAME, make_context())
    elif isinstance(model, bytes) and _is_mlir(model):
        yield parse_mlir(model, _NAME, make_context())
    elif isinstance(model, bytes | OnnxModel):
        with TemporaryDirectory(prefix="hipgraft-") as folder:
            path = Path(folder) / "model.onnx"
            path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
            yield path
    else:
        raise TypeError(
            "expected a path, text, bytes, an ONNX model, an exported program or a module, not "
            f"'{type(model).__name__}'"
        )


def _copied(module: ir.Module) -> ir.Module:
    return parse_mlir(to_bytecode(module), _NAME, make_context())


def _is_mlir(data: bytes) -> bool:
    """Whether bytes are MLIR bytecode or text: ONNX models contain bytes that no text has."""
    return data.startswith(b"ML\xefR") or (b"\0" not in data and b"func" in data)

"""Frontends: a model file in, a module of stage 0 (contract `torch`) out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from hipgraft.bindings import ir, make_context
from hipgraft.diagnostics import HipgraftError, PassFailure
from hipgraft.frontends.stage import argument_names, check_torch_contract, stage_of
from hipgraft.frontends.symbols import Extents, combinations
from hipgraft.frontends.torch_symbols import specialize_functions
from hipgraft.frontends.torch_text import read_mlir
from hipgraft.pipelines.hipgraft_onnx import PHASE_ONNX_TO_TORCH
from hipgraft.pipelines.hipgraft_torch import PHASE_TORCH_BACKEND_FORM
from hipgraft.runner import Runner
from hipgraft.runtime.entry import SYMBOLS

_NOT_CONVERTED = re.compile(r"failed to legalize operation 'torch.operator'.*name = \"([^\"]+)\"")

__all__ = ["argument_names", "give_extents", "has_symbols", "load", "normalize", "read", "stage_of"]


def read(
    path: str | Path,
    context: ir.Context | None = None,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Extents | None = None,
    specialize: Mapping[str, Sequence[int]] | None = None,
    dynamic: bool = False,
) -> ir.Module:
    """Reads a model or program of any stage as it is, but for its symbolic dimensions.

    Args:
        path: `.onnx`, MLIR as text or bytecode, or a hipDNN graph (`.json`, or `.fb` for its
            FlatBuffer).
        context: context of the module; a new one if absent.
        shapes: extents of inputs by name, for dynamic ones.
        dims: extents of symbolic dimensions by name.
        specialize: likewise several of each; every combination becomes a function, a variant of
            the program. `a=b` names dimensions that are always equal.
        dynamic: whether symbolic dimensions without an extent may stay, without `specialize`.

    Raises:
        HipgraftError: the file is missing, of another kind, or invalid, or a symbolic dimension
            has no extent; located.
    """
    path = Path(path)
    context = make_context() if context is None else context
    variants = combinations(dims or {}, specialize or {})
    if path.suffix == ".onnx":
        # onnx costs a quarter of a second to import.
        from hipgraft.frontends.onnx_variants import read_onnx

        return read_onnx(path, context, shapes or {}, variants, dynamic=dynamic)
    if path.suffix in (".mlir", ".mlirbc"):
        module = read_mlir(path, context)
        specialize_functions(module, shapes or {}, variants, dynamic=dynamic)
        return module
    if path.suffix in (".json", ".fb"):
        from hipgraft.hipdnn_io.files import read_module

        return read_module(path, context)
    raise HipgraftError(
        f"unknown kind of file '{path.suffix}'; expected .onnx, .mlir, .mlirbc, .json or .fb",
        location=str(path),
    )


def load(
    path: str | Path,
    context: ir.Context | None = None,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Extents | None = None,
    specialize: Mapping[str, Sequence[int]] | None = None,
) -> ir.Module:
    """Reads a model and brings it to stage 0; arguments as of `read`.

    Raises:
        HipgraftError: the file is invalid, has an unknown op or a dynamic shape; located.
    """
    module = read(path, context, shapes=shapes, dims=dims, specialize=specialize)
    normalize(module)
    return module


def give_extents(
    module: ir.Module,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Extents | None = None,
    specialize: Mapping[str, Sequence[int]] | None = None,
    dynamic: bool = False,
) -> None:
    """Gives the symbolic dimensions of a torch module extents, in place; arguments as of `read`.

    Raises:
        HipgraftError: a symbolic dimension has no extent or one that does not fit; located.
    """
    variants = combinations(dims or {}, specialize or {})
    specialize_functions(module, shapes or {}, variants, dynamic=dynamic)


def has_symbols(module: ir.Module) -> bool:
    """Returns whether a module has a function of dynamic shapes."""
    return any(SYMBOLS in op.operation.attributes for op in module.body.operations)


def normalize(module: ir.Module) -> None:
    """Brings a torch module, imported from ONNX or from PyTorch, to stage 0 in place.

    Raises:
        HipgraftError: an op is unknown or has no static shape; located.
    """
    phases = [PHASE_TORCH_BACKEND_FORM]
    if stage_of(module) == "onnx":
        phases.insert(0, PHASE_ONNX_TO_TORCH)
    for phase in phases:
        # The model itself reproduces what fails here.
        try:
            Runner(keep_reproducer=False).run(module, phase)
        except PassFailure as error:
            raise _explained(error) from None
    check_torch_contract(module)


def _explained(error: PassFailure) -> HipgraftError:
    """torch-mlir tells what it cannot convert by printing the whole op."""
    operator = _NOT_CONVERTED.search(error.message)
    if operator is None:
        return error
    message = f"operator '{operator[1].removeprefix('torch.')}' is not supported in this form"
    return HipgraftError(message, location=error.location)

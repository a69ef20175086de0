"""Frontends: convert a model file to a module of stage 0 (contract `torch`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hipgraft.frontends.argument_names import argument_names, keep_names, keep_signs
from hipgraft.frontends.symbols import Extents, combinations
from hipgraft.frontends.torch.symbols import specialize_functions
from hipgraft.frontends.torch.text import read_mlir
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.io import is_graph_file
from hipgraft.passmanager.runner import Runner
from hipgraft.pipelines import HipgraftConfig, has_symbols, route, stage_of

__all__ = [
    "argument_names",
    "give_extents",
    "has_symbols",
    "keep_names",
    "keep_signs",
    "load",
    "normalize",
    "read",
    "stage_of",
]


def read(
    path: str | Path,
    context: ir.Context | None = None,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Extents | None = None,
    specialize: Mapping[str, Sequence[int]] | None = None,
    sweep_case: str | None = None,
    dynamic: bool = False,
) -> ir.Module:
    """Reads a model or program of any stage; converts nothing but symbolic dimensions.

    Args:
        path: `.onnx`, MLIR as text or bytecode, or a hipDNN graph (`.json`, `.fb` for its
            FlatBuffer, or the folder of a template).
        context: context of the module; a new one if absent.
        shapes: extents of inputs by name, for dynamic ones.
        dims: extents of symbolic dimensions by name.
        specialize: several extents per dimension; each combination becomes a function, one variant
        of the program. `a=b` names dimensions that are always equal.
        sweep_case: id of a case of a hipDNN template; optional if there is only one case.
        dynamic: whether symbolic dimensions without an extent may stay, without `specialize`.

    Raises:
        HipgraftError: the file is missing, malformed or invalid, or a symbolic dimension has no
            extent; located.
    """
    path = Path(path)
    context = make_context() if context is None else context
    if is_graph_file(path):
        from hipgraft.hipdnn_io.files import read_module

        return read_module(path, context, sweep_case)
    if sweep_case is not None:
        raise HipgraftError("the model is no template and has no cases", location=str(path))
    variants = combinations(dims or {}, specialize or {})
    if path.suffix == ".onnx":
        # onnx costs a quarter of a second to import.
        from hipgraft.frontends.onnx.variants import read_onnx

        return read_onnx(path, context, shapes or {}, variants, dynamic=dynamic, counted=True)
    if path.suffix in (".mlir", ".mlirbc"):
        module = read_mlir(path, context)
        specialize_functions(module, shapes or {}, variants, dynamic=dynamic)
        return module
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
    """Reads a model and brings it to stage 0; arguments are those of `read`.

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
    """Sets the symbolic dimensions of a torch module in place; arguments are those of `read`.

    Raises:
        HipgraftError: a symbolic dimension has no extent or one that does not fit; located.
    """
    variants = combinations(dims or {}, specialize or {})
    specialize_functions(module, shapes or {}, variants, dynamic=dynamic)


def normalize(module: ir.Module) -> None:
    """Brings a torch module, imported from ONNX or from PyTorch, to stage `torch` in place.

    Raises:
        HipgraftError: an op is unknown or has no static shape; located.
    """
    config = HipgraftConfig(compile_to="torch")
    for _, phase in route(stage_of(module), config):
        Runner().run(module, phase)

"""Reads an ONNX model once for each variant of its symbolic dimensions, into one module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hipgraft.frontends.onnx.importer import Resources, import_model
from hipgraft.frontends.onnx.model import input_symbols, read_model
from hipgraft.frontends.symbols import Extents, mark_variant, name_symbols
from hipgraft.ir.bindings import ir


def read_onnx(
    path: Path,
    context: ir.Context,
    shapes: Mapping[str, Sequence[int]],
    variants: Sequence[Extents],
    *,
    dynamic: bool = False,
    counted: bool = False,
) -> ir.Module:
    """Returns a model as a module of `torch.operator "onnx.*"` ops, a function for each variant.

    The file is read anew for each variant, because extents determine which nodes fold; the variants
    share their large constants.

    Args:
        path: the `.onnx` file.
        context: context to build in.
        shapes: extents of graph inputs by name.
        variants: extents of the symbolic dimensions, by name, of each variant.
        dynamic: whether dimensions without an extent may stay, where there is one variant.
        counted: as for `read_model`, where there is one variant.

    Raises:
        HipgraftError: the model is invalid, or a symbolic dimension has no extent; located.
    """
    if len(variants) == 1:
        model = read_model(path, shapes=shapes, dims=variants[0], dynamic=dynamic, counted=counted)
        symbols = input_symbols(model)
        module = import_model(model, path, context)
        name_symbols(module.body.operations[0].operation, symbols)
        return module
    return _joined([(path, shapes, dims, dims) for dims in variants], context)


def read_each(models: Sequence[tuple[Path, Extents]], context: ir.Context) -> ir.Module:
    """Returns models of static shapes as the variants of one program.

    Args:
        models: model files, each with the extents that name its variant; empty for a sole model.
        context: context to build in.

    Raises:
        HipgraftError: a model is invalid; located.
    """
    if len(models) == 1:
        return import_model(read_model(models[0][0]), models[0][0], context)
    return _joined([(path, {}, {}, extents) for path, extents in models], context)


def _joined(
    models: Sequence[tuple[Path, Mapping[str, Sequence[int]], Extents, Extents]],
    context: ir.Context,
) -> ir.Module:
    """Imports models by file, extents of inputs, extents of dimensions, and extents of the name."""
    resources: Resources = {}
    variants = [named for *_, named in models]
    modules = [
        import_model(read_model(path, shapes=shapes, dims=dims), path, context, resources)
        for path, shapes, dims, _ in models
    ]
    for module, dims in zip(modules, variants, strict=True):
        function = module.body.operations[0].operation
        mark_variant(function, dims)
        if module is not modules[0]:
            function.detach_from_parent()
            modules[0].body.append(function)
    return modules[0]

"""Imports FX graphs of PyTorch into the torch dialect with torch-mlir's importer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from hipgraft.frontends.torch.pytorch import aten, fx_importer, make_fx, torch
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import HipgraftError

UNSUPPORTED = (
    AssertionError,
    AttributeError,
    IndexError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""The exceptions that the importer raises for a graph that it cannot import."""

_DROPOUT = {
    aten.scaled_dot_product_attention.default: 4,
    aten._scaled_dot_product_flash_attention_for_cpu.default: 3,
    aten._scaled_dot_product_flash_attention_for_cpu_backward.default: 6,
}
"""Index of the operand of attention that is a probability, by op."""


def import_graph(graph: Any) -> ir.Module:
    """Imports a functional FX graph, whose results must be tensors.

    Args:
        graph: `torch.fx.Graph` of ATen ops, with example values in `meta["val"]`. Symbolic
            extents become dynamic dimensions with names.

    Returns:
        A module with the function `main` on `!torch.vtensor`.

    Raises:
        HipgraftError: the importer does not know an op or a type.
    """
    importer = _importer()
    ranges = _ranges(graph)
    try:
        importer._cc.set_symbolic_guards(SimpleNamespace(range_constraints=ranges))
        importer.import_stateless_graph(graph, import_symbolic_shape_expressions=bool(ranges))
    except UNSUPPORTED as error:
        raise _refusal(error) from error
    return importer.module


def import_program(program: Any) -> ir.Module:
    """Imports a functional `torch.export.ExportedProgram`; its state becomes constants.

    Raises:
        HipgraftError: the importer does not know an op or a type, or the program writes its
            inputs or buffers, or draws random numbers.
    """
    signature = program.graph_signature
    written = {**signature.buffers_to_mutate, **signature.user_inputs_to_mutate}
    if written:
        names = ", ".join(f"'{name}'" for name in written.values())
        raise HipgraftError(f"the exported program writes {names}; export it in eval mode")
    for node in program.graph.nodes:
        if is_random(node):
            raise HipgraftError(f"the exported program draws random numbers by '{node.target}'")
    importer = _importer()
    try:
        importer.import_program(program, import_symbolic_shape_expressions=True)
    except UNSUPPORTED as error:
        raise _refusal(error) from error
    _name_arguments(importer.module, signature.user_inputs)
    return importer.module


def trace(function: Any, values: Sequence[Any], rules: Mapping[Any, Any] | None = None) -> Any:
    """Returns the FX graph of a function applied to example values.

    Args:
        function: function of tensors.
        values: fake tensors.
        rules: decompositions by `OpOverload`.
    """
    # Tensors that the function creates itself must be fake, too.
    with torch._guards.detect_fake_mode(values) or nullcontext():
        return make_fx(function, rules)(*values).graph


def is_random(node: Any) -> bool:
    """Whether a node of a graph draws random numbers."""
    if node.target in _DROPOUT:
        position = _DROPOUT[node.target]
        given = node.args[position] if len(node.args) > position else node.kwargs.get("dropout_p")
        return bool(given)
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def _importer() -> Any:
    return fx_importer.FxImporter(context=make_context())


def _ranges(graph: Any) -> dict[Any, Any]:
    """Returns the range of each symbol in the shapes of a graph, by its shape environment."""
    found: dict[Any, Any] = {}
    for node in graph.nodes:
        value = node.meta.get("val")
        for extent in getattr(value, "shape", ()):
            if isinstance(extent, torch.SymInt):
                known = extent.node.shape_env.var_to_range
                found.update({one: known[one] for one in extent.node.expr.free_symbols})
    return found


def _name_arguments(module: ir.Module, names: tuple[Any, ...]) -> None:
    """Gives the arguments of `main` the names of the program's inputs."""
    function = module.body.operations[0].operation
    block = function.regions[0].blocks[0]
    tensors = [name for name in names if isinstance(name, str)]
    if len(tensors) != len(block.arguments):
        return
    with module.context:
        for argument, name in zip(block.arguments, tensors, strict=True):
            argument.set_location(ir.Location.name(name))


def _refusal(error: Exception) -> HipgraftError:
    reason = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    return HipgraftError(f"torch-mlir cannot import the graph: {reason}")

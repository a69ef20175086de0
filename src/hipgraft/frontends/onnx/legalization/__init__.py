"""Rewrites ONNX operators that torch-mlir or IREE lower wrongly or not at all.

Each rewrite replaces an operator by others that lower correctly. It may need static shapes, or
constants where ONNX allows tensors; without them it declines, and the operator stays. Operators
that nothing lowers correctly are refused, with the node's name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import onnx
from onnx import NodeProto, TensorProto

from hipgraft.frontends.onnx.legalization.blocks import BLOCKS
from hipgraft.frontends.onnx.legalization.casts import shrink
from hipgraft.frontends.onnx.legalization.contributed import (
    CONTRIBUTED,
    CONTRIBUTED_DOMAIN,
    MISPLACED,
)
from hipgraft.frontends.onnx.legalization.control_flow import CONTROL_FLOW, hoist_branches
from hipgraft.frontends.onnx.legalization.determinants import DETERMINANTS
from hipgraft.frontends.onnx.legalization.dropout import DROPOUT
from hipgraft.frontends.onnx.legalization.empty import write_empty
from hipgraft.frontends.onnx.legalization.fourier import FOURIER
from hipgraft.frontends.onnx.legalization.functions import FUNCTIONS
from hipgraft.frontends.onnx.legalization.graph_info import Array, GraphInfo
from hipgraft.frontends.onnx.legalization.grids import GRIDS
from hipgraft.frontends.onnx.legalization.indexing import INDEXING, slice_by_mask
from hipgraft.frontends.onnx.legalization.layout import LAYOUT
from hipgraft.frontends.onnx.legalization.members import drop_unused
from hipgraft.frontends.onnx.legalization.norms import NORMS
from hipgraft.frontends.onnx.legalization.operand_checks import check_operands
from hipgraft.frontends.onnx.legalization.optimizers import OPTIMIZERS, TRAINING_DOMAIN
from hipgraft.frontends.onnx.legalization.pooling import POOLING
from hipgraft.frontends.onnx.legalization.powers import POWERS
from hipgraft.frontends.onnx.legalization.products import PRODUCTS
from hipgraft.frontends.onnx.legalization.quantization import QUANTIZATION
from hipgraft.frontends.onnx.legalization.quantized_pairs import contract_bytes
from hipgraft.frontends.onnx.legalization.recurrent import RECURRENT
from hipgraft.frontends.onnx.legalization.reductions import REDUCTIONS
from hipgraft.frontends.onnx.legalization.regions import REGIONS
from hipgraft.frontends.onnx.legalization.resizing import RESIZING
from hipgraft.frontends.onnx.legalization.selected_rows import select_rows
from hipgraft.frontends.onnx.legalization.sequences import SEQUENCES
from hipgraft.frontends.onnx.legalization.shifts import SHIFTS
from hipgraft.frontends.onnx.legalization.storage import boundary_elements, store_narrow_types
from hipgraft.frontends.onnx.legalization.suppression import SUPPRESSION
from hipgraft.frontends.onnx.legalization.tables import TABLES
from hipgraft.frontends.onnx.legalization.transposed import TRANSPOSED
from hipgraft.frontends.onnx.legalization.unique import UNIQUE
from hipgraft.frontends.onnx.legalization.writer import (
    MALFORMED,
    Refused,
    RefusedNode,
    Rewrite,
    Writer,
)
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.foreign_data import reason
from hipgraft.ir.registration import Registry

REWRITES: Registry[Rewrite] = Registry(
    "ONNX rewrite",
    BLOCKS,
    CONTROL_FLOW,
    DETERMINANTS,
    DROPOUT,
    FOURIER,
    FUNCTIONS,
    LAYOUT,
    GRIDS,
    INDEXING,
    NORMS,
    OPTIMIZERS,
    POOLING,
    POWERS,
    PRODUCTS,
    QUANTIZATION,
    RECURRENT,
    REDUCTIONS,
    REGIONS,
    RESIZING,
    SEQUENCES,
    SHIFTS,
    SUPPRESSION,
    TABLES,
    TRANSPOSED,
    UNIQUE,
    {"Shrink": shrink},
)
"""The rewrites of operators in ONNX's own domains, by operator."""

_SHAPED_LATER: Registry[Rewrite] = Registry(
    "ONNX rewrite of unknown shapes", {"If": hoist_branches, "Slice": slice_by_mask}
)
"""Rewrites of nodes whose shapes nothing else reveals."""

__all__ = [
    "CONTRIBUTED",
    "CONTRIBUTED_DOMAIN",
    "DOMAINS",
    "MISPLACED",
    "OPTIMIZERS",
    "REWRITES",
    "TRAINING_DOMAIN",
    "RefusedNode",
    "boundary_elements",
    "legalize",
]

DOMAINS = ("", "ai.onnx", "ai.onnx.preview", TRAINING_DOMAIN)
"""Of the operators that are supported."""

_SHAPED_BY_VALUES = frozenset({"Compress", "NonMaxSuppression", "NonZero", "Unique"})


def legalize(
    model: onnx.ModelProto,
    constants: Mapping[str, Array],
    weights: dict[str, TensorProto],
    file: Path | None = None,
) -> bool:
    """Rewrites the nodes of a graph, in place.

    Args:
        model: model with inferred shapes.
        constants: elements of small initialisers, by name.
        weights: initialisers that were replaced by inputs of the model.
        file: path of the model; external data is in this file or beside it.

    Returns:
        Whether any node has changed; shapes must then be inferred again.

    Raises:
        RefusedNode: nothing lowers a node correctly.
    """
    graph = GraphInfo.of(model, constants, weights, file)
    if any(node.domain == CONTRIBUTED_DOMAIN for node in model.graph.node):
        # These rewrites come first, because the shapes of the results are unknown.
        if not _rewrite_nodes(model, graph, CONTRIBUTED, (CONTRIBUTED_DOMAIN,)):
            _refuse_contributed(model, graph)
        return True
    if contract_bytes(model, graph) or _rewrite_selections(model, graph):
        return True
    if graph.sequences and drop_unused(model.graph, graph.sequences):
        return True
    if store_narrow_types(model, graph, weights):
        return True
    for node in model.graph.node:
        if node.op_type in _SHAPED_BY_VALUES and not graph.shapes.keys() >= {*node.output} - {""}:
            raise RefusedNode(node, "is not supported: the shape of its result depends on values")
    return False


def _rewrite_selections(model: onnx.ModelProto, graph: GraphInfo) -> bool:
    """Rewrites the nodes that read selected rows, and all other nodes."""
    try:
        if select_rows(model, graph):
            return True
    except RefusedNode:
        # Other rewrites may reveal the shapes of the operands, or simpler operators.
        with suppress(RefusedNode):
            if _rewrite_others(model, graph):
                return True
        raise
    return _rewrite_others(model, graph)


def _rewrite_others(model: onnx.ModelProto, graph: GraphInfo) -> bool:
    try:
        return _rewrite_nodes(model, graph, REWRITES, DOMAINS)
    except RefusedNode:
        if _rewrite_nodes(model, graph, _SHAPED_LATER, DOMAINS):
            return True
        raise


def _refuse_contributed(model: onnx.ModelProto, graph: GraphInfo) -> NoReturn:
    node = next(node for node in model.graph.node if node.domain == CONTRIBUTED_DOMAIN)
    try:
        CONTRIBUTED[node.op_type](Writer(node, graph))
    except Declined as declined:
        raise RefusedNode(node, f"is not supported here: {declined.reason}") from None
    raise AssertionError("it was rewritten")


def _rewrite_nodes(
    model: onnx.ModelProto,
    graph: GraphInfo,
    rewrites: Mapping[str, Rewrite],
    domains: Collection[str],
) -> bool:
    """Rewrites nodes; refuses a node only if no other changes, as a change may reveal shapes."""
    nodes: list[NodeProto] = []
    changed = False
    refused: RefusedNode | None = None
    for node in model.graph.node:
        try:
            writer = _rewritten(node, graph, rewrites if node.domain in domains else {})
        except RefusedNode as error:
            refused, writer = refused or error, None
        if writer is None:
            nodes.append(node)
            continue
        changed = True
        nodes += writer.nodes
        model.graph.initializer.extend(writer.initializers)
    if refused and not changed:
        raise refused
    if changed:
        del model.graph.node[:]
        model.graph.node.extend(nodes)
    return changed


def _rewritten(node: NodeProto, graph: GraphInfo, rewrites: Mapping[str, Rewrite]) -> Writer | None:
    writer = Writer(node, graph)
    if any(graph.elements.get(name) == TensorProto.STRING for name in (*node.input, *node.output)):
        raise RefusedNode(node, "on strings is not supported")
    try:
        if node.domain in DOMAINS:
            check_operands(writer)
        if write_empty(writer):
            return writer
        rewrite = rewrites.get(node.op_type)
        if rewrite is None:
            return None
        rewrite(writer)
    except Declined:
        return None
    except Refused as refused:
        raise RefusedNode(node, str(refused)) from None
    except MALFORMED as error:
        raise RefusedNode(node, f"is malformed: {reason(error)}") from None
    return writer

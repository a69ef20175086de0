"""Rewrites programs that select rows with `NonZero`, as mixtures of experts do.

The number of rows depends on values. If a program processes the rows independently of each other
and writes them into a tensor of a known shape, it can process the rows of all positions, and write
only the selected ones: see `row_values`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper

from hipgraft.frontends.onnx.legalization.graph_info import Array, GraphInfo
from hipgraft.frontends.onnx.legalization.independent_rows import axes_of, why_mixed
from hipgraft.frontends.onnx.legalization.mask_forms import (
    counted_mask,
    identities,
    is_selection,
    rewrite_masks,
    rows_read,
)
from hipgraft.frontends.onnx.legalization.row_access import (
    clamped,
    joins_rows,
    read_rows,
    write_rows,
)
from hipgraft.frontends.onnx.legalization.row_extents import (
    MOVES,
    counts_rows,
    known_array,
    known_results,
    moved,
    replace_nodes,
    takes_all,
)
from hipgraft.frontends.onnx.legalization.row_forms import OrderedForms
from hipgraft.frontends.onnx.legalization.row_orders import RowOrders
from hipgraft.frontends.onnx.legalization.row_reductions import REDUCTIONS, reduce_rows
from hipgraft.frontends.onnx.legalization.row_results import write_results
from hipgraft.frontends.onnx.legalization.row_shapes import (
    check_divisor,
    check_rows,
    infer_shapes,
    shapes_of,
)
from hipgraft.frontends.onnx.legalization.row_values import (
    DEPENDS,
    Extents,
    Rows,
    Selection,
    joined_selection,
    least_of,
    primes,
)
from hipgraft.frontends.onnx.legalization.writer import (
    MALFORMED,
    Refused,
    RefusedNode,
    Writer,
    axis_of,
)
from hipgraft.frontends.onnx.order import makers_of, names_read
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.foreign_data import reason

_READS = frozenset({"Gather", "GatherElements", "GatherND"})
_WRITES = frozenset({"ScatterElements", "ScatterND"})
_SHAPES = {"ConstantOfShape": 0, "Expand": 1, "Reshape": 1}
"""The operands that are shapes."""

_Found: TypeAlias = Rows | Extents


def select_rows(model: onnx.ModelProto, graph: GraphInfo) -> bool:
    """Rewrites the nodes that read the rows selected by `NonZero`, in place.

    Args:
        model: model with inferred shapes.
        graph: its metadata.

    Returns:
        Whether any node has changed.

    Raises:
        RefusedNode: a node combines rows, or the number of rows determines a result.
    """
    if rewrite_masks(model, graph):
        return True
    chosen = [node for node in model.graph.node if is_selection(node, graph)]
    if not chosen:
        return False
    names = {node.output[0] for node in chosen}
    rewriter = _Rewriter(model, graph)
    try:
        rewriter.run(names)
    except RefusedNode:
        # Values computed from known extents may let the next attempt get further.
        if not rewriter.settle():
            _Rewriter(model, graph, computes_counts=True).run(names)
    return True


class _Rewriter:
    """Rewrites the nodes of a graph in order, using known properties of their operands.

    Args:
        model: model with inferred shapes.
        graph: its metadata.
        computes_counts: whether nodes that cannot be evaluated on extents read the number of rows
            as a value, computed at run time.
    """

    def __init__(self, model: onnx.ModelProto, graph: GraphInfo, *, computes_counts: bool = False):
        self._computes_counts = computes_counts
        self._model = model
        self._graph = graph
        self._found: dict[str, _Found] = {}
        self._primes = primes()
        self._makers = makers_of(model.graph)
        self._identities = identities(model.graph, graph.constants, graph.shapes)
        self._selections: dict[int, Selection] = {}
        self._settled: dict[str, Array] = {}
        self._joined: dict[tuple[Selection | int, ...], Selection] = {}
        # Joined rows, by the sum of their row counts and the selection that represents the sum.
        # None if several joined rows have the same sum.
        self._sums: dict[tuple[Selection, int], Selection | None] = {}
        self._orders = RowOrders(self._primes)
        read = partial(rows_read, model.graph, graph.constants)
        self._forms = OrderedForms(self._orders, self._identities, self._keep, read, self._makers)

    def run(self, chosen: set[str]) -> None:
        nodes: list[NodeProto] = []
        tensors: list[TensorProto] = []
        for node in self._model.graph.node:
            read = set(names_read(node))
            is_chosen = bool(node.output) and node.output[0] in chosen
            if not is_chosen and not read & self._found.keys():
                nodes.append(node)
                continue
            writer = Writer(node, self._graph)
            if is_chosen and not read & self._found.keys():
                self._select(writer)
            else:
                self._rewrite(writer, read)
            nodes += writer.nodes
            tensors += writer.initializers
        for writer in write_results(self._model, self._graph, self._found, self._orders, nodes):
            nodes += writer.nodes
            tensors += writer.initializers
        del self._model.graph.node[:]
        self._model.graph.node.extend(nodes)
        self._model.graph.initializer.extend(tensors)
        for value in [one for one in self._model.graph.value_info if one.name in self._found]:
            self._model.graph.value_info.remove(value)

    def settle(self) -> bool:
        """Makes extents constant that are not row counts; returns whether it made any constant."""
        return replace_nodes(self._model.graph, self._settled)

    def _select(self, writer: Writer) -> None:
        operand = writer.node.input[0]
        identity = self._identities[operand]
        if identity not in self._selections:
            extents = tuple(writer.shape(operand))
            mask = writer.cast(operand, TensorProto.BOOL)
            self._selections[identity] = Selection(writer.node, extents, next(self._primes), mask)
        selection = self._selections[identity]
        numbers = np.indices(selection.extents).reshape(len(selection.extents), -1)
        shape = (len(selection.extents), selection.rows)
        self._keep(writer.node.output[0], Rows.known(selection, shape, numbers))

    def _keep(self, name: str, found: _Found) -> None:
        self._found[name] = found
        if isinstance(found, Rows) and found.array is not None:
            self._graph.elements[name] = helper.np_dtype_to_tensor_dtype(found.array.dtype)

    def _rewrite(self, writer: Writer, read: set[str]) -> None:
        node = writer.node
        found = {index: self._resolved(n) for index, n in enumerate(node.input) if n in self._found}
        if read & self._found.keys() > {node.input[index] for index in found}:
            raise RefusedNode(node, f"reads rows in a body{DEPENDS}")
        index = _SHAPES.get(node.op_type)
        if index is not None and index not in found:
            counted = self._counted(node.input[index])
            found |= {index: counted} if counted else {}
        try:
            try:
                self._rewrite_with(writer, found)
            except Refused:
                sizes = {n for n, one in found.items() if isinstance(one, Extents) and n != index}
                if not self._computes_counts or not sizes:
                    raise
                self._rewrite_counts(writer, found, sizes)
        except Declined as declined:
            raise RefusedNode(node, f"reads rows{DEPENDS}: {declined.reason}") from None
        except Refused as refused:
            raise RefusedNode(node, str(refused)) from None
        except MALFORMED as error:
            raise RefusedNode(node, f"is malformed: {reason(error)}") from None

    def _resolved(self, name: str) -> _Found:
        """Returns a value's known form; a sum of row counts becomes the count of joined rows."""
        one = self._found[name]
        if isinstance(one, Extents):
            for number in sorted({int(n) for n in one.array.reshape(-1)}):
                joined = self._sums.get((one.selection, number))
                if joined is not None:
                    extents = np.where(one.array == number, joined.rows, one.array)
                    one = self._found[name] = Extents(joined, extents)
        return one

    def _counted(self, name: str) -> Extents | None:
        """Returns extents that are computed from the number of true elements of a mask."""
        if name in self._found and isinstance(known := self._resolved(name), Extents):
            return known
        maker = self._makers.get(name)
        if maker is None:
            return None
        mask = counted_mask(maker, self._makers, self._graph.elements)
        if mask and (selection := self._selections.get(self._identities[mask])):
            shape = self._graph.shapes.get(name, [])
            return Extents(selection, np.full(shape, selection.rows, np.int64))
        counts = {one: self._counted(one) for one in maker.input}
        selections = {one.selection for one in counts.values() if one}
        if maker.op_type not in MOVES or len(selections) != 1:
            return None
        values = {one: count.array for one, count in counts.items() if count}
        values |= {n: self._graph.constants[n] for n in maker.input if n in self._graph.constants}
        results = moved(maker, values, selections.pop(), self._model)
        return results[name] if results else None

    def _rewrite_counts(
        self, writer: Writer, found: Mapping[int, _Found], counts: set[int]
    ) -> None:
        """Rewrites a node that reads some operands, which are extents, as values."""
        node = NodeProto()
        node.CopyFrom(writer.node)
        for index in counts:
            one = found[index]
            if isinstance(one, Extents):
                node.input[index] = self._orders.extents(writer, one)
        others = {index: one for index, one in found.items() if index not in counts}
        if not others:
            writer.again(node.input)
            return
        rewritten = Writer(node, self._graph)
        self._rewrite_with(rewritten, others)
        writer.nodes += rewritten.nodes
        writer.initializers += rewritten.initializers

    def _rewrite_with(self, writer: Writer, found: Mapping[int, _Found]) -> None:
        if self._forms.rewrite(writer, found):
            return
        node = writer.node
        is_sum = node.op_type == "Add" and all(isinstance(one, Extents) for one in found.values())
        is_one = len({one.selection for one in found.values()}) == 1
        if not is_one and not is_sum and not joins_rows(writer, found):
            raise Refused("combines rows that more than one 'NonZero' selects")
        rows = {index: one for index, one in found.items() if isinstance(one, Rows)}
        if node.op_type == "Shape":
            self._extents_of(writer, found[0])
        elif joins_rows(writer, found):
            self._join(writer, rows)
        elif node.op_type in _WRITES and 0 not in found and len(rows) == 2:
            write_rows(writer, rows[1], rows[2])
        elif node.op_type in _READS and 0 not in found and list(rows) == [1]:
            self._read(writer, rows[1])
        elif takes_all(node, found, self._graph.constants):
            self._found[node.output[0]] = rows[0]
        elif rows or _SHAPES.get(node.op_type) in found:
            self._compute(writer, found, rows)
        else:
            self._compute_extents(writer, least_of(one.selection for one in found.values()))

    def _extents_of(self, writer: Writer, one: _Found) -> None:
        shape = one.shape if isinstance(one, Rows) else one.array.shape
        part = shape[writer.attribute("start", 0) : writer.attribute("end", len(shape))]
        self._keep(writer.node.output[0], Extents(one.selection, np.array(part, np.int64)))

    def _compute_extents(self, writer: Writer, selection: Selection) -> None:
        """Computes extents from other extents, with the prime in place of the number of rows."""
        node = writer.node
        values = self._known_operands(node, lambda one: one.array)
        # No number of rows is negative; other comparisons depend on it.
        is_sign = node.op_type == "Equal" and any(
            (one < 0).all() for name, one in values.items() if name not in self._found
        )
        is_allowed = node.op_type in (*MOVES, "Add", "Sub") or is_sign
        results = moved(node, values, selection, self._model) if is_allowed else None
        if results is None:
            raise Refused(f"computes with a number of rows{DEPENDS}")
        self._found |= results
        if not any(counts_rows(one.array) for one in results.values()):
            self._settled |= {name: one.array for name, one in results.items()}

    def _known_operands(
        self, node: NodeProto, array_of: Callable[[_Found], Array | None]
    ) -> dict[str, Array]:
        values: dict[str, Array] = {}
        for name in filter(None, node.input):
            one = self._found.get(name)
            array = self._graph.constants.get(name) if one is None else array_of(one)
            if array is not None:
                values[name] = array
        return values

    def _read(self, writer: Writer, index: Rows) -> None:
        known = shapes_of(writer.node, self._found, self._graph)
        shapes = infer_shapes(writer.node, known, {}, self._model, self._graph)
        rows = read_rows(writer, index)
        name = writer.node.output[0]
        writer.result(rows.name)
        check_rows(index.selection, {name: shapes[name]})
        self._keep(name, dataclasses.replace(rows, name=name, shape=tuple(shapes[name])))

    def _join(self, writer: Writer, rows: Mapping[int, Rows]) -> None:
        """Joins selected rows with other selected rows, or with all rows of a tensor.

        The result has the rows that a `NonZero` of the joined masks selects.
        """
        names, axis = writer.node.input, next(iter(rows.values())).axis
        shapes = shapes_of(writer.node, self._found, self._graph)
        parts = [rows[n].selection if n in rows else shapes[name][axis]
                 for n, name in enumerate(names)]  # fmt: skip
        key = tuple(parts)
        if key not in self._joined:
            self._joined[key] = joined_selection(writer, parts, next(self._primes))
            total = sum(one if isinstance(one, int) else one.rows for one in parts)
            summed = least_of(one for one in parts if isinstance(one, Selection)), total
            self._sums[summed] = None if summed in self._sums else self._joined[key]
        selection, inputs = self._joined[key], list(names)
        for index, one in rows.items():
            inputs[index] = one.write(writer, one.selection.coordinates)
        writer.again(inputs)
        shape = [*shapes[names[0]]]
        shape[axis] = selection.rows
        result = writer.node.output[0]
        self._graph.elements[result] = self._graph.elements[names[0]]
        self._keep(result, Rows(result, selection, tuple(shape), selection.coordinates))

    def _compute(
        self, writer: Writer, found: Mapping[int, _Found], rows: Mapping[int, Rows]
    ) -> None:
        """Computes rows from operand rows, for the coordinates on which any operand depends."""
        node, selection = writer.node, next(iter(found.values())).selection
        extents = {index: one for index, one in found.items() if isinstance(one, Extents)}
        if any(_SHAPES.get(node.op_type) != index for index in extents):
            raise Refused(f"computes with a number of rows{DEPENDS}")
        known = shapes_of(node, self._found, self._graph)
        sizes = {node.input[index]: one.array for index, one in extents.items()}
        results = infer_shapes(node, known, sizes, self._model, self._graph)
        shapes = known | results
        if node.op_type in REDUCTIONS and not axes_of(shapes[node.output[0]], selection.rows):
            reduce_rows(writer, rows[0])
            return
        if rows:
            reason = why_mixed(node, selection.rows, shapes, self._graph.constants)
            if reason:
                raise Refused(reason + DEPENDS)
        check_rows(selection, results)
        check_divisor(writer, rows)
        if self._compute_known(node, selection, results):
            return
        union = tuple(sorted({one for value in rows.values() for one in value.coordinates}))
        inputs = list(node.input)
        for index, one in found.items():
            if isinstance(one, Rows):
                inputs[index] = one.write(writer, union)
            else:
                sized = selection.sized([int(n) for n in one.array], union)
                inputs[index] = writer.const(sized, np.int64)
        if "Elements" in node.op_type:
            # Positions that are not selected may have any index.
            axis = axis_of(writer, 0, len(shapes[node.input[0]]))
            inputs[1] = clamped(writer, inputs[1], shapes[node.input[0]][axis : axis + 1])
        writer.again(inputs)
        for name, shape in results.items():
            self._keep(name, Rows(name, selection, tuple(shape), union))

    def _compute_known(
        self, node: NodeProto, selection: Selection, shapes: Mapping[str, list[int]]
    ) -> bool:
        """Computes results that depend on positions only, and returns whether they do."""
        values = self._known_operands(node, partial(known_array, selection))
        if len(values) < len({*node.input} - {""}):
            return False
        results = known_results(node, values, selection, shapes, self._model)
        if results is None:
            return False
        for name, array in results.items():
            self._keep(name, Rows.known(selection, shapes[name], array))
        return True

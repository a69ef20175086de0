"""Connects the nodes of a graph document: finds the writer and the readers of each tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from hipgraft.dialects.framework.fields import Arity, Attribute, ValueField
from hipgraft.hipdnn_io.document import GraphDocument, Json, NodeDocument, TensorDocument, shortened
from hipgraft.hipdnn_io.forms import FORMS, NodeForm
from hipgraft.hipdnn_io.schema import SCHEMA


@dataclass(frozen=True)
class WiredNode:
    """A node with its fields sorted by role.

    Attributes:
        node: the node.
        form: form in which its kind is written.
        operands: uids by the names of the op's operands; empty lists for absent operands.
        results: uids by the names of its results.
        attributes: JSON values by the names of its attributes, without absent ones.
        notes: fields that the op does not have.
    """

    node: NodeDocument
    form: NodeForm
    operands: dict[str, list[int]]
    results: dict[str, list[int]]
    attributes: dict[str, Json]
    notes: dict[str, Json]

    @property
    def read(self) -> Iterator[int]:
        """Yields the uids of all operands."""
        return (uid for uids in self.operands.values() for uid in uids)

    @property
    def written(self) -> Iterator[int]:
        """Yields the uids of all results."""
        return (uid for uids in self.results.values() for uid in uids)


@dataclass(frozen=True)
class Wiring:
    """A checked graph.

    Attributes:
        nodes: nodes in topological order.
        arguments: tensors that the caller passes, in the document's order.
        constants: compile-time scalars that a node reads.
        results: tensors that the caller receives, in the document's order.
        tensors: all tensors, by uid.
    """

    nodes: list[WiredNode]
    arguments: list[TensorDocument]
    constants: list[TensorDocument]
    results: list[TensorDocument]
    tensors: dict[int, TensorDocument]


def wire(document: GraphDocument) -> Wiring:
    """Connects the nodes of a graph by their tensors; adds to the document's warnings.

    Raises:
        HipgraftError: a tensor is missing or defined twice, nodes form a cycle, a kind of node is
            unknown, or the graph yields nothing.
    """
    tensors = _by_uid(document)
    nodes = [_wire_node(document, node) for node in document.nodes]
    if not nodes:
        raise document.error("graph has no nodes")
    writers = _writers(document, nodes, tensors)
    read = {uid for node in nodes for uid in node.read}
    used = read | writers.keys() | _ragged_offsets(document, read | writers.keys(), tensors)
    for tensor in document.tensors:
        if tensor.uid not in used:
            document.warnings.append(f"{tensor.label} is used by no node, and dropped")
        for key in tensor.extra:
            document.warnings.append(f"{tensor.label} has unknown field '{key}', which is kept")
    given = [one for one in document.tensors if one.uid in used and one.uid not in writers]
    for tensor in given:
        if tensor.virtual:
            raise document.error(f"{tensor.label} is virtual, but no node writes it")
    results = [one for one in document.tensors if one.uid in writers and not one.virtual]
    if not results:
        raise document.error("graph yields nothing: each tensor that a node writes is virtual")
    return Wiring(
        nodes=_in_order(document, nodes, writers),
        arguments=[one for one in given if not one.value_type],
        constants=[one for one in given if one.value_type],
        results=results,
        tensors=tensors,
    )


def _by_uid(document: GraphDocument) -> dict[int, TensorDocument]:
    tensors: dict[int, TensorDocument] = {}
    for tensor in document.tensors:
        if tensor.uid in tensors:
            raise document.error(
                f"{tensor.label} has the uid of tensor '{tensors[tensor.uid].name}'"
            )
        tensors[tensor.uid] = tensor
    return tensors


def _wire_node(document: GraphDocument, node: NodeDocument) -> WiredNode:
    if node.type not in FORMS:
        raise document.error(f"node '{node.name}': unknown type '{node.type}'")
    form = FORMS[node.type]
    members = form.members()
    wired = WiredNode(node, form, {}, {}, {}, {})
    for key, (_, member) in members.items():
        value = node.fields.get(key)
        if isinstance(member, ValueField):
            group = wired.operands if member in form.op.operand_fields else wired.results
            group[member.name] = _uids(document, node, key, member, value)
        elif value is not None:
            wired.attributes[member.name] = value
        elif cast(Attribute[Json], member).required:
            raise document.error(f"{node.label} requires field '{key}'")
    for key, value in node.fields.items():
        if key not in members and value is not None:
            wired.notes[key] = value
            if key not in SCHEMA.tables[node.type]:
                document.warnings.append(f"{node.label} has unknown field '{key}', which is kept")
    return wired


def _uids(
    document: GraphDocument, node: NodeDocument, key: str, member: ValueField, value: Json
) -> list[int]:
    values = cast(
        list[Json], value if isinstance(value, list) else [] if value is None else [value]
    )
    if not all(isinstance(uid, int) and not isinstance(uid, bool) for uid in values) or (
        isinstance(value, list) and member.arity is not Arity.VARIADIC
    ):
        raise document.error(
            f"{node.label}: expected field '{key}' to be a tensor's uid, "
            f"but found {shortened(value)}"
        )
    if not values and member.arity is Arity.ONE:
        raise document.error(f"{node.label} requires field '{key}'")
    known = {tensor.uid for tensor in document.tensors}
    for uid in values:
        if uid not in known:
            raise document.error(
                f"{node.label}: field '{key}' is {uid}, but no tensor has that uid"
            )
    return values


def _writers(
    document: GraphDocument, nodes: Sequence[WiredNode], tensors: dict[int, TensorDocument]
) -> dict[int, int]:
    writers: dict[int, int] = {}
    for at, node in enumerate(nodes):
        for uid in node.written:
            if uid in writers:
                first = nodes[writers[uid]].node
                raise document.error(
                    f"{tensors[uid].label} is written by two nodes, '{first.name}' and "
                    f"'{node.node.name}'"
                )
            if tensors[uid].value_type:
                raise document.error(f"{tensors[uid].label} has a value, but a node writes it")
            writers[uid] = at
    return writers


def _ragged_offsets(
    document: GraphDocument, used: set[int], tensors: dict[int, TensorDocument]
) -> set[int]:
    offsets: set[int] = set()
    for tensor in document.tensors:
        uid = tensor.ragged_offset_tensor_uid
        if uid is None or tensor.uid not in used:
            continue
        if uid not in tensors:
            raise document.error(
                f"{tensor.label}: field 'ragged_offset_tensor_uid' is {uid}, "
                "but no tensor has that uid"
            )
        offsets.add(uid)
    return offsets


def _in_order(
    document: GraphDocument, nodes: list[WiredNode], writers: dict[int, int]
) -> list[WiredNode]:
    """Returns the nodes in topological order; ties follow the document's order."""
    waits = {
        at: {writers[uid] for uid in node.read if uid in writers} for at, node in enumerate(nodes)
    }
    order: list[int] = []
    while waits:
        ready = next((at for at, others in waits.items() if others.isdisjoint(waits)), None)
        if ready is None:
            names = ", ".join(f"'{nodes[at].node.name}'" for at in _cycle(waits))
            raise document.error(f"nodes {names} form a cycle")
        del waits[ready]
        order.append(ready)
    return [nodes[at] for at in order]


def _cycle(waits: dict[int, set[int]]) -> list[int]:
    """Returns the nodes of one cycle: each remaining node waits for another node."""
    path = [next(iter(waits))]
    while True:
        following = min(waits[path[-1]] & waits.keys())
        if following in path:
            return path[path.index(following) :]
        path.append(following)

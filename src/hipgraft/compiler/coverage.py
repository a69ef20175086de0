"""Counts the operations and bytes of a program in hipDNN graphs and outside, by kind of op."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hipgraft.codegen.products import op_flops
from hipgraft.dialects.hipdnn import GraphOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Remark, RemarkKind, location_text, location_texts
from hipgraft.ir.element_types import byte_size
from hipgraft.ir.io import function_blocks
from hipgraft.ir.tensors import tensor_type

LEFT = "fallback"
"""The place of ops that are not in a hipDNN graph."""

_CONTAINERS = (GraphOp.OP_NAME, "hipdnn.fallback")
_NO_OPS = (
    "hipdnn.yield",
    "arith.constant",
    "torch.constant.",
    "torch.prim.ListConstruct",
    "torch.vtensor.literal",
    "torch_c.",
)
_CASTS = ("torch_c.", "migraphx.mlir.as.")
_SUBJECT = re.compile(r"^'[\w.@-]+'(?: op)? ")


@dataclass(frozen=True)
class CoverageRow:
    """All ops of one kind in one place: in the graphs of an engine, or in fallbacks.

    Attributes:
        op: name without dialect, with the mode if there is one: `pointwise relu_fwd`.
        place: engine of the graphs that hold them, or `fallback`.
        graphs: number of graphs or fallbacks that hold them.
        ops: number of these ops.
        flops: operations of the contractions among these ops; a multiply-add counts as two.
        bytes: bytes of the tensors that these ops read or write in memory. A tensor counts once per
            op.
        reasons: why the ops in fallbacks are not in graphs, according to remarks of passes.
        nodes: names of the model's nodes, or locations in files.
    """

    op: str
    place: str
    graphs: int
    ops: int
    flops: int
    bytes: int
    reasons: tuple[str, ...]
    nodes: tuple[str, ...]


@dataclass
class _Sum:
    containers: set[int] = field(default_factory=set[int])
    ops: int = 0
    flops: int = 0
    bytes: int = 0
    reasons: dict[str, None] = field(default_factory=dict[str, None])
    nodes: dict[str, None] = field(default_factory=dict[str, None])


def coverage_rows(module: ir.Module, remarks: Sequence[Remark]) -> list[CoverageRow]:
    """Returns the rows of a program at stage `hipdnn-graphs`, those with the most work first.

    Args:
        module: the program.
        remarks: remarks of the passes that built the program; they contain the reasons.
    """
    reasons = _reasons(remarks)
    sums: dict[tuple[str, str], _Sum] = {}
    for number, container in enumerate(_containers(module)):
        block = container.regions[0].blocks[0]
        yielded = set(list(block.operations)[-1].operation.operands)
        for one in block.operations:
            op = one.operation
            if op.name.startswith(_NO_OPS):
                continue
            place = _place(container)
            total = sums.setdefault((_kind(op), place), _Sum())
            total.containers.add(number)
            total.ops += 1
            total.flops += op_flops(op)
            total.bytes += _bytes(op, yielded)
            total.nodes |= dict.fromkeys(location_texts(op.location))
            if place == LEFT:
                found = reasons.get((op.name, location_text(op.location)))
                total.reasons |= {} if found is None else {found: None}
    rows = [
        CoverageRow(op, place, len(one.containers), one.ops, one.flops, one.bytes,
                    tuple(one.reasons), tuple(one.nodes))
        for (op, place), one in sums.items()
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (-row.flops, -row.bytes, row.op, row.place))


def _containers(module: ir.Module) -> Iterator[ir.Operation]:
    for block in function_blocks(module):
        for one in block.operations:
            if one.operation.name in _CONTAINERS:
                yield one.operation


def _place(container: ir.Operation) -> str:
    if container.name != GraphOp.OP_NAME:
        return LEFT
    return GraphOp(container).engine or "iree"


def _kind(op: ir.Operation) -> str:
    name = op.name.partition(".")[2]
    mode = op.attributes.get("mode") if op.name.startswith("hipdnn.") else None
    return f"{name} {mode.value}" if isinstance(mode, ir.StringAttr) else name


def _bytes(op: ir.Operation, yielded: set[ir.Value]) -> int:
    """Returns the bytes of an op's results, and of operands that are the container's."""
    sources = {_before_cast(one) for one in op.operands}
    read = {one for one in sources if isinstance(one.owner, ir.Block)}
    written = {one for result in op.results for one in _after_casts(result) if one in yielded}
    return sum(_size(value) for value in read | written)


def _before_cast(value: ir.Value) -> ir.Value:
    owner = value.owner
    if isinstance(owner, ir.Block) or not owner.name.startswith(_CASTS):
        return value
    return owner.operands[0]


def _after_casts(value: ir.Value) -> Iterator[ir.Value]:
    yield value
    for use in value.uses:
        if use.owner.name.startswith(_CASTS):
            yield use.owner.operation.results[0]


def _size(value: ir.Value) -> int:
    if not isinstance(value.type, ir.RankedTensorType):
        return 0
    kind = tensor_type(value)
    return byte_size(kind.shape, kind.element_type) or 0


def _reasons(remarks: Sequence[Remark]) -> Mapping[tuple[str, str], str]:
    """Returns the reasons why ops stayed outside of graphs, by op and location."""
    return {
        (remark.op, remark.location): _SUBJECT.sub("", remark.message)
        for remark in remarks
        if remark.kind is RemarkKind.MISSED and remark.name != "not-fused"
    }

"""Groups hipDNN ops and moves each group into a `hipdnn.graph`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.io import function_blocks
from hipgraft.ir.tensors import element_type_of, shape_of
from hipgraft.passmanager.base import Pass, PassState, option
from hipgraft.transforms.outlining import (
    COPIED_OPS,
    BodyBuilder,
    Group,
    Grouping,
    is_splat,
    operand_layouts,
    outline,
)

_CONTRACTIONS = frozenset(
    {"hipdnn.conv_fprop", "hipdnn.conv_dgrad", "hipdnn.conv_wgrad", "hipdnn.matmul", "hipdnn.sdpa"}
)
_NORMS = frozenset({"hipdnn.layernorm", "hipdnn.rmsnorm"})
_ELEMENTWISE = frozenset(
    {
        "hipdnn.pointwise",
        "hipdnn.batchnorm_inference",
        "hipdnn.batchnorm_inference_variance_ext",
    }
)
_NO_COMPUTE = frozenset({"hipdnn.view", "hipdnn.graph", "hipdnn.fallback"})

MAX_OPERANDS = 24
"""Tensors that one graph may read; kernels with more bindings fail in IREE's layouts."""


def _is_compute(op: ir.Operation) -> bool:
    return op.name.startswith("hipdnn.") and op.name not in _NO_COMPUTE


def _users(op: ir.Operation) -> list[ir.Operation]:
    return [use.owner.operation for result in op.results for use in result.uses]


def _is_shared(value: ir.Value) -> bool:
    """Whether several ops read the value."""
    return len({use.owner.operation for use in value.uses}) > 1


def _feeds_reduction(op: ir.Operation) -> bool:
    """Whether a reduction or norm reads the op, directly or through one elementwise op.

    A widening cast counts if one of its users does, any other op only if all of them do. A
    reduction, which reads once, may be at the end of a longer chain.
    """
    if _leads_to_reduction(op):
        return True
    users = _users(op)
    feeding = [user for user in users if _reduces(user) or any(map(_reduces, _users(user)))]
    return bool(feeding) and (len(feeding) == len(users) or _is_widening(op))


def _leads_to_reduction(op: ir.Operation) -> bool:
    users = _users(op)
    if len(users) != 1:
        return False
    elementwise = users[0].name in _ELEMENTWISE
    return _leads_to_reduction(users[0]) if elementwise else users[0].name == "hipdnn.reduction"


def _reduces(op: ir.Operation) -> bool:
    return op.name == "hipdnn.reduction" or op.name in _NORMS


def _is_widening(op: ir.Operation) -> bool:
    if op.name != "hipdnn.pointwise" or ir.StringAttr(op.attributes["mode"]).value != "identity":
        return False
    kinds = [element_type_of(value) for value in (op.operands[0], op.results[0])]
    return isinstance(kinds[1], ir.F32Type) and not isinstance(kinds[0], ir.F32Type)


class _Policy:
    """Decides, op by op, which group each compute op joins.

    A group has one anchor at most: a contraction, an attention, a norm, or reductions over the
    same dimensions of the same shape. Elementwise ops join the group that makes one of their
    operands if their shape is one the group's kernel walks anyway. Norms and reductions also
    join a group that is elementwise so far: its ops are their prologue.
    """

    def __init__(self, grouping: Grouping, state: PassState):
        self._grouping = grouping
        self._state = state

    def place(self, op: ir.Operation) -> None:
        """Puts one op of the block into a group."""
        if not _is_compute(op) or not op.results:
            self._grouping.start(op, outlined=False)
            return
        reasons: list[str] = []
        for group in self._candidates(op):
            reason = self._declines(op, group)
            if reason is None:
                self._join(op, group)
                return
            reasons.append(reason)
        if reasons and op.name in _ELEMENTWISE:
            self._state.missed(op, "not-fused", f"'{op.name}' starts a graph: {reasons[0]}")
        self._remember(op, self._grouping.start(op, outlined=True))

    def _join(self, op: ir.Operation, group: Group) -> None:
        """Adds `op` to `group`, with the elementwise groups that only `op` reads."""
        others = [
            other
            for other in self._grouping.mergeable(op, group)
            if other.attributes["anchor"] is None
            and other.attributes["shapes"] <= group.attributes["shapes"]
        ]
        self._grouping.join(op, group)
        self._remember(op, group)
        for other in others:
            made = {result for member in other.ops for result in member.results}
            operands = (group.attributes["operands"] | other.attributes["operands"]) - made
            if len(operands) <= MAX_OPERANDS:
                self._grouping.merge(other, group)
                group.attributes["operands"] = operands

    def _candidates(self, op: ir.Operation) -> list[Group]:
        """Groups that make the op's operands, latest first."""
        producers = [self._grouping.producer(operand) for operand in op.operands]
        found = dict.fromkeys(group for group in producers if group and group.outlined)
        return sorted(found, key=lambda group: group.level, reverse=True)

    def _declines(self, op: ir.Operation, group: Group) -> str | None:
        """Why `op` cannot join `group`, None if it can."""
        reason = self._shape_declines(op, group) or self._prologue_declines(op, group)
        if reason is not None:
            return reason
        if len(group.attributes["operands"] | self._reads(op, group)) > MAX_OPERANDS:
            return f"the graph would read more than {MAX_OPERANDS} tensors"
        if not self._grouping.can_join(op, group):
            return "an operand depends on the graph through another one"
        return None

    def _reads(self, op: ir.Operation, group: Group) -> set[ir.Value]:
        """Tensors that `op` reads in `group`; splats are copied into it."""
        return {
            value
            for value in op.operands
            if self._grouping.producer(value) is not group and not is_splat(value)
        }

    def _shape_declines(self, op: ir.Operation, group: Group) -> str | None:
        shapes: set[tuple[int, ...]] = group.attributes["shapes"]
        if op.name in _ELEMENTWISE:
            if shape_of(op.results[0]) in shapes:
                return None
            return (
                f"shape {list(shape_of(op.results[0]))} is not one that its producer's kernel walks"
            )
        if op.name in _CONTRACTIONS:
            return "a contraction starts a graph"
        if op.name in _NORMS:
            fits = group.attributes["anchor"] is None and shape_of(op.operands[0]) in shapes
            return None if fits else "the producer has an anchor of its own"
        if op.name != "hipdnn.reduction":
            return "it has a kernel of its own"
        return self._reduction_declines(op, group)

    def _prologue_declines(self, op: ir.Operation, group: Group) -> str | None:
        """Keeps a reduction's inputs with it if its producer stores the operand anyway."""
        if op.name not in _ELEMENTWISE or group.attributes["anchor"] is None:
            return None
        own = [value for value in op.operands if self._grouping.producer(value) is group]
        reduces = group.attributes["anchor"][0] == "reduction"
        if not reduces and any(map(_is_shared, own)) and _feeds_reduction(op):
            return "it feeds a reduction, whose kernel reads the same tensor"
        return None

    def _reduction_declines(self, op: ir.Operation, group: Group) -> str | None:
        walked, reduced = shape_of(op.operands[0]), shape_of(op.results[0])
        anchor = group.attributes["anchor"]
        if anchor is None:
            return None if walked in group.attributes["shapes"] else "another shape is reduced"
        if anchor == ("reduction", walked, reduced):
            return None
        return "the producer has another anchor"

    def _remember(self, op: ir.Operation, group: Group) -> None:
        """Updates the policy's attributes of a group after `op` joined it."""
        attributes = group.attributes
        attributes.setdefault("anchor", None)
        attributes.setdefault("operands", set()).update(self._reads(op, group))
        shapes = attributes.setdefault("shapes", set())
        shapes.add(shape_of(op.results[0]))
        if op.name == "hipdnn.reduction":
            shapes.add(shape_of(op.operands[0]))
            attributes["anchor"] = ("reduction", shape_of(op.operands[0]), shape_of(op.results[0]))
        elif op.name not in _ELEMENTWISE:
            attributes["anchor"] = (op.name,)


def _leave_to_fallbacks(grouping: Grouping) -> None:
    """Leaves elementwise groups that only torch ops read: they are part of those kernels."""
    for group in grouping.groups:
        if not group.outlined or group.attributes["anchor"] is not None:
            continue
        members = set(group.ops)
        outside = {user for op in group.ops for user in _users(op)} - members
        if outside and all(user.name in COPIED_OPS for user in outside):
            group.outlined = False


def _virtual_type(value: ir.Value, outputs: set[ir.Value]) -> ir.Type:
    """The type of a value inside a graph: f32 for f16 and bf16 that stay inside."""
    kind = ir.RankedTensorType(value.type)
    narrow = isinstance(kind.element_type, ir.F16Type | ir.BF16Type)
    if value in outputs or not narrow:
        return value.type
    return ir.RankedTensorType.get(kind.shape, ir.F32Type.get())


def _graph_name(group: Group, index: int) -> str:
    """`conv_fprop_add_relu_fwd_3`: the first ops' names and a number."""
    words: list[str] = []
    for op in group.ops[:4]:
        mode = op.attributes["mode"] if op.name == "hipdnn.pointwise" else None
        words.append(op.name.split(".")[1] if mode is None else ir.StringAttr(mode).value)
    return "_".join([*words, str(index)])


@dataclass(frozen=True)
class HipdnnOutlinePass(Pass):
    """Moves groups of hipDNN ops into `hipdnn.graph` containers.

    A graph has one anchor (a contraction, an attention, a norm, or reductions over the same
    dimensions) and the elementwise ops that can share its kernel. Elementwise ops without an anchor
    form graphs of their own. Values that stay inside a graph are f32 where the program has f16 or
    bf16, so that a chain is rounded once, at its end.

    Before:
        ```mlir
        %0 = "hipdnn.matmul"(%a, %b) : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
        %1 = "hipdnn.pointwise"(%0) {mode = "relu_fwd"} : (tensor<8x6xf16>) -> tensor<8x6xf16>
        ```

    After:
        ```mlir
        %1 = "hipdnn.graph"(%a, %b) ({
        ^bb0(%ga: tensor<8x4xf16>, %gb: tensor<4x6xf16>):
          %2 = "hipdnn.matmul"(%ga, %gb) : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf32>
          %3 = "hipdnn.pointwise"(%2) {mode = "relu_fwd"} : (tensor<8x6xf32>) -> tensor<8x6xf16>
          "hipdnn.yield"(%3) : (tensor<8x6xf16>) -> ()
        }) {engine = "iree", name = "matmul_relu_fwd_0"}
            : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
        ```

    Requires:
        Stage `hipdnn-ops`.

    Ensures:
        Every hipDNN compute op is inside a `hipdnn.graph`, except elementwise ops that only torch
        ops read, which `hipdnn-outline-fallback` makes part of their kernels. Each graph is
        connected and the program stays acyclic. A graph may have several results.

    Errors:
        None.

    Source:
        own; the epilogue rules are those of cuDNN's generic runtime fusion engines.
    """

    name: ClassVar[str] = "hipdnn-outline"
    requires: ClassVar[str | None] = "hipdnn-ops"

    wide_virtuals: bool = option(True, "compute f16 and bf16 values that stay in a graph in f32")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Outlines the graphs of every function."""
        made = 0
        for block in function_blocks(module):
            made = self._outline_block(block, made, state)

    def _outline_block(self, block: ir.Block, first: int, state: PassState) -> int:
        grouping = Grouping()
        policy = _Policy(grouping, state)
        for op in [op.operation for op in block.operations][:-1]:
            policy.place(op)
        _leave_to_fallbacks(grouping)

        def make(
            group: Group, number: int, inputs: Sequence[ir.Value], outputs: Sequence[ir.Value]
        ) -> Sequence[ir.Value]:
            name = _graph_name(group, number)
            state.count("graphs")
            state.count("outlined-ops", len(group.ops))
            state.passed(group.ops[0], "outlined", f"{len(group.ops)} ops as graph '{name}'")
            return self._make_graph(name, group, inputs, outputs)

        return outline(block, grouping, make, first)

    def _make_graph(
        self, name: str, group: Group, inputs: Sequence[ir.Value], outputs: Sequence[ir.Value]
    ) -> Sequence[ir.Value]:
        location = ir.Location.fused([op.location for op in group.ops])
        strides, offsets = operand_layouts(inputs)
        container = hipdnn.graph(
            inputs,
            [value.type for value in outputs],
            name=name,
            engine="iree",
            arg_strides=strides,
            arg_offsets=offsets,
            loc=location,
        )
        body = BodyBuilder(container.body, inputs)
        kept: set[ir.Value] = set(outputs)
        if not self.wide_virtuals:
            kept = {result for op in group.ops for result in op.results}
        for op in group.ops:
            body.copy(op, [_virtual_type(result, kept) for result in op.results])
        body.finish([body.value(value) for value in outputs], location)
        return list(container.outputs)

"""Groups ops that hipDNN cannot express and moves each group into a `hipdnn.fallback`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import arith_d, ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.diagnostics import PassFailure
from hipgraft.ir.io import function_blocks
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import shape_of
from hipgraft.passmanager.base import Pass, PassState, option
from hipgraft.transforms.fusion import is_compute, reorders_torch_result
from hipgraft.transforms.large_lookups import separate
from hipgraft.transforms.outlining import (
    COPIED_OPS,
    BodyBuilder,
    Group,
    Grouping,
    boundary,
    operand_layouts,
    outline,
)
from hipgraft.transforms.partition.rules import MAX_BINDINGS
from hipgraft.transforms.torch_to_hipdnn.converter import builtin_type, is_tensor

_LEAVING = frozenset({"torch_c.to_builtin_tensor", "migraphx.mlir.as.logical.shape"})
"""Casts that stay with their operands, because launches cannot write their results."""

_STAYING = frozenset(
    {"hipdnn.graph", "hipdnn.fallback", "hipdnn.execute", "hipdnn.view", "arith.constant"}
)


def _reads(op: ir.Operation) -> list[ir.Value]:
    """Returns the tensors that an op depends on, looking through lists and casts."""
    return [value for operand in op.operands for value in _tensors_behind(operand)]


def _tensors_behind(value: ir.Value) -> Iterator[ir.Value]:
    owner = value.owner
    if not isinstance(owner, ir.Block):
        if owner.name in COPIED_OPS:
            for operand in owner.operands:
                yield from _tensors_behind(operand)
            return
        if owner.name.startswith("torch.constant."):
            return
    yield value


def _is_copied(op: ir.Operation) -> bool:
    return op.name in COPIED_OPS or op.name.startswith("torch.constant.")


def _is_inner(op: ir.Operation) -> bool:
    """Whether an op is a view of a torch op's result that only ops of containers read."""
    readers = [use.owner.operation for use in op.results[0].uses] if op.results else []
    return reorders_torch_result(op) and all(map(_is_left, readers))


def _is_left(op: ir.Operation) -> bool:
    """Whether an op is a hipDNN op of no graph."""
    return is_compute(op) and op.name not in _STAYING


def _check(op: ir.Operation) -> None:
    """Rejects ops that no container can hold."""
    if not op.name.startswith(("torch.", "torch_c.", "migraphx.", "hipdnn.")):
        raise PassFailure(
            f"'{op.name}' op cannot be outlined: expected a torch, migraphx or hipdnn op", op
        )
    if len(op.regions):
        raise PassFailure(f"'{op.name}' op has regions: control flow is not supported", op)
    for value in op.results:
        if not (is_tensor(value) or _is_shaped(value) or _is_builtin(value)):
            raise PassFailure(
                f"'{op.name}' op computes a value of type {value.type}: expected a tensor, "
                "which its launch could write",
                op,
            )


def _is_builtin(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def _is_shaped(value: ir.Value) -> bool:
    """Whether the value's only reader is the next op, in the same container."""
    return str(value.type).startswith("!migraphx.shaped")


class _Placement:
    """Puts the ops of a block into groups.

    Args:
        grouping: receives the ops.
        fuse: whether connected ops may share a group.
        lookups: index of the lookup, by op; such ops share a group only with ops of the same
            lookup.
        many: ops that would have too many operands and results together.
    """

    def __init__(
        self,
        grouping: Grouping,
        fuse: bool,
        lookups: Mapping[ir.Operation, int],
        many: set[ir.Operation],
    ):
        self._grouping = grouping
        self._fuse = fuse
        self._lookups = lookups
        self._many = many
        self._lookup_of: dict[int, int] = {}

    def place(self, op: ir.Operation) -> None:
        """Adds `op` to the group of an operand, or to a new one."""
        grouping = self._grouping
        if op.name in _STAYING and not _is_inner(op):
            grouping.start(op, outlined=False)
            return
        _check(op)
        producers = [grouping.producer(value) for value in _reads(op)]
        candidates = [one for one in dict.fromkeys(producers) if one and one.outlined]
        if op.name not in _LEAVING:
            candidates = [one for one in candidates if self._fuse and self._fits(op, one)]
        for group in sorted(candidates, key=lambda group: group.level, reverse=True):
            if grouping.can_join(op, group):
                others = [] if op in self._many else grouping.mergeable(op, group)
                others = [one for one in others if self._fits(op, one)]
                grouping.join(op, group)
                for other in others:
                    grouping.merge(other, group)
                return
        group = grouping.start(op, outlined=True)
        if op in self._lookups:
            self._lookup_of[id(group)] = self._lookups[op]

    def _fits(self, op: ir.Operation, group: Group) -> bool:
        """Whether `op` reads the group's results, as hipDNN ops do, or belongs to its lookup."""
        ops = [*group.ops, op]
        if not self._many.isdisjoint(ops) and _bindings(ops) > MAX_BINDINGS:
            return False
        return op.name.startswith("hipdnn.") or self._lookup_of.get(id(group)) == self._lookups.get(
            op
        )


def _bindings(ops: Sequence[ir.Operation]) -> int:
    """Returns how many operands and results a group of ops has at most."""
    made = {result for op in ops for result in op.results}
    return len(made | {value for op in ops for value in _reads(op)})


def _is_large(group: Group) -> bool:
    """Whether a group would be a kernel with more operands and results than IREE supports."""
    return group.outlined and sum(map(len, boundary(group, _reads))) > MAX_BINDINGS


def _cast(direction: str, value: ir.Value, kind: ir.Type, location: ir.Location) -> ir.Value:
    name = f"torch_c.{direction}_builtin_tensor"
    return ir.Operation.create(name, results=[kind], operands=[value], loc=location).results[0]


def _make_fallback(
    name: str, group: Group, inputs: Sequence[ir.Value], outputs: Sequence[ir.Value]
) -> list[ir.Value]:
    """Builds the container; torch tensors leave it as builtin tensors and are cast back outside.

    A torch tensor and a cast of it are one result.
    """
    location = ir.Location.fused([op.location for op in group.ops])
    strides, offsets = operand_layouts(inputs)
    results = {_contents(value): value for value in outputs}
    container = hipdnn.fallback(
        inputs,
        [builtin_type(value) for value in results.values()],
        name=name,
        arg_strides=strides,
        arg_offsets=offsets,
        loc=location,
    )
    body = BodyBuilder(container.body, inputs)
    for op in group.ops:
        body.copy(op, [result.type for result in op.results])
    yielded = [body.value(value) for value in results.values()]
    with ir.InsertionPoint(container.body):
        yielded = [
            _cast("to", new, builtin_type(old), location) if is_tensor(old) else new
            for old, new in zip(results.values(), yielded, strict=True)
        ]
    body.finish(yielded, location)
    made = dict(zip(results, container.outputs, strict=True))
    news = [made[_contents(value)] for value in outputs]
    return [
        _cast("from", new, old.type, location) if is_tensor(old) else new
        for old, new in zip(outputs, news, strict=True)
    ]


def _contents(value: ir.Value) -> tuple[ir.Value, ir.Type]:
    """Returns the tensor whose elements a result of a container has, and the result's type."""
    owner = defining_op(value)
    if owner is None or owner.name != "torch_c.to_builtin_tensor":
        return value, builtin_type(value)
    return owner.operands[0], builtin_type(value)


def _fallback_name(group: Group, index: int) -> str:
    casts = ("torch_c.", "migraphx.mlir.")
    words = [op.name.split(".")[-1] for op in group.ops if not op.name.startswith(casts)]
    named = [op.name.split(".")[2] for op in group.ops if op.name.startswith("torch.aten.")]
    return "_".join([*(named or words or ["unpack"])[:4], str(index)])


def _erase_unread(block: ir.Block) -> None:
    for op in reversed([op.operation for op in block.operations][:-1]):
        if all(next(iter(result.uses), None) is None for result in op.results):
            op.erase()


def _own_results(block: ir.Block, state: PassState) -> None:
    """Makes containers compute all returned values: copies arguments, constants and windows."""
    terminator = list(block.operations)[-1].operation
    seen: set[ir.Value] = set()
    for index, value in enumerate(terminator.operands):
        if not isinstance(value.type, ir.RankedTensorType):
            raise PassFailure(
                f"expected tensors to be returned, but found '{value.type}'", terminator
            )
        if 0 in ir.RankedTensorType(value.type).shape:
            terminator.operands[index] = _nothing(value, terminator)
            continue
        storage = _owned_storage(value)
        if storage is not None and storage not in seen:
            seen.add(storage)
            continue
        state.count("copied-results")
        with ir.InsertionPoint(terminator):
            terminator.operands[index] = _copy(value, index, terminator.location)


def _nothing(value: ir.Value, terminator: ir.Operation) -> ir.Value:
    """Returns a constant without elements: a function that returns it writes nothing."""
    nothing = ir.Attribute.parse(f"dense<> : {value.type}")
    with ir.InsertionPoint(terminator):
        return arith_d.ConstantOp(value.type, nothing, loc=terminator.location).result


def _owned_storage(value: ir.Value) -> ir.Value | None:
    """Returns the container result of which `value` shows every element; None if there is none."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name == "arith.constant":
        return None
    if owner.name != "hipdnn.view":
        return value
    base = owner.operands[0]
    window = hipdnn.ViewOp(owner.operation)
    view = StridedView(shape_of(value), tuple(window.strides), window.offset)
    return _owned_storage(base) if view.covers(ir.RankedTensorType(base.type).shape) else None


def _copy(value: ir.Value, index: int, location: ir.Location) -> ir.Value:
    strides, offsets = operand_layouts([value])
    container = hipdnn.graph(
        [value],
        [value.type],
        name=f"copy_result_{index}",
        engine="iree",
        arg_strides=strides,
        arg_offsets=offsets,
        loc=location,
    )
    with ir.InsertionPoint(container.body):
        copy = hipdnn.pointwise(
            container.body.arguments[0], mode="identity", result_type=value.type, loc=location
        )
        hipdnn.yield_([copy], loc=location)
    return container.outputs[0]


@dataclass(frozen=True)
class HipdnnOutlineFallbackPass(Pass):
    """Moves connected ops that hipDNN cannot express into `hipdnn.fallback` containers.

    The provider of graphs compiles these ops too, so that a whole model becomes launches.
    Constants, lists and casts are copied into each container. Large lookups have containers of
    their own, so that each can run right before its readers. A returned value that is not a
    container's own result (an argument, a constant, a window, a value returned twice) is copied by
    a graph.

    Before:
        ```mlir
        %0 = torch_c.from_builtin_tensor %x : tensor<2x3xf32> -> !torch.vtensor<[2,3],f32>
        %1 = torch.aten.cumsum %0, %int1, %none
            : !torch.vtensor<[2,3],f32>, !torch.int, !torch.none -> !torch.vtensor<[2,3],f32>
        %2 = torch_c.to_builtin_tensor %1 : !torch.vtensor<[2,3],f32> -> tensor<2x3xf32>
        ```

    After:
        ```mlir
        %2 = "hipdnn.fallback"(%x) ({
        ^bb0(%a: tensor<2x3xf32>):
          ... the three ops and their constants ...
          "hipdnn.yield"(%3) : (tensor<2x3xf32>) -> ()
        }) {name = "cumsum_0"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
        ```

    Requires:
        Stage `hipdnn-ops`, with the hipDNN ops already outlined.

    Ensures:
        Stage `hipdnn-graphs`: functions hold containers, views, constants and the return.

    Errors:
        An op that no container can hold (another dialect, control flow, a result that is not a
        tensor), at the op.

    Source:
        own.
    """

    name: ClassVar[str] = "hipdnn-outline-fallback"
    ensures: ClassVar[str | None] = "hipdnn-graphs"

    fuse: bool = option(True, "join connected ops in one container")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Outlines the fallbacks of every function."""
        made = 0
        for block in function_blocks(module):
            made = self._outline_block(block, made, state)
            _erase_unread(block)
            _own_results(block, state)

    def _grouped(self, block: ir.Block) -> Grouping:
        """Groups the ops; those of groups with too many operands and results form smaller ones."""
        lookups, many = separate(block), set[ir.Operation]()
        ops = [op.operation for op in block.operations][:-1]
        while True:
            grouping = Grouping(_reads)
            placement = _Placement(grouping, self.fuse, lookups, many)
            for op in ops:
                if not _is_copied(op):
                    placement.place(op)
            large = {op for group in grouping.groups if _is_large(group) for op in group.ops}
            if large <= many:
                return grouping
            many |= large

    def _outline_block(self, block: ir.Block, first: int, state: PassState) -> int:
        grouping = self._grouped(block)

        def make(
            group: Group, number: int, inputs: Sequence[ir.Value], outputs: Sequence[ir.Value]
        ) -> Sequence[ir.Value]:
            name = _fallback_name(group, number)
            state.count("fallbacks")
            state.count("outlined-ops", len(group.ops))
            state.analysis(group.ops[0], "fallback", f"{len(group.ops)} ops as fallback '{name}'")
            return _make_fallback(name, group, inputs, outputs)

        return outline(block, grouping, make, first)

"""Forms graphs by default: one anchor with the elementwise ops that can share its kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.tensors import element_type_of, shape_of
from hipgraft.transforms.outlining import COPIED_OPS, Group, Grouping, is_splat
from hipgraft.transforms.partition.rules import CYCLE, MAX_OPERANDS
from hipgraft.transforms.recognition.values import window

CONTRACTIONS = frozenset(
    {"hipdnn.conv_fprop", "hipdnn.conv_dgrad", "hipdnn.conv_wgrad", "hipdnn.matmul", "hipdnn.sdpa"}
)
NORMS = frozenset({"hipdnn.layernorm", "hipdnn.rmsnorm"})
ELEMENTWISE = frozenset(
    {
        "hipdnn.pointwise",
        "hipdnn.block_scale_dequantize",
        "hipdnn.batchnorm_inference",
        "hipdnn.batchnorm_inference_variance_ext",
    }
)
_NO_COMPUTE = frozenset({"hipdnn.view", "hipdnn.graph", "hipdnn.fallback"})

_CAST = "torch_c.to_builtin_tensor"

_ONE_OVERLOAD = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_left_shift.Tensor",
    "bitwise_not", "bitwise_right_shift.Tensor", "cat", "clamp", "cosh", "div.Tensor_mode",
    "embedding", "expm1", "flip", "gather", "index_select", "isinf", "isnan", "log10", "log1p",
    "log2", "logical_and", "logical_not", "logical_or", "maximum", "minimum", "neg", "round",
    "sign", "sinh", "to.dtype", "trunc", "where.self",
)  # fmt: skip
_TWO_OVERLOADS = (
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "div", "eq", "fmod", "ge", "gt", "le", "lt",
    "mul", "ne", "remainder", "sub",
)  # fmt: skip

BY_ELEMENT = frozenset(
    f"torch.aten.{name}"
    for name in (
        *_ONE_OVERLOAD,
        *(f"{one}.{kind}" for one in _TWO_OVERLOADS for kind in ("Scalar", "Tensor")),
    )
)
"""Torch ops that compute each element separately, so their kernels can absorb elementwise ops."""

SHARED = "another op reads its operand, too"
"""The reason why an op cannot join a group whose values must stay inside of it."""


def is_compute(op: ir.Operation) -> bool:
    """Returns whether an op is a hipDNN op that graphs consist of."""
    return op.name.startswith("hipdnn.") and op.name not in _NO_COMPUTE


def _users(op: ir.Operation) -> list[ir.Operation]:
    return [use.owner.operation for result in op.results for use in result.uses]


def _is_shared(value: ir.Value) -> bool:
    """Whether several ops read the value."""
    return len({use.owner.operation for use in value.uses}) > 1


def _feeds_reduction(op: ir.Operation) -> bool:
    """Whether a reduction or norm reads the op, directly or through one elementwise op.

    A widening cast feeds a reduction if one of its users does, any other op only if all users do.
    A reduction reads its operand once, so a longer chain may lead to it.
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
    elementwise = users[0].name in ELEMENTWISE
    return _leads_to_reduction(users[0]) if elementwise else users[0].name == "hipdnn.reduction"


def _reduces(op: ir.Operation) -> bool:
    return op.name == "hipdnn.reduction" or op.name in NORMS


def _is_widening(op: ir.Operation) -> bool:
    if op.name != "hipdnn.pointwise" or ir.StringAttr(op.attributes["mode"]).value != "identity":
        return False
    kinds = [element_type_of(value) for value in (op.operands[0], op.results[0])]
    return isinstance(kinds[1], ir.F32Type) and not isinstance(kinds[0], ir.F32Type)


class FusionPolicy:
    """Decides whether a compute op can share a kernel with a group.

    A group has at most one anchor: a contraction, an attention, a norm, or reductions over the
    same dimensions of the same shape. An elementwise op joins the group that computes one of its
    operands if the group's kernel iterates over the op's shape anyway. Norms and reductions also
    join a group that is elementwise so far: its ops become their prologue.

    Args:
        grouping: grouping that ops join.
        shares: whether ops may join an op that other ops read, too.
    """

    def __init__(self, grouping: Grouping, *, shares: bool = True):
        self._grouping = grouping
        self._shares = shares

    def start(self, op: ir.Operation, *, outlined: bool) -> Group:
        """Puts an op into a new group."""
        group = self._grouping.start(op, outlined=outlined)
        self.remember(op, group)
        return group

    def join(self, op: ir.Operation, group: Group, may_merge: Callable[[Group], bool]) -> None:
        """Adds `op` to `group`, with the elementwise groups that only `op` reads."""
        others = [
            other
            for other in self._grouping.mergeable(op, group)
            if may_merge(other)
            and other.attributes["anchor"] is None
            and other.attributes["shapes"] <= group.attributes["shapes"]
        ]
        self._grouping.join(op, group)
        self.remember(op, group)
        for other in others:
            made = {result for member in other.ops for result in member.results}
            operands = (group.attributes["operands"] | other.attributes["operands"]) - made
            if len(operands) <= MAX_OPERANDS:
                self._grouping.merge(other, group)
                group.attributes["operands"] = operands

    def candidates(self, op: ir.Operation) -> list[Group]:
        """Returns the groups that compute the op's operands, latest first."""
        producers = [self._grouping.producer(operand) for operand in op.operands]
        found = dict.fromkeys(group for group in producers if group and group.outlined)
        return sorted(found, key=lambda group: group.level, reverse=True)

    def declines(self, op: ir.Operation, group: Group) -> str | None:
        """Returns why `op` cannot join `group`; None if it can."""
        reason = self._shape_declines(op, group) or self._prologue_declines(op, group)
        if reason is None and not self._shares:
            own = (value for value in op.operands if self._grouping.producer(value) is group)
            reason = SHARED if any(map(_is_shared, own)) else None
        if reason is not None:
            return reason
        if len(group.attributes["operands"] | self._reads(op, group)) > MAX_OPERANDS:
            return f"the graph would read more than {MAX_OPERANDS} tensors"
        return None if self._grouping.can_join(op, group) else CYCLE

    def _reads(self, op: ir.Operation, group: Group) -> set[ir.Value]:
        """Returns the tensors that `op` reads in `group`, except splats, which are copied."""
        return {
            value
            for value in op.operands
            if self._grouping.producer(value) is not group and not is_splat(value)
        }

    def _shape_declines(self, op: ir.Operation, group: Group) -> str | None:
        shapes: set[tuple[int, ...]] = group.attributes["shapes"]
        if op.name in ELEMENTWISE:
            if shape_of(op.results[0]) in shapes:
                return None
            return (
                f"shape {list(shape_of(op.results[0]))} is not one that its producer's kernel walks"
            )
        if op.name in CONTRACTIONS:
            return "a contraction starts a graph"
        if op.name in NORMS:
            fits = group.attributes["anchor"] is None and shape_of(op.operands[0]) in shapes
            return None if fits else "the producer has an anchor of its own"
        if op.name != "hipdnn.reduction":
            return "it has a kernel of its own"
        return self._reduction_declines(op, group)

    def _prologue_declines(self, op: ir.Operation, group: Group) -> str | None:
        """Keeps a reduction's prologue with it if its producer stores the operand anyway."""
        if op.name not in ELEMENTWISE or group.attributes["anchor"] is None:
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

    def remember(self, op: ir.Operation, group: Group) -> None:
        """Records the shapes that a group iterates over and reads after `op` joined it."""
        attributes = group.attributes
        attributes.setdefault("anchor", None)
        attributes.setdefault("operands", set()).update(self._reads(op, group))
        shapes = attributes.setdefault("shapes", set())
        shapes.add(shape_of(op.results[0]))
        if op.name == "hipdnn.reduction":
            shapes.add(shape_of(op.operands[0]))
            attributes["anchor"] = ("reduction", shape_of(op.operands[0]), shape_of(op.results[0]))
        elif op.name not in ELEMENTWISE:
            attributes["anchor"] = (op.name,)


def reorders_torch_result(op: ir.Operation) -> bool:
    """Whether an op views all elements of a torch op's result, in any order."""
    if op.name != hipdnn.ViewOp.OP_NAME:
        return False
    base, view = window(op.results[0])
    owner = defining_op(base)
    is_cast = owner is not None and owner.name == _CAST
    return is_cast and view.storage_order(shape_of(base)) is not None


def leave_to_fallbacks(groups: Iterable[Group], ops: Sequence[ir.Operation]) -> list[Group]:
    """Adds groups without contractions to the kernels of fallbacks, which saves a launch.

    A group qualifies if it is elementwise and only torch ops and other such groups read it, or if
    it iterates over a tensor that a torch op computes elementwise.

    Args:
        groups: some groups of a block.
        ops: ops of the block.

    Returns:
        The remaining groups.
    """
    left: list[Group] = []
    given: set[ir.Operation] = set()
    positions: dict[ir.Operation, int] = {}
    for group in reversed([*groups]):  # readers come first
        others = [op for op in group.ops if op.name not in ELEMENTWISE]
        if not group.outlined or not all(map(_reduces, others)):
            continue
        members = set(group.ops)
        outside = {user for op in group.ops for user in _users(op)} - members
        rest = outside - given
        if not others and outside and all(user.name in COPIED_OPS for user in rest):
            group.outlined = False
        elif casts := _walked_casts(group):
            positions = positions or {op: position for position, op in enumerate(ops)}
            group.outlined = _depends(members, casts, positions)
        if not group.outlined:
            left.append(group)
            given |= members
    return left


def _walked_casts(group: Group) -> set[ir.Operation]:
    """Returns the casts from torch ops to a group that iterates over their results."""
    members = set(group.ops)
    owners = (
        _cast_before(value, members)
        for op in group.ops
        for value in op.operands
        if shape_of(value) == shape_of(op.operands[0] if _reduces(op) else op.results[0])
    )
    makers = ((cast, defining_op(cast.operands[0])) for cast in owners if cast is not None)
    return {cast for cast, op in makers if op is not None and op.name in BY_ELEMENT}


def _cast_before(value: ir.Value, members: set[ir.Operation]) -> ir.Operation | None:
    """Returns the cast from a torch op to a value, or to its base if only members read the view."""
    op = defining_op(value)
    if op is not None and _is_inner_view(op, members):
        op = defining_op(op.operands[0])
    return op if op is not None and op.name == _CAST else None


def _is_inner_view(op: ir.Operation, members: set[ir.Operation]) -> bool:
    return reorders_torch_result(op) and members.issuperset(_users(op))


def _depends(
    members: set[ir.Operation], casts: set[ir.Operation], positions: Mapping[ir.Operation, int]
) -> bool:
    """Whether ops depend on the kernel before a cast through an op that belongs to neither."""
    ends = casts | {defining_op(cast.operands[0]) for cast in casts}
    first = min(positions[op] for op in ends if op is not None)
    waiting = list(members)
    seen: set[ir.Operation] = set(members)
    while waiting:
        op = waiting.pop()
        is_inner = op in members or _is_inner_view(op, members)
        for value in op.operands:
            source = defining_op(value)
            if source in ends:
                if not is_inner:
                    return True
            elif source is not None and source not in seen and positions[source] > first:
                seen.add(source)
                waiting.append(source)
    return False

"""Maxima and minima of integers in reductions that are distributed over lanes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hipgraft.codegen.iree.linalg_builders import structured
from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import arith_d, ir
from hipgraft.ir.io import walk
from hipgraft.ir.unused import erase_unused

SIGNED_EXTREMES = Workaround(
    name="signed-extremes",
    fault="If the lanes of a wavefront share a row, they start with 0 for `arith.maxsi` and -1 "
    "for `arith.minsi`, the neutral elements of unsigned integers; for 64-bit integers the "
    "fault is the reverse: `arith.maxui` starts with the least signed integer. So the "
    "maximum of negative numbers is 0. The compiler crashes on reductions of `i8`, and for "
    "wavefronts of 32 lanes on reductions of unsigned 32-bit integers if a row has more "
    "than 64 and less than 128 elements.",
    effect=Effect.WRONG,
    targets="AMDGPU, CUDA",
    remedy="Integers of up to 32 bits are reduced as unsigned 32-bit integers, 64-bit integers as "
    "signed integers, with the sign bit inverted before and after, which keeps their "
    "order. Integers of up to 32 bits in rows of 65 to 127 elements are reduced as signed "
    "64-bit integers.",
)

_OTHER = {
    "arith.maxsi": "arith.maxui",
    "arith.minsi": "arith.minui",
    "arith.maxui": "arith.maxsi",
    "arith.minui": "arith.minsi",
}


@dataclass(frozen=True)
class _Extreme:
    """A reduction whose only used result is a maximum or minimum.

    Attributes:
        op: the reduction.
        number: index of this result.
        step: the op in its body that computes it from an element and the result so far.
    """

    op: ir.Operation
    number: int
    step: ir.Operation

    @property
    def init(self) -> int:
        """The index of the operand that provides the result's initial value."""
        return len(self.op.operands) - len(self.op.results) + self.number

    @property
    def width(self) -> int:
        return ir.IntegerType(self.step.result.type).width

    @property
    def is_signed(self) -> bool:
        return self.step.name.endswith("si")

    @property
    def is_widened(self) -> bool:
        """Whether the reduction widens integers of fewer bits to signed 64-bit integers."""
        types = [ir.RankedTensorType(self.op.operands[at].type) for at in (0, self.init)]
        if self.width == 64 or not all(kind.has_static_shape for kind in types):
            return False
        elements, rows = (math.prod(kind.shape) for kind in types)
        return 64 * rows < elements < 128 * rows


def reorder_extremes(module: ir.Module) -> int:
    """Gives integer reductions the signedness that compiles correctly; returns how many.

    Args:
        module: module after torch ops were lowered.
    """
    if not SIGNED_EXTREMES.is_on:
        return 0
    found = [_extreme(op) for op in walk(module.operation) if op.name == "linalg.generic"]
    wrong = [one for one in found if one is not None and one.is_signed == (one.width < 64)]
    for one in wrong:
        with module.context:
            _reorder(one)
    return len(wrong)


def _extreme(op: ir.Operation) -> _Extreme | None:
    used = [number for number, result in enumerate(op.results) if list(result.uses)]
    if len(used) != 1 or "reduction" not in str(op.attributes["iterator_types"]):
        return None
    block = op.regions[0].blocks[0]
    step = _made_by(_terminator(block).operands[used[0]])
    if step is None or step.name not in _OTHER:
        return None
    found = _Extreme(op, used[0], step)
    return found if block.arguments[found.init] in list(step.operands) else None


def _terminator(block: ir.Block) -> ir.Operation:
    return list(block.operations)[-1].operation


def _made_by(value: ir.Value) -> ir.Operation | None:
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def _reorder(one: _Extreme) -> None:
    op, block = one.op, one.op.regions[0].blocks[0]
    before = op.operands[one.init]
    kind = ir.IntegerType.get_signless(64 if one.is_widened else max(one.width, 32))
    name = one.step.name if one.is_widened else _OTHER[one.step.name]
    key_of = _same if one.is_widened else _flipped
    element = one.step.result.type
    count = len(op.operands) - len(op.results)
    with op.location:
        with ir.InsertionPoint(op):
            start = _mapped(before, kind, lambda value: key_of(_widened(value, kind)))
            maps = list(ir.ArrayAttr(op.attributes["indexing_maps"]))
            attributes = {
                **{name: op.attributes[name] for name in op.attributes},
                "indexing_maps": ir.ArrayAttr.get([*maps[:count], maps[one.init]]),
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([count, 1]),
            }
            reduction = ir.Operation.create(
                "linalg.generic",
                results=[start.type],
                operands=[*list(op.operands)[:count], start],
                attributes=attributes,
                regions=1,
            )
            result = _mapped(
                reduction.result, element, lambda value: _narrowed(key_of(value), element), before
            )
        block.append_to(reduction.regions[0])
        total = block.arguments[one.init]
        (value,) = [each for each in one.step.operands if each != total]
        with ir.InsertionPoint(one.step):
            key = key_of(_widened(value, kind))
            step = ir.Operation.create(name, results=[kind], operands=[key, total])
        _terminator(block).erase()
        with ir.InsertionPoint(block):
            ir.Operation.create("linalg.yield", operands=[step.result])
        erase_unused(block)
        total.set_type(kind)
        for number in reversed(range(count, len(op.operands))):
            if number != one.init:
                block.erase_argument(number)
    op.results[one.number].replace_all_uses_with(result)
    op.erase()


def _widened(value: ir.Value, kind: ir.IntegerType) -> ir.Value:
    if value.type == kind:
        return value
    return ir.Operation.create("arith.extsi", results=[kind], operands=[value]).result


def _flipped(value: ir.Value) -> ir.Value:
    kind = ir.IntegerType(value.type)
    sign = arith_d.ConstantOp(kind, ir.IntegerAttr.get(kind, -(1 << (kind.width - 1)))).result
    return ir.Operation.create("arith.xori", results=[kind], operands=[value, sign]).result


def _same(value: ir.Value) -> ir.Value:
    return value


def _narrowed(value: ir.Value, kind: ir.Type) -> ir.Value:
    if value.type == kind:
        return value
    return ir.Operation.create("arith.trunci", results=[kind], operands=[value]).result


def _mapped(
    value: ir.Value,
    element: ir.Type,
    compute: Callable[[ir.Value], ir.Value],
    like: ir.Value | None = None,
) -> ir.Value:
    """Applies a function to each element.

    Args:
        value: a tensor.
        element: type of the results.
        compute: builds the function.
        like: tensor of the result's type, if there is one.
    """
    have = ir.RankedTensorType(value.type)
    kind = ir.RankedTensorType.get(list(have.shape), element)
    filling = _made_by(value)
    if filling is not None and filling.name == "linalg.fill":
        return _filled(compute(filling.operands[0]), filling.operands[1], kind)
    outs = like if like is not None else _empty(value, kind)
    identity = ir.AffineMapAttr.get(ir.AffineMap.get_identity(len(have.shape)))
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    return _structured(
        "linalg.generic",
        [value],
        outs,
        compute,
        indexing_maps=ir.ArrayAttr.get([identity, identity]),
        iterator_types=ir.ArrayAttr.get([parallel] * len(have.shape)),
    )


def _filled(value: ir.Value, before: ir.Value, kind: ir.RankedTensorType) -> ir.Value:
    return _structured("linalg.fill", [value], _empty(before, kind), lambda one: one)


def _empty(like: ir.Value, kind: ir.RankedTensorType) -> ir.Value:
    """Creates an empty tensor with the extents of another."""
    extents: list[ir.Value] = []
    for dim in range(len(kind.shape)):
        if kind.is_dynamic_dim(dim):
            number = arith_d.ConstantOp(ir.IndexType.get(), dim).result
            extents.append(
                ir.Operation.create(
                    "tensor.dim", results=[ir.IndexType.get()], operands=[like, number]
                ).result
            )
    return ir.Operation.create("tensor.empty", results=[kind], operands=extents).result


def _structured(
    name: str,
    inputs: list[ir.Value],
    outs: ir.Value,
    compute: Callable[[ir.Value], ir.Value],
    **attributes: ir.Attribute,
) -> ir.Value:
    """Builds a linalg op with one input and one result."""
    op = structured(name, inputs, [outs], attributes)
    block = op.regions[0].blocks[0]
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", operands=[compute(block.arguments[0])])
    return op.result

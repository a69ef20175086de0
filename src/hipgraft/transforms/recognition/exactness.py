"""Finds f32 tensors whose elements f16 represents exactly, such as differences of bytes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import attributes_of, defining_op
from hipgraft.ir.dtypes import numpy_dtype
from hipgraft.ir.element_types import bit_width
from hipgraft.ir.resources import constant_bytes
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import element_type_of, shape_of
from hipgraft.transforms.recognition.constants import Array, build_constant, constant_array
from hipgraft.transforms.recognition.values import make_window, mode_of, splat_value, window

_ROUNDS = 1.5 * 2**23
"""An f32 number, the sum with which rounds numbers of up to 2²² half to even."""

_LARGEST_INTEGER = 2048
"""All integers up to it are exact in f16."""

_F16_HAS_NORMAL = ("f8E4M3FN", "f8E4M3FNUZ")
"""The floats of eight bits whose numbers other than 0 are all normal in f16."""

_WIDENED = ("f16", "bf16", "f32")

_DEPTH = 8
"""How many ops are looked at one after the other: quantising and dequantising takes no more."""

Range = tuple[int, int]
"""The least and the largest integer that a tensor may hold."""


def is_exact_in_f16(value: ir.Value) -> bool:
    """Whether f16 is known to represent every element of an f32 tensor exactly.

    Raises:
        OpError: a constant's resource is missing.
    """
    elements = constant_array(value)
    if elements is not None:
        return _has_f16(elements)
    if str(converted_from(value)) in _F16_HAS_NORMAL:
        return True
    found = integers_of(value)
    return found is not None and max(map(abs, found)) <= _LARGEST_INTEGER


def converted_from(value: ir.Value) -> ir.FloatType | None:
    """Returns the 8-bit float type that a value was converted from, if there is one."""
    convert = _pointwise(window(value)[0], "identity")
    element = None if convert is None else element_type_of(convert.operands[0])
    return element if isinstance(element, ir.FloatType) and element.width == 8 else None


def floats_of_eight_bits(op: ir.Operation) -> list[ir.Value] | None:
    """Returns the 8-bit floats that all operands of an op were converted from.

    Constants may have the numbers of the type that another operand was converted from. Views of the
    floats, and constants, are built before the op.

    Returns:
        None if an operand is no such conversion, or strides cannot express its view of the floats.

    Raises:
        OpError: a constant's resource is missing.
    """
    stored = [_before_conversion(operand) for operand in op.operands]
    kind = next((element_type_of(one[0]) for one in stored if one is not None), None)
    if kind is None:
        return None
    constants: dict[ir.Value, Array] = {}
    for operand, one in zip(op.operands, stored, strict=True):
        elements = constant_array(operand) if one is None else None
        if elements is not None and _has(elements, numpy_dtype(kind)):
            constants[operand] = elements.astype(numpy_dtype(kind))
        elif one is None:
            return None
    with ir.InsertionPoint(op), op.location:
        return [
            build_constant(constants[operand], kind, "exact") if one is None else make_window(*one)
            for operand, one in zip(op.operands, stored, strict=True)
        ]


def _before_conversion(value: ir.Value) -> tuple[ir.Value, StridedView] | None:
    """Returns the 8-bit floats that a value was converted from, and its window on them."""
    base, view = window(value)
    convert = defining_op(base)
    if convert is None or converted_from(value) is None:
        return None
    stored, own = window(convert.operands[0])
    seen = view.on_copied(own)
    return None if seen is None else (stored, seen)


def _has(elements: Array, kind: np.dtype[Any]) -> bool:
    """Whether a type represents all numbers exactly."""
    with np.errstate(over="ignore"):
        return bool((elements.astype(kind).astype(elements.dtype) == elements).all())


def in_f16(value: ir.Value, narrowed: dict[ir.Value, ir.Value]) -> ir.Value:
    """Builds an exact tensor in f16, right after its f32 form.

    All other readers of the f32 form are redirected to the f16 form, so that only f16 is stored.

    Args:
        value: an exact tensor, or a view of one.
        narrowed: the f16 form of tensors that have one; the new ones are added.
    """
    base, view = window(value)
    op = ir.OpResult(base).owner.operation
    if base not in narrowed:
        with ir.InsertionPoint.after(op), op.location:
            narrowed[base] = _narrow(base)
    made = ir.OpResult(narrowed[base]).owner.operation
    with ir.InsertionPoint.after(made), op.location:
        return make_window(narrowed[base], view)


def merge_integers(block: ir.Block) -> None:
    """Lets the readers of equal arithmetic on integers read one result.

    Frontends repeat integer arithmetic for each reader. Other arithmetic stays duplicated, so that
    each reader's kernel can compute it.
    """
    merge_equal(block, lambda op: integers_of(op.results[0]) is not None)


def merge_equal(block: ir.Block, is_merged: Callable[[ir.Operation], bool]) -> int:
    """Lets the readers of equal pointwise ops, and of equal reductions, read one result.

    Args:
        block: the block; ops that nothing reads any more stay in it.
        is_merged: whether to merge an op with equal ones.

    Returns:
        How many ops nothing reads any more.
    """
    known: dict[object, ir.Value] = {}
    merged = 0
    for op in [op.operation for op in block.operations]:
        if mode_of(op) is None or not is_merged(op):
            continue
        operands = tuple(map(_identity_of, op.operands))
        form = (op.name, op.results[0].type, operands, *attributes_of(op).items())
        first = known.setdefault(form, op.results[0])
        if first != op.results[0]:
            op.results[0].replace_all_uses_with(first)
            merged += 1
    return merged


def skip_bytes(op: ir.Operation) -> bool:
    """Lets a conversion from bytes read the whole numbers that the bytes were converted from.

    Returns:
        Whether the op was such a conversion, and bytes represent all of the numbers.
    """
    if mode_of(op) != "identity" or element_type_of(op.operands[0]) != _signed_byte():
        return False
    narrow = _pointwise(op.operands[0], "identity")
    found = integers_of(narrow.operands[0]) if narrow else None
    if narrow is None or found is None or found[0] < -128 or found[1] > 127:
        return False
    op.operands[0] = narrow.operands[0]
    return True


def skip_widening(op: ir.Operation) -> list[tuple[ir.Operation, int]]:
    """Lets ops that compute in f32 read the floats that a conversion, or a copy, widens to f32.

    Args:
        op: the conversion, or any other op.

    Returns:
        The ops that now read the operand of `op`, and the number of their operand.
    """
    if mode_of(op) != "identity" or element_type_of(op.results[0]) != ir.F32Type.get():
        return []
    if str(element_type_of(op.operands[0])) not in _WIDENED:
        return []
    uses = [(use.owner.operation, use.operand_number) for use in op.results[0].uses]
    # All other pointwise ops, and reductions, convert their operands to f32.
    found = [one for one in uses if mode_of(one[0]) not in (None, "identity")]
    for reader, number in found:
        reader.operands[number] = op.operands[0]
    return found


def integers_of(value: ir.Value, depth: int = _DEPTH) -> Range | None:
    """Returns the range of a tensor's elements; None if some may wrap around or have fractions."""
    found = _computed_integers(value, depth)
    return found if found is not None and _holds(element_type_of(value), found) else None


def _holds(kind: ir.Type, numbers: Range) -> bool:
    """Whether a type represents all numbers of a range, if it is an integer type."""
    if not isinstance(kind, ir.IntegerType):
        return True
    least = 0 if kind.is_unsigned else -(1 << kind.width - 1)
    return least <= numbers[0] and numbers[1] < least + (1 << kind.width)


def _computed_integers(value: ir.Value, depth: int) -> Range | None:
    op = defining_op(window(value)[0])
    if op is None or not depth:
        return None
    if op.name == "arith.constant":
        return _constant_range(op)
    mode = mode_of(op) or ""
    if mode == "identity":
        return _BYTES.get(str(element_type_of(op.operands[0]))) or _kept(op, depth)
    rounded = _rounded(op) if mode == "sub" else None
    if rounded is not None or mode not in _RULES:
        return rounded
    known: list[Range] = []
    for operand in op.operands:
        found = integers_of(operand, depth - 1)
        if found is None:
            return None
        known.append(found)
    return _RULES[mode](*known)


def _pointwise(value: ir.Value, *modes: str) -> ir.Operation | None:
    """Returns the op that defines a value if it has one of some modes."""
    op = defining_op(value)
    return op if mode_of(op) in modes else None


def _signed_byte() -> ir.Type:
    return ir.IntegerType.get_signless(8)


def _has_f16(elements: Array) -> bool:
    """Whether f16 has all numbers, none as a subnormal: gfx90a flushes subnormals to zero."""
    sizes = np.abs(elements)
    return _has(elements, np.dtype(np.float16)) and bool(
        (sizes[sizes > 0] >= np.finfo(np.float16).smallest_normal).all()
    )


def _narrow(base: ir.Value) -> ir.Value:
    elements = _evaluated(base)
    if elements is not None:
        with np.errstate(over="ignore"):
            return build_constant(elements.astype(np.float16), ir.F16Type.get(), "exact")
    kind = ir.RankedTensorType.get(shape_of(base), ir.F16Type.get())
    uses = [*base.uses]
    made = hipdnn.pointwise(base, mode="identity", result_type=kind)
    wide = hipdnn.pointwise(made, mode="identity", result_type=base.type)
    for use in uses:
        use.owner.operands[use.operand_number] = wide
    return made


def _evaluated(value: ir.Value, depth: int = _DEPTH) -> Array | None:
    """Returns the f32 elements of a value computed from constants alone, otherwise None."""
    op, element = defining_op(value), element_type_of(value)
    if op is None or not depth or not (element == ir.F32Type.get() or bit_width(str(element)) == 8):
        return None
    if op.name == "arith.constant":
        flat = np.frombuffer(constant_bytes(op), numpy_dtype(element))
        return flat.reshape(shape_of(value)).astype(np.float32)
    compute = _COMPUTED.get(mode_of(op) or "")
    operands = [_evaluated(operand, depth - 1) for operand in op.operands] if compute else []
    known = [one for one in operands if one is not None]
    return compute(*known) if compute and len(known) == len(operands) else None


_COMPUTED: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "identity": np.asarray,
    "sub": np.subtract,
}


def _identity_of(value: ir.Value) -> object:
    """Returns the attribute of a constant, and any other value itself."""
    op = defining_op(value)
    return value if op is None or op.name != "arith.constant" else op.attributes["value"]


_BYTES: dict[str, Range] = {"i8": (-128, 127), "ui8": (0, 255)}


def _kept(op: ir.Operation, depth: int) -> Range | None:
    """Returns the range of a conversion's operand, unless floats that may round are involved."""
    is_integer = isinstance(element_type_of(op.operands[0]), ir.IntegerType)
    to = element_type_of(op.results[0])
    is_exact = to == ir.F32Type.get() or isinstance(to, ir.IntegerType)
    return integers_of(op.operands[0], depth - 1) if is_integer and is_exact else None


def _constant_range(op: ir.Operation) -> Range | None:
    element = element_type_of(op.results[0])
    if not isinstance(element, ir.F32Type | ir.IntegerType) or str(element) == "i1":
        return None
    numbers = np.frombuffer(constant_bytes(op), numpy_dtype(element))
    if not numbers.size or not np.isfinite(numbers).all() or (numbers != np.round(numbers)).any():
        return None
    return int(numbers.min()), int(numbers.max())


def _rounded(op: ir.Operation) -> Range | None:
    """Returns the range of `(x + c) - c`, where c is so large that the sum is a whole number."""
    total = _pointwise(op.operands[0], "add")
    if total is None or {splat_value(one.operands[1]) for one in (op, total)} != {_ROUNDS}:
        return None
    low, high = _bounds(total.operands[0])
    return (round(low), round(high)) if max(-low, high) <= 2**22 else None


def _bounds(value: ir.Value) -> tuple[float, float]:
    """Returns the least and the largest number of `min(max(x, low), high)`."""
    upper = _pointwise(value, "min_op")
    lower = _pointwise(upper.operands[0], "max_op") if upper else None
    if upper is None or lower is None:
        return -math.inf, math.inf
    low, high = splat_value(lower.operands[1]), splat_value(upper.operands[1])
    return (-math.inf, math.inf) if low is None or high is None else (low, high)


def _sum(a: Range, b: Range) -> Range:
    return a[0] + b[0], a[1] + b[1]


def _difference(a: Range, b: Range) -> Range:
    return a[0] - b[1], a[1] - b[0]


def _remainder(a: Range, b: Range) -> Range:
    most = max(map(abs, b)) - 1
    return (-most if a[0] < 0 else 0), most


_RULES = {"add": _sum, "sub": _difference, "mod": _remainder}
"""The range of a mode's result by those of its operands, in types that hold all of its numbers."""

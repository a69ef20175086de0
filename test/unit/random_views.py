"""Random views of memory, and operations of fallbacks that read the views element by element.

Extents are mostly powers of two: of other extents IREE vectorizes little.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from lowering_cases import ELEMENTS, Array, Case
from random_graphs import placed

from hipgraft.codegen.layout import Layout
from hipgraft.ir.strided_view import StridedView

Random = np.random.Generator

_EXTENTS = (1, 2, 3, 4, 8, 12, 16, 32, 64)
_MOST = 6144  # elements of an operand: the emulator reads this many in a second


def extents(random: Random, rank: int, most: int = _MOST) -> tuple[int, ...]:
    """Returns a shape; its last dim is never 1."""
    while True:
        shape = tuple(int(extent) for extent in random.choice(_EXTENTS, rank))
        if np.prod(shape) <= most and shape[-1] > 1:
            return shape


def layout(random: Random, shape: Sequence[int]) -> Layout:
    """A window of a larger tensor, whose dims are in any order in memory.

    The larger tensor's rows are as long, twice as long or a little longer, and the window starts
    inside of them.
    """
    strides, step, offset = [0] * len(shape), 1, 0
    order = random.permutation(len(shape)) if random.integers(2) else range(len(shape))
    for dim in reversed([int(dim) for dim in order]):
        strides[dim] = step
        more = int(random.choice([0, 0, shape[dim], 4, 1]))
        offset += step * int(random.integers(more + 1)) * int(random.integers(2))
        step *= shape[dim] + more
    return Layout(tuple(shape), tuple(strides), offset, "")


def rearranged(random: Random, case: Case) -> Case:
    """Returns `case` with its operands as windows of larger tensors."""
    places = [layout(random, value.shape) for value in case.inputs]
    return replace(
        case,
        inputs=[placed(*pair) for pair in zip(case.inputs, places, strict=True)],
        shapes=[value.shape for value in case.inputs],
        layouts={
            "arg_strides": [list(place.strides) for place in places],
            "arg_offsets": [place.offset for place in places],
        },
        logical_results=[np.shape(value) for value in case.expected],
    )


# Fallbacks


@dataclass(frozen=True)
class Operation:
    """A torch operation on views.

    Attributes:
        inputs: its tensor operands.
        text: ops that make `%r`, of `%t0`, `%t1` ... and constants.
        result: what it yields.
        tolerance: how far from it results may be.
    """

    inputs: Sequence[Array]
    text: str
    result: Array
    tolerance: float = 0.0


def vtensor(value: Array) -> str:
    """Returns the type of a value of the torch dialect."""
    shape = ",".join(map(str, value.shape))
    element = re.sub("^i(?!1$)", "si", ELEMENTS[value.dtype])
    return f"!torch.vtensor<[{shape}],{element}>"


def tensor(value: Array) -> str:
    """Returns the builtin type of a value."""
    shape = "".join(f"{extent}x" for extent in value.shape)
    return f"tensor<{shape}{ELEMENTS[value.dtype]}>"


def int_list(name: str, values: Sequence[int]) -> str:
    """Returns ops that make the list `%name`."""
    lines = [f"%{name}{i} = torch.constant.int {value}" for i, value in enumerate(values)]
    names = ", ".join(f"%{name}{i}" for i in range(len(values)))
    types = ", ".join(["!torch.int"] * len(values))
    line = f"%{name} = torch.prim.ListConstruct {names} : ({types}) -> !torch.list<int>"
    return "\n".join([*lines, line])


def floats(random: Random, shape: Sequence[int]) -> Array:
    """Returns numbers that all differ, in one of two types."""
    dtype = random.choice([np.float32, np.float16])
    return (random.permutation(int(np.prod(shape))) / 8 - 64).reshape(shape).astype(dtype)


def places(random: Random, below: int, shape: Sequence[int]) -> Array:
    """Returns indices less than `below`."""
    return random.integers(0, below, tuple(shape)).astype(np.int64)


def _dim(random: Random, x: Array) -> int:
    return int(random.integers(x.ndim))


def cat(random: Random) -> Operation:
    """Two tensors or more, of unequal extents and some of them negated, along any dim."""
    rank = int(random.integers(1, 5))
    first = floats(random, extents(random, rank, 2048))
    if random.integers(3) == 0:
        first = first.astype(random.choice([np.int8, np.int32, np.int64]))
    dim = int(random.choice([rank - 1, random.integers(rank)]))
    count = int(random.choice([2, 2, 3, 8, 9]))
    inputs = [first, *(np.roll(first, i) + first.dtype.type(i) for i in range(1, count))]
    if random.integers(2):
        kept = random.integers(1, first.shape[dim] + 1, count)
        inputs = [x.take(range(extent), dim) for x, extent in zip(inputs, kept, strict=True)]
    signs = random.integers(0, 2, count) * int(random.integers(2))
    lines = [
        f"%u{i} = torch.aten.neg %t{i} : {vtensor(x)} -> {vtensor(x)}" if sign else ""
        for i, (x, sign) in enumerate(zip(inputs, signs, strict=True))
    ]
    names = ", ".join(f"%{'u' if sign else 't'}{i}" for i, sign in enumerate(signs))
    types = ", ".join(map(vtensor, inputs))
    pairs = zip(inputs, signs, strict=True)
    result = np.concatenate([-x if sign else x for x, sign in pairs], axis=dim)
    lines += [
        f"%list = torch.prim.ListConstruct {names} : ({types}) -> !torch.list<vtensor>",
        f"%dim = torch.constant.int {int(random.choice([dim, dim - rank]))}",
        f"%r = torch.aten.cat %list, %dim : !torch.list<vtensor>, !torch.int -> {vtensor(result)}",
    ]
    return Operation(inputs, "\n".join(lines), result)


def gather(random: Random) -> Operation:
    """An element of each row, by indices that are also a view."""
    x = floats(random, extents(random, int(random.integers(2, 4))))
    dim = _dim(random, x)
    shape = [*x.shape[:dim], int(random.choice(_EXTENTS[1:6])), *x.shape[dim + 1 :]]
    index = places(random, x.shape[dim], shape)
    result = np.take_along_axis(x, index, dim)
    text = f"""%dim = torch.constant.int {dim}
    %false = torch.constant.bool false
    %r = torch.aten.gather %t0, %dim, %t1, %false
      : {vtensor(x)}, !torch.int, {vtensor(index)}, !torch.bool -> {vtensor(result)}"""
    return Operation([x, index], text, result)


def index_select(random: Random) -> Operation:
    """Whole slices, by a list of indices."""
    x = floats(random, extents(random, int(random.integers(2, 4))))
    dim = _dim(random, x)
    index = places(random, x.shape[dim], [int(random.choice(_EXTENTS[1:]))])
    result = np.take(x, index, dim)
    text = f"""%dim = torch.constant.int {dim}
    %r = torch.aten.index_select %t0, %dim, %t1
      : {vtensor(x)}, !torch.int, {vtensor(index)} -> {vtensor(result)}"""
    return Operation([x, index], text, result)


def embedding(random: Random) -> Operation:
    """Rows of a table."""
    x = floats(random, extents(random, 2))
    index = places(random, x.shape[0], extents(random, 2, 64))
    result = x[index]
    text = f"""%pad = torch.constant.int -1
    %false = torch.constant.bool false
    %r = torch.aten.embedding %t0, %t1, %pad, %false, %false
      : {vtensor(x)}, {vtensor(index)}, !torch.int, !torch.bool, !torch.bool -> {vtensor(result)}"""
    return Operation([x, index], text, result)


def index_tensor(random: Random) -> Operation:
    """Elements by an index of each of the two first dims."""
    x = floats(random, extents(random, 3))
    shape = extents(random, 1, 64)
    rows, columns = (places(random, extent, shape) for extent in x.shape[:2])
    result = x[rows, columns]
    types = f"({vtensor(rows)}, {vtensor(columns)})"
    text = f"""%list = torch.prim.ListConstruct %t1, %t2 : {types} -> !torch.list<vtensor>
    %r = torch.aten.index.Tensor_hacked_twin %t0, %list
      : {vtensor(x)}, !torch.list<vtensor> -> {vtensor(result)}"""
    return Operation([x, rows, columns], text, result)


def flip(random: Random) -> Operation:
    """Dims in reverse."""
    x = floats(random, extents(random, int(random.integers(2, 5))))
    dims = sorted({_dim(random, x), _dim(random, x)})
    result = np.flip(x, dims)
    text = f"""{int_list("dims", dims)}
    %r = torch.aten.flip %t0, %dims : {vtensor(x)}, !torch.list<int> -> {vtensor(result)}"""
    return Operation([x], text, result)


def roll(random: Random) -> Operation:
    """A dim shifted around, as encoders with shifted windows do."""
    x = floats(random, extents(random, int(random.integers(2, 5))))
    dim = _dim(random, x)
    shift = int(random.integers(-x.shape[dim], x.shape[dim] + 1))
    result = np.roll(x, shift, dim)
    text = f"""{int_list("shifts", [shift])}
    {int_list("dims", [dim])}
    %r = torch.aten.roll %t0, %shifts, %dims
      : {vtensor(x)}, !torch.list<int>, !torch.list<int> -> {vtensor(result)}"""
    return Operation([x], text, result)


def pad(random: Random) -> Operation:
    """Elements around."""
    x = floats(random, extents(random, int(random.integers(2, 4)), 2048))
    pads = [int(extent) for extent in random.choice([0, 0, 1, 2, 4], 2 * x.ndim)]
    pairs = list(zip(pads[::2], pads[1::2], strict=True))
    result = np.pad(x, pairs[::-1], constant_values=1.5)
    text = f"""{int_list("pads", pads)}
    %value = torch.constant.float 1.5
    %r = torch.aten.constant_pad_nd %t0, %pads, %value
      : {vtensor(x)}, !torch.list<int>, !torch.float -> {vtensor(result)}"""
    return Operation([x], text, result)


def where(random: Random) -> Operation:
    """Elements of one tensor or another."""
    x = floats(random, extents(random, int(random.integers(2, 5))))
    y = -x[..., ::-1].copy()
    mask = random.integers(0, 2, x.shape).astype(np.bool_)
    result = np.where(mask, x, y)
    text = f"""%r = torch.aten.where.self %t0, %t1, %t2
      : {vtensor(mask)}, {vtensor(x)}, {vtensor(y)} -> {vtensor(result)}"""
    return Operation([mask, x, y], text, result)


def rounded(random: Random) -> Operation:
    """The nearest whole numbers, half to even."""
    x = 4 * floats(random, extents(random, int(random.integers(2, 5))))
    text = f"%r = torch.aten.round %t0 : {vtensor(x)} -> {vtensor(x)}"
    return Operation([x], text, np.round(x))


def equal(random: Random) -> Operation:
    """Whether integers are the same."""
    shape = extents(random, int(random.integers(2, 5)))
    x, y = random.integers(0, 3, shape), random.integers(0, 3, shape)
    text = f"""%r = torch.aten.eq.Tensor %t0, %t1
      : {vtensor(x)}, {vtensor(y)} -> {vtensor(x == y)}"""
    return Operation([x, y], text, x == y)


def repeat(random: Random) -> Operation:
    """Copies side by side."""
    x = floats(random, extents(random, int(random.integers(2, 4)), 1024))
    counts = [int(count) for count in random.choice([1, 2, 3], x.ndim)]
    result = np.tile(x, counts)
    text = f"""{int_list("counts", counts)}
    %r = torch.aten.repeat %t0, %counts : {vtensor(x)}, !torch.list<int> -> {vtensor(result)}"""
    return Operation([x], text, result)


def cumulative_sum(random: Random) -> Operation:
    """Cumulative sums of small whole numbers, which are exact."""
    x = random.integers(-3, 4, extents(random, int(random.integers(2, 4)), 2048)).astype(np.float32)
    dim = _dim(random, x)
    result = np.cumsum(x, dim, dtype=np.float32)
    text = f"""%dim = torch.constant.int {dim}
    %none = torch.constant.none
    %r = torch.aten.cumsum %t0, %dim, %none
      : {vtensor(x)}, !torch.int, !torch.none -> {vtensor(result)}"""
    return Operation([x], text, result)


def largest_place(random: Random) -> Operation:
    """Returns the position of the largest element."""
    x = floats(random, extents(random, int(random.integers(2, 4))))
    dim = _dim(random, x)
    result = np.argmax(x, dim).astype(np.int64)
    text = f"""%dim = torch.constant.int {dim}
    %false = torch.constant.bool false
    %r = torch.aten.argmax %t0, %dim, %false
      : {vtensor(x)}, !torch.int, !torch.bool -> {vtensor(result)}"""
    return Operation([x], text, result)


def nearest(random: Random) -> Operation:
    """An image of another size."""
    x = floats(random, (1, 2, *(int(e) for e in random.choice([4, 8, 16], 2))))
    scale = [int(factor) for factor in random.choice([1, 2, 4], 2)]
    result = x.repeat(scale[0], 2).repeat(scale[1], 3)
    text = f"""{int_list("size", result.shape[2:])}
    %none = torch.constant.none
    %r = torch.aten.upsample_nearest2d %t0, %size, %none, %none
      : {vtensor(x)}, !torch.list<int>, !torch.none, !torch.none -> {vtensor(result)}"""
    return Operation([x], text, result)


def largest(random: Random) -> Operation:
    """The largest elements of each row, in order."""
    x = floats(random, extents(random, 2, 1024))
    count = int(random.integers(1, min(x.shape[1], 8) + 1))
    order = np.argsort(-x.astype(np.float64), axis=1, kind="stable")[:, :count]
    result = np.take_along_axis(x, order, 1)
    text = f"""%k = torch.constant.int {count}
    %dim = torch.constant.int 1
    %true = torch.constant.bool true
    %r, %unused = torch.aten.topk %t0, %k, %dim, %true, %true
      : {vtensor(x)}, !torch.int, !torch.int, !torch.bool, !torch.bool
      -> {vtensor(result)}, {vtensor(order)}"""
    return Operation([x], text, result)


def added_rows(random: Random) -> Operation:
    """Rows added to others, by index."""
    x = random.integers(-9, 9, extents(random, 2, 1024)).astype(np.float32)
    source = random.integers(-9, 9, (int(random.choice(_EXTENTS)), x.shape[1])).astype(np.float32)
    index = places(random, x.shape[0], source.shape)
    result = x.copy()
    np.add.at(result, (index, np.arange(x.shape[1])[None]), source)
    text = f"""%dim = torch.constant.int 0
    %r = torch.aten.scatter_add %t0, %dim, %t1, %t2
      : {vtensor(x)}, !torch.int, {vtensor(index)}, {vtensor(source)} -> {vtensor(result)}"""
    return Operation([x, index, source], text, result)


OPERATIONS: dict[str, Callable[[Random], Operation]] = {
    "cat": cat,
    "gather": gather,
    "index_select": index_select,
    "embedding": embedding,
    "index_tensor": index_tensor,
    "flip": flip,
    "roll": roll,
    "pad": pad,
    "where": where,
    "rounded": rounded,
    "equal": equal,
    "repeat": repeat,
    "cumulative_sum": cumulative_sum,
    "largest_place": largest_place,
    "nearest": nearest,
    "largest": largest,
    "added_rows": added_rows,
}
"""Functions that draw a fallback's operation, by name."""


def fallback(
    operation: Operation, places: Sequence[Layout], order: Sequence[int] | None = None
) -> str:
    """Returns a module with a fallback of one operation with given operand layouts.

    Its result is stored with its dims in the given order.
    """
    types = ", ".join(map(tensor, operation.inputs))
    result = tensor(operation.result)
    arguments = ", ".join(f"%a{i}: {tensor(x)}" for i, x in enumerate(operation.inputs))
    casts = "\n".join(
        f"%t{i} = torch_c.from_builtin_tensor %a{i} : {tensor(x)} -> {vtensor(x)}"
        for i, x in enumerate(operation.inputs)
    )
    strides = ", ".join(f"array<i64: {', '.join(map(str, place.strides))}>" for place in places)
    offsets = ", ".join(str(place.offset) for place in places)
    operands = ", ".join(f"%x#{i}" for i in range(len(places)))
    written = ""
    if order is not None:
        stored = StridedView.of_shape([operation.result.shape[dim] for dim in order])
        steps = stored.permute(np.argsort(order).tolist()).strides
        written = f", result_strides = [array<i64: {', '.join(map(str, steps))}>]"
    return f"""
func.func private @f() {{
  %x:{len(places)} = "test.source"() : () -> ({types})
  %g = "hipdnn.fallback"({operands}) ({{
  ^bb0({arguments}):
    {casts}
    {operation.text}
    %b = torch_c.to_builtin_tensor %r : {vtensor(operation.result)} -> {result}
    "hipdnn.yield"(%b) : ({result}) -> ()
  }}) {{name = "g", arg_offsets = array<i64: {offsets}>, arg_strides = [{strides}]{written}}}
    : ({types}) -> {result}
  return
}}"""


def drawn(name: str, seed: Sequence[int]) -> tuple[Operation, list[Layout], list[Any]]:
    """Returns an operation, the layouts of its operands, and the memory that holds them."""
    random = np.random.default_rng(list(seed))
    operation = OPERATIONS[name](random)
    places = [layout(random, value.shape) for value in operation.inputs]
    memory = [placed(*pair) for pair in zip(operation.inputs, places, strict=True)]
    shaped = [one.reshape(place.physical_shape) for one, place in zip(memory, places, strict=True)]
    return operation, places, shaped

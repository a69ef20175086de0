"""Dequantizes a product's factor in the order in which the product reads it.

A product with few rows reads each element of its right factor once, so its kernel can compute the
factor from narrower elements without storing it. Views stand between the two: transposes, and
reshapes of blocks that have one scale each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.codegen.products import few_rows, sharing_rows
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import arith_d, ir
from hipgraft.ir.builders import attributes_of, defining_op
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.element_types import bit_width
from hipgraft.ir.strided_view import StridedView, joined_run
from hipgraft.ir.tensors import Shape, element_of, element_type_of, shape_of
from hipgraft.transforms.column_storage import store_transposed
from hipgraft.transforms.outlining import is_splat
from hipgraft.transforms.partition.kindred import PRODUCT
from hipgraft.transforms.recognition.values import mode_of, readers, window
from hipgraft.transforms.windows import make_shown

_BY_ELEMENT = (hipdnn.PointwiseOp.OP_NAME, hipdnn.BlockScaleDequantizeOp.OP_NAME)

RIGHT = 1
"""The operand of a product that is its right factor."""

MOST_ROWS = few_rows(bit_width("f32"))
"""Graphs compute factors in f32. With more rows of f32, a kernel would compute a factor again."""

LEAST_DEPTH = 256
"""Of shorter sums, IREE 3.13.0 keeps the factor in scratch memory, or has other tiles."""


def computes_factor(op: ir.Operation) -> bool:
    """Returns whether the kernel of `op`, a product, may dequantize its right factor."""
    if not _has_few_rows(op):
        return False
    factor = op.operands[RIGHT]
    stored = _narrowest(factor)
    return _is_narrower(stored, factor) and _is_by_columns(window(stored)[1])


def _has_few_rows(op: ir.Operation) -> bool:
    """Whether a kernel distributes the columns of a product, and reads each element once."""
    if op.name != PRODUCT or len(op.operands) != 2:
        return False
    *_, depth, columns = shape_of(op.operands[RIGHT])
    return sharing_rows(op) <= min(MOST_ROWS, columns) and depth >= LEAST_DEPTH


def _is_by_columns(view: StridedView) -> bool:
    return view.strides[-2] == 1 or 1 in view.shape[-2:]


@dataclass(frozen=True)
class _Leaf:
    """A stored operand, as a window in the order in which the product reads it.

    Attributes:
        base: the tensor that the operand is a window on.
        view: the window, with extents of 1 where it is broadcast.
        blocks: for each dim of the factor, how many of its elements share one element of the leaf.
    """

    base: ir.Value
    view: StridedView
    blocks: tuple[int, ...]

    @property
    def is_blocked(self) -> bool:
        return any(block > 1 for block in self.blocks)


@dataclass(frozen=True)
class _Node:
    """An elementwise op, and the values that it reads in the order of the product.

    One operand has all elements of the factor; the other operands are splats or broadcast.
    """

    op: ir.Operation
    operands: tuple[_Leaf | _Node, ...]


def raise_view(op: ir.Operation) -> bool:
    """Moves a view of a product's right factor before the ops that dequantize the factor.

    Args:
        op: a product.

    Returns:
        Whether ops dequantize the factor, now in its own order.

    Raises:
        Declined: strides cannot express the order of an operand, or rows are contiguous.
    """
    factor = op.operands[RIGHT]
    base, seen = window(factor)
    stored = _narrowest(base)
    if not _has_few_rows(op) or readers(factor) != [op] or not _is_narrower(stored, factor):
        return False
    if seen.storage_order(shape_of(base)) is None:
        return False
    leaf = _leaf(stored, seen, shape_of(base))
    if not _is_by_columns(leaf.view) and not _is_own_matrix(leaf):
        raise Declined("by-rows", "its rows are contiguous, and it is not a constant of its own")
    if base == factor:
        return True
    tree = _read(base, seen, shape_of(base))
    with ir.InsertionPoint(op):
        op.operands[RIGHT] = _build(tree, seen.shape)
    return True


def store_columns(op: ir.Operation) -> bool:
    """Stores the constant behind `op`'s factor in column-major order; False if it was already."""
    stored = _narrowest(op.operands[RIGHT])
    if _is_by_columns(window(stored)[1]):
        return False
    store_transposed(stored)
    return True


def _is_own_matrix(leaf: _Leaf) -> bool:
    """Whether a leaf is a constant that has two dims and one reader."""
    made, shape = defining_op(leaf.base), shape_of(leaf.base)
    if made is None or made.name != "arith.constant" or len(readers(leaf.base)) != 1:
        return False
    return len(shape) == 2 and leaf.view.shape == shape and leaf.view.covers(shape)


def _narrowest(value: ir.Value) -> ir.Value:
    """Returns the operand of the same shape that elementwise ops compute a value from."""
    op = defining_op(value)
    while op is not None and op.name in _BY_ELEMENT and len(readers(op.results[0])) == 1:
        same = [one for one in op.operands if shape_of(one) == shape_of(value)]
        narrow = [one for one in same if not _repeats(one)]
        if len(narrow) != 1:
            break
        value = narrow[0]
        op = defining_op(value)
    return value


def _repeats(value: ir.Value) -> bool:
    """Whether a value is a splat, or repeats a value for each block."""
    op = defining_op(value)
    if op is not None and op.name == hipdnn.BlockScaleDequantizeOp.OP_NAME:
        return is_splat(op.operands[0])
    return is_splat(value)


def _is_pointwise(op: ir.Operation) -> bool:
    """Whether an op computes elements for one reader, independent of their positions."""
    is_pointwise = op.name == hipdnn.PointwiseOp.OP_NAME and mode_of(op) != "gen_index"
    return is_pointwise and len(readers(op.results[0])) == 1


def _is_narrower(stored: ir.Value, factor: ir.Value) -> bool:
    return bit_width(element_of(stored)) < bit_width(element_of(factor))


def _read(value: ir.Value, seen: StridedView, shape: Shape) -> _Leaf | _Node:
    """Returns how to compute a window on a value that has, or broadcasts to, a shape."""
    op = defining_op(value)
    if op is not None and _is_pointwise(op) and shape_of(value) == shape:
        return _Node(op, tuple(_read(each, seen, shape) for each in op.operands))
    return _leaf(value, seen, shape)


def _leaf(value: ir.Value, seen: StridedView, shape: Shape) -> _Leaf:
    """Returns a window on a stored value that has, or broadcasts to, a shape."""
    base, own = window(value)
    runs = seen.through_copy(own.expand(shape))
    if runs is None:
        raise Declined("no-window", "an operand has no strides in the order of the product")
    leaf = [_blocked(run, extent) for run, extent in zip(runs, seen.shape, strict=True)]
    extents, strides, blocks = zip(*leaf, strict=True)
    found = _Leaf(base, StridedView(extents, strides, own.offset), blocks)
    if found.is_blocked and not isinstance(element_type_of(base), ir.FloatType):
        raise Declined("integers", "an operand has an integer for each block")
    return found


def _blocked(runs: Sequence[tuple[int, int]], extent: int) -> tuple[int, int, int]:
    """Returns extent, stride and block of a dim that walks runs, the innermost of which repeat."""
    kept = list(runs)
    block = 1
    while kept and kept[-1][1] == 0:
        block *= kept.pop()[0]
    if not kept:
        return 1, 0, 1
    whole = joined_run(kept)
    if whole is None:
        raise Declined("no-strides", "an operand has no strides in the order of the product")
    assert whole[0] * block == extent
    return *whole, block


def _build(tree: _Leaf | _Node, shape: Shape) -> ir.Value:
    """Builds a value that has, or broadcasts to, a shape."""
    if isinstance(tree, _Leaf):
        value = make_shown(tree.base, tree.view)
        if tree.is_blocked:
            one = _splat(shape, element_type_of(value))
            value = _scaled(one, value, tree, element_type_of(value))
        return value
    op = tree.op
    element = element_type_of(op.results[0])
    scales = [each for each in tree.operands if isinstance(each, _Leaf) and each.is_blocked]
    if mode_of(op) == "mul" and scales:
        (scaled,) = [each for each in tree.operands if each is not scales[0]]
        x = _build(scaled, shape)
        return _scaled(x, make_shown(scales[0].base, scales[0].view), scales[0], element)
    operands = [_build(each, shape) for each in tree.operands]
    kind = ir.RankedTensorType.get(shape, element)
    made = ir.Operation.create(op.name, [kind], operands, attributes_of(op), loc=op.location)
    return made.results[0]


def _scaled(x: ir.Value, scale: ir.Value, leaf: _Leaf, element: ir.Type) -> ir.Value:
    kind = ir.RankedTensorType.get(shape_of(x), element)
    return hipdnn.block_scale_dequantize(x, scale, block_size=leaf.blocks, result_type=kind)


def _splat(shape: Shape, element: ir.Type) -> ir.Value:
    kind = ir.RankedTensorType.get(shape, element)
    one = ir.FloatAttr.get(element, 1.0)
    return arith_d.ConstantOp(kind, ir.DenseElementsAttr.get_splat(kind, one)).result

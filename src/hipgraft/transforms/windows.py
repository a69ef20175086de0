"""Builds windows on tensors for ops that move to another shape."""

from __future__ import annotations

from hipgraft.ir.bindings import arith_d, ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import element_type_of, shape_of
from hipgraft.transforms.outlining import is_splat
from hipgraft.transforms.recognition.values import make_window


def narrowed(view: StridedView) -> StridedView:
    """Returns a window without broadcasts, which operands need not spell out."""
    if all(step for extent, step in zip(view.shape, view.strides, strict=True) if extent > 1):
        return view
    dims = [
        (1 if step == 0 else extent, step)
        for extent, step in zip(view.shape, view.strides, strict=True)
    ]
    while len(dims) > 1 and dims[0][0] == 1:
        del dims[0]
    return StridedView(tuple(n for n, _ in dims), tuple(step for _, step in dims), view.offset)


def make_shown(base: ir.Value, view: StridedView, location: ir.Location | None = None) -> ir.Value:
    """Builds a view of `base`, which is not a view; a splat of its shape if `base` is one."""
    owner = defining_op(base)
    if owner is None or not is_splat(base) or view.shape == shape_of(base):
        return make_window(base, view, location)
    kind = ir.RankedTensorType.get(view.shape, element_type_of(base))
    number = ir.DenseElementsAttr(owner.attributes["value"]).get_splat_value()
    repeated = ir.DenseElementsAttr.get_splat(kind, number)
    return arith_d.ConstantOp(kind, repeated, loc=location).result

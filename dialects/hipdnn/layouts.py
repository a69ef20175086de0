"""Checks strides and offsets in the signatures of containers and executables."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.dialects.framework.kinds import Layout
from hipgraft.dialects.hipdnn.op import HipdnnOp
from hipgraft.ir.bindings import ir


def types_text(types: Sequence[ir.Type]) -> str:
    """Returns types as messages show them."""
    return ", ".join(map(str, types))


def check_layouts(
    op: HipdnnOp,
    name: str,
    layouts: Sequence[Layout] | None,
    types: Sequence[ir.Type],
    *,
    written: bool = False,
) -> None:
    """Checks that `layouts`, the attribute `name` of `op`, fits tensors of `types`.

    Args:
        op: the op that has the attribute.
        name: name of the attribute.
        layouts: value of the attribute.
        types: tensors that the layouts are for.
        written: whether the tensors are written, so that no two elements may share an address.

    Raises:
        VerifyError: the number of layouts is wrong, or a layout does not fit its tensor.
    """
    if layouts is None:
        return
    if len(layouts) != len(types):
        raise op.error(f"expected {len(types)} layouts in '{name}', but found {len(layouts)}")
    for index, (layout, type_) in enumerate(zip(layouts, types, strict=True)):
        if layout is None:
            continue
        where = f"layout {index} of '{name}'"
        shape = ir.RankedTensorType(type_).shape
        if len(layout) != len(shape):
            raise op.error(f"expected {len(shape)} strides in {where}, but found {len(layout)}")
        if any(stride < 0 for stride in layout):
            raise op.error(f"expected strides of at least 0 in {where}")
        if written and _overlaps(shape, layout):
            raise op.error(f"expected {where} to give each element its own offset")


def _overlaps(shape: Sequence[int], strides: Sequence[int]) -> bool:
    reach = 0
    for stride, extent in sorted(zip(strides, shape, strict=True)):
        if extent > 1 and stride <= reach:
            return True
        reach += (extent - 1) * stride
    return False


def check_offsets(op: HipdnnOp, offsets: Sequence[int] | None, count: int) -> None:
    """Checks that `offsets`, the attribute `arg_offsets` of `op`, fits `count` operands.

    Raises:
        VerifyError: the number of offsets is wrong, or an offset is negative.
    """
    if offsets is None:
        return
    if len(offsets) != count:
        raise op.error(f"expected {count} values in 'arg_offsets', but found {len(offsets)}")
    if any(offset < 0 for offset in offsets):
        raise op.error("expected values of at least 0 in 'arg_offsets'")

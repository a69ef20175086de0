"""Rules about signatures that containers and executables share: strides and offsets."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.bindings import ir
from hipgraft.dialects.hipdnn.kinds import Layout
from hipgraft.dialects.hipdnn.op import HipdnnOp


def types_text(types: Sequence[ir.Type]) -> str:
    """Returns types as messages show them."""
    return ", ".join(map(str, types))


def check_layouts(
    op: HipdnnOp, name: str, layouts: Sequence[Layout] | None, types: Sequence[ir.Type]
) -> None:
    """Checks that `layouts`, the attribute `name` of `op`, fits tensors of `types`.

    Raises:
        VerifyError: wrong number of layouts, of strides in one, or a negative stride.
    """
    if layouts is None:
        return
    if len(layouts) != len(types):
        raise op.error(f"expected {len(types)} layouts in '{name}', but found {len(layouts)}")
    for index, (layout, type_) in enumerate(zip(layouts, types, strict=True)):
        rank = ir.RankedTensorType(type_).rank
        if layout is not None and len(layout) != rank:
            raise op.error(
                f"expected {rank} strides in layout {index} of '{name}', but found {len(layout)}"
            )
        if layout is not None and any(stride < 0 for stride in layout):
            raise op.error(f"expected strides of at least 0 in layout {index} of '{name}'")


def check_offsets(op: HipdnnOp, offsets: Sequence[int] | None, count: int) -> None:
    """Checks that `offsets`, the attribute `arg_offsets` of `op`, fits `count` operands.

    Raises:
        VerifyError: wrong number of offsets, or a negative one.
    """
    if offsets is None:
        return
    if len(offsets) != count:
        raise op.error(f"expected {count} values in 'arg_offsets', but found {len(offsets)}")
    if any(offset < 0 for offset in offsets):
        raise op.error("expected values of at least 0 in 'arg_offsets'")

"""Finds containers that one workgroup computes: reductions of one row and ops on its elements.

IREE fuses a reduction with the ops that read its result, except if the result has no dims, which
is so for a single row. It would then start a dispatch or two for each reduction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.lowering.context import Lowering
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.reduction.reduction import LONGEST_ROW
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds.one_lane import has_one_lane
from hipgraft.dialects.hipdnn import (
    ContainerOp,
    HipdnnOp,
    LayernormOp,
    PointwiseMode,
    PointwiseOp,
    ReductionOp,
    RmsnormOp,
    wrap,
)
from hipgraft.ir.tensors import element_of, shape_of

# Bytes for rows with several dims of extent 2 and more, which IREE keeps in shared memory between
# loops over all elements and loops over each dim.
_MOST_SHARED = 1 << 16
_ELEMENT_BYTES = 4

# By estimated time, the most elements of a lane where IREE distributes only the last dim.
_MOST_OUTER = 64


def is_single_row(container: ContainerOp, lowering: Lowering) -> bool:
    """Whether a container only reduces all elements of one row, and computes such rows.

    Rows may be read in any order of their dims if it is the same for all. Alternatives of the
    reductions may take several dispatches.
    """
    if lowering.target.kind is not TargetKind.AMDGPU or lowering.alternatives:
        return False
    *ops, _ = [op.operation for op in container.body.operations]
    constants = [op.results[0] for op in ops if op.name == "arith.constant"]
    computing = [wrap(op) for op in ops if op.name in _OPS]
    if len(computing) == 1 or len(computing) + len(constants) < len(ops):
        return False
    length = _length(computing, lowering.target)
    sizes = [math.prod(shape_of(value)) for op in computing for value in op.operation.results]
    if not {length} <= set(sizes) <= {1, length} or any(map(_reads_positions, computing)):
        return False
    read = [lowering.tensor(one) for one in container.body.arguments if [*one.uses]]
    read += [Tensor.logical("", shape_of(one), element_of(one)) for one in constants]
    rows = [one for one in read if math.prod(one.shape) == length]
    if len({one.several_dims for one in rows}) != 1:
        return False
    *outer, inner = [rows[0].shape[dim] for dim in rows[0].several_dims]
    is_short = sizes.count(length) * length * _ELEMENT_BYTES <= _MOST_SHARED
    return not outer or (is_short and length <= inner * _MOST_OUTER)


_OPS = (LayernormOp.OP_NAME, PointwiseOp.OP_NAME, ReductionOp.OP_NAME, RmsnormOp.OP_NAME)


def _length(ops: Sequence[HipdnnOp], target: Target) -> int:
    """Returns the length of the only row that ops reduce; 0 if one workgroup should not."""
    lengths = {_reduced(op) for op in ops if not isinstance(op, PointwiseOp)}
    length = lengths.pop() if len(lengths) == 1 else 0
    is_fit = 1 < length <= LONGEST_ROW and not has_one_lane(length, target)
    return length if is_fit else 0


def _reduced(op: HipdnnOp) -> int:
    """Returns the number of elements that an op reduces to one; 0 if it has several rows."""
    if isinstance(op, ReductionOp):
        x, dims = shape_of(op.in_), op.axes
    else:
        assert isinstance(op, LayernormOp | RmsnormOp)
        x, dims = shape_of(op.x), op.dims
    rows = math.prod(extent for dim, extent in enumerate(x) if dim not in dims)
    return math.prod(x) if rows == 1 else 0


def _reads_positions(op: HipdnnOp) -> bool:
    return isinstance(op, PointwiseOp) and op.mode is PointwiseMode.GEN_INDEX

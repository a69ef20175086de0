"""Rewrites ATen ops that torch-mlir lacks, or decomposes badly, to ops that it supports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import PassFailure
from hipgraft.ir.dtypes import largest_finite
from hipgraft.ir.io import function_blocks
from hipgraft.ir.torch_dialect import (
    aten_name,
    cast,
    constant_bool,
    constant_float,
    constant_int,
    constant_none,
    extents_and_element,
    scalar_literal,
    torch_op,
    vtensor_type,
)
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.transforms.torch_legalization.byte_integers import CASTS, truncated, widened
from hipgraft.transforms.torch_legalization.convolutions import (
    CONVOLUTIONS,
    TRANSPOSED,
    batched_convolution,
    crop_convolution,
)
from hipgraft.transforms.torch_legalization.functions import (
    FLOATS,
    fmod,
    frac,
    hard_shrink,
    is_finite,
    log_sum_exp,
    refused_log_cum_sum_exp,
    rounded_to_decimals,
    soft_shrink,
    softplus,
    threshold,
    trunc,
)
from hipgraft.transforms.torch_legalization.group_norms import (
    group_norm,
    instance_norm,
    native_group_norm,
)
from hipgraft.transforms.torch_legalization.integers import SHIFTS, index_put
from hipgraft.transforms.torch_legalization.operands import (
    concatenated,
    constant,
    int_operand,
    is_tensor,
    sliced,
    static_shape,
    tensor,
    view,
)
from hipgraft.transforms.torch_legalization.padding import pad
from hipgraft.transforms.torch_legalization.pooling import adaptive_average_pool, adaptive_max_pool
from hipgraft.transforms.torch_legalization.products import einsum
from hipgraft.transforms.torch_legalization.resizing import interpolate, upsample_bilinear
from hipgraft.transforms.torch_legalization.rolls import roll
from hipgraft.transforms.torch_legalization.slice_writes import (
    scatter,
    select_scatter,
    slice_scatter,
)
from hipgraft.transforms.torch_legalization.sorts import kth_value, median, stable_sort
from hipgraft.transforms.torch_legalization.stacked_sums import stacked_sum
from hipgraft.transforms.torch_to_hipdnn.constants import constant_value, is_constant

_IDENTITIES = frozenset(
    {"aten.contiguous", "aten.clone", "aten.detach", "aten.alias", "aten.lift_fresh_copy",
     "aten.to.device"}
)  # fmt: skip

_Rewrite = Callable[[ir.Operation], ir.Value | Sequence[ir.Value] | None]

_END = (1 << 63) - 1  # the end of a slice up to the end of the tensor


def _batch_norm(op: ir.Operation) -> ir.Value | None:
    if any(True for result in list(op.results)[1:] for _ in result.uses):
        raise PassFailure(f"'{aten_name(op)}': the saved statistics are used", op)
    x, weight, bias, mean, variance, momentum, epsilon = op.operands
    flags = [constant_bool(False), momentum, epsilon, constant_bool(False)]
    return torch_op(
        "aten.batch_norm", [x, weight, bias, mean, variance, *flags], [op.results[0].type]
    ).result


def _dropout(op: ir.Operation) -> ir.Value | None:
    """Rewrites `dropout(x, p, train)`, also for whole channels and with the mask as a result."""
    probability, training = constant(op, 1), constant(op, 2)
    # `native_dropout` treats None as true
    if probability != 0 and training is not False:
        raise PassFailure(f"'{aten_name(op)}' in training draws random numbers", op)
    if any(True for result in list(op.results)[1:] for _ in result.uses):
        raise PassFailure(f"'{aten_name(op)}': its mask is used", op)
    return op.operands[0]


def _diff(op: ir.Operation) -> ir.Value | None:
    if int_operand(op, 1) != 1:
        raise PassFailure(f"'{aten_name(op)}' of order {int_operand(op, 1)} is not supported", op)
    shape, element = tensor(op.operands[0])
    dim = int_operand(op, 2) % len(shape)
    parts = [v for v in (op.operands[3], op.operands[0], op.operands[4]) if is_tensor(v)]
    extents = [tensor(part)[0][dim] for part in parts]
    known = [extent for extent in extents if extent is not None]
    shape[dim] = sum(known) if len(known) == len(extents) else None
    whole = concatenated(parts, dim, vtensor_type(shape, element)) if len(parts) > 1 else parts[0]
    later = sliced(whole, dim, 1, _END, op.result.type)
    earlier = sliced(whole, dim, 0, -1, op.result.type)
    if element == "i1":
        return torch_op("aten.logical_xor", [later, earlier], [op.result.type]).result
    return torch_op("aten.sub.Tensor", [later, earlier, constant_int(1)], [op.result.type]).result


def _squeeze_dims(op: ir.Operation) -> ir.Value | None:
    return view(op.operands[0], *tensor(op.result))


def _softmax(op: ir.Operation) -> ir.Value | None:
    """Rewrites `_softmax(x, dim, half_to_float)` to `softmax.int` with the result type as dtype."""
    name = aten_name(op).replace("._", ".") + ".int"
    dtype = constant_int(6) if constant(op, 2) else constant_none()
    return torch_op(name, [op.operands[0], op.operands[1], dtype], [op.result.type]).result


def _addmm(op: ir.Operation) -> ir.Value | None:
    if [constant(op, 3), constant(op, 4)] != [1, 1]:
        return None
    product = torch_op("aten.mm", list(op.operands)[1:3], [op.result.type]).result
    operands = [product, op.operands[0], constant_int(1)]
    return torch_op("aten.add.Tensor", operands, [op.result.type]).result


def _matmul(op: ir.Operation) -> ir.Value | None:
    """Adds a unit dimension: torch-mlir only multiplies batches of provably equal count."""
    if not all(map(is_tensor, op.operands)):
        return None
    shapes = [tensor(operand)[0] for operand in op.operands]
    if any(len(shape) != 3 for shape in shapes):
        return None
    if shapes[0][0] is not None and shapes[0][0] == shapes[1][0]:
        return None
    operands = [_unsqueezed(operand) for operand in op.operands]
    shape, element = tensor(op.result)
    product = torch_op("aten.matmul", operands, [vtensor_type([1, *shape], element)]).result
    return torch_op("aten.squeeze.dim", [product, constant_int(0)], [op.result.type]).result


def _unsqueezed(x: ir.Value) -> ir.Value:
    shape, element = tensor(x)
    kind = vtensor_type([1, *shape], element)
    return torch_op("aten.unsqueeze", [x, constant_int(0)], [kind]).result


def _clamp_tensor(op: ir.Operation) -> ir.Value | None:
    """Rewrites `clamp(x, min, max)`, whose bounds may be tensors or None."""
    value = op.operands[0]
    for name, bound in zip(("aten.maximum", "aten.minimum"), list(op.operands)[1:], strict=True):
        if is_tensor(bound):
            value = torch_op(name, [value, bound], [op.result.type]).result
    return value


def _attention(op: ir.Operation) -> ir.Value | None:
    """Converts a boolean mask to an additive one, which hipDNN's attention requires.

    Masked scores get the lowest finite number. With infinities, a row whose scores are all masked
    would be NaN, and so would a tile of it in kernels that keep a running maximum.
    """
    operands = list(op.operands)
    mask, element = operands[3], tensor(operands[0])[1]
    if not is_tensor(mask) or tensor(mask)[1] != "i1":
        return None
    shape = tensor(mask)[0]
    bounds = [scalar_literal(value, element) for value in (0.0, -largest_finite(element))]
    operands[3] = torch_op(
        "aten.where.self", [mask, *bounds], [vtensor_type(shape, element)]
    ).result
    return torch_op("aten.scaled_dot_product_attention", operands, [op.result.type]).result


def _and(op: ir.Operation) -> ir.Value | None:
    return torch_op("aten.bitwise_and.Tensor", list(op.operands), [op.result.type]).result


def _compare(op: ir.Operation) -> ir.Value | None:
    """Compares floats with floats, as PyTorch does.

    If the tensor is constant, torch-mlir folds floats and an integer wrongly, and crashes at
    integers and a float.
    """
    x, scalar = op.operands
    kind = extents_and_element(x.type)
    value = constant_value(scalar) if is_constant(scalar) else None
    if kind is None or value is None:
        return None
    is_float = kind[1] in FLOATS
    if is_float == (type(value) is float) or not isinstance(value, int | float):
        return None
    if is_float:
        scalar = constant_float(float(value))
    else:
        x = cast(x, "f32")
    return torch_op(aten_name(op), [x, scalar], [op.results[0].type]).result


_COMPARISONS = [f"aten.{name}.Scalar" for name in ("eq", "ne", "lt", "le", "gt", "ge")]


def _checked_view(op: ir.Operation) -> ir.Value | None:
    """Keeps a reshape, but checks it: torch-mlir reads beyond a literal that becomes larger."""
    before, after = tensor(op.operands[0])[0], tensor(op.results[0])[0]
    counts = [
        prod(extents) for each in (before, after) if (extents := static_shape(each)) is not None
    ]
    if len(set(counts)) > 1:
        message = f"'{aten_name(op)}' of {counts[0]} elements cannot result in shape {after}"
        raise PassFailure(message, op)
    return None


_REWRITES: dict[str, _Rewrite] = {
    "aten.__and__.Tensor": _and,
    "aten.__interpolate.size_list_scale_list": interpolate,
    "aten._native_batch_norm_legit_no_training": _batch_norm,
    "aten._softmax": _softmax,
    "aten._log_softmax": _softmax,
    **{f"aten.adaptive_max_pool{rank}d": adaptive_max_pool for rank in (1, 2, 3)},
    **{
        f"aten.{prefix}adaptive_avg_pool{rank}d": adaptive_average_pool
        for prefix in ("", "_")
        for rank in (1, 2, 3)
    },
    "aten.addmm": _addmm,
    **dict.fromkeys(_COMPARISONS, _compare),
    "aten.clamp.Tensor": _clamp_tensor,
    "aten.constant_pad_nd": pad,
    **dict.fromkeys((*CONVOLUTIONS, *TRANSPOSED), batched_convolution),
    "aten.diff": _diff,
    **dict.fromkeys(
        (
            "aten.dropout",
            "aten.native_dropout",
            "aten.feature_dropout",
            "aten.alpha_dropout",
            "aten.feature_alpha_dropout",
        ),
        _dropout,
    ),
    "aten.fmod.Scalar": fmod,
    "aten.frac": frac,
    "aten.group_norm": group_norm,
    "aten.hardshrink": hard_shrink,
    "aten.instance_norm": instance_norm,
    "aten._index_put_impl": index_put,
    "aten.index_put": index_put,
    "aten.index_put.hacked_twin": index_put,
    "aten.isfinite": is_finite,
    "aten.logcumsumexp": refused_log_cum_sum_exp,
    "aten.logsumexp": log_sum_exp,
    "aten.kthvalue": kth_value,
    "aten.matmul": _matmul,
    **dict.fromkeys(("aten.median", "aten.median.dim"), median),
    "aten.native_group_norm": native_group_norm,
    "aten.einsum": einsum,
    **dict.fromkeys(
        ("aten.view", "aten.reshape", "aten._unsafe_view", "aten.view_copy"), _checked_view
    ),
    "aten.pad": pad,
    "aten.roll": roll,
    "aten.round.decimals": rounded_to_decimals,
    "aten.scatter.src": scatter,
    "aten.select_scatter": select_scatter,
    "aten.slice.Tensor": crop_convolution,
    "aten.slice_scatter": slice_scatter,
    "aten.scaled_dot_product_attention": _attention,
    "aten.softplus": softplus,
    "aten.sort.stable": stable_sort,
    "aten.softshrink": soft_shrink,
    "aten.squeeze.dims": _squeeze_dims,
    **SHIFTS,
    **dict.fromkeys(CASTS, truncated),
    "aten.threshold": threshold,
    **dict.fromkeys(("aten.mean.dim", "aten.sum.dim_IntList"), stacked_sum),
    "aten.trunc": trunc,
    "aten.upsample_bilinear2d.vec": upsample_bilinear,
}


def _replacement(op: ir.Operation) -> Sequence[ir.Value] | None:
    name = aten_name(op)
    if name in _IDENTITIES and op.operands[0].type == op.results[0].type:
        return [op.operands[0]]
    new = _REWRITES[name](op) if name in _REWRITES else None
    return [new] if isinstance(new, ir.Value) else new


@dataclass(frozen=True)
class TorchLegalizeOperatorsPass(Pass):
    """Rewrites ATen ops that torch-mlir does not know or decomposes badly.

    Drops assertions and ops that do nothing at inference, rewrites group and instance norm to layer
    norm, multiplies two operands of an `aten.einsum` at a time, writes whole slices as parts of a
    concatenation, computes only the positions of a convolution that are read, computes on unsigned
    bytes in 32 bits, by way of which it also converts floats to them, multiplies matrices of bytes
    in 32 bits, lets indices of writes count
    from the front, crops where padding is negative, pools windows of different extents, keeps NaN
    and infinities, and rewrites ops without a registered form (`aten.diff`, `aten.squeeze.dims`,
    ...).

    Before:
        ```mlir
        %0 = torch.operator "torch.aten.squeeze.dims"(%x, %dims)
          : (!torch.vtensor<[2,1,3,1],f32>, !torch.list<int>) -> !torch.vtensor<[2,3],f32>
        ```

    After:
        ```mlir
        %0 = torch.aten.view %x, %shape
          : !torch.vtensor<[2,1,3,1],f32>, !torch.list<int> -> !torch.vtensor<[2,3],f32>
        ```

    Requires:
        Functions on `!torch.vtensor`; dimensions that are rolled, and channels, are static.

    Ensures:
        None of the rewritten ops is left.

    Errors:
        A non-constant attribute operand; dropout in training; a dynamic dimension that must be
        static; saved statistics of an inference batch norm that are used; a difference of higher
        order; an `aten.einsum` whose terms do not fit its operands; a reshape to another number of
        elements.

    Source:
        own.
    """

    name: ClassVar[str] = "torch-legalize-operators"

    def run(self, module: ir.Module, state: PassState) -> None:
        """See the class."""
        for block in function_blocks(module):
            while _legalize_block(block, state):
                pass


def _legalize_block(block: ir.Block, state: PassState) -> bool:
    """Returns whether an op was rewritten, because its replacement may need a rewrite, too."""
    has_changed = False
    for op in [op.operation for op in block.operations]:
        if aten_name(op) in ("aten._assert_tensor_metadata", "runtime.assert"):
            op.erase()
            continue
        with ir.InsertionPoint(op), op.location:
            results = _replacement(op) or widened(op)
        if results is None:
            continue
        for old, value in zip(op.results, results, strict=False):
            old.replace_all_uses_with(value)
        op.erase()
        state.count("ops-rewritten")
        has_changed = True
    return has_changed

"""Sums of 16-bit floats."""

from __future__ import annotations

from collections import deque

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import attributes_of, defining_op
from hipgraft.ir.io import walk
from hipgraft.ir.torch_dialect import aten_name, cast, extents_and_element, vtensor_type

NARROW_SUMS = Workaround(
    name="narrow-sums",
    fault="torch-mlir lowers sums, means, norms and average pooling of f16 and bf16 to sums that "
    "are rounded to this type at each step, and may overflow.",
    effect=Effect.WRONG,
    targets="all",
    remedy="These ops compute in f32, and so do the elementwise ops whose results they add. The "
    "result is then rounded.",
)

_NARROW = ("f16", "bf16")
_SUMS = frozenset(
    f"aten.{name}"
    for name in (
        "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d",
        "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
        "cumsum", "frobenius_norm.dim", "group_norm", "instance_norm", "layer_norm",
        "linalg_vector_norm", "logsumexp", "mean", "mean.dim", "native_group_norm",
        "native_layer_norm", "norm.ScalarOpt_dim", "prod", "prod.dim_int", "std", "std.correction",
        "std.dim", "sum", "sum.dim_IntList", "var", "var.correction", "var.dim",
        "var_mean", "var_mean.correction", "var_mean.dim",
    )
)  # fmt: skip
_ELEMENTWISE = frozenset(
    f"aten.{name}"
    for name in (
        "abs", "add.Scalar", "add.Tensor", "div.Scalar", "div.Tensor", "exp", "log", "mul.Scalar",
        "mul.Tensor", "neg", "pow.Tensor_Scalar", "reciprocal", "rsqrt", "sqrt", "square",
        "sub.Scalar", "sub.Tensor",
    )
)  # fmt: skip
_CASTS = ("aten._to_copy", "aten.to.dtype", "prims.convert_element_type")


# The longest chain of elementwise ops before a sum that compute in f32.
_DEPTH = 8


def widen_sums(module: ir.Module) -> int:
    """Rewrites torch ops that add 16-bit floats to compute in f32, in place; returns how many."""
    found = [op for op in walk(module.operation) if _is_narrow_sum(op)]
    exact: dict[ir.Value, ir.Value] = {}
    widened = dict.fromkeys(found)
    pending = deque(found)
    while pending:
        readers = [one for one in _widen(pending.popleft(), exact) if one not in widened]
        widened.update(dict.fromkeys(readers))
        pending.extend(readers)
    for op in widened:
        op.erase()
    return len(found)


@NARROW_SUMS.avoids
def _is_narrow_sum(op: ir.Operation) -> bool:
    return aten_name(op) in _SUMS and any(_element(one) in _NARROW for one in op.results)


def _widen(op: ir.Operation, exact: dict[ir.Value, ir.Value]) -> list[ir.Operation]:
    """Replaces the results of an op by f32 results that are rounded to the original type.

    Args:
        op: one with results of 16-bit floats.
        exact: the f32 forms of values; new ones are added.

    Returns:
        The elementwise ops that read them, which can compute in f32, too.
    """
    readers: dict[ir.Operation, None] = {}
    with ir.InsertionPoint(op), op.location:
        made = _in_f32(op, exact, _DEPTH)
        for old, wide in zip(op.results, made.results, strict=True):
            rounded = wide if old.type == wide.type else cast(wide, _element(old))
            exact[rounded] = wide
            old.replace_all_uses_with(rounded)
            for reader in [use.owner.operation for use in rounded.uses]:
                if aten_name(reader) in _CASTS and reader.results[0].type == wide.type:
                    reader.results[0].replace_all_uses_with(wide)
                elif _is_elementwise(reader) and _element(reader.results[0]) in _NARROW:
                    readers[reader] = None
    return list(readers)


def _in_f32(op: ir.Operation, exact: dict[ir.Value, ir.Value], depth: int) -> ir.Operation:
    """Builds the op on the f32 forms of its operands, with results of f32."""
    kinds = [_widened(one) for one in op.results]
    operands = [_wide(one, exact, depth) for one in op.operands]
    return ir.Operation.create(op.name, kinds, operands, attributes_of(op))


def _wide(value: ir.Value, exact: dict[ir.Value, ir.Value], depth: int) -> ir.Value:
    """Returns the f32 form of a tensor of 16-bit floats, and any other value itself."""
    if value in exact or _element(value) not in _NARROW:
        return exact.get(value, value)
    made = defining_op(value)
    if made is None or not depth or not _is_elementwise(made):
        return cast(value, "f32")
    with ir.InsertionPoint(made), made.location:
        exact[value] = _in_f32(made, exact, depth - 1).results[0]
    return exact[value]


def _is_elementwise(op: ir.Operation) -> bool:
    return aten_name(op) in _ELEMENTWISE


def _element(value: ir.Value) -> str:
    """Returns the element type of a torch tensor, '' of any other value."""
    read = extents_and_element(value.type)
    return "" if read is None else read[1]


def _widened(value: ir.Value) -> ir.Type:
    read = extents_and_element(value.type)
    return vtensor_type(read[0], "f32") if read and read[1] in _NARROW else value.type

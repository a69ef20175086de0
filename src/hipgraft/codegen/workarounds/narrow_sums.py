"""Sums of 16-bit floats."""

from __future__ import annotations

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
    "result is rounded.",
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
        "abs", "add.Tensor", "div.Tensor", "exp", "mul.Scalar", "mul.Tensor", "neg",
        "pow.Tensor_Scalar", "square", "sub.Tensor",
    )
)  # fmt: skip
_CASTS = ("aten._to_copy", "aten.to.dtype", "prims.convert_element_type")


def widen_sums(module: ir.Module) -> int:
    """Lets torch ops that add 16-bit floats compute in f32, in place; returns how many."""
    found = [op for op in walk(module.operation) if _is_narrow_sum(op)]
    for op in found:
        with ir.InsertionPoint(op), op.location:
            made = _in_f32(op)
            for old, wide in zip(op.results, made.results, strict=True):
                _replace(old, wide)
        op.erase()
    return len(found)


@NARROW_SUMS.avoids
def _is_narrow_sum(op: ir.Operation) -> bool:
    return aten_name(op) in _SUMS and any(_element(one) in _NARROW for one in op.results)


def _in_f32(op: ir.Operation) -> ir.Operation:
    """Builds the op on the f32 forms of its operands, with results of f32."""
    kinds = [_widened(one) for one in op.results]
    operands = [_wide(one) for one in op.operands]
    return ir.Operation.create(op.name, kinds, operands, attributes_of(op))


def _wide(value: ir.Value) -> ir.Value:
    """Returns the f32 form of a tensor of 16-bit floats, and any other value itself."""
    if _element(value) not in _NARROW:
        return value
    made = defining_op(value)
    if made is not None and aten_name(made) in _ELEMENTWISE:
        return _in_f32(made).results[0]
    return cast(value, "f32")


def _replace(old: ir.Value, wide: ir.Value) -> None:
    """Rounds a result for its readers, except those that convert it to f32."""
    for use in list(old.uses):
        reader = use.owner.operation
        if aten_name(reader) in _CASTS and reader.results[0].type == wide.type:
            reader.results[0].replace_all_uses_with(wide)
    if old.type == wide.type:
        old.replace_all_uses_with(wide)
    else:
        old.replace_all_uses_with(cast(wide, _element(old)))


def _element(value: ir.Value) -> str:
    """Returns the element type of a torch tensor, '' of any other value."""
    read = extents_and_element(value.type)
    return "" if read is None else read[1]


def _widened(value: ir.Value) -> ir.Type:
    read = extents_and_element(value.type)
    return vtensor_type(read[0], "f32") if read and read[1] in _NARROW else value.type

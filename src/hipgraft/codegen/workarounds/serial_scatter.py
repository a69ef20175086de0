"""Scatters that overwrite elements, which may run in parallel."""

from __future__ import annotations

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir
from hipgraft.ir.io import walk
from hipgraft.ir.tensors import shape_of

SERIAL_SCATTER = Workaround(
    name="serial-scatter",
    fault="torch-mlir declares that the indices of every scatter may repeat. IREE then writes the "
    "updates one after the other on a single work item, which copies updates and indices to "
    "shared memory if each update is one element: more than 5,461 f32 elements exceed 64 "
    "KiB. If the indices are declared unique, wavefronts read shared memory before others "
    "have written it.",
    effect=Effect.FAILS,
    targets="GPUs",
    remedy="The indices of an overwriting scatter are declared unique, as ONNX and PyTorch "
    "require. Updates of one element get a second dimension, so that they are not copied. "
    "Where indices repeat, any one update is kept; `lowering/scatter.py` keeps the last "
    "one.",
)


def parallelize_scatters(module: ir.Module) -> int:
    """Declares the indices of overwriting scatters unique, in place; returns of how many.

    Args:
        module: module after torch ops were lowered.
    """
    found = [op for op in walk(module.operation) if _overwrites(op)]
    for op in found:
        op.attributes["unique_indices"] = ir.BoolAttr.get(True, module.context)
        if len(shape_of(op.operands[0])) == 1:
            _widen_updates(op)
    return len(found)


@SERIAL_SCATTER.avoids
def _overwrites(op: ir.Operation) -> bool:
    if op.name != "iree_linalg_ext.scatter":
        return False
    if not all(ir.RankedTensorType(value.type).has_static_shape for value in op.operands):
        return False
    body = op.regions[0].blocks[0]
    return list(body.operations)[-1].operands[0] == body.arguments[0]


def _widen_updates(op: ir.Operation) -> None:
    """Gives one-element updates, and the tensor they overwrite, a last dimension of extent 1."""
    updates, indices, init = op.operands
    with ir.InsertionPoint(op), op.location:
        wide = _with_unit_dim(init)
        kept = {name: op.attributes[name] for name in ("dimension_map", "unique_indices")}
        operands = [_with_unit_dim(updates), indices, wide]
        new = ir.Operation.create(op.name, [wide.type], operands, kept, regions=1)
        op.regions[0].blocks[0].append_to(new.regions[0])
        groups = {"reassociation": _last_two_together(len(shape_of(wide)))}
        narrow = ir.Operation.create(
            "tensor.collapse_shape", [init.type], [new.result], groups
        ).result
    op.results[0].replace_all_uses_with(narrow)
    op.erase()


def _with_unit_dim(value: ir.Value) -> ir.Value:
    shape = (*shape_of(value), 1)
    kind = ir.RankedTensorType.get(shape, ir.RankedTensorType(value.type).element_type)
    attributes: dict[str, ir.Attribute] = {
        "reassociation": _last_two_together(len(shape)),
        "static_output_shape": ir.DenseI64ArrayAttr.get(shape),
    }
    return ir.Operation.create("tensor.expand_shape", [kind], [value], attributes).result


def _last_two_together(rank: int) -> ir.Attribute:
    """Groups the dimensions of a tensor whose last one has been split."""
    return ir.Attribute.parse(str([*([dim] for dim in range(rank - 2)), [rank - 2, rank - 1]]))

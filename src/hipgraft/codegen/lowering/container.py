"""Lowers a container to the module that IREE compiles."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import cast

from hipgraft.codegen.layout import Layout
from hipgraft.codegen.lowering.arg_extremes import ARG_EXTREMES, lower_arg_extreme
from hipgraft.codegen.lowering.concatenation import lower_concatenation
from hipgraft.codegen.lowering.context import Lowering, lowering_function
from hipgraft.codegen.lowering.emit.boundary import read_operand, write_result
from hipgraft.codegen.lowering.emit.flat import has_short_rows, in_logical_order
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.migraphx import lower_migraphx
from hipgraft.codegen.lowering.pointwise.groups import PointwiseGroups
from hipgraft.codegen.lowering.ragged import Ragged
from hipgraft.codegen.lowering.scan import lower_cumsum
from hipgraft.codegen.lowering.scatter import lower_scatter
from hipgraft.codegen.lowering.single_row import is_single_row
from hipgraft.codegen.lowering.verbatim import VerbatimCopier
from hipgraft.codegen.plan import DEFAULT_PLAN, Plan
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds.broadcast_reduction import is_reduced_broadcast
from hipgraft.codegen.workarounds.image_order import must_order_result
from hipgraft.codegen.workarounds.operand_gaps import is_read_with_gaps
from hipgraft.codegen.workarounds.sorted_slice import is_sorted_slice
from hipgraft.codegen.workarounds.zero_factors import is_zero_factor
from hipgraft.dialects.hipdnn import ContainerOp, ResampleFwdOp, wrap
from hipgraft.dialects.migraphx import is_migraphx
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.diagnostics import CodegenError, location_text
from hipgraft.ir.sizes import MOST_BYTES, too_large
from hipgraft.ir.strided_view import row_major_strides
from hipgraft.ir.tensors import element_of, shape_of

_ELEMENTWISE = ("hipdnn.pointwise", "hipdnn.yield", "arith.constant")


def lower_container(op: ir.Operation | ir.OpView, target: Target, plan: Plan = DEFAULT_PLAN) -> str:
    """Returns the text of an IREE input module for a `hipdnn.graph` or `hipdnn.fallback`.

    The module holds one function `@main`. It takes the physical tensors of the operands, in
    their order (see `Layout`), and returns those of the results.

    Raises:
        CodegenError: an op has no lowering, or a layout cannot be written.
    """
    # A clone without a parent prints by itself and stays valid when the program changes.
    clone = op.operation.clone(ip=False)
    try:
        return _lowered(clone, target, plan)
    finally:
        # The clone uses values of the program, and a traceback could keep it alive longer than
        # these.
        clone.erase()


def _lowered(clone: ir.Operation, target: Target, plan: Plan) -> str:
    container = cast(ContainerOp, wrap(clone))
    _check_elements(container)
    lowering = Lowering(target, alternatives=dict(plan.alternatives))
    copier = VerbatimCopier(clone)
    parameters = _read_operands(lowering, container)
    *body, terminator = [op.operation for op in container.body.operations]
    for value, layout in zip(terminator.operands, result_layouts(container), strict=True):
        lowering.orders[value] = layout.order
        if (inside := _inside_border(value)) is not None:
            lowering.orders[inside] = layout.order
    if is_single_row(container, lowering):
        _lower_row(lowering, copier, body, terminator.operands)
    else:
        _lower_ops(lowering, copier, body, terminator.operands)
    results = _write_results(lowering, container, terminator)
    signature = f"func.func @main({', '.join(parameters)})"
    text = _module_text(signature, lowering.emitter.text(), results, lowering.functions)
    return text + copier.resources() if "dense_resource<" in text else text


def _lower_ops(
    lowering: Lowering,
    copier: VerbatimCopier,
    ops: Sequence[ir.Operation],
    yielded: Sequence[ir.Value],
) -> None:
    groups = PointwiseGroups(lowering, yielded, lambda op: _lower_op(lowering, copier, op))
    for op in ops:
        groups.visit(op)
    groups.flush()


def _lower_row(
    lowering: Lowering,
    copier: VerbatimCopier,
    ops: Sequence[ir.Operation],
    yielded: Sequence[ir.Value],
) -> None:
    """Lowers ops on a single row to one dispatch, which also transposes its results."""

    def build() -> list[Tensor]:
        _lower_ops(lowering, copier, ops, yielded)
        made = [lowering.in_own_type(value) for value in yielded]
        orders = [lowering.orders[value] for value in yielded]
        return [
            lowering.emitter.in_order(one, [dim for dim in order if dim in one.dims])
            for one, order in zip(made, orders, strict=True)
        ]

    made = lowering.emitter.one_row(build)
    lowering.tensors.update(zip(yielded, made, strict=True))


def _inside_border(value: ir.Value) -> ir.Value | None:
    """Returns what a container yields inside a border of zeros; None if it yields no border."""
    op = defining_op(value)
    if op is None or op.name != ResampleFwdOp.OP_NAME:
        return None
    resampling = ResampleFwdOp(op)
    return resampling.x if resampling.only_pads else None


def operand_layouts(container: ContainerOp) -> list[Layout]:
    """Returns the memory layout of each operand of a container."""
    values = container.inputs
    strides = container.arg_strides or [None] * len(values)
    offsets = container.arg_offsets or [0] * len(values)
    return [
        _layout(value, step, offset)
        for value, step, offset in zip(values, strides, offsets, strict=True)
    ]


def result_layouts(container: ContainerOp) -> list[Layout]:
    """Returns the memory layout of each result of a container."""
    values = container.outputs
    strides = container.result_strides or [None] * len(values)
    return [_layout(value, step, 0) for value, step in zip(values, strides, strict=True)]


def _check_elements(container: ContainerOp) -> None:
    for value in (*container.inputs, *container.outputs):
        element = element_of(value)
        if element.startswith("f6E"):
            where = location_text(container.location)
            message = f"'{container.OP_NAME}' op reads or writes {element}"
            raise CodegenError(f"{message}, which IREE has no buffers of", location=where)


def _layout(value: ir.Value, strides: Sequence[int] | None, offset: int) -> Layout:
    shape, element = shape_of(value), element_of(value)
    if strides is None:
        strides = row_major_strides(shape)
    layout = Layout(shape, tuple(strides), offset, element)
    if layout.physical_elements > MOST_BYTES:
        raise CodegenError(too_large("an operand or result"))
    return layout


def _read_operands(lowering: Lowering, container: ContainerOp) -> list[str]:
    """Reads each operand from its physical tensor; returns the parameters of `@main`."""
    emitter, arguments = lowering.emitter, list(container.body.arguments)
    layouts, ragged = operand_layouts(container), _ragged_tensors(container, "arg")
    names = [emitter.fresh(f"arg{position}") for position in range(len(arguments))]
    # Ragged operands come last, because other operands hold the offsets by which they are read.
    for position in sorted(range(len(arguments)), key=ragged.__contains__):
        argument, layout = arguments[position], layouts[position]
        if position not in ragged:
            operand = read_operand(emitter, names[position], layout)
            if layout.flat_offset or layout.window is None or not layout.window.is_whole:
                lowering.windows.add(argument)
            is_part = is_read_with_gaps(argument, layout) or is_sorted_slice(argument, layout)
            if is_part or is_reduced_broadcast(argument, operand):
                operand = emitter.materialized(emitter.logical(operand))
            lowering.tensors[argument] = _best_read(lowering, container, operand, layout)
            continue
        form = _ragged_form(lowering, container, layout, *ragged[position])
        memory = Tensor.logical(names[position], layout.physical_shape, layout.element_type)
        lowering.ragged[argument] = form
        lowering.tensors[argument] = form.read(emitter, memory)
    return [f"{name}: {one.physical_type}" for name, one in zip(names, layouts, strict=True)]


def _best_read(
    lowering: Lowering, container: ContainerOp, operand: Tensor, layout: Layout
) -> Tensor:
    """Returns an operand of elementwise ops, in logical order if RDNA's tiles need that.

    IREE does not collapse the loops over a transposed operand. With short rows most of a
    wavefront's 32 lanes are then beyond the end of a row. Only whole tensors qualify, because IREE
    3.13.0 reads wrong elements of a tensor's slice in this form.
    """
    is_all = layout.window is not None and layout.window.is_whole
    alone = all(op.operation.name in _ELEMENTWISE for op in container.body.operations)
    transposed = not operand.broadcast_dims and not operand.lies_in(range(operand.rank))
    is_short = lowering.target.is_rdna and has_short_rows(operand.shape)
    if is_all and alone and transposed and is_short:
        return in_logical_order(lowering.emitter, operand)
    return operand


def _ragged_tensors(container: ContainerOp, side: str) -> dict[int, tuple[int, int]]:
    """Returns offsets operand and multiplier of each ragged tensor, by its position."""
    operands: list[int] = getattr(container, f"{side}_ragged", None) or []
    multipliers: list[int] = getattr(container, f"{side}_ragged_multipliers", None) or []
    pairs = zip_longest(operands, multipliers, fillvalue=1)
    return {position: pair for position, pair in enumerate(pairs) if pair[0] >= 0}


def _ragged_form(
    lowering: Lowering, container: ContainerOp, layout: Layout, operand: int, multiplier: int
) -> Ragged:
    offsets = lowering.tensor(container.body.arguments[operand])
    return Ragged.of(lowering.emitter, layout, offsets, multiplier)


_TORCH_OPS: dict[
    str, Callable[[ir.Operation, Lowering, VerbatimCopier], Sequence[Tensor | None] | None]
] = {
    **dict.fromkeys(ARG_EXTREMES, lower_arg_extreme),
    "torch.aten.cat": lower_concatenation,
    "torch.aten.cumsum": lower_cumsum,
    "torch.aten.scatter_reduce.two": lower_scatter,
    "torch.aten.scatter.src": lower_scatter,
}
"""Lowerings of torch ops; IREE lowers all other ops, and ops for which these return None."""


def _lower_op(lowering: Lowering, copier: VerbatimCopier, op: ir.Operation) -> None:
    if op.name == "arith.constant":
        lowering.tensors[op.results[0]] = _constant(lowering, op)
    elif is_migraphx(op):
        lowering.tensors.update(zip(op.results, lower_migraphx(op, lowering), strict=True))
    elif not op.name.startswith("hipdnn."):
        lower = _TORCH_OPS.get(op.name)
        made = None if lower is None else lower(op, lowering, copier)
        if made is None:
            copier.copy(op, lowering)
        else:
            copier.replace(op, made, lowering)
    else:
        function = lowering_function(wrap(op), lowering)
        if function is None:
            message = f"'{op.name}' op has no lowering to linalg"
            raise CodegenError(message, location=location_text(op.location))
        results = function(wrap(op), lowering)
        lowering.tensors.update(zip(op.results, results, strict=True))


def _constant(lowering: Lowering, op: ir.Operation) -> Tensor:
    name = lowering.emitter.op("constant", f"arith.constant {op.attributes['value']}")
    made = Tensor.logical(name, shape_of(op.results[0]), element_of(op.results[0]))
    is_stored = lowering.target.kind is TargetKind.AMDGPU and is_zero_factor(op)
    return lowering.emitter.materialized(made) if is_stored else made


def _write_results(
    lowering: Lowering, container: ContainerOp, terminator: ir.Operation
) -> list[tuple[str, str]]:
    """Stores the values that the container yields; returns their names and physical types."""
    layouts, ragged = result_layouts(container), _ragged_tensors(container, "result")
    ops = [op.operation for op in container.body.operations]
    names: list[str] = []
    for position, (value, layout) in enumerate(zip(terminator.operands, layouts, strict=True)):
        tensor = lowering.in_own_type(value)
        if must_order_result(ops, layout, lowering.target):
            tensor = lowering.emitter.barrier(tensor)
        if position in ragged:
            form = _ragged_form(lowering, container, layout, *ragged[position])
            names.append(form.write(lowering.emitter, tensor).name)
        else:
            names.append(write_result(lowering.emitter, tensor, layout))
    return [(name, layout.physical_type) for name, layout in zip(names, layouts, strict=True)]


def _module_text(
    signature: str, body: str, results: Sequence[tuple[str, str]], functions: Sequence[str]
) -> str:
    names = ", ".join(name for name, _ in results)
    types = ", ".join(type_ for _, type_ in results)
    lines = f"{body}\nreturn {names} : {types}"
    function = f"{signature} -> ({types}) {{\n{textwrap.indent(lines, '  ')}\n}}"
    body = "\n".join([function, *functions])
    return f"module {{\n{textwrap.indent(body, '  ')}\n}}\n"

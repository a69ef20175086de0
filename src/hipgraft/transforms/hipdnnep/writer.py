"""Writes functions of hipDNN graphs in hipDNNEP's form."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import func_d, ir
from hipgraft.ir.builders import attributes_of
from hipgraft.ir.diagnostics import PassFailure
from hipgraft.ir.strided_view import StridedView, row_major_strides
from hipgraft.ir.symbols import symbol_of
from hipgraft.ir.tensors import shape_of
from hipgraft.ir.torch_dialect import (
    constant_int,
    dtype_number,
    int_list,
    shape_and_element,
    torch_op,
    vtensor_type,
)
from hipgraft.transforms.hipdnn_to_torch.writer import spelled

_CASTS = ("torch_c.from_builtin_tensor", "torch_c.to_builtin_tensor")


def write_function(function: ir.Operation) -> None:
    """Replaces a function of graphs by one on torch tensors.

    The bodies of containers are torch ops already, between casts.

    Raises:
        PassFailure: a type, an op, a constant or a layout has no torch form.
    """
    block, *others = function.regions[0].blocks
    if others:
        raise PassFailure(
            "'func.func' op expected one block: control flow is not supported", function
        )
    (*_, last) = block.operations
    inputs = [_torch_type(value) for value in block.arguments]
    results = [_torch_type(value) for value in last.operands]
    new = func_d.FuncOp(
        symbol_of(function),
        ir.FunctionType.get(inputs, results),
        ip=ir.InsertionPoint(function),
        loc=function.location,
    )
    for key, value in attributes_of(function).items():
        if key.startswith("hipgraft."):
            new.operation.attributes[key] = value
    entry = new.add_entry_block([argument.location for argument in block.arguments])
    with ir.InsertionPoint(entry):
        writer = _Writer()
        returned = writer.write(block, list(entry.arguments))
        func_d.ReturnOp(returned, loc=last.location)
    function.erase()


class _Writer:
    """Copies ops to the insertion point; each value is a torch value there."""

    def __init__(self) -> None:
        self._values: dict[ir.Value, ir.Value] = {}

    def write(self, block: ir.Block, arguments: Sequence[ir.Value]) -> list[ir.Value]:
        """Writes the ops of a block; returns its terminator's operands."""
        self._values.update(zip(block.arguments, arguments, strict=True))
        *ops, last = [op.operation for op in block.operations]
        for op in ops:
            with op.location:
                made = self._write(op)
            self._values.update(zip(op.results, made, strict=True))
        return [self._values[value] for value in last.operands]

    def _write(self, op: ir.Operation) -> Sequence[ir.Value]:
        if op.name in _CASTS:
            return [self._values[op.operands[0]]]
        if op.name == "arith.constant":
            return [_literal(op)]
        if op.name == hipdnn.ViewOp.OP_NAME:
            return [self._view(hipdnn.ViewOp(op))]
        if op.name == hipdnn.FallbackOp.OP_NAME:
            return self.write(op.regions[0].blocks[0], [self._values[v] for v in op.operands])
        if op.name == hipdnn.GraphOp.OP_NAME:
            return self._graph(op)
        if not op.name.startswith("torch."):
            raise PassFailure(f"'{op.name}' op has no torch form", op)
        return _copied(op, [self._values[value] for value in op.operands]).results

    def _graph(self, op: ir.Operation) -> Sequence[ir.Value]:
        made = ir.Operation.create(
            "torch.operator",
            results=[_torch_type(value) for value in op.results],
            operands=[self._values[value] for value in op.operands],
            attributes={"name": ir.StringAttr.get("hipdnn.graph")},
            regions=1,
        )
        kinds = [_torch_type(value) for value in op.operands]
        body = made.regions[0].blocks.append(*kinds, arg_locs=[op.location] * len(kinds))
        with ir.InsertionPoint(body):
            results = self.write(op.regions[0].blocks[0], list(body.arguments))
            torch_op("operator_terminator", results, [])
        _use_narrow_types(body)
        return made.results

    def _view(self, op: hipdnn.ViewOp) -> ir.Value:
        """`as_strided` of the elements in the order of their storage."""
        base, (value,) = self._values[op.operation.operands[0]], op.operation.results
        order = _storage_order(op.operation.operands[0])
        shape, element = shape_and_element(base.type) or ([], "")
        if order != sorted(order):
            kind = vtensor_type([shape[dim] for dim in order], element)
            base = torch_op("aten.permute", [base, int_list(order)], [kind]).result
            # A copy: `as_strided` would read the storage in front of `permute`.
            dims = [constant_int(0), constant_int(-1)]
            line = vtensor_type([prod(shape)], element)
            base = torch_op("aten.flatten.using_ints", [base, *dims], [line]).result
        window = [int_list(shape_of(value)), int_list(op.strides), constant_int(op.offset)]
        return torch_op("aten.as_strided", [base, *window], [_torch_type(value)]).result


def _storage_order(value: ir.Value) -> list[int]:
    """Dimensions of a view's operand, in the order of its storage."""
    shape = shape_of(value)
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != hipdnn.GraphOp.OP_NAME:
        return list(range(len(shape)))
    layouts = hipdnn.GraphOp(owner.operation).result_strides
    given = layouts[ir.OpResult(value).result_number] if layouts else None
    strides = given or row_major_strides(shape)
    order = StridedView(tuple(shape), tuple(strides), 0).storage_order(shape)
    if order is None:
        raise PassFailure(
            f"'hipdnn.graph' op has a view of a result with gaps: strides {list(strides)}", owner
        )
    return list(order)


def _torch_type(value: ir.Value) -> ir.Type:
    kind = value.type
    if isinstance(kind, ir.RankedTensorType) and kind.has_static_shape:
        element = spelled(kind.element_type)
        if dtype_number(element) is not None:
            return vtensor_type(kind.shape, element)
    owner = value.owner.owner if isinstance(value.owner, ir.Block) else value.owner
    op = owner.operation
    raise PassFailure(f"'{op.name}' op has a value of type {kind}, which torch has not", op)


def _literal(op: ir.Operation) -> ir.Value:
    value, kind = op.attributes["value"], ir.RankedTensorType(op.results[0].type)
    element = spelled(kind.element_type)
    if element != str(kind.element_type):
        if not isinstance(value, ir.DenseElementsAttr):
            raise PassFailure("'arith.constant' op has integers that are no part of the text", op)
        text = str(value).rpartition(":")[0]
        shape = "".join(f"{extent}x" for extent in kind.shape)
        value = ir.Attribute.parse(f"{text} : tensor<{shape}{element}>")
    return ir.Operation.create(
        "torch.vtensor.literal", results=[_torch_type(op.results[0])], attributes={"value": value}
    ).result


def _copied(
    op: ir.Operation, operands: Sequence[ir.Value], results: Sequence[ir.Type] | None = None
) -> ir.Operation:
    return ir.Operation.create(
        op.name,
        results=results or [value.type for value in op.results],
        operands=operands,
        attributes=dict(op.attributes.items()),
        loc=op.location,
    )


def _use_narrow_types(body: ir.Block) -> None:
    """Makes ops compute in f16 or bf16 if their results are immediately rounded to that type.

    The torch forms of hipDNN ops compute in f32 between casts. An ATen op on f16 itself computes
    in f32 and rounds once, so it needs no casts, and hipDNNEP recognises it.
    """
    ops = [op.operation for op in body.operations]
    for op in ops:
        if op.name == "torch.aten.to.dtype":
            _narrow(op)
    for op in reversed(ops[:-1]):
        if not any(True for result in op.results for _ in result.uses):
            op.erase()


def _narrow(cast: ir.Operation) -> None:
    """Replaces a cast of an op's result, if the op's operands are casts from the same type."""
    wide = cast.operands[0]
    op = wide.owner
    if isinstance(op, ir.Block) or len(op.results) != 1 or len(list(wide.uses)) != 1:
        return
    element = _element(cast.results[0])
    operands = [
        source for value in op.operands if (source := _before_cast(value, element)) is not None
    ]
    if len(operands) < len(op.operands) or not any(map(_element, operands)):
        return
    with ir.InsertionPoint(op):
        made = _copied(op.operation, operands, [cast.results[0].type])
    cast.results[0].replace_all_uses_with(made.results[0])


def _before_cast(value: ir.Value, element: str | None) -> ir.Value | None:
    """Returns a widening cast's operand if it has the element type; passes non-tensors through."""
    if _element(value) is None:
        return value
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "torch.aten.to.dtype":
        return None
    source = owner.operands[0]
    return source if _element(source) == element and element in ("f16", "bf16") else None


def _element(value: ir.Value) -> str | None:
    """Element type of a tensor, None for other values."""
    read = shape_and_element(value.type)
    return None if read is None else read[1]

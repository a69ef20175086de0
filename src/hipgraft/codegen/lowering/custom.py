"""Lowers custom ops from a template: the text of an MLIR function with placeholders.

Fusilli's placeholders: `{FUNC_NAME}`, and for each operand `{IN0_TYPE}` (a torch tensor type),
`{IN0_DTYPE}`, `{IN0_DIM0}`, ..., likewise `{OUT0_TYPE}`, ... for results.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hipgraft.codegen.lowering.context import Lowering, lowers, unsupported
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.dialects.hipdnn import CustomOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import CodegenError, location_text
from hipgraft.ir.tensors import element_of, shape_of

_PREFIX = "fusilli."

_PLACEHOLDER = re.compile(r"\{((?:IN|OUT)\d+_[A-Z]+\d*|FUNC_NAME)\}")


@lowers(CustomOp)
def lower_custom_op(op: CustomOp, lowering: Lowering) -> Sequence[Tensor]:
    """Instantiates the template as a function and calls it."""
    if not op.custom_op_id.startswith(_PREFIX) or op.data is None:
        raise unsupported(op, f"'{op.custom_op_id}'")
    name = f"custom_{len(lowering.functions)}_{re.sub(r'[^A-Za-z0-9_]', '_', op.custom_op_id)}"
    function = _instantiate(op, name)
    lowering.functions.append(str(function))
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    expected = len(op.inputs), len(op.outputs)
    if (len(kind.inputs), len(kind.results)) != expected:
        message = (
            f"template of '{op.custom_op_id}' takes {len(kind.inputs)} and returns "
            f"{len(kind.results)} values, expected {expected[0]} and {expected[1]}"
        )
        raise _error(op, message)
    arguments = [
        _to_torch(lowering, value, str(type_))
        for value, type_ in zip(op.inputs, kind.inputs, strict=True)
    ]
    results = _call(lowering, name, arguments, kind)
    return [
        _from_torch(lowering, result, str(type_), value)
        for result, type_, value in zip(results, kind.results, op.outputs, strict=True)
    ]


def _instantiate(op: CustomOp, name: str) -> ir.Operation:
    """Instantiates the template of `op` as a function `name`.

    Raises:
        CodegenError: a placeholder is unknown, or the text defines no such function.
    """
    values = {"FUNC_NAME": name} | _placeholders("IN", op.inputs)
    values |= _placeholders("OUT", op.outputs)

    def value_of(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise _error(op, f"template of '{op.custom_op_id}' has no value for '{match[0]}'")
        return values[match[1]]

    template = (op.data or b"").decode(errors="replace").rstrip("\0")
    text = _PLACEHOLDER.sub(value_of, template)
    try:
        module = ir.Module.parse(text, context=op.operation.context)
    except ir.MLIRError as error:
        reason = error.error_diagnostics[0].message if error.error_diagnostics else str(error)
        raise _error(op, f"template of '{op.custom_op_id}': {reason}") from None
    for function in module.body.operations:
        if function.operation.name == "func.func" and function.operation.attributes[
            "sym_name"
        ] == ir.StringAttr.get(name, op.operation.context):
            return function.operation.clone(ip=False)
    raise _error(op, f"template of '{op.custom_op_id}' has no function '{{FUNC_NAME}}'")


def _placeholders(side: str, values: Sequence[ir.Value]) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, value in enumerate(values):
        key = f"{side}{number}"
        found |= {f"{key}_DIM{dim}": str(extent) for dim, extent in enumerate(shape_of(value))}
        found |= {f"{key}_TYPE": _torch_type(value), f"{key}_DTYPE": _torch_element(value)}
    return found


def _torch_element(value: ir.Value) -> str:
    """Returns the element type in the torch dialect's spelling, which has no signless integers."""
    element = element_of(value)
    return f"s{element}" if element.startswith("i") and element != "i1" else element


def _torch_type(value: ir.Value) -> str:
    extents = ",".join(map(str, shape_of(value)))
    return f"!torch.vtensor<[{extents}],{_torch_element(value)}>"


def _to_torch(lowering: Lowering, value: ir.Value, declared: str) -> str:
    """Emits an operand as a value of the type that the template declares."""
    emitter = lowering.emitter
    tensor = emitter.logical(lowering.tensor(value))
    if declared.startswith("tensor<"):
        return tensor.name
    type_ = _torch_type(value)
    cast = f"torch_c.from_builtin_tensor {tensor.name} : {tensor.type} -> {type_}"
    return _static_cast(lowering, emitter.op("argument", cast), type_, declared)


def _from_torch(lowering: Lowering, name: str, declared: str, value: ir.Value) -> Tensor:
    """Converts a value of the template's result type to a tensor."""
    result = Tensor.logical(name, shape_of(value), element_of(value))
    if declared.startswith("tensor<"):
        return result
    type_ = _torch_type(value)
    name = _static_cast(lowering, name, declared, type_)
    cast = f"torch_c.to_builtin_tensor {name} : {type_} -> {result.type}"
    return Tensor.logical(lowering.emitter.op("result", cast), result.shape, result.element)


def _static_cast(lowering: Lowering, name: str, source: str, target: str) -> str:
    """Emits a cast between types that differ in their static extents."""
    if source == target:
        return name
    cast = f"torch.tensor_static_info_cast {name} : {source} to {target}"
    return lowering.emitter.op("cast", cast)


def _call(
    lowering: Lowering, callee: str, arguments: Sequence[str], kind: ir.FunctionType
) -> list[str]:
    """Emits the call and returns the names of its results."""
    name = lowering.emitter.fresh("custom")
    types = f"({', '.join(map(str, kind.inputs))}) -> ({', '.join(map(str, kind.results))})"
    count = len(kind.results)
    lowering.emitter.lines.append(
        f"{name}:{count} = func.call @{callee}({', '.join(arguments)}) : {types}"
    )
    return [f"{name}#{number}" for number in range(count)]


def _error(op: CustomOp, message: str) -> CodegenError:
    return CodegenError(f"'{op.OP_NAME}' op {message}", location=location_text(op.location))

"""Builds and reads ops of the torch dialect, which has no Python classes in IREE's bindings.

Builders insert at the current insertion point with the current location.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hipgraft.ir.bindings import ir

_DTYPES = {
    0: "ui8",
    1: "i8",
    2: "i16",
    3: "i32",
    4: "i64",
    5: "f16",
    6: "f32",
    7: "f64",
    11: "i1",
    15: "bf16",
    23: "f8E5M2",
    24: "f8E4M3FN",
    25: "f8E5M2FNUZ",
    26: "f8E4M3FNUZ",
}
"""PyTorch's ScalarType numbers of the element types that hipgraft's programs use."""

_VTENSOR = re.compile(r"!torch\.vtensor<\[([\d,?]*)\],([^>]+)>")


def vtensor_type(shape: Sequence[int | None], element: str) -> ir.Type:
    """Returns `!torch.vtensor<[shape],element>`.

    Args:
        shape: extents, None for dynamic ones.
        element: element type in torch's spelling (`f32`, `si64`).
    """
    extents = ",".join("?" if extent is None else str(extent) for extent in shape)
    return ir.Type.parse(f"!torch.vtensor<[{extents}],{element}>")


def extents_and_element(vtensor: ir.Type) -> tuple[list[int | None], str] | None:
    """Returns the extents (None for dynamic ones) and the element type of a ranked vtensor."""
    match = _VTENSOR.fullmatch(str(vtensor))
    if match is None:
        return None
    extents = [extent for extent in match[1].split(",") if extent]
    return [None if extent == "?" else int(extent) for extent in extents], match[2]


def shape_and_element(vtensor: ir.Type) -> tuple[list[int], str] | None:
    """Returns the static shape and the element type of a vtensor; None for any other type."""
    extents, element = extents_and_element(vtensor) or ([None], "")
    shape = [extent for extent in extents if extent is not None]
    return (shape, element) if len(shape) == len(extents) else None


def aten_name(op: ir.Operation) -> str:
    """Returns `aten.relu` for both `torch.aten.relu` and `torch.operator "torch.aten.relu"`."""
    name = op.name
    if name == "torch.operator":
        name = ir.StringAttr(op.attributes["name"]).value
    return name.removeprefix("torch.")


def torch_op(name: str, operands: Sequence[ir.Value], results: Sequence[ir.Type]) -> ir.Operation:
    """Creates `torch.NAME`."""
    return ir.Operation.create(f"torch.{name}", operands=list(operands), results=list(results))


def known_int(value: ir.Value) -> int | None:
    """Returns the number that a `torch.constant.int` defines; None if `value` is not a constant."""
    made = value.owner.operation if isinstance(value, ir.OpResult) else None
    if made is None or made.name != "torch.constant.int":
        return None
    return ir.IntegerAttr(made.attributes["value"]).value


def constant_int(value: int) -> ir.Value:
    """Creates a `torch.constant.int`."""
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    return _constant("int", "!torch.int", attribute)


def constant_float(value: float) -> ir.Value:
    """Creates a `torch.constant.float`."""
    return _constant("float", "!torch.float", ir.FloatAttr.get(ir.F64Type.get(), value))


def constant_bool(value: bool) -> ir.Value:
    """Creates a `torch.constant.bool`."""
    return _constant("bool", "!torch.bool", ir.BoolAttr.get(value))


def constant_none() -> ir.Value:
    """Creates a `torch.constant.none`."""
    return torch_op("constant.none", [], [ir.Type.parse("!torch.none")]).result


def constant_str(value: str) -> ir.Value:
    """Creates a `torch.constant.str`."""
    return _constant("str", "!torch.str", ir.StringAttr.get(value))


def int_list(values: Sequence[int]) -> ir.Value:
    """Creates a `!torch.list<int>` of constants."""
    return list_of_ints([constant_int(value) for value in values])


def list_of_ints(values: Sequence[ir.Value]) -> ir.Value:
    """Creates a `!torch.list<int>`."""
    return torch_op("prim.ListConstruct", values, [ir.Type.parse("!torch.list<int>")]).result


def size(x: ir.Value, dim: int) -> ir.Value:
    """Creates an `aten.size.int`."""
    return torch_op("aten.size.int", [x, constant_int(dim)], [ir.Type.parse("!torch.int")]).result


def product(values: Sequence[ir.Value]) -> ir.Value:
    """Creates the product of integers."""
    whole = values[0] if values else constant_int(1)
    for value in values[1:]:
        whole = torch_op("aten.mul.int", [whole, value], [value.type]).result
    return whole


def scalar_literal(value: float, element: str) -> ir.Value:
    """Creates a rank-0 tensor of a floating-point type."""
    elements = ir.Attribute.parse(f"dense<{value:.17e}> : tensor<{element}>")
    return ir.Operation.create(
        "torch.vtensor.literal", results=[vtensor_type([], element)], attributes={"value": elements}
    ).result


def dtype_name(number: int) -> str | None:
    """Returns MLIR's name of PyTorch's ScalarType `number`, None if it is not used here."""
    return _DTYPES.get(number)


def dtype_number(element: str) -> int | None:
    """Returns PyTorch's ScalarType number of an element type, None if it has none.

    Args:
        element: the type in MLIR's or in torch's spelling (`i64`, `si64`).
    """
    name = element.removeprefix("s")
    return next((number for number, known in _DTYPES.items() if known == name), None)


def cast(x: ir.Value, element: str) -> ir.Value:
    """Creates an `aten.to.dtype` to an element type in torch's spelling."""
    no = constant_bool(False)
    return _retyped("aten.to.dtype", x, element, [no, no, constant_none()])


def reinterpret(x: ir.Value, element: str) -> ir.Value:
    """Creates an `aten.view.dtype`, of the same bits, as an element type in torch's spelling.

    A scalar gets a dimension meanwhile, without which IREE's compiler crashes.
    """
    read = extents_and_element(x.type)
    if read is None or read[0]:
        return _retyped("aten.view.dtype", x, element, [])
    zero = constant_int(0)
    line = torch_op("aten.unsqueeze", [x, zero], [vtensor_type([1], read[1])]).result
    bits = _retyped("aten.view.dtype", line, element, [])
    return torch_op("aten.squeeze.dim", [bits, zero], [vtensor_type([], element)]).result


def _retyped(name: str, x: ir.Value, element: str, others: Sequence[ir.Value]) -> ir.Value:
    read, number = extents_and_element(x.type), dtype_number(element)
    if read is None or number is None:
        raise ValueError(f"expected a tensor of known rank and an element type, found {x.type}")
    return torch_op(
        name, [x, constant_int(number), *others], [vtensor_type(read[0], element)]
    ).result


def _constant(kind: str, result: str, value: ir.Attribute) -> ir.Value:
    return ir.Operation.create(
        f"torch.constant.{kind}", results=[ir.Type.parse(result)], attributes={"value": value}
    ).result

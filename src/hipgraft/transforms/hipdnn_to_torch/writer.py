"""Writes torch ops in place of a hipDNN op, between casts to and from builtin tensors."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.tensors import element_type_of
from hipgraft.ir.torch_dialect import (
    constant_bool,
    constant_float,
    constant_int,
    constant_none,
    constant_str,
    dtype_number,
    int_list,
    torch_op,
    vtensor_type,
)

Constant = float | str | list[int] | list[bool] | None


class Writer:
    """Writes torch ops at the insertion point, for one hipDNN op.

    Attributes:
        wide: element type of the arithmetic: the op's compute type; without one `f32`, or `f64` for
        `f64` operands; `si32` or wider if all operands are integers.
    """

    def __init__(self, op: hipdnn.HipdnnOp):
        operands, results = (
            [_element(value) for value in values]
            for values in (op.operation.operands, op.operation.results)
        )
        self.wide = _wide_type(operands, results)
        declared = op.compute_type if isinstance(op, hipdnn.ComputeOp) else None
        if isinstance(declared, ir.FloatType) and self.wide.startswith("f"):
            self.wide = str(declared)

    def read(self, value: ir.Value, *, wide: bool = True) -> ir.Value:
        """Casts a builtin tensor to a torch one, of the arithmetic's type if `wide` is set."""
        kind = ir.RankedTensorType(value.type)
        element = spelled(kind.element_type)
        if dtype_number(element) is None:
            raise Declined("element-type", f"torch-mlir has no elements of type {element}")
        if element.startswith("u"):
            raise Declined("unsigned", "a fallback takes no unsigned integers")
        read = cast("from", value, vtensor_type(kind.shape, element))
        return self.to(read, kind.shape, self.wide) if wide else read

    def write(self, value: ir.Value, result: ir.Value) -> ir.Value:
        """Casts a torch tensor to a builtin one with the type and shape of the hipDNN `result`."""
        kind = ir.RankedTensorType(result.type)
        cast_value = self.to(value, kind.shape, spelled(kind.element_type))
        return cast("to", cast_value, kind)

    def to(self, value: ir.Value, shape: Sequence[int], element: str) -> ir.Value:
        """Converts a tensor to another element type."""
        kind = vtensor_type(shape, element)
        if value.type == kind:
            return value
        number = dtype_number(element)
        if number is None:
            raise Declined("element-type", f"torch-mlir has no elements of type {element}")
        no = constant_bool(False)
        operands = [value, constant_int(number), no, no, constant_none()]
        return torch_op("aten.to.dtype", operands, [kind]).result

    def op(
        self,
        name: str,
        operands: Sequence[ir.Value | Constant],
        shape: Sequence[int],
        element: str | None = None,
    ) -> ir.Value:
        """One torch op with one result; constants are written before it."""
        kind = vtensor_type(shape, element or self.wide)
        return torch_op(name, [constant(operand) for operand in operands], [kind]).result


def constant(value: ir.Value | Constant) -> ir.Value:
    """Writes a Python constant as a torch one; passes values through."""
    if isinstance(value, ir.Value):
        return value
    if value is None:
        return constant_none()
    if isinstance(value, bool):
        return constant_bool(value)
    if isinstance(value, int):
        return constant_int(value)
    if isinstance(value, float):
        return constant_float(value)
    if isinstance(value, str):
        return constant_str(value)
    if value and isinstance(value[0], bool):
        flags = [constant_bool(bool(flag)) for flag in value]
        return torch_op("prim.ListConstruct", flags, [ir.Type.parse("!torch.list<bool>")]).result
    return int_list(value)


def cast(direction: str, value: ir.Value, kind: ir.Type) -> ir.Value:
    """Writes a `torch_c` cast; a cast back returns the operand of the first cast."""
    owner = value.owner
    other = "to" if direction == "from" else "from"
    if not isinstance(owner, ir.Block) and owner.name == f"torch_c.{other}_builtin_tensor":
        inner = owner.operands[0]
        if inner.type == kind:
            return inner
    name = f"torch_c.{direction}_builtin_tensor"
    return ir.Operation.create(name, results=[kind], operands=[value]).result


def spelled(element: ir.Type) -> str:
    """Returns an element type in torch's spelling, where integers are signed."""
    text = str(element)
    return f"s{text}" if text.startswith("i") and text != "i1" else text


def scalar_of(value: ir.Value) -> float | None:
    """Returns the number in a pass-by-value scalar; None if it is only known at run time."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    attribute = ir.DenseElementsAttr(owner.attributes["value"])
    return ir.FloatAttr(attribute.get_splat_value()).value


def _element(value: ir.Value) -> ir.Type:
    return element_type_of(value)


def _wide_type(operands: Sequence[ir.Type], results: Sequence[ir.Type]) -> str:
    if "f64" in map(str, operands):
        return "f64"
    types = [*operands, *results]
    widths = [kind.width for kind in types if isinstance(kind, ir.IntegerType)]
    is_integer = len(widths) == len(types) and any(str(kind) != "i1" for kind in operands)
    return f"si{max(32, *widths)}" if is_integer else "f32"

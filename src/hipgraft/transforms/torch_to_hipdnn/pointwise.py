"""Elementwise ATen ops on floating-point tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.element_types import bit_width
from hipgraft.ir.torch_dialect import dtype_name
from hipgraft.transforms.recognition.constants import build_constant, stored_elements
from hipgraft.transforms.tensor_builder import Tensor
from hipgraft.transforms.torch_to_hipdnn.converter import Conversion, Converter, TorchOp
from hipgraft.transforms.torch_to_hipdnn.truth import any_as_maximum

UNARY = {
    "abs": "abs",
    "ceil": "ceil",
    "cos": "cos",
    "erf": "erf",
    "exp": "exp",
    "floor": "floor",
    "log": "log",
    "neg": "neg",
    "reciprocal": "reciprocal",
    "relu": "relu_fwd",
    "rsqrt": "rsqrt",
    "sigmoid": "sigmoid_fwd",
    "silu": "swish_fwd",
    "sin": "sin",
    "sqrt": "sqrt",
    "tan": "tan",
    "tanh": "tanh_fwd",
}
"""Modes by the name of the ATen op of one operand."""

_BINARY = {"mul": "mul", "div": "div", "maximum": "max_op", "minimum": "min_op"}

COMPARE = {
    "eq": "cmp_eq",
    "ge": "cmp_ge",
    "gt": "cmp_gt",
    "le": "cmp_le",
    "lt": "cmp_lt",
    "ne": "cmp_neq",
}
"""Modes by the name of the ATen comparison."""

_LOGICAL = {
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "logical_not": "logical_not",
    "bitwise_and": "logical_and",
    "bitwise_or": "logical_or",
    "bitwise_not": "logical_not",
    "__and__": "logical_and",
    "__or__": "logical_or",
}


_ON_INTEGERS = ("add", "sub", "mul", "max_op", "min_op", "mod")
"""The modes of which tensors of i32 are converted, too: the arithmetic of quantised models."""


def _operand(converter: Converter, op: TorchOp, index: int, like: Tensor) -> Tensor:
    """Operand `index` as a float tensor: a tensor operand, or a scalar made one."""
    if op.optional_tensor(index) is not None:
        return op.float_tensor(index)
    return converter.scalar(float(op.constant(index)), like)


def numbers(mode: str, converter: Converter, op: TorchOp) -> tuple[Tensor, Tensor]:
    """The two operands as float tensors, or both as tensors of i32."""
    i32 = ir.IntegerType.get_signless(32)
    if mode in _ON_INTEGERS and op.tensor(0).element_type == op.result_element() == i32:
        second = op.optional_tensor(1)
        if second is None and isinstance(op.constant(1), int):
            number = ir.IntegerAttr.get(i32, op.constant(1))
            shape = [1] if op.tensor(0).shape else []
            kind = ir.RankedTensorType.get(shape, i32)
            second = converter.constant(ir.DenseElementsAttr.get_splat(kind, number), op.location)
        if second is not None and second.element_type == i32:
            return op.tensor(0), second
    first = op.float_tensor(0)
    return first, _operand(converter, op, 1, first)


def _unary(mode: str, converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    return [converter.pointwise(mode, [op.float_tensor(0)], op.result_element())]


def _binary(mode: str, converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    return [converter.pointwise(mode, numbers(mode, converter, op), op.result_element())]


def _add(mode: str, converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`a + alpha * b` and `a - alpha * b`."""
    first, second = numbers(mode, converter, op)
    second = scaled(converter, second, op.constant(2))
    return [converter.pointwise(mode, [first, second], op.result_element())]


def _rsub(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`b - alpha * a`."""
    first = op.float_tensor(0)
    second = _operand(converter, op, 1, first)
    subtrahend = scaled(converter, first, op.constant(2))
    return [converter.pointwise("sub", [second, subtrahend], op.result_element())]


def scaled(converter: Converter, tensor: Tensor, alpha: float) -> Tensor:
    """`alpha * tensor`, the tensor itself where alpha is 1."""
    if alpha == 1:
        return tensor
    if not tensor.is_float:
        raise Declined("integer-arithmetic", "integers times a factor")
    factor = converter.scalar(float(alpha), tensor)
    return converter.pointwise("mul", [tensor, factor], tensor.element_type)


def _addcmul(mode: str, converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`a + value * (b op c)`."""
    first, second, third = (op.float_tensor(i) for i in range(3))
    product = converter.pointwise(mode, [second, third], op.result_element())
    addend = scaled(converter, product, op.constant(3))
    return [converter.pointwise("add", [first, addend], op.result_element())]


def _logical(mode: str, converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    inputs = [op.tensor(i) for i in range(len(op))]
    boolean = ir.IntegerType.get_signless(1)
    if any(tensor.element_type != boolean for tensor in inputs):
        raise Declined("integer-arithmetic", "bitwise arithmetic on integers")
    return [converter.pointwise(mode, inputs, op.result_element())]


def _where(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    condition = op.tensor(0)
    if condition.element_type != ir.IntegerType.get_signless(1):
        raise Declined("condition-type", "the condition is not boolean")
    chosen = next((op.tensor(i) for i in (1, 2) if op.optional_tensor(i)), None)
    if chosen is None or not chosen.is_float:
        raise Declined("integer-arithmetic", "selects between integers")
    branches = [_operand(converter, op, i, chosen) for i in (1, 2)]
    return [converter.pointwise("binary_select", [condition, *branches], op.result_element())]


def _pow(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    base, element = op.float_tensor(0), op.result_element()
    exponent = op.constant(1)
    if exponent == 2:
        return [converter.pointwise("mul", [base, base], element)]
    if exponent == 3:
        square = converter.pointwise("mul", [base, base], ir.F32Type.get())
        return [converter.pointwise("mul", [square, base], element)]
    named = {0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}.get(exponent)
    if named is not None:
        return [converter.pointwise(named, [base], element)]
    return [converter.pointwise("pow", [base, converter.scalar(float(exponent), base)], element)]


def _square(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    base = op.float_tensor(0)
    return [converter.pointwise("mul", [base, base], op.result_element())]


def _gelu(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    mode = "gelu_approx_tanh_fwd" if op.constant(1) == "tanh" else "gelu_fwd"
    return [converter.pointwise(mode, [op.float_tensor(0)], op.result_element())]


def _clamp(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    lower, upper = op.constant(1), op.constant(2) if len(op) > 2 else None
    return _clipped(converter, op, lower, upper)


def _clipped(
    converter: Converter, op: TorchOp, lower: float | None, upper: float | None
) -> Sequence[Tensor]:
    tensor, element = op.float_tensor(0), op.result_element()
    if lower is not None:
        clips: dict[str, Any] = {"relu_lower_clip": float(lower)}
        if upper is not None:
            clips["relu_upper_clip"] = float(upper)
        return [converter.pointwise("relu_fwd", [tensor], element, **clips)]
    if upper is None:
        return [tensor]
    return [
        converter.pointwise("min_op", [tensor, converter.scalar(float(upper), tensor)], element)
    ]


def _clamp_tensor(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """Clamps to bounds given as tensors; NaN propagates, as in the modes of both bounds."""
    tensor, element = op.float_tensor(0), op.result_element()
    for index, mode in ((1, "max_op"), (2, "min_op")):
        if op.optional_tensor(index) is not None:
            tensor = converter.pointwise(mode, [tensor, op.float_tensor(index)], element)
    return [tensor]


def _relu6(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    return _clipped(converter, op, 0.0, 6.0)


def _leaky_relu(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    slope = float(op.constant(1))
    if slope == 0:
        raise Declined(
            "zero-slope", "the slope 0 makes minus infinity NaN, hipDNN's ReLU makes it 0"
        )
    tensor = op.float_tensor(0)
    result = converter.pointwise(
        "relu_fwd", [tensor], op.result_element(), relu_lower_clip=0.0, relu_lower_clip_slope=slope
    )
    return [result]


def _elu(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    alpha, scale, input_scale = (float(op.constant(i)) for i in (1, 2, 3))
    if input_scale != 1:
        raise Declined("elu-scale", "hipDNN's ELU has no input scale")
    tensor = op.float_tensor(0)
    elu = converter.pointwise("elu_fwd", [tensor], op.result_element(), elu_alpha=alpha)
    return [scaled(converter, elu, scale)]


def _hard_sigmoid(converter: Converter, tensor: Tensor, element: ir.Type) -> Tensor:
    """`clamp(x + 3, 0, 6) / 6`."""
    f32 = ir.F32Type.get()
    shifted = converter.pointwise("add", [tensor, converter.scalar(3.0, tensor)], f32)
    clipped = converter.pointwise(
        "relu_fwd", [shifted], f32, relu_lower_clip=0.0, relu_upper_clip=6.0
    )
    return converter.pointwise("div", [clipped, converter.scalar(6.0, tensor)], element)


def _hardsigmoid(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    return [_hard_sigmoid(converter, op.float_tensor(0), op.result_element())]


def _hardswish(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    tensor = op.float_tensor(0)
    gate = _hard_sigmoid(converter, tensor, ir.F32Type.get())
    return [converter.pointwise("mul", [tensor, gate], op.result_element())]


def _cast(dtype_index: int, converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    tensor, element = op.tensor(0), op.result_element()
    wanted = op.constant(dtype_index)
    if wanted is not None and dtype_name(wanted) is None:
        raise Declined("unknown-dtype", f"dtype number {wanted} is not supported")
    if tensor.element_type == element:
        return [tensor]
    found = any_as_maximum(converter, op) if element == ir.IntegerType.get_signless(1) else None
    if found is not None:
        return [found]
    if not isinstance(element, ir.FloatType) and not _is_quantized_cast(tensor, element):
        raise Declined("integer-cast", f"casts {tensor.element_type} to {element}")
    kinds = [op.operation.operands[0].type, op.operation.results[0].type]
    from_unsigned, to_unsigned = (",ui" in str(kind) for kind in kinds)
    if from_unsigned or (to_unsigned and tensor.is_float):
        raise Declined("unsigned-cast", "hipDNN's integers are signed")
    return [converter.pointwise("identity", [tensor], element)]


def _reinterpret(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """Retypes a constant, or undoes another op's reinterpretation."""
    tensor, element = op.tensor(0), op.result_element()
    source = op.operation.operands[0].owner
    if not isinstance(source, ir.Block) and source.name == op.operation.name:
        original = converter.tensor(source.operands[0])
        if original.element_type == element:
            return [original]
    made = defining_op(tensor.base)
    if made is None or made.name != "arith.constant" or not isinstance(element, ir.FloatType):
        raise Declined("bits", "hipDNN does not reinterpret bits")
    if bit_width(str(tensor.element_type)) != bit_width(str(element)):
        raise Declined("widths", "elements have another width")
    return [Tensor(build_constant(stored_elements(tensor.base), element, "bits"), tensor.view)]


def _is_quantized_cast(tensor: Tensor, element: ir.Type) -> bool:
    """Whether a cast is to signed bytes or i32, as in quantised models.

    Other casts compute indices, which stay with the op that reads them.
    """
    narrow = [ir.IntegerType.get_signless(bits) for bits in (8, 32)]
    found = tensor.element_type
    return element in narrow and (found == ir.F32Type.get() or found in narrow)


def _table() -> dict[str, Conversion]:
    table: dict[str, Conversion] = {}

    def add(names: dict[str, str], suffixes: Sequence[str], make: Callable[..., Any]) -> None:
        for name, mode in names.items():
            for suffix in suffixes:
                table[f"torch.aten.{name}{suffix}"] = partial(make, mode)

    add(UNARY, ["", ".default"], _unary)
    add(_BINARY, ["", ".Tensor", ".Scalar"], _binary)
    add({"add": "add", "sub": "sub"}, [".Tensor", ".Scalar"], _add)
    add(COMPARE, [".Tensor", ".Scalar"], _binary)
    add(_LOGICAL, ["", ".Tensor"], _logical)
    add({"addcmul": "mul", "addcdiv": "div"}, [""], _addcmul)
    return table


POINTWISE: dict[str, Conversion] = {
    **_table(),
    "torch.aten.rsub.Scalar": _rsub,
    "torch.aten.pow.Tensor_Scalar": _pow,
    "torch.aten.square": _square,
    "torch.aten.gelu": _gelu,
    "torch.aten.clamp": _clamp,
    "torch.aten.clamp.Tensor": _clamp_tensor,
    "torch.aten.clamp_min": _clamp,
    "torch.aten.hardtanh": _clamp,
    "torch.aten.relu6": _relu6,
    "torch.aten.leaky_relu": _leaky_relu,
    "torch.aten.elu": _elu,
    "torch.aten.hardsigmoid": _hardsigmoid,
    "torch.aten.hardswish": _hardswish,
    "torch.aten.where.self": _where,
    "torch.aten.where.ScalarSelf": _where,
    "torch.aten.where.ScalarOther": _where,
    "torch.aten.to.dtype": partial(_cast, 1),
    "torch.aten.view.dtype": _reinterpret,
    "torch.aten._to_copy": partial(_cast, 1),
    "torch.prims.convert_element_type": partial(_cast, 1),
}
"""Conversions by torch op name."""

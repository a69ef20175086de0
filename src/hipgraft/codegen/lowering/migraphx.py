"""Lowers migraphx operations without a hipDNN op, and those on unsigned integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from hipgraft.codegen.layout import Layout
from hipgraft.codegen.lowering.context import Lowering
from hipgraft.codegen.lowering.emit.boundary import read_window
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.small_floats import FORMATS, decode, encode
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.dialects.migraphx import MigraphxOp, PadOp, ShapedType, UnpackOp, wrap
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import CodegenError, location_text
from hipgraft.ir.dtypes import largest_finite
from hipgraft.ir.registration import Registry

_Lower = Callable[[Any, Lowering], Tensor]


def lower_migraphx(operation: ir.Operation, lowering: Lowering) -> Sequence[Tensor]:
    """Lowers one operation.

    Raises:
        CodegenError: the operation has no lowering.
    """
    op = wrap(operation)
    if op.mnemonic not in MIGRAPHX_LOWERINGS:
        raise CodegenError(
            f"'{operation.name}' op has no lowering to linalg",
            location=location_text(operation.location),
        )
    return [MIGRAPHX_LOWERINGS[op.mnemonic](op, lowering)]


def _operands(op: MigraphxOp, lowering: Lowering) -> list[Tensor]:
    return [lowering.tensor(value) for value in op.operation.operands]


# Conversions between tensors and shaped values


def _as_shaped(op: MigraphxOp, lowering: Lowering) -> Tensor:
    (memory,) = _operands(op, lowering)
    kind = op.output_type()
    is_packed = kind.bits == 4 and memory.shape != kind.extents
    return _unpacked(lowering.emitter, memory, kind) if is_packed else memory


def _as_tensor(op: MigraphxOp, lowering: Lowering) -> Tensor:
    (value,) = _operands(op, lowering)
    (size, *more) = ir.RankedTensorType(op.operation.results[0].type).shape or [1]
    kind = op.input_type()
    is_packed = kind.bits == 4 and (size, *more) != kind.extents
    return _packed(lowering.emitter, value, size, kind) if is_packed else value


def held(kind: ShapedType) -> str:
    """Returns the element type of tensors that hold values; 4-bit elements are widened."""
    if kind.bits == 4:
        return "f32" if kind.is_float else "i8"
    return kind.signless


def _unpacked(emitter: Emitter, memory: Tensor, kind: ShapedType) -> Tensor:
    """Returns the 4-bit elements that the bytes of `memory` hold at the strides of `kind`."""
    shape = (*memory.shape, 2)
    unpacked = _nibbles(emitter, memory.with_unit_dim(1), shape, 1, kind)
    flat = emitter.reshape(unpacked, [memory.shape[0] * 2])
    layout = Layout(kind.extents, kind.steps, 0, unpacked.element)
    return read_window(emitter, flat, layout)


def _packed(emitter: Emitter, value: Tensor, size: int, kind: ShapedType) -> Tensor:
    """Returns `size` bytes, each of which packs two elements of a 1-D tensor."""
    (count,) = value.shape

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        first = scalars.op("arith.muli", scalars.index(0), scalars.constant(2, "index"))
        second = scalars.op("arith.addi", first, scalars.constant(1, "index"))
        # With an odd number of elements the last one is repeated to fill the padding.
        second = scalars.op("arith.minsi", second, scalars.constant(count - 1, "index"))
        low, high = (_code(scalars, scalars.element(value, at), kind) for at in (first, second))
        high = scalars.op("arith.shli", high, scalars.constant(4, "i32"))
        return [scalars.cast(scalars.op("arith.ori", low, high), "i8")]

    init = emitter.empty(Tensor.logical("", [size], "i8"))
    return emitter.generic("packed", [], [init], body, shape=[size])[0]


def _code(scalars: ScalarEmitter, value: Scalar, kind: ShapedType) -> Scalar:
    """Emits the 4 bits of an element, as i32."""
    if kind.element in FORMATS:
        return encode(scalars, value, FORMATS[kind.element])
    return scalars.op("arith.andi", scalars.cast(value, "i32"), scalars.constant(15, "i32"))


def _nibbles(
    emitter: Emitter, packed: Tensor, shape: Sequence[int], axis: int, kind: ShapedType
) -> Tensor:
    """Unpacks each byte to two elements along `axis`, the low half first."""

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        byte = scalars.bitcast(arguments[0], "i8")
        code = scalars.line(f"arith.extui {byte.name} : i8 to i32", "i32")
        index = scalars.cast(scalars.index(axis), "i32")
        distance = scalars.op("arith.muli", index, scalars.constant(4, "i32"))
        half = scalars.op("arith.shrui", code, distance)
        return [scalars.cast(_half(scalars, half, kind), held(kind))]

    init = emitter.empty(Tensor.logical("", shape, held(kind)))
    return emitter.generic("unpacked", [packed], [init], body, shape=shape)[0]


def _half(scalars: ScalarEmitter, half: Scalar, kind: ShapedType) -> Scalar:
    """Emits the number that the low 4 bits of an i32 encode."""
    if kind.is_float:  # all 4-bit floats have this format
        form = FORMATS["f4E2M1FN"]
        return decode(scalars, scalars.op("arith.andi", half, scalars.constant(15, "i32")), form)
    away = scalars.constant(28, "i32")
    back = "arith.shrui" if kind.is_unsigned else "arith.shrsi"
    number = scalars.op(back, scalars.op("arith.shli", half, away), away)
    return scalars.cast(number, "i8")


def _unpack(op: UnpackOp, lowering: Lowering) -> Tensor:
    (packed,) = _operands(op, lowering)
    emitter, axis, kind = lowering.emitter, op.axis, op.output_type()
    if op.input_type().bits == 4:
        return emitter.reshape(packed, kind.extents)
    if op.isUnsigned:
        kind = replace(kind, element=f"ui{kind.bits}")
    split = emitter.logical(packed).with_unit_dim(axis + 1)
    shape = (*split.shape[: axis + 1], 2, *split.shape[axis + 2 :])
    return emitter.reshape(_nibbles(emitter, split, shape, axis + 1, kind), kind.extents)


# Elementwise


def _convert(op: MigraphxOp, lowering: Lowering) -> Tensor:
    source, target = op.input_type(), op.output_type()

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        return [_converted(scalars, arguments[0], source, target)]

    operands = _operands(op, lowering)
    return lowering.emitter.pointwise("convert", operands, target.extents, held(target), body)


def _converted(
    scalars: ScalarEmitter, value: Scalar, source: ShapedType, target: ShapedType
) -> Scalar:
    """Emits a conversion by the types' signedness; floats round towards zero, as in C."""
    if source.is_unsigned and source.bits == 4:
        value = scalars.op("arith.andi", value, scalars.constant(15, value.type))
    if target.bits == 4:
        half = _half(scalars, _four_bits(scalars, value, source, target), target)
        return scalars.cast(half, held(target))
    if source.is_unsigned and target.is_float:
        return scalars.cast(_cast(scalars, "arith.uitofp", value, "f32"), target.signless)
    if source.is_unsigned and target.bits > source.bits:
        return _cast(scalars, "arith.extui", value, target.signless)
    if source.is_float and target.is_unsigned:
        wide = scalars.cast(value, "f32")
        number = _cast(scalars, "arith.fptoui", wide, f"i{max(32, target.bits)}")
        return scalars.cast(number, target.signless)
    return scalars.cast(value, target.signless)


def _four_bits(
    scalars: ScalarEmitter, value: Scalar, source: ShapedType, target: ShapedType
) -> Scalar:
    """Returns an i32 with the number, encoded as an element of `target`, in its low 4 bits."""
    if target.is_float:
        wide = ShapedType(source.shape, source.strides, "f32")
        number = _converted(scalars, value, source, wide)
        return encode(scalars, number, FORMATS[target.element])
    sign = "ui" if target.is_unsigned else "si"
    wide = ShapedType(target.shape, target.strides, f"{sign}32")
    return _converted(scalars, value, source, wide)


def _cast(scalars: ScalarEmitter, op: str, value: Scalar, element: str) -> Scalar:
    if value.type == element:
        return value
    return scalars.line(f"{op} {value.name} : {value.type} to {element}", element)


def _unsigned(name: str) -> _Lower:
    """Returns the lowering of an operation on unsigned integers."""

    def lower(op: MigraphxOp, lowering: Lowering) -> Tensor:
        kind = op.output_type()

        def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
            values = arguments[: len(op.operation.operands)]
            return [_UNSIGNED[name](scalars, values)]

        return lowering.emitter.pointwise(
            name, _operands(op, lowering), kind.extents, held(kind), body
        )

    return lower


def _compared(predicate: str) -> Callable[[ScalarEmitter, list[Scalar]], Scalar]:
    def formula(scalars: ScalarEmitter, values: list[Scalar]) -> Scalar:
        truth = scalars.op(f"arith.cmpi {predicate},", *values, result="i1")
        return _cast(scalars, "arith.extui", truth, values[0].type)

    return formula


_UNSIGNED: dict[str, Callable[[ScalarEmitter, list[Scalar]], Scalar]] = {
    "abs": lambda scalars, values: values[0],
    "clip": lambda scalars, values: scalars.op(
        "arith.minui", scalars.op("arith.maxui", values[0], values[1]), values[2]
    ),
    "div": lambda scalars, values: scalars.op("arith.divui", *values),
    "greater": _compared("ugt"),
    "greater_or_equal": _compared("uge"),
    "max": lambda scalars, values: scalars.op("arith.maxui", *values),
    "relu": lambda scalars, values: values[0],
}


# Quantisation


def _quantize(op: MigraphxOp, lowering: Lowering) -> Tensor:
    """Emits `clamp(round(input / scale) + bias)`; float results skip the rounding to integers."""
    kind = op.output_type()
    has_bias = len(op.operation.operands) > 2
    bias = op.input_type(2) if has_bias else None

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        x, scale = (scalars.cast(value, "f32") for value in arguments[:2])
        ratio = scalars.op("arith.divf", x, scale)
        shift = arguments[2] if has_bias else None
        if kind.is_float:
            return [_quantized_float(scalars, ratio, shift, kind)]
        return [_quantized_integer(scalars, ratio, shift, bias, kind)]

    operands = _operands(op, lowering)
    return lowering.emitter.pointwise("quantized", operands, kind.extents, held(kind), body)


def _quantized_float(
    scalars: ScalarEmitter, ratio: Scalar, shift: Scalar | None, kind: ShapedType
) -> Scalar:
    if shift is not None:
        ratio = scalars.op("arith.addf", ratio, scalars.cast(shift, "f32"))
    form = FORMATS.get(kind.signless)
    if form is not None:
        # Numbers out of range become the largest number, as they do for integers.
        bound = largest_finite(kind.signless)
        high = scalars.constant(bound, "f32")
        low = scalars.constant(-bound, "f32")
        ratio = scalars.op("arith.maximumf", scalars.op("arith.minimumf", ratio, high), low)
    wide = ShapedType(kind.shape, kind.strides, "f32")
    return _converted(scalars, ratio, wide, kind)


def _quantized_integer(
    scalars: ScalarEmitter,
    ratio: Scalar,
    shift: Scalar | None,
    bias: ShapedType | None,
    kind: ShapedType,
) -> Scalar:
    """Adds in 64 bits, which 32-bit operands do not overflow."""
    # Beyond 2^62 the sum is clamped for any bias, so clamping the ratio first changes no result.
    bound = scalars.constant(2.0**62, "f32")
    least = scalars.constant(-(2.0**62), "f32")
    rounded = scalars.op("math.roundeven", ratio)
    within = scalars.op("arith.maximumf", scalars.op("arith.minimumf", rounded, bound), least)
    total = scalars.cast(within, "i64")
    if shift is not None and bias is not None:
        wide = ShapedType(bias.shape, bias.strides, "i64")
        total = scalars.op("arith.addi", total, _converted(scalars, shift, bias, wide))
    low, high = _range(kind)
    total = scalars.op("arith.maxsi", total, scalars.constant(low, "i64"))
    total = scalars.op("arith.minsi", total, scalars.constant(high, "i64"))
    return scalars.cast(total, held(kind))


def _range(kind: ShapedType) -> tuple[int, int]:
    if kind.is_unsigned:
        return 0, (1 << kind.bits) - 1
    return -(1 << (kind.bits - 1)), (1 << (kind.bits - 1)) - 1


# Padding


_CONSTANT, _REFLECT = 0, 1
"""The modes of `pad`; the third one repeats the element at the edge."""


def _pad(op: PadOp, lowering: Lowering) -> Tensor:
    emitter = lowering.emitter
    x = emitter.logical(_operands(op, lowering)[0])
    pads, rank = op.pads, x.rank
    mode = op.mode
    if mode != _CONSTANT:
        return _extended(emitter, x, pads[:rank], op.output_type().extents, mode)
    value = emitter.constant(op.value, x.element)
    result = replace(x, shape=op.output_type().extents)
    indices = ", ".join(f"%p{dim}: index" for dim in range(rank))
    text = (
        f"tensor.pad {x.name} low{pads[:rank]} high{pads[rank:]} {{\n"
        f"^bb0({indices}):\n"
        f"  tensor.yield {value.name} : {x.element}\n"
        f"}} : {x.type} to {result.type}"
    )
    return replace(result, name=emitter.op("padded", text))


def _extended(
    emitter: Emitter, x: Tensor, low: Sequence[int], shape: Sequence[int], mode: int
) -> Tensor:
    """Returns `x` padded with its own elements, mirrored at the ends or repeated from the edge."""

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        inside = [_inside(scalars, dim, low[dim], x.shape[dim], mode) for dim in range(x.rank)]
        return [scalars.element(x, *inside)]

    init = emitter.empty(Tensor.logical("", shape, x.element))
    return emitter.generic("extended", [], [init], body, shape=shape)[0]


def _inside(scalars: ScalarEmitter, dim: int, low: int, extent: int, mode: int) -> Scalar:
    """Returns the index in the input of the current element of the result."""
    zero, last = scalars.constant(0, "index"), scalars.constant(extent - 1, "index")
    index = scalars.op("arith.subi", scalars.index(dim), scalars.constant(low, "index"))
    if mode != _REFLECT:
        return scalars.op("arith.minsi", scalars.op("arith.maxsi", index, zero), last)
    index = scalars.op("arith.maxsi", index, scalars.op("arith.subi", zero, index))
    double = scalars.constant(2 * (extent - 1), "index")
    return scalars.op("arith.minsi", index, scalars.op("arith.subi", double, index))


MIGRAPHX_LOWERINGS: Registry[_Lower] = Registry(
    "migraphx lowering",
    {
        **{name: _unsigned(name) for name in _UNSIGNED},
        "convert": _convert,
        "mlir.as.logical.shape": _as_tensor,
        "mlir.as.underlying.shape": _as_shaped,
        "pad": _pad,
        "quantizelinear": _quantize,
        "unpack": _unpack,
    },
)

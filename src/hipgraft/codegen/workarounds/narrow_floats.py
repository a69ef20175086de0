"""Conversions to bf16 and f16 in code for the CPU, as arithmetic on bits."""

from __future__ import annotations

from collections.abc import Callable

from hipgraft.codegen.iree.llvm_builders import constant, emit
from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir
from hipgraft.ir.io import walk

NARROW_FLOATS = Workaround(
    name="narrow-floats",
    fault="LLVM turns conversions into calls where the processor has no instruction: integers to "
    "bf16 without AVX512-BF16 (`__truncsfbf2`, which IREE lacks), f64 to f16, and f32 to f16 "
    "without F16C (IREE's `__truncdfhf2` and `__truncsfhf2` flush subnormal results to zero). "
    "IREE's loader resolves no symbols.",
    effect=Effect.FAILS,
    targets="cpu",
    remedy="These conversions become arithmetic in LLVM's dialect, after the last pass that could "
    "fold them back. Defining functions of the same names beside the kernels would not "
    "work, because IREE links its own over them.",
)

_FROM_INTEGERS = ("llvm.sitofp", "llvm.uitofp")
_ARITHMETIC = frozenset(
    {
        *("llvm.fadd", "llvm.fdiv", "llvm.fmul", "llvm.frem", "llvm.fsub"),
        *("llvm.intr.fma", "llvm.intr.fmuladd"),
    }
)

# Bits of the mantissa, by the width of the type.
_FRACTION = {16: 10, 32: 23, 64: 52}
_F16_BIAS = 15
_F16_INFINITY, _F16_NAN = 0x7C00, 0x7E00
_F16_LEAST = -24  # exponent of the smallest subnormal number

_ULT, _UGT = 6, 8  # numbers of these predicates of `llvm.icmp`


def expand_conversions(module: ir.Module) -> None:
    """Rewrites the kernels of a module after the phase `executable-targets`."""
    if not NARROW_FLOATS.is_on:
        return
    for variant in [op for op in walk(module.operation) if op.name == "hal.executable.variant"]:
        has_f16c = "+f16c" in str(variant.attributes["target"])
        for op in list(walk(variant)):
            _expand(op, has_f16c)


def _expand(op: ir.Operation, has_f16c: bool) -> None:
    """Replaces an op for which LLVM would call a conversion function; other ops stay."""
    expand = _expansion(op, has_f16c)
    if expand is None:
        return
    with ir.InsertionPoint(op), op.location:
        op.result.replace_all_uses_with(expand(op))
    op.erase()


def _expansion(op: ir.Operation, has_f16c: bool) -> Callable[[ir.Operation], ir.Value] | None:
    if op.name in _FROM_INTEGERS and _is(op.result, ir.BF16Type):
        return _integer_to_bf16
    if op.name == "llvm.fptrunc" and _is(op.result, ir.F16Type):
        is_native = has_f16c and _is(op.operands[0], ir.F32Type)
        return None if is_native else _float_to_f16
    if op.name in _ARITHMETIC and _is(op.result, ir.F16Type):
        return None if has_f16c else _in_f32
    return None


def _integer_to_bf16(op: ir.Operation) -> ir.Value:
    """Converts to f32 and rounds that to its upper half; PyTorch rounds twice, too."""
    wide = emit(op.name, _like(op.result.type, ir.F32Type.get()), *op.operands)
    word = _integers(op.result.type, 32)
    return _narrowed(_rounded(emit("llvm.bitcast", word, wide), 16), op.result.type)


def _in_f32(op: ir.Operation) -> ir.Value:
    """Computes in f32, as LLVM would."""
    wide = _like(op.result.type, ir.F32Type.get())
    operands = [emit("llvm.fpext", wide, operand) for operand in op.operands]
    return _to_f16(emit(op.name, wide, *operands), op.result.type)


def _float_to_f16(op: ir.Operation) -> ir.Value:
    return _to_f16(op.operands[0], op.result.type)


def _to_f16(source: ir.Value, result: ir.Type) -> ir.Value:
    """Rounds a magnitude to a normal number, a subnormal one, infinity or NaN."""
    width = 32 if _is(source, ir.F32Type) else 64
    fraction = _FRACTION[width]
    word = _integers(source.type, width)
    bias = (1 << (width - fraction - 2)) - 1

    def power_of_two(exponent: int) -> ir.Value:
        return constant((bias + exponent) << fraction, word)

    bits = emit("llvm.bitcast", word, source)
    magnitude = emit("llvm.and", word, bits, constant((1 << (width - 1)) - 1, word))
    sign = emit("llvm.xor", word, bits, magnitude)
    sign = emit("llvm.lshr", word, sign, constant(width - 16, word))
    rebiased = emit("llvm.sub", word, magnitude, power_of_two(-_F16_BIAS))
    normal = _rounded(rebiased, fraction - _FRACTION[16])
    # One ulp of this power is the smallest subnormal, so that adding it rounds to subnormals.
    magic = power_of_two(fraction + _F16_LEAST)
    terms = [emit("llvm.bitcast", source.type, term) for term in (magnitude, magic)]
    total = emit("llvm.bitcast", word, emit("llvm.fadd", source.type, *terms))
    tiny = emit("llvm.sub", word, total, magic)
    nan, infinity = constant(_F16_NAN, word), constant(_F16_INFINITY, word)
    huge = _select(_UGT, magnitude, power_of_two(bias + 1), nan, infinity)
    finite = _select(_ULT, magnitude, power_of_two(1 - _F16_BIAS), tiny, normal)
    code = _select(_ULT, magnitude, power_of_two(_F16_BIAS + 1), finite, huge)
    return _narrowed(emit("llvm.or", word, code, sign), result)


def _rounded(bits: ir.Value, shift: int) -> ir.Value:
    """Drops low bits: rounds to nearest, ties to even."""
    word = bits.type
    count = constant(shift, word)
    is_odd = emit("llvm.and", word, emit("llvm.lshr", word, bits, count), constant(1, word))
    below_half = emit("llvm.add", word, is_odd, constant((1 << (shift - 1)) - 1, word))
    return emit("llvm.lshr", word, emit("llvm.add", word, bits, below_half), count)


def _narrowed(bits: ir.Value, result: ir.Type) -> ir.Value:
    """Returns the floats that the lower 16 bits encode."""
    return emit("llvm.bitcast", result, emit("llvm.trunc", _integers(result, 16), bits))


def _select(predicate: int, a: ir.Value, b: ir.Value, yes: ir.Value, no: ir.Value) -> ir.Value:
    kind = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
    condition = emit("llvm.icmp", _integers(a.type, 1), a, b, predicate=kind)
    return emit("llvm.select", yes.type, condition, yes, no)


def _is(value: ir.Value, kind: type[ir.Type]) -> bool:
    type_ = value.type
    return isinstance(type_.element_type if isinstance(type_, ir.VectorType) else type_, kind)


def _integers(type_: ir.Type, width: int) -> ir.Type:
    return _like(type_, ir.IntegerType.get_signless(width))


def _like(type_: ir.Type, element: ir.Type) -> ir.Type:
    return ir.VectorType.get(type_.shape, element) if isinstance(type_, ir.VectorType) else element

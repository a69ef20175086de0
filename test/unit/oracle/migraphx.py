"""The migraphx dialect in NumPy, from the definitions of its operations.

Reads modules with the bindings only: types and attributes are taken apart here once more, so
that nothing of the project's own reading is trusted. Values are logical arrays; their memory
follows the strides in the function's type.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from hipgraft.ir.bindings import ir

Array = np.ndarray[Any, Any]

_DTYPES: dict[str, Any] = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    "i4": ml_dtypes.int4,
    "si4": ml_dtypes.int4,
    "ui4": ml_dtypes.uint4,
    "i1": np.bool_,
}


@dataclass(frozen=True)
class Kind:
    """A type: shape, strides and dtype."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: str

    @staticmethod
    def of(text: str) -> Kind:
        match = re.fullmatch(r"(?:!migraphx\.shaped|tensor)<((?:\d+x)*)(\w+)(?:, ([\dx]+))?>", text)
        assert match, text
        shape = tuple(int(word) for word in match[1].split("x") if word)
        dense = tuple(math.prod(shape[dim + 1 :]) for dim in range(len(shape)))
        strides = tuple(int(word) for word in match[3].split("x")) if match[3] else dense
        return Kind(shape, strides, match[2])

    @property
    def dtype(self) -> Any:
        if self.element in _DTYPES:
            return np.dtype(_DTYPES[self.element])
        sign, bits = re.fullmatch(r"([su]?)i(\d+)", self.element).groups()
        return np.dtype(f"{'u' if sign == 'u' else ''}int{bits}")

    @property
    def is_float(self) -> bool:
        return "f" in self.element

    @property
    def packed(self) -> bool:
        return self.element.endswith("i4") or self.element.startswith("f4")

    @property
    def elements(self) -> int:
        """Elements of memory: rows count whole, as far as the outermost stride that moves."""
        moving = sorted(
            (step, extent)
            for step, extent in zip(self.strides, self.shape, strict=True)
            if step and extent > 1
        )
        return moving[-1][0] * moving[-1][1] if moving else 1

    def read(self, memory: Array) -> Array:
        """The logical array in memory."""
        if self.packed:
            halves = np.stack([memory & 15, memory >> 4], -1).reshape(-1)
            if self.element.startswith("f4"):
                memory = _F4[halves]
            else:
                memory = (halves.astype(np.int8) ^ 8) - 8 if self.element[0] != "u" else halves
            return memory.reshape(-1)[self._places].astype(self.dtype)
        return memory.reshape(-1)[self._places]

    def write(self, value: Array) -> tuple[Array, Array]:
        """Memory that holds a value, and which elements of it are defined."""
        memory = np.zeros(self.elements, self.dtype)
        defined = np.zeros(self.elements, np.bool_)
        memory[self._places] = value
        defined[self._places] = True
        return _packed(memory, defined) if self.packed else (memory, defined)

    @property
    def _places(self) -> Array:
        """Returns the offset of each element in memory."""
        places = np.zeros(self.shape, np.int64)
        for index, step in zip(np.indices(self.shape), self.strides, strict=True):
            places += index * step
        return places


_F4 = np.array(
    [sign * number for sign in (1, -1) for number in (0.0, 0.5, 1, 1.5, 2, 3, 4, 6)], np.float32
)


def _packed(values: Array, defined: Array) -> tuple[Array, Array]:
    """Packs two elements per byte, the first in the low half; a byte is defined as a whole."""
    if values.dtype == ml_dtypes.float4_e2m1fn:
        codes = values.view(np.uint8) & 15
    else:
        codes = values.astype(np.int64).astype(np.uint8) & 15
    codes, defined = (np.pad(one, (0, len(one) % 2)) for one in (codes, defined))
    return codes[::2] | codes[1::2] << 4, defined[::2] & defined[1::2]


class Op:
    """An operation with the inputs of its formula."""

    def __init__(self, operation: ir.Operation, operands: list[Array], block: Callable[..., Any]):
        self.operation = operation
        self.name = operation.name.removeprefix("migraphx.")
        self.operands = operands
        self.kinds = [Kind.of(str(value.type)) for value in operation.operands]
        self.results = [Kind.of(str(value.type)) for value in operation.results]
        self.run_block = block

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self.operation.attributes:
            return default
        attribute = self.operation.attributes[name]
        if isinstance(attribute, ir.ArrayAttr | ir.DenseI64ArrayAttr | ir.DenseI32ArrayAttr):
            return [
                item if isinstance(item, int) else ir.IntegerAttr(item).value for item in attribute
            ]
        return attribute.value


def _wide(array: Array) -> Array:
    """Floats as f64, integers as i64."""
    is_integer = array.dtype.kind in "iub" or "int" in array.dtype.name
    return array.astype(np.int64 if is_integer else np.float64)


def _erf(x: Array) -> Array:
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def _sliding(x: Array, w: Array, op: Op) -> Array:
    """Convolution, element by element of the window."""
    spatial, group = x.ndim - 2, op.get("group")
    stride, dilation, padding = op.get("stride"), op.get("dilation"), op.get("padding")
    padding = padding * 2 if len(padding) == spatial else padding
    x = np.pad(x, [(0, 0), (0, 0), *zip(padding[:spatial], padding[spatial:], strict=True)])
    shape = op.results[0].shape
    y = np.zeros((shape[0], group, shape[1] // group, *shape[2:]), x.dtype)
    x = x.reshape(x.shape[0], group, -1, *x.shape[2:])
    w = w.reshape(group, -1, *w.shape[1:])
    for window in itertools.product(*map(range, w.shape[3:])):
        ranges = [
            slice(at * d, at * d + (extent - 1) * s + 1, s)
            for at, d, s, extent in zip(window, dilation, stride, shape[2:], strict=True)
        ]
        y += np.einsum("ngc...,gkc->ngk...", x[(..., *ranges)], w[(..., *window)])
    return y.reshape(shape)


def _transposed(x: Array, w: Array, op: Op) -> Array:
    """Each input element adds the filter to the output, at its stride."""
    spatial, group = x.ndim - 2, op.get("group")
    stride, dilation, padding = op.get("stride"), op.get("dilation"), op.get("padding")
    shape = op.results[0].shape
    high = padding[spatial:] or padding
    full = [a + b + c for a, b, c in zip(shape[2:], padding[:spatial], high, strict=True)]
    y = np.zeros((shape[0], group, shape[1] // group, *full), x.dtype)
    x = x.reshape(x.shape[0], group, -1, *x.shape[2:])
    w = w.reshape(group, -1, *w.shape[1:])
    for window in itertools.product(*map(range, w.shape[3:])):
        ranges = [
            slice(at * d, at * d + (extent - 1) * s + 1, s)
            for at, d, s, extent in zip(window, dilation, stride, x.shape[3:], strict=True)
        ]
        y[(..., *ranges)] += np.einsum("ngc...,gck->ngk...", x, w[(..., *window)])
    inner = [slice(low, low + extent) for low, extent in zip(padding, shape[2:], strict=False)]
    return y[(..., *inner)].reshape(shape)


def _softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _matmul(a: Array, b: Array) -> Array:
    if math.prod(b.shape[:-2]) == 1:
        b = b.reshape(b.shape[-2:])
    return a @ b


def _quant_dot(op: Op) -> Array:
    a, b, *scales = map(_wide, op.operands)
    return _matmul(a * scales[0], b * scales[1]) if scales else _matmul(a, b)


def _quantize(op: Op) -> Array:
    x, scale = (operand.astype(np.float32) for operand in op.operands[:2])
    kind = op.results[0]
    ratio = x / scale
    if kind.is_float:
        limit = float(ml_dtypes.finfo(kind.dtype).max)
        shifted = ratio + (op.operands[2].astype(np.float32) if len(op.operands) > 2 else 0)
        return np.clip(shifted, -limit, limit)
    shift = op.operands[2].astype(np.int64) if len(op.operands) > 2 else 0
    limits = ml_dtypes.iinfo(kind.dtype)
    return np.clip(np.rint(ratio).astype(np.int64) + shift, limits.min, limits.max)


def _dequantize(op: Op) -> Array:
    x, scale, *bias = map(_wide, op.operands)
    return (x - bias[0] if bias else x) * scale


def _slice(op: Op) -> Array:
    places = [slice(None)] * op.operands[0].ndim
    for axis, start, end in zip(op.get("axes"), op.get("starts"), op.get("ends"), strict=True):
        places[axis] = slice(start, end)
    return op.operands[0][tuple(places)]


def _broadcast(op: Op) -> Array:
    x, lengths = op.operands[0], op.get("out_lens")
    trailing = len(lengths) - op.get("axis") - x.ndim
    return np.broadcast_to(x.reshape(*x.shape, *[1] * trailing), lengths)


def _unpack(op: Op) -> Array:
    (x,) = op.operands
    codes = x.view(np.uint8)
    halves = np.stack([codes & 15, codes >> 4], op.get("axis") + 1)
    if op.results[0].is_float:
        return _F4[halves].reshape(op.results[0].shape)
    if op.results[0].element[0] != "u" and not op.get("isUnsigned", False):
        halves = (halves.astype(np.int8) ^ 8) - 8
    return halves.reshape(op.results[0].shape)


def _convert(op: Op) -> Array:
    (x,) = op.operands
    kind = op.results[0]
    if kind.is_float and op.kinds[0].is_float:
        return x.astype(np.float32)
    x = x.astype(np.float64)
    if "zeroExtend" in op.operation.attributes:
        x = np.where(x < 0, x + 16, x)
    return x if not kind.packed or kind.is_float else np.trunc(x)


def _pooling(op: Op) -> Array:
    """Pools one window at a time, cropped at the input's ends."""
    reduced = _POOLED[op.get("mode")]
    (x,), stride, padding = op.operands, op.get("stride"), op.get("padding")
    length = op.get("length") or op.get("lengths")
    y = np.zeros(op.results[0].shape)
    for place in itertools.product(*map(range, y.shape[2:])):
        first = [at * s - p for at, s, p in zip(place, stride, padding, strict=False)]
        ranges = [slice(max(at, 0), at + n) for at, n in zip(first, length, strict=True)]
        window = x[(..., *ranges)].astype(np.float64).reshape(*x.shape[:2], -1)
        y[(..., *place)] = reduced(window, op)
    return y


def _mean_of_window(window: Array, op: Op) -> Array:
    length = op.get("length") or op.get("lengths")
    count = math.prod(length) if op.get("count_include_pad") else window.shape[-1]
    return window.sum(-1) / count


def _norm_of_window(window: Array, op: Op) -> Array:
    order = op.get("lp_order", 2)
    return np.ones(window.shape[:-1]) if order == 0 else np.linalg.norm(window, order, axis=-1)


_POOLED: dict[str, Callable[[Array, Op], Array]] = {
    "max": lambda window, _: window.max(-1),
    "average": _mean_of_window,
    "lpnorm": _norm_of_window,
}


def _batch_norm(op: Op) -> Array:
    x, *parameters = map(_wide, op.operands)
    shape = (x.shape[1:] if parameters[0].size == x[0].size
             else (x.shape[1], *[1] * (x.ndim - 2)))  # fmt: skip
    scale, bias, mean, variance = (one.reshape(shape) for one in parameters)
    return (x - mean) / np.sqrt(variance + op.get("epsilon")) * scale + bias


def _literal(op: Op) -> Array:
    attribute = op.operation.attributes["value"]
    kind = op.results[0]
    if attribute.is_splat:
        return np.full(kind.shape, attribute.get_splat_value().value)
    return np.array(attribute).reshape(kind.shape)


def _pad(op: Op) -> Array:
    x, pads = op.operands[0], op.get("pads")
    widths = list(zip(pads[: x.ndim], pads[x.ndim :], strict=True))
    mode = ("constant", "reflect", "edge")[op.get("mode", 0)]
    values = {"constant_values": op.get("value", 0.0)} if mode == "constant" else {}
    return np.pad(x, widths, mode, **values)


_FEATURE_BITS = {"causal": 2, "sliding_window": 8, "splitkv": 16}


def _attention(op: Op) -> tuple[Array, Array]:
    """Masks the scores key by key, then computes a softmax over each chunk of the keys."""
    counts = op.get("operandSegmentSizes", [1, 1, 1, 0, 0, 0])
    q, k, v, *rest = op.operands
    inputs, rest = rest[: counts[3]], [one.astype(np.int64) for one in rest[counts[3] :]]
    features = {name for name, bit in _FEATURE_BITS.items() if op.get("features", 0) & bit}
    chunks = op.get("splitKV", 1)
    q, k, v = map(_wide, (q, k, v))
    for dim in range(q.ndim - 2):
        k, v = (np.repeat(one, q.shape[dim] // one.shape[dim], dim) for one in (k, v))
    keys = np.arange(k.shape[-1])
    has_weight = np.ones((*q.shape[:-1], k.shape[-1]), np.bool_)
    if "causal" in features:
        offset = rest[-1][..., None, None] if counts[5] else 0
        has_weight &= keys <= np.arange(q.shape[-2])[:, None] + offset
    if counts[4]:
        last = rest[0][..., None, None]
        has_weight &= keys <= last
        if "sliding_window" in features:
            has_weight &= keys >= last - op.get("slidingWindowSize")
    scores = [q @ part for part in np.split(k, chunks, -1)]
    stacked = np.stack(scores, -3) if "splitkv" in features else scores[0]
    parts = np.split(has_weight, chunks, -1)
    mask = np.stack(parts, -3) if "splitkv" in features else has_weight
    v = np.stack(np.split(v, chunks, -2), -3) if "splitkv" in features else v
    scores = np.where(mask, _wide(op.run_block([_rounded_scores(op, stacked), *inputs])), -np.inf)
    largest = scores.max(-1, keepdims=True)
    total = np.exp(scores - largest).sum(-1, keepdims=True)
    # rocMLIR has zeros where no key has weight.
    is_empty = (scores == -np.inf).all(-1, keepdims=True)
    weights = np.where(is_empty, 0, _softmax(scores, -1))
    return weights @ v, np.where(is_empty, -np.inf, np.log(total) + largest)[..., 0]


def _rounded_scores(op: Op, scores: Array) -> Array:
    return scores.astype(op.kinds[0].dtype if op.kinds[0].is_float else np.int32)


def _unary(formula: Callable[[Array], Array]) -> Callable[[Op], Array]:
    return lambda op: formula(_wide(op.operands[0]))


def _binary(formula: Callable[[Array, Array], Array]) -> Callable[[Op], Array]:
    return lambda op: formula(_wide(op.operands[0]), _wide(op.operands[1]))


def _divide(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return a / b
    return (np.abs(a) // np.abs(b)) * np.sign(a) * np.sign(b)


def _reduce(formula: Callable[..., Array]) -> Callable[[Op], Array]:
    return lambda op: formula(_wide(op.operands[0]), axis=tuple(op.get("axes")), keepdims=True)


FORMULAS: dict[str, Callable[[Op], Any]] = {
    "abs": _unary(np.abs),
    "ceil": _unary(np.ceil),
    "erf": _unary(_erf),
    "exp": _unary(np.exp),
    "floor": _unary(np.floor),
    "log": _unary(np.log),
    "neg": _unary(np.negative),
    "recip": _unary(np.reciprocal),
    "relu": _unary(lambda x: np.maximum(x, 0)),
    "rsqrt": _unary(lambda x: 1 / np.sqrt(x)),
    "sigmoid": _unary(lambda x: 1 / (1 + np.exp(-x))),
    "sqrt": _unary(np.sqrt),
    "tanh": _unary(np.tanh),
    "add": _binary(np.add),
    "sub": _binary(np.subtract),
    "mul": _binary(np.multiply),
    "div": _binary(_divide),
    "pow": _binary(np.power),
    "max": _binary(np.maximum),
    "greater": _binary(np.greater),
    "greater_or_equal": _binary(np.greater_equal),
    "equal": _binary(np.equal),
    "clip": lambda op: np.clip(*map(_wide, op.operands)),
    "where": lambda op: np.where(op.operands[0] != 0, op.operands[1], op.operands[2]),
    "convert": _convert,
    "batch_norm_inference": _batch_norm,
    "pooling": _pooling,
    "quantizelinear": _quantize,
    "dequantizelinear": _dequantize,
    "unpack": _unpack,
    "convolution": lambda op: _sliding(*map(_wide, op.operands), op),
    "quant_convolution": lambda op: _sliding(*map(_wide, op.operands), op),
    "backwards_data_convolution": lambda op: _transposed(*map(_wide, op.operands), op),
    "dot": _binary(_matmul),
    "quant_dot": _quant_dot,
    "attention": _attention,
    "transpose": lambda op: op.operands[0].transpose(op.get("permutation")),
    "reshape": lambda op: op.operands[0].reshape(op.results[0].shape),
    "flatten": lambda op: op.operands[0].reshape(op.results[0].shape),
    "slice": _slice,
    "broadcast": _broadcast,
    "multibroadcast": lambda op: np.broadcast_to(op.operands[0], op.get("out_lens")),
    "softmax": lambda op: _softmax(_wide(op.operands[0]), op.get("axis")),
    "reduce_sum": _reduce(np.sum),
    "reduce_mean": _reduce(np.mean),
    "reduce_max": _reduce(np.max),
    "literal": _literal,
    "constant": _literal,
    "pad": _pad,
}


def _rounded(value: Array, kind: Kind) -> Array:
    shaped = np.broadcast_to(np.asarray(value).reshape(_fitting(value, kind)), kind.shape)
    if kind.dtype == np.bool_ or (kind.is_float and shaped.dtype == kind.dtype):
        return shaped.astype(kind.dtype)
    if kind.packed and not kind.is_float:  # the low 4 bits
        code = shaped.astype(np.int64) & 15
        return (code if kind.element[0] == "u" else (code ^ 8) - 8).astype(kind.dtype)
    # NumPy has no direct conversion from f64 to some of the small types.
    return (
        shaped.astype(np.float32) if kind.is_float and kind.element != "f64" else shaped
    ).astype(kind.dtype)


def _fitting(value: Array, kind: Kind) -> Sequence[int]:
    array = np.asarray(value)
    return kind.shape if array.size == math.prod(kind.shape) else array.shape


class Interpreter:
    """Runs one function."""

    def __init__(self) -> None:
        self.values: dict[ir.Value, Array] = {}

    def block(self, block: ir.Block, arguments: Sequence[Array]) -> list[Array]:
        """Returns what the block's terminator reads."""
        self.values.update(zip(block.arguments, arguments, strict=True))
        *body, terminator = [op.operation for op in block.operations]
        for operation in body:
            self._run(operation)
        return [self.values[value] for value in terminator.operands]

    def _run(self, operation: ir.Operation) -> None:
        def run_block(arguments: Sequence[Array]) -> Array:
            blocks = list(operation.regions[0].blocks)
            return self.block(blocks[0], arguments)[0] if blocks else arguments[0]

        op = Op(operation, [self.values[value] for value in operation.operands], run_block)
        with np.errstate(all="ignore"):
            found = FORMULAS[op.name](op)
        results = found if isinstance(found, tuple) else (found,)
        for value, result, kind in zip(operation.results, results, op.results, strict=False):
            self.values[value] = _rounded(result, kind)


def random_memory(kind: Kind, rng: np.random.Generator) -> Array:
    """Memory for an argument: small numbers, exact in small types; bytes where they are packed."""
    if kind.packed:
        return rng.integers(0, 256, (kind.elements + 1) // 2, np.uint8)
    if kind.element == "f8E8M0FNU":
        return (2.0 ** rng.integers(-3, 4, kind.elements)).astype(kind.dtype)
    if kind.is_float:
        return rng.uniform(-2, 2, kind.elements).astype(np.float32).astype(kind.dtype)
    low = 0 if kind.element[0] == "u" else -9
    return rng.integers(low, 10, kind.elements).astype(kind.dtype)


def kernels(module: ir.Module) -> list[ir.Operation]:
    """The functions of a module."""
    return [op.operation for op in module.body.operations if op.operation.name == "func.func"]


def evaluate(function: ir.Operation, memory: Sequence[Array]) -> list[tuple[Array, Array]]:
    """Runs a function on memory; returns each result's memory, and which elements are defined."""
    signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    arguments = [
        Kind.of(str(kind)).read(array) for kind, array in zip(signature.inputs, memory, strict=True)
    ]
    results = Interpreter().block(function.regions[0].blocks[0], arguments)
    return [
        Kind.of(str(kind)).write(value)
        for kind, value in zip(signature.results, results, strict=True)
    ]


def argument_kinds(function: ir.Operation) -> list[Kind]:
    """Types of a function's arguments."""
    signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    return [Kind.of(str(kind)) for kind in signature.inputs]

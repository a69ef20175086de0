"""Models of one contributed operator each, with random attributes and operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

DOMAIN = "com.microsoft"


@dataclass(frozen=True)
class Draw:
    """A model's operands; those whose names end in `!` are constants.

    Attributes:
        operator: operator of the domain.
        operands: arrays by name, in the order of the schema; None for an omitted one.
        attributes: attributes of the node.
        outputs: names of the requested results; empty for a result that is not requested.
        defined: how many of the results are defined everywhere.
        opset: opset of ONNX's own domain.
    """

    operator: str
    operands: Mapping[str, Any]
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    outputs: Sequence[str] = ("y",)
    defined: int = 9
    opset: int = 17

    def model(self) -> onnx.ModelProto:
        names = ["" if value is None else name for name, value in self.operands.items()]
        while names and not names[-1]:
            names.pop()
        node = helper.make_node(
            self.operator, names, list(self.outputs), domain=DOMAIN, **self.attributes
        )
        given = {name: np.asarray(one) for name, one in self.operands.items() if one is not None}
        inputs = [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in given.items()
            if not n.endswith("!")
        ]
        constants = [
            numpy_helper.from_array(a, name) for name, a in given.items() if name.endswith("!")
        ]
        results = [onnx.ValueInfoProto(name=name) for name in self.outputs if name]
        graph = helper.make_graph([node], "g", inputs, results, constants)
        imports = [helper.make_opsetid("", self.opset), helper.make_opsetid(DOMAIN, 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=10)

    def feeds(self) -> dict[str, Any]:
        return {
            name: np.asarray(one)
            for name, one in self.operands.items()
            if one is not None and not name.endswith("!")
        }


class Source:
    """Random operands."""

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)

    def f32(self, *shape: int) -> np.ndarray:
        return self.random.standard_normal(shape).astype(np.float32)

    def one_of(self, *values: Any) -> Any:
        return values[int(self.random.integers(len(values)))]

    def maybe(self, value: Any) -> Any:
        return self.one_of(None, value)

    def extent(self, *values: int) -> int:
        return self.one_of(*(values or (1, 2, 3, 5, 7)))

    def whole(self, low: int, high: int, *shape: int, dtype: Any = np.int32) -> np.ndarray:
        return self.random.integers(low, high, shape).astype(dtype)

    def quantized(self, *shape: int, dtype: Any = np.uint8) -> np.ndarray:
        # Without VNNI instructions, onnxruntime adds two products of unsigned and signed bytes in
        # 16 bits, which saturate.
        low, high = (-64, 65) if dtype == np.int8 else (0, 256)
        return self.random.integers(low, high, shape).astype(dtype)

    def scale(self, *shape: int) -> np.ndarray:
        return self.random.uniform(0.01, 0.1, shape).astype(np.float32)

    def zero(self, dtype: Any = np.uint8, *shape: int) -> np.ndarray:
        middle = 128 if dtype == np.uint8 else 0
        return (middle + self.random.integers(-20, 20, shape)).astype(dtype)


Maker = Callable[[Source], Draw]
MAKERS: dict[str, Maker] = {}


def maker(function: Maker) -> Maker:
    MAKERS[function.__name__] = function
    return function


@maker
def gelu(s: Source) -> Draw:
    x = s.f32(s.extent(), s.extent(2, 4, 8))
    kind = s.one_of("Gelu", "QuickGelu", "QuickGelu with alpha", "FastGelu", "BiasGelu")
    attributes = {"alpha": 1.0} if kind == "QuickGelu with alpha" else {}
    operands: dict[str, Any] = {"x": x}
    if kind == "BiasGelu" or (kind == "FastGelu" and s.one_of(True, False)):
        operands["b"] = s.f32(x.shape[1])
    return Draw(kind.split()[0], operands, attributes)


@maker
def fused_matmul(s: Source) -> Draw:
    m, n, k, batch = (s.extent() for _ in range(4))
    names = ("transA", "transB", "transBatchA", "transBatchB")
    attributes: dict[str, Any] = {name: s.one_of(0, 1) for name in names}
    if s.maybe(1):
        attributes["transBatchA"] = attributes["transBatchB"] = 0
    attributes["alpha"] = s.one_of(1.0, 0.5)

    def shape(rows: int, columns: int, side: str) -> list[int]:
        matrix = [columns, rows] if attributes[f"trans{side}"] else [rows, columns]
        if attributes[f"transBatch{side}"]:
            return [matrix[0], batch, matrix[1]]
        return [batch, *matrix]

    operands = {"a": s.f32(*shape(m, k, "A")), "b": s.f32(*shape(k, n, "B"))}
    return Draw("FusedMatMul", operands, attributes)


_ACTIVATIONS: dict[str, list[float]] = {
    "": [], "Relu": [], "Tanh": [], "Sigmoid": [], "LeakyRelu": [0.2], "HardSigmoid": [0.3, 0.4],
}  # fmt: skip


@maker
def fused_gemm(s: Source) -> Draw:
    m, n, k = (s.extent() for _ in range(3))
    a, b = s.one_of(0, 1), s.one_of(0, 1)
    kind = s.one_of(*_ACTIVATIONS)
    given = dict(zip(("activation_alpha", "activation_beta"), _ACTIVATIONS[kind], strict=False))
    attributes = {"transA": a, "transB": b, "alpha": 0.5, "beta": s.one_of(1.0, 2.0), **given}
    operands = {
        "a": s.f32(*((k, m) if a else (m, k))),
        "b": s.f32(*((n, k) if b else (k, n))),
        "c": s.maybe(s.f32(n)),
    }
    return Draw("FusedGemm", operands, {**attributes, "activation": kind} if kind else attributes)


@maker
def fused_conv(s: Source) -> Draw:
    channels, filters = s.extent(1, 2, 4), s.extent(1, 2, 4)
    kind = s.one_of(*_ACTIVATIONS, "Clip")
    given = [-0.5, 0.5] if kind == "Clip" else _ACTIVATIONS[kind]
    attributes: dict[str, Any] = {"pads": [1, 1, 1, 1], "strides": [s.one_of(1, 2)] * 2}
    if kind:
        attributes["activation"] = kind
    if given:
        attributes["activation_params"] = given
    rows = (5 - 1) // attributes["strides"][0] + 1
    operands = {
        "x": s.f32(1, channels, 5, 5),
        "w": s.f32(filters, channels, 3, 3),
        "b": s.f32(filters),
        "z": s.maybe(s.f32(1, filters, rows, rows)),
    }
    return Draw("FusedConv", operands, attributes)


@maker
def skip_norm(s: Source) -> Draw:
    shape = (s.extent(), s.extent(), s.extent(4, 6, 8))
    simplified = s.one_of(True, False)
    operands: dict[str, Any] = {"x": s.f32(*shape), "skip": s.f32(*shape), "g": s.f32(shape[2])}
    if not simplified:
        operands["b"] = s.maybe(s.f32(shape[2]))
    operands["bias"] = s.maybe(s.f32(shape[2]))
    kind = "SkipSimplifiedLayerNormalization" if simplified else "SkipLayerNormalization"
    return Draw(kind, operands, {"epsilon": 1e-5}, s.one_of(("y",), ("y", "", "", "sum")))


@maker
def embed_norm(s: Source) -> Draw:
    batch, rows, size = s.extent(), s.extent(), 8
    has_segments = s.one_of(True, False)
    operands = {
        "ids": s.whole(0, 9, batch, rows),
        "segments": s.whole(0, 2, batch, rows) if has_segments else None,
        "words": s.f32(9, size),
        "positions": s.f32(12, size),
        "table": s.f32(2, size) if has_segments else None,
        "g": s.f32(size),
        "b": s.f32(size),
        "mask": s.maybe(s.whole(0, 2, batch, rows)),
        "places": s.maybe(s.whole(0, 12, batch, rows)),
    }
    outputs = s.one_of(("y", "m"), ("y", "m", "sum"))
    return Draw("EmbedLayerNormalization", operands, {}, outputs)


@maker
def attention(s: Source) -> Draw:
    batch, rows, heads, size, width = s.extent(1, 2), s.extent(), s.extent(1, 2), 4, 6
    past = s.maybe(s.extent(1, 3))
    keys = rows + (past or 0)
    sizes = s.one_of(None, [heads * size, heads * size, heads * 6]) if past is None else None
    total = sum(sizes) if sizes else 3 * heads * size
    mask = s.one_of(None, (batch,), (batch, keys), (batch, rows, keys), (2 * batch,))
    given = None if mask is None else s.whole(0, 2, *mask)
    if mask is not None and len(mask) == 1:
        given = np.full(batch, max(keys - 1, 1), np.int32)
        if mask[0] > batch:
            given = np.concatenate([given, np.zeros(batch, np.int32)])
    attributes: dict[str, Any] = {"num_heads": heads, "unidirectional": s.one_of(0, 1)}
    if sizes:
        attributes["qkv_hidden_sizes"] = sizes
    if s.maybe(1):
        attributes["scale"] = 0.3
    operands = {
        "x": s.f32(batch, rows, width),
        "w": s.f32(width, total),
        "b": s.f32(total),
        "mask": given,
        "past": None if past is None else s.f32(2, batch, heads, past, size),
        "bias": s.maybe(s.f32(s.one_of(1, batch), heads, rows, keys)),
    }
    outputs = ("y", "present") if past is not None else ("y",)
    return Draw("Attention", operands, attributes, outputs)


@maker
def multi_head_attention(s: Source) -> Draw:
    batch, rows, heads, size = s.extent(1, 2), s.extent(), s.extent(1, 2), s.one_of(4, 8)
    hidden = heads * size
    form = s.one_of("separate", "separate", "projected")
    keys = rows if form == "packed" else s.extent()
    past = s.maybe(s.extent(1, 3)) if form == "separate" else None
    total = keys + (past or 0)
    operands: dict[str, Any] = {
        "separate": {
            "q": s.f32(batch, rows, hidden),
            "k": s.f32(batch, keys, hidden),
            "v": s.f32(batch, keys, hidden),
        },
        "packed": {"q": s.f32(batch, rows, heads, 3, size), "k": None, "v": None},
        "packed keys": {
            "q": s.f32(batch, rows, hidden),
            "k": s.f32(batch, keys, heads, 2, size),
            "v": None,
        },
        "projected": {
            "q": s.f32(batch, rows, hidden),
            "k": s.f32(batch, heads, keys, size),
            "v": s.f32(batch, heads, keys, size),
        },
    }[form]
    operands["b"] = s.maybe(s.f32(3 * hidden)) if form == "separate" else None
    mask = s.one_of(None, (batch,), (batch, total))
    operands["mask"] = None if mask is None else s.whole(0, 2, *mask)
    if mask == (batch,):
        operands["mask"] = np.full(batch, max(total - 1, 1), np.int32)
    operands["bias"] = s.maybe(s.f32(1, heads, rows, total))
    if past is not None:
        operands["past_k"] = s.f32(batch, heads, past, size)
        operands["past_v"] = s.f32(batch, heads, past, size)
    attributes = {"num_heads": heads, "unidirectional": s.one_of(0, 1) if rows == keys else 0}
    outputs = ("y", "present_k", "present_v") if past is not None else ("y",)
    return Draw("MultiHeadAttention", operands, attributes, outputs)


@maker
def grouped_query_attention(s: Source) -> Draw:
    batch, shared, groups, size = s.extent(1, 2), s.extent(1, 2), s.extent(1, 2, 3), 16
    heads = shared * groups
    is_prompt = s.one_of(True, False)
    rows = s.extent() if is_prompt else 1
    past = 0 if is_prompt else s.extent(2, 4)
    cache = s.one_of(0, rows + 2) if is_prompt else past  # a prompt does not read it
    rotary = s.one_of(0, 1)
    packed = s.one_of(True, False)
    width = (heads + 2 * shared) * size if packed else heads * size
    lengths = np.full(batch, past + rows - 1, np.int32)
    if not is_prompt:
        lengths[0] -= s.one_of(0, 1)
    operands: dict[str, Any] = {
        "q": s.f32(batch, rows, width),
        "k": None if packed else s.f32(batch, rows, shared * size),
        "v": None if packed else s.f32(batch, rows, shared * size),
        "past_k": s.f32(batch, shared, cache, size) if cache else None,
        "past_v": s.f32(batch, shared, cache, size) if cache else None,
        "lengths": lengths,
        "total!": np.int32(past + rows),
        "cos": s.f32(16, size // 2) if rotary else None,
        "sin": s.f32(16, size // 2) if rotary else None,
        "positions": s.maybe(s.whole(0, 8, batch, rows, dtype=np.int64)) if rotary else None,
    }
    attributes: dict[str, Any] = {
        "num_heads": heads, "kv_num_heads": shared, "do_rotary": rotary,
        "rotary_interleaved": s.one_of(0, 1) if rotary else 0,
    }  # fmt: skip
    for name, value in (("local_window_size", 2), ("softcap", 5.0), ("smooth_softmax", 1)):
        if s.one_of(True, False, False):
            attributes[name] = value
    # The rows of a cache beyond a sequence's length are not.
    defined = 3 if lengths.min() == past + rows - 1 and cache == past else 1
    outputs = ("y", "present_k", "present_v")
    return Draw("GroupQueryAttention", operands, attributes, outputs, defined)


@maker
def rotary_embedding(s: Source) -> Draw:
    batch, rows, heads = s.extent(1, 2), s.extent(), s.extent(1, 2)
    half = s.one_of(2, 4)
    partial = s.one_of(True, False)
    size = 2 * half + (4 if partial else 0)
    is_flat = partial or s.one_of(True, False)
    positions = s.one_of(s.whole(0, 3, 1), s.whole(0, 12, batch, rows)).astype(np.int64)
    operands = {
        "x": s.f32(batch, rows, heads * size) if is_flat else s.f32(batch, heads, rows, size),
        "p": positions,
        "cos": s.f32(16, half),
        "sin": s.f32(16, half),
    }
    attributes = {"interleaved": s.one_of(0, 1)}
    if partial:
        attributes |= {"num_heads": heads, "rotary_embedding_dim": 2 * half}
    return Draw("RotaryEmbedding", operands, attributes)


@maker
def qlinear_binary(s: Source) -> Draw:
    dtype = s.one_of(np.uint8, np.int8)
    shape = [s.extent() for _ in range(s.extent(1, 2, 3))]
    other = [s.one_of(extent, 1) for extent in shape]
    operands = {
        "a": s.quantized(*shape, dtype=dtype), "as": s.scale(), "az": s.zero(dtype),
        "b": s.quantized(*other, dtype=dtype), "bs": s.scale(), "bz": s.zero(dtype),
        "cs": s.scale(), "cz": s.zero(dtype),
    }  # fmt: skip
    return Draw(s.one_of("QLinearAdd", "QLinearMul"), operands)


@maker
def qlinear_unary(s: Source) -> Draw:
    dtype = s.one_of(np.uint8, np.int8)
    kind = s.one_of("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax")
    shape = [s.extent(), s.extent(), s.extent(2, 4)]
    attributes: dict[str, Any] = {}
    required = kind == "QLinearSoftmax"
    if kind == "QLinearLeakyRelu":
        attributes["alpha"] = 0.2
    if kind == "QLinearSoftmax":
        attributes = {"axis": s.one_of(0, 1, 2, -1), "opset": s.one_of(11, 13)}
    zero = s.zero(dtype)
    # onnxruntime requires these.
    operands = {
        "x": s.quantized(*shape, dtype=dtype), "xs!": s.scale(), "xz!": s.zero(dtype),
        "ys!": np.float32(1 / 256) if required else s.scale(), "yz!": zero,
    }  # fmt: skip
    return Draw(kind, operands, attributes)


@maker
def qlinear_pool(s: Source) -> Draw:
    dtype = s.one_of(np.uint8, np.int8)
    is_last = s.one_of(0, 1)
    channels = s.extent(1, 2, 8)
    shape = (2, 5, 6, channels) if is_last else (2, channels, 5, 6)
    attributes: dict[str, Any] = {"channels_last": is_last}
    kind = s.one_of("QLinearGlobalAveragePool", "QLinearAveragePool")
    if kind == "QLinearAveragePool":
        attributes |= {"kernel_shape": [2, 3], "strides": [s.one_of(1, 2)] * 2}
        attributes |= {"pads": [0, 1, 1, 0], "count_include_pad": s.one_of(0, 1)}
    operands = {
        "x": s.quantized(*shape, dtype=dtype), "xs": s.scale(), "xz": s.zero(dtype),
        "ys": s.scale(), "yz": s.zero(dtype),
    }  # fmt: skip
    return Draw(kind, operands, attributes)


@maker
def qlinear_joined(s: Source) -> Draw:
    dtype = s.one_of(np.uint8, np.int8)
    rows, columns = s.extent(), s.extent()
    x, y = (s.quantized(rows, columns, dtype=dtype) for _ in range(2))
    if s.one_of(True, False):
        operands = {
            "ys": s.scale(), "yz": s.zero(dtype),
            "a": x, "as": s.scale(), "az": s.zero(dtype),
            "b": y, "bs": s.scale(), "bz": s.zero(dtype),
        }  # fmt: skip
        return Draw("QLinearConcat", operands, {"axis": s.one_of(0, 1)})
    operands = {
        "c": s.whole(0, 2, rows, columns).astype(bool),
        "x": x, "xs": s.scale(), "xz": s.zero(dtype),
        "y0": y, "ys": s.scale(), "yz": s.zero(dtype),
        "zs": s.scale(), "zz": s.zero(dtype),
    }  # fmt: skip
    return Draw("QLinearWhere", operands)


@maker
def qlinear_conv(s: Source) -> Draw:
    kind = s.one_of(np.uint8, np.int8)
    channels, filters = s.extent(1, 3), s.extent(2, 4)
    is_last = s.one_of(0, 1)
    per_filter = s.one_of(True, False)
    shape = (filters,) if per_filter else ()
    operands = {
        "x": s.quantized(*((1, 6, 5, channels) if is_last else (1, channels, 6, 5))),
        "xs!": s.scale(), "xz!": s.zero(),
        "w!": s.quantized(filters, channels, 3, 2, dtype=kind),
        "ws!": s.scale(*shape), "wz!": np.zeros(shape, kind),
        "ys!": np.float32(0.5), "yz!": s.zero(),
        "b!": s.maybe(s.whole(-500, 500, filters)),
    }  # fmt: skip
    attributes = {"channels_last": is_last, "pads": [1, 0, 1, 1], "strides": [s.one_of(1, 2)] * 2}
    return Draw("QLinearConv", operands, attributes)


@maker
def nhwc_max_pool(s: Source) -> Draw:
    x = s.quantized(1, 5, 6, s.extent(1, 4), dtype=s.one_of(np.uint8, np.int8))
    attributes = {"kernel_shape": [2, 3], "strides": [s.one_of(1, 2)] * 2, "pads": [1, 0, 0, 1]}
    return Draw("NhwcMaxPool", {"x": x}, attributes)


@maker
def qgemm(s: Source) -> Draw:
    m, n, k = (s.extent() for _ in range(3))
    kind = s.one_of(np.uint8, np.int8)
    a, b = s.one_of(0, 1), s.one_of(0, 1)
    shape = s.one_of((), (n,))
    quantizes = s.one_of(True, False)
    operands = {
        "a": s.quantized(*((k, m) if a else (m, k))), "as": s.scale(), "az": s.zero(),
        "b!": s.quantized(*((n, k) if b else (k, n)), dtype=kind),
        "bs!": s.scale(*shape), "bz!": s.zero(kind, *shape),
        "c": s.maybe(s.whole(-500, 500, n)),
        "ys": np.float32(0.5) if quantizes else None, "yz": s.zero() if quantizes else None,
    }  # fmt: skip
    return Draw("QGemm", operands, {"transA": a, "transB": b, "alpha": s.one_of(1.0, 0.5)})


@maker
def integer_products(s: Source) -> Draw:
    m, n, k = (s.extent() for _ in range(3))
    kind = s.one_of(np.uint8, np.int8)
    shape = s.one_of((), (n,))
    b, scale = s.quantized(k, n, dtype=kind), s.scale(*shape)
    zero, bias = s.maybe(s.zero(kind, *shape)), s.maybe(s.f32(n))
    if s.one_of(True, False):
        operands = {"a": s.f32(m, k), "b!": b, "bs!": scale, "bz!": zero, "bias": bias}
        return Draw("DynamicQuantizeMatMul", operands)
    operands = {
        "a": s.quantized(m, k), "b!": b, "as": s.scale(), "bs!": scale,
        "az": s.maybe(s.zero()), "bz!": zero, "bias": bias,
    }  # fmt: skip
    return Draw("MatMulIntegerToFloat", operands)


@maker
def quantized_attention(s: Source) -> Draw:
    batch, rows, heads, size, width = s.extent(1, 2), s.extent(), s.extent(1, 2), 4, 6
    total = 3 * heads * size
    kind = s.one_of(np.uint8, np.int8)
    operands = {
        "x": s.quantized(batch, rows, width), "w!": s.quantized(width, total, dtype=kind),
        "b": s.f32(total), "xs": s.scale(), "ws!": s.scale(),
        "mask": s.maybe(s.whole(0, 2, batch, rows)), "xz": s.zero(), "wz!": s.zero(kind),
    }  # fmt: skip
    return Draw("QAttention", operands, {"num_heads": heads, "unidirectional": s.one_of(0, 1)})


@maker
def matmul_nbits(s: Source) -> Draw:
    bits, block = s.one_of(4, 8), s.one_of(16, 32)
    rows, columns, depth = s.extent(), s.extent(2, 3, 8), s.one_of(16, 32, 48, 40)
    blocks = -(-depth // block)
    width = -(-blocks * bits // 8)
    operands = {
        "a": s.f32(rows, depth),
        "b!": s.quantized(columns, blocks, block * bits // 8),
        "s!": s.scale(columns, blocks),
        "z!": s.one_of(None, s.quantized(columns, width)),
        "g": None,
        "bias": s.maybe(s.f32(columns)),
    }
    return Draw(
        "MatMulNBits", operands, {"bits": bits, "block_size": block, "K": depth, "N": columns}
    )


@maker
def gather_block_quantized(s: Source) -> Draw:
    bits, rows, blocks = s.one_of(4, 8), 9, s.extent(1, 2, 3)
    extent = blocks * 16
    width = -(-blocks * bits // 8)
    operands = {
        "d!": s.quantized(rows, extent * bits // 8),
        "i": s.whole(0, rows, s.extent(), s.extent(), dtype=np.int64),
        "s!": s.scale(rows, blocks),
        "z!": s.maybe(s.quantized(rows, width)),
    }
    attributes = {"bits": bits, "block_size": 16, "gather_axis": 0, "quantize_axis": 1}
    return Draw("GatherBlockQuantized", operands, attributes)


@maker
def wide_quantization(s: Source) -> Draw:
    dtype = s.one_of(np.int16, np.uint16, np.int8, np.uint8)
    shape = (s.extent(), s.extent())
    per_axis = s.one_of(True, False)
    axis = {"axis": s.one_of(0, 1)} if per_axis else {}
    count = (shape[axis["axis"]],) if per_axis else ()
    zero = s.zero(np.int8, *count).astype(np.int64) + (0 if np.iinfo(dtype).min else 128)
    given = {"s": s.scale(*count), "z": s.maybe(zero.astype(dtype))}
    if s.one_of(True, False):
        return Draw("DequantizeLinear", {"x": s.quantized(*shape, dtype=dtype), **given}, axis)
    given["z"] = zero.astype(dtype)
    return Draw("QuantizeLinear", {"x": s.f32(*shape), **given}, axis)


@maker
def dynamic_quantize_lstm(s: Source) -> Draw:
    steps, features, hidden = s.extent(1, 2, 4), s.extent(2, 3, 5), s.extent(2, 4, 5)
    kind = s.one_of("forward", "reverse", "bidirectional")
    count = 2 if kind == "bidirectional" else 1
    dtype, per_column = s.one_of(np.int8, np.uint8), s.one_of(True, False)
    scale_shape = (count, 4 * hidden) if per_column else (count,)
    # Batches are split among threads, each of which quantises its own states.
    operands = {
        "x": s.f32(steps, 1, features),
        "w!": s.quantized(count, features, 4 * hidden, dtype=dtype),
        "r!": s.quantized(count, hidden, 4 * hidden, dtype=dtype),
        "b!": s.maybe(s.f32(count, 8 * hidden)),
        "lengths": None,
        "h": s.maybe(s.f32(count, 1, hidden)),
        "c": s.maybe(s.f32(count, 1, hidden)),
        "p!": s.maybe(s.f32(count, 3 * hidden)),
    }
    for name in ("w", "r"):
        operands[f"{name}s!"] = s.scale(*scale_shape) / 10
        operands[f"{name}z!"] = s.zero(dtype, *scale_shape)
    return Draw(
        "DynamicQuantizeLSTM",
        operands,
        {"hidden_size": hidden, "direction": kind},
        ("y", "h_last", "c_last"),
    )


@maker
def quantized_embed_norm(s: Source) -> Draw:
    batch, rows, size = s.extent(), s.extent(), 8
    has_segments, dtype = s.one_of(True, False), s.one_of(np.int8, np.uint8)
    operands: dict[str, Any] = {
        "ids": s.whole(0, 9, batch, rows),
        "segments": s.whole(0, 2, batch, rows) if has_segments else None,
        "words!": s.quantized(9, size, dtype=dtype),
        "positions!": s.quantized(12, size, dtype=dtype),
        "table!": s.quantized(2, size, dtype=dtype) if has_segments else None,
        "g!": s.quantized(size, dtype=dtype),
        "b!": s.quantized(size, dtype=dtype),
        "mask": s.maybe(s.whole(0, 2, batch, rows)),
    }
    tables = ("words", "positions", "table", "g", "b")
    given = [name != "table" or has_segments for name in tables]
    for suffix, make in (("scale", s.scale), ("zero", lambda: s.zero(dtype))):
        for name, is_given in zip(tables, given, strict=True):
            operands[f"{name} {suffix}!"] = make() if is_given else None
    return Draw("QEmbedLayerNormalization", operands, {"epsilon": 1e-5}, ("y", "n"))


@maker
def experts(s: Source) -> Draw:
    rows, count, features, hidden = s.extent(1, 3, 5), s.extent(2, 4), 8, s.extent(4, 8)
    kind = s.one_of("relu", "gelu", "silu", "identity", "swiglu")
    width = hidden * (2 if kind == "swiglu" else 1)
    attributes: dict[str, Any] = {
        "k": s.one_of(1, 2), "activation_type": kind, "normalize_routing_weights": s.one_of(0, 1),
    }  # fmt: skip
    if kind == "swiglu":
        attributes |= {"swiglu_fusion": 1, "activation_alpha": 1.5, "activation_beta": 1.0}
        attributes |= s.one_of({}, {"swiglu_limit": 0.7})
    operands = {
        "x": s.f32(*s.one_of((rows, features), (1, rows, features))),
        "r": s.f32(rows, count),
        "w1!": s.f32(count, width, features),
        "b1!": s.maybe(s.f32(count, width)),
        "w2!": s.f32(count, features, hidden),
        "b2!": s.maybe(s.f32(count, features)),
    }
    return Draw("MoE", operands, attributes)


@maker
def quantized_experts(s: Source) -> Draw:
    rows, count, features, hidden = s.extent(1, 3, 5), s.extent(2, 4), 32, 32
    kind, bits = s.one_of("relu", "gelu", "silu", "identity", "swiglu"), s.one_of(4, 8)
    width = hidden * (2 if kind == "swiglu" else 1)
    # With 8-bit blocks, onnxruntime also quantises the activations.
    blocks = s.one_of(0, 2) if bits == 4 else 0
    attributes: dict[str, Any] = {
        "k": s.one_of(1, 2), "activation_type": kind, "normalize_routing_weights": s.one_of(0, 1),
        "expert_weight_bits": bits,
    }  # fmt: skip
    if kind == "swiglu":
        attributes |= {"swiglu_fusion": 1, "activation_alpha": 1.5, "activation_beta": 1.0}
    if blocks:
        attributes["block_size"] = 32 // blocks

    def scales(extent: int) -> np.ndarray:
        return s.scale(count, extent, blocks) if blocks else s.scale(count, extent)

    def zeros(extent: int) -> np.ndarray:
        shape = (extent, -(-blocks * bits // 8)) if blocks else (extent * bits // 8,)
        return s.quantized(count, *shape)

    has_zeros = s.one_of(True, False)
    operands: dict[str, Any] = {
        "x": s.f32(rows, features),
        "r": s.f32(rows, count),
        "w1!": s.quantized(count, width, features * bits // 8),
        "s1!": scales(width) / 10,
        "b1!": s.maybe(s.f32(count, width)),
        "w2!": s.quantized(count, features, hidden * bits // 8),
        "s2!": scales(features) / 10,
        "b2!": s.maybe(s.f32(count, features)),
        "w3": None, "s3": None, "b3": None,
        "z1!": zeros(width) if has_zeros else None,
        "z2!": zeros(features) if has_zeros else None,
        "z3": None,
        "router": s.maybe(s.random.uniform(0.1, 1, (rows, count)).astype(np.float32)),
    }  # fmt: skip
    return Draw("QMoE", operands, attributes)


@maker
def matmul_bnb4(s: Source) -> Draw:
    columns, depth, block = s.extent(1, 3, 8), s.extent(16, 32, 40), s.one_of(16, 32)
    count = columns * depth
    operands = {
        "a": s.f32(s.extent(), s.extent(), depth),
        "b!": s.quantized((count + 1) // 2),
        "s!": s.scale(-(-count // block)),
    }
    attributes = {"K": depth, "N": columns, "block_size": block, "quant_type": s.one_of(0, 1)}
    return Draw("MatMulBnb4", operands, attributes)


@maker
def causal_conv(s: Source) -> Draw:
    batch, channels, steps, window = s.extent(1, 2), s.extent(1, 3), s.extent(1, 4), s.extent(2, 3)
    dilation, is_last = s.one_of(1, 2), s.one_of(0, 1)
    kept = (window - 1) * dilation
    shapes = [(batch, channels, steps), (batch, channels, kept)]
    x, state = (s.f32(*(one[0], one[2], one[1]) if is_last else one) for one in shapes)
    operands = {
        "x": x,
        "w": s.f32(channels, 1, window),
        "b": s.maybe(s.f32(channels)),
        "s": s.maybe(state),
    }
    attributes = {
        "dilation": dilation, "channels_last": is_last, "activation": s.one_of("silu", "none"),
    }  # fmt: skip
    return Draw("CausalConvWithState", operands, attributes, ("y", "state"))


@maker
def gated_rms_norm(s: Source) -> Draw:
    size, heads = s.extent(4, 6), s.extent(1, 2)
    shape = (s.extent(), s.extent(), size * heads)
    operands = {"x": s.f32(*shape), "scale": s.f32(size), "gate": s.f32(*shape)}
    return Draw("GatedRMSNorm", operands, {"activation": s.one_of("silu", "swish", "sigmoid")})


@maker
def others(s: Source) -> Draw:
    rows, columns = s.extent(), s.extent()
    draws = [
        Draw("CDist", {"a": s.f32(rows, 4), "b": s.f32(columns, 4)},
             {"metric": s.one_of("euclidean", "sqeuclidean")}),
        Draw("ExpandDims", {"x": s.f32(rows, columns), "a!": np.int32(s.one_of(0, 1, 2, -1))}),
        Draw("GatherND", {"x": s.f32(rows, columns), "i": s.whole(0, 1, 2, 1, dtype=np.int64)}),
        Draw("Trilu", {"x": s.f32(rows, columns)}, {"upper": s.one_of(0, 1)}),
        Draw("Pad", {"x": s.f32(rows, columns), "p!": np.array([1, 0, 2, 1], np.int64),
                     "v!": np.float32(2)}),
    ]  # fmt: skip
    return s.one_of(*draws)

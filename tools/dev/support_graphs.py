"""Builds the graphs of `docs/support.md`: one op each, at a common shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hipgraft.dialects import hipdnn
from hipgraft.dialects.hipdnn import OPS
from hipgraft.ir.bindings import ir


@dataclass(frozen=True)
class Form:
    """An op in one form.

    Attributes:
        op: name of the op without the dialect.
        what: description of the form.
        operands: shape and element type of each operand, empty for an absent one.
        results: shape and element type of each result.
        attributes: attributes of the op.
    """

    op: str
    what: str
    operands: Sequence[str]
    results: Sequence[str]
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])

    def build(self) -> ir.Module:
        """Returns a module with a graph of the op, in the current context."""
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            types = [_type(text) for text in self.operands if text]
            results = [_type(text) for text in self.results if text]
            source = ir.Operation.create("test.source", results=types)
            graph = hipdnn.graph(list(source.results), results, name=self.op)
        with ir.InsertionPoint(graph.body):
            hipdnn.yield_(self._body(list(graph.body.arguments)))
        return module

    def _body(self, arguments: list[ir.Value]) -> list[ir.Value]:
        values = iter(arguments)
        operands = [next(values) if text else None for text in self.operands]
        cls = OPS[f"hipdnn.{self.op}"]
        named = zip(cls.result_fields, self.results, strict=False)
        results = {field.name: _type(text) for field, text in named if text}
        return list(cls.build(*operands, results=results, **self.attributes).operation.results)


def _type(text: str) -> ir.Type:
    return ir.Type.parse(f"tensor<{text}>")


def _window(pad: int, stride: int = 1, dims: int = 2) -> dict[str, Any]:
    around = [pad] * dims
    return {"pre_padding": around, "post_padding": around, "stride": [stride] * dims}


def _conv(pad: int, stride: int = 1, dims: int = 2) -> dict[str, Any]:
    return _window(pad, stride, dims) | {"dilation": [1] * dims}


def _pool(mode: str, pad: int, size: int, stride: int) -> dict[str, Any]:
    outside = "NEG_INF_PAD" if mode == "MAXPOOL" else "ZERO_PAD"
    modes = {"resample_mode": mode, "padding_mode": outside}
    return _window(pad, stride) | {"window": [size, size]} | modes


_IMAGE = "2x64x56x56xf16"
_ROWS = "4x384x768xf16"
_ROW = "1x1x768xf32"
_ONE = "1xf32"
_STATISTICS = "4x384x1xf32"
_CHANNELS = "1x64x1x1xf32"
_HEADS = "2x8x128x64xf16"
_WIDE_HEADS = "2x8x128x64xf32"
_SUMS = "2x8x128x1xf32"
_SHARED = "2x2x128x64xf16"
_CAUSAL = {"attn_scale_value": 0.125, "right_bound": 0}
_POINTWISE = ("2x64x56x56xf16", "1x64x1x1xf16")

FORMS: Sequence[Form] = (
    Form("conv_fprop", "3x3, padded", [_IMAGE, "64x64x3x3xf16"], [_IMAGE], _conv(1)),
    Form(
        "conv_fprop",
        "7x7, stride 2",
        ["1x3x224x224xf16", "64x3x7x7xf16"],
        ["1x64x112x112xf16"],
        _conv(3, 2),
    ),
    Form("conv_fprop", "depthwise", [_IMAGE, "64x1x3x3xf16"], [_IMAGE], _conv(1)),
    Form("conv_fprop", "32 groups", [_IMAGE, "64x2x3x3xf16"], [_IMAGE], _conv(1)),
    Form("conv_fprop", "f32", ["2x64x56x56xf32", "64x64x3x3xf32"], ["2x64x56x56xf32"], _conv(1)),
    Form(
        "conv_fprop", "1-D", ["2x80x3000xf16", "384x80x3xf16"], ["2x384x3000xf16"], _conv(1, 1, 1)
    ),
    Form(
        "conv_fprop",
        "3-D",
        ["1x16x16x16x16xf16", "16x16x3x3x3xf16"],
        ["1x16x16x16x16xf16"],
        _conv(1, 1, 3),
    ),
    Form("conv_dgrad", "3x3, padded", [_IMAGE, "64x64x3x3xf16"], [_IMAGE], _conv(1)),
    Form(
        "conv_dgrad",
        "stride 2",
        ["2x64x28x28xf16", "64x64x3x3xf16"],
        ["2x64x55x55xf16"],
        _conv(1, 2),
    ),
    Form("conv_wgrad", "3x3, padded", [_IMAGE, _IMAGE], ["64x64x3x3xf16"], _conv(1)),
    Form("conv_wgrad", "32 groups", [_IMAGE, _IMAGE], ["64x2x3x3xf16"], _conv(1)),
    Form("matmul", "f16", ["384x768xf16", "768x3072xf16"], ["384x3072xf16"]),
    Form("matmul", "bf16 batches", ["8x384x768xbf16", "8x768x384xbf16"], ["8x384x384xbf16"]),
    Form("matmul", "f32", ["384x768xf32", "768x3072xf32"], ["384x3072xf32"]),
    Form("matmul", "i8", ["384x768xi8", "768x3072xi8"], ["384x3072xi32"]),
    Form("matmul", "fp8", ["384x768xf8E4M3FN", "768x3072xf8E4M3FN"], ["384x3072xf32"]),
    Form("matmul", "batches of 6 rows", ["2x4x6x8xf32", "2x4x8x6xf32"], ["2x4x6x6xf32"]),
    Form("pointwise", "add, broadcast", _POINTWISE, [_IMAGE], {"mode": "add"}),
    Form("pointwise", "gelu_fwd", [_IMAGE], [_IMAGE], {"mode": "gelu_fwd"}),
    Form("reduction", "ADD", ["16x256x64x64xf16"], ["16x256x1x1xf16"], {"mode": "ADD"}),
    Form("reduction", "AMAX of all", ["16x256x64x64xf16"], ["1x1x1x1xf16"], {"mode": "AMAX"}),
    Form(
        "batchnorm_inference",
        "",
        [_IMAGE, *[_CHANNELS] * 4],
        [_IMAGE],
    ),
    Form("batchnorm_inference_variance_ext", "", [_IMAGE, *[_CHANNELS] * 4, _ONE], [_IMAGE]),
    Form(
        "batchnorm",
        "running statistics",
        [_IMAGE, *[_CHANNELS] * 2, _ONE, *[_CHANNELS] * 2, _ONE],
        [_IMAGE, *[_CHANNELS] * 4],
    ),
    Form(
        "batchnorm_backward",
        "",
        [_IMAGE, _IMAGE, *[_CHANNELS] * 3],
        [_IMAGE, *[_CHANNELS] * 2],
    ),
    Form("layernorm", "rows", [_ROWS, _ROW, _ROW, _ONE], [_ROWS]),
    Form("layernorm", "channels of NCHW", [_IMAGE, _CHANNELS, _CHANNELS, _ONE], [_IMAGE]),
    Form(
        "layernorm_backward",
        "rows",
        [_ROWS, _ROWS, _ROW, _STATISTICS, _STATISTICS],
        [_ROWS, _ROW, _ROW],
    ),
    Form("rmsnorm", "rows", [_ROWS, _ROW, _ONE], [_ROWS]),
    Form("rmsnorm_backward", "rows", [_ROWS, _ROWS, _ROW, _STATISTICS], [_ROWS, _ROW]),
    Form("sdpa", "f16, causal", [_HEADS] * 3, [_HEADS], _CAUSAL),
    Form("sdpa", "f32", [_WIDE_HEADS] * 3, [_WIDE_HEADS], _CAUSAL),
    Form("sdpa", "f16, shared heads", [_HEADS, _SHARED, _SHARED], [_HEADS], _CAUSAL),
    Form(
        "sdpa",
        "f32, shared heads",
        [_WIDE_HEADS, "2x2x128x64xf32", "2x2x128x64xf32"],
        [_WIDE_HEADS],
        _CAUSAL,
    ),
    Form("sdpa", "statistics", [_HEADS] * 3, [_HEADS, _SUMS], _CAUSAL | {"generate_stats": True}),
    Form("sdpa", "ALiBi", [_HEADS] * 3, [_HEADS], _CAUSAL | {"alibi_mask": True}),
    Form(
        "sdpa_backward",
        "causal",
        [*[_HEADS] * 5, _SUMS],
        [_HEADS] * 3,
        _CAUSAL,
    ),
    Form(
        "block_scale_dequantize",
        "fp8",
        ["384x768xf8E4M3FN", "384x24xf8E8M0FNU"],
        ["384x768xf32"],
        {"block_size": [32]},
    ),
    Form(
        "block_scale_dequantize",
        "fp4",
        ["384x768xf4E2M1FN", "384x24xf8E8M0FNU"],
        ["384x768xf32"],
        {"block_size": [32]},
    ),
    Form(
        "block_scale_dequantize",
        "fp6",
        ["384x768xf6E2M3FN", "384x24xf8E8M0FNU"],
        ["384x768xf32"],
        {"block_size": [32]},
    ),
    Form(
        "block_scale_quantize",
        "fp8",
        ["384x768xf32"],
        ["384x768xf8E4M3FN", "384x24xf8E8M0FNU"],
        {"block_size": 32},
    ),
    Form(
        "block_scale_quantize",
        "fp4",
        ["384x768xf32"],
        ["384x768xf4E2M1FN", "384x24xf8E8M0FNU"],
        {"block_size": 32},
    ),
    Form("resample_fwd", "MAXPOOL", [_IMAGE], ["2x64x28x28xf16"], _pool("MAXPOOL", 1, 3, 2)),
    Form(
        "resample_fwd",
        "MAXPOOL, positions",
        [_IMAGE],
        ["2x64x28x28xf16", "2x64x28x28xi32"],
        _pool("MAXPOOL", 1, 3, 2) | {"generate_index": True},
    ),
    Form("resample_fwd", "BILINEAR", [_IMAGE], ["2x64x28x28xf16"], _pool("BILINEAR", 0, 2, 2)),
    Form(
        "resample_bwd",
        "MAXPOOL",
        ["2x64x28x28xf16", "2x64x28x28xi32"],
        [_IMAGE],
        _pool("MAXPOOL", 1, 3, 2),
    ),
    Form(
        "resample_bwd",
        "AVGPOOL_INCLUDE_PADDING",
        ["2x64x28x28xf16"],
        [_IMAGE],
        _pool("AVGPOOL_INCLUDE_PADDING", 0, 2, 2),
    ),
    Form(
        "moe_grouped_matmul",
        "",
        ["1x256x512xf16", "8x512x1024xf16", "8x1x1xi32"],
        ["1x256x1024xf16"],
    ),
    Form(
        "moe_grouped_matmul_bwd",
        "",
        ["1x256x1024xf16", "1x256x512xf16", "8x1x1xi32"],
        ["8x512x1024xf16"],
    ),
)

"""Rewrites the `com.microsoft` operators that onnxruntime's optimizer and quantizer emit.

Each operator becomes operators of ONNX's own domain, depending on operand shapes and types.
onnxruntime's schemas and CPU kernels define their semantics.
"""

from __future__ import annotations

from hipgraft.frontends.onnx.legalization.contributed.attention import ATTENTION
from hipgraft.frontends.onnx.legalization.contributed.blockwise import BLOCKWISE
from hipgraft.frontends.onnx.legalization.contributed.dynamic_lstm import DYNAMIC_LSTM
from hipgraft.frontends.onnx.legalization.contributed.experts import EXPERTS
from hipgraft.frontends.onnx.legalization.contributed.grouped_query import GROUPED_QUERY
from hipgraft.frontends.onnx.legalization.contributed.norms import NORMS
from hipgraft.frontends.onnx.legalization.contributed.pointwise import POINTWISE
from hipgraft.frontends.onnx.legalization.contributed.products import PRODUCTS
from hipgraft.frontends.onnx.legalization.contributed.qlinear import QLINEAR
from hipgraft.frontends.onnx.legalization.contributed.rotary import ROTARY
from hipgraft.frontends.onnx.legalization.contributed.state_space import STATE_SPACE
from hipgraft.frontends.onnx.legalization.writer import Rewrite
from hipgraft.ir.registration import Registry

CONTRIBUTED_DOMAIN = "com.microsoft"

CONTRIBUTED: Registry[Rewrite] = Registry(
    "rewrite of a contributed operator",
    ATTENTION,
    BLOCKWISE,
    DYNAMIC_LSTM,
    EXPERTS,
    GROUPED_QUERY,
    NORMS,
    POINTWISE,
    PRODUCTS,
    QLINEAR,
    ROTARY,
    STATE_SPACE,
)
"""The rewrites, by operator. A rewrite raises `Declined` while shapes or types are unknown."""

MISPLACED = ("LayerNormalization", "SimplifiedLayerNormalization")
"""The contributed operators that onnxruntime writes into ONNX's own domain."""

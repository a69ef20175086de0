"""Converts migraphx functions to hipDNN ops: one small function per operation."""

from hipgraft.ir.registration import Registry
from hipgraft.transforms.migraphx_to_hipdnn.attention import ATTENTION
from hipgraft.transforms.migraphx_to_hipdnn.contractions import CONTRACTIONS
from hipgraft.transforms.migraphx_to_hipdnn.converter import Conversion, Converter
from hipgraft.transforms.migraphx_to_hipdnn.elementwise import ELEMENTWISE
from hipgraft.transforms.migraphx_to_hipdnn.function import build_function, is_kernel
from hipgraft.transforms.migraphx_to_hipdnn.pooling import POOLING
from hipgraft.transforms.migraphx_to_hipdnn.reductions import REDUCTIONS
from hipgraft.transforms.migraphx_to_hipdnn.views import VIEWS

CONVERSIONS: Registry[Conversion] = Registry(
    "migraphx conversion", VIEWS, ELEMENTWISE, CONTRACTIONS, REDUCTIONS, ATTENTION, POOLING
)
"""All conversions, by mnemonic."""

KEPT = frozenset(
    {
        "abs",
        "clip",
        "div",
        "greater",
        "greater_or_equal",
        "max",
        "pad",
        "quantizelinear",
        "relu",
        "unpack",
    }
)
"""The operations besides hipDNN's that code generation can lower."""

__all__ = ["CONVERSIONS", "KEPT", "Conversion", "Converter", "build_function", "is_kernel"]

"""Converts torch programs to hipDNN ops: one small function per ATen op."""

from hipgraft.ir.registration import Registry
from hipgraft.transforms.torch_to_hipdnn.attention import ATTENTION
from hipgraft.transforms.torch_to_hipdnn.compositions import COMPOSITIONS
from hipgraft.transforms.torch_to_hipdnn.contractions import CONTRACTIONS
from hipgraft.transforms.torch_to_hipdnn.converter import Conversion, Converter
from hipgraft.transforms.torch_to_hipdnn.functions import (
    convert_function,
    torch_functions,
)
from hipgraft.transforms.torch_to_hipdnn.gradients import GRADIENTS
from hipgraft.transforms.torch_to_hipdnn.norms import NORMS
from hipgraft.transforms.torch_to_hipdnn.padding import PADDING
from hipgraft.transforms.torch_to_hipdnn.pointwise import POINTWISE
from hipgraft.transforms.torch_to_hipdnn.pooling import POOLING
from hipgraft.transforms.torch_to_hipdnn.pooling_gradients import POOLING_GRADIENTS
from hipgraft.transforms.torch_to_hipdnn.reductions import REDUCTIONS
from hipgraft.transforms.torch_to_hipdnn.views import VIEWS

CONVERSIONS: Registry[Conversion] = Registry(
    "torch conversion",
    VIEWS,
    POINTWISE,
    COMPOSITIONS,
    CONTRACTIONS,
    PADDING,
    REDUCTIONS,
    NORMS,
    ATTENTION,
    POOLING,
    POOLING_GRADIENTS,
    GRADIENTS,
)
"""All conversions, by the name of the torch op."""

__all__ = [
    "CONVERSIONS",
    "Conversion",
    "Converter",
    "convert_function",
    "torch_functions",
]

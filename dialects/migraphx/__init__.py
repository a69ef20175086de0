"""Implements rocMLIR's migraphx dialect: reader, printer, types, operations and rules."""

from hipgraft.dialects.migraphx.memory import MemoryLayout
from hipgraft.dialects.migraphx.operation import OPS, MigraphxOp, is_migraphx, wrap
from hipgraft.dialects.migraphx.ops.attention import AttentionOp
from hipgraft.dialects.migraphx.ops.contractions import (
    AnyConvolutionOp,
    DotOp,
    PoolingOp,
    QuantDotOp,
    ReductionOp,
    SoftmaxOp,
)
from hipgraft.dialects.migraphx.ops.elementwise import (
    BatchNormInferenceOp,
    ConvertOp,
    DequantizeLinearOp,
    UnpackOp,
)
from hipgraft.dialects.migraphx.ops.views import (
    BroadcastOp,
    ConstantOp,
    MultibroadcastOp,
    PadOp,
    SliceOp,
    TransposeOp,
)
from hipgraft.dialects.migraphx.parsing import parse_module
from hipgraft.dialects.migraphx.printer import to_native
from hipgraft.dialects.migraphx.reader import holds_migraphx, to_generic
from hipgraft.dialects.migraphx.types import ShapedType, ShapedTypeError
from hipgraft.dialects.migraphx.verifier import verify, verify_op

__all__ = [
    "OPS",
    "AnyConvolutionOp",
    "AttentionOp",
    "BatchNormInferenceOp",
    "BroadcastOp",
    "ConstantOp",
    "ConvertOp",
    "DequantizeLinearOp",
    "DotOp",
    "MemoryLayout",
    "MigraphxOp",
    "MultibroadcastOp",
    "PadOp",
    "PoolingOp",
    "QuantDotOp",
    "ReductionOp",
    "ShapedType",
    "ShapedTypeError",
    "SliceOp",
    "SoftmaxOp",
    "TransposeOp",
    "UnpackOp",
    "holds_migraphx",
    "is_migraphx",
    "parse_module",
    "to_generic",
    "to_native",
    "verify",
    "verify_op",
    "wrap",
]

"""Implements rocMLIR's migraphx dialect: reader, printer, types, operations and rules."""

from hipgraft.dialects.migraphx.memory import MemoryLayout
from hipgraft.dialects.migraphx.operation import AttentionOp, MigraphxOp, is_migraphx
from hipgraft.dialects.migraphx.ops import OPS, OpDef
from hipgraft.dialects.migraphx.parsing import parse_module
from hipgraft.dialects.migraphx.printer import to_native
from hipgraft.dialects.migraphx.reader import holds_migraphx, to_generic
from hipgraft.dialects.migraphx.types import ShapedType, ShapedTypeError
from hipgraft.dialects.migraphx.verifier import verify, verify_op

__all__ = [
    "OPS",
    "AttentionOp",
    "MemoryLayout",
    "MigraphxOp",
    "OpDef",
    "ShapedType",
    "ShapedTypeError",
    "holds_migraphx",
    "is_migraphx",
    "parse_module",
    "to_generic",
    "to_native",
    "verify",
    "verify_op",
]

"""`migraphx.attention` and its rules, with rocMLIR's messages."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.dialects.framework.fields import (
    Operand,
    OptionalOperand,
    OptionalResult,
    Result,
    VariadicOperand,
    defaulted,
    optional,
)
from hipgraft.dialects.migraphx.kinds import FEATURES, INT, TYPE
from hipgraft.dialects.migraphx.operation import MigraphxOp
from hipgraft.dialects.migraphx.ops.contractions import FLOATS
from hipgraft.dialects.migraphx.types import Extent
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import VerifyError

_BODY_OPS = frozenset(
    f"migraphx.{name}"
    for name in (
        *("abs", "add", "ceil", "convert", "dequantizelinear", "div", "erf", "exp", "floor"),
        *("log", "mul", "neg", "pow", "recip", "relu", "sigmoid", "sqrt", "sub", "tanh", "where"),
        # rocMLIR versions that accept any elementwise op count these as elementwise.
        *("clip", "equal", "greater", "max", "rsqrt"),
    )
)


class YieldOp(MigraphxOp, mnemonic="yield"):
    """Ends the region of an attention."""

    inputs = VariadicOperand("the scores after the region")
    checks_values = False


class AttentionOp(MigraphxOp, mnemonic="attention"):
    """`softmax(region(queries · keys)) · values`."""

    queries = Operand("queries `[..., M, D]`", elements=(*FLOATS, "i8"))
    keys = Operand("keys `[..., D, N]`", elements=(*FLOATS, "i8"))
    values = Operand("values `[..., N, O]`", elements=FLOATS)
    preSoftmaxElemWiseInputs = VariadicOperand("arguments of the region after the scores")
    currentSeqLen = OptionalOperand("index of the last key per sequence and head")
    prefixOffset = OptionalOperand("number of keys before the first query per sequence and head")
    output = Result("result `[..., M, O]`")
    lse = OptionalResult("logarithms of the sums of exponentials `[..., M]`")
    softmaxType = optional(TYPE, "element type of the softmax")
    features = defaulted(FEATURES, (), "a bit for each feature")
    splitKV = defaulted(INT, 1, "number of parts into which the keys are split")
    slidingWindowSize = optional(INT, "how many keys before the last one have weight")
    region_count = 1

    def verify(self) -> None:  # noqa: D102
        _check_products(self)
        _check_heads(self)
        _check_result_shapes(self)
        _check_softmax_type(self)
        _check_body(self)
        _check_features(self)
        _check_lengths(self)
        _check_window(self)

    @property
    def chunks(self) -> int:
        """The number of parts into which the keys are split, each with its own softmax."""
        return self.splitKV if "splitkv" in self.features else 1

    @property
    def has_lse(self) -> bool:
        """Whether the logarithms of the sums are a result."""
        return len(self.operation.results) > 1

    @property
    def _block(self) -> ir.Block | None:
        blocks = list(self.operation.regions[0].blocks)
        return blocks[0] if blocks else None

    @property
    def block_arguments(self) -> list[ir.Value]:
        """Arguments of the region: scores, then inputs."""
        return [] if self._block is None else list(self._block.arguments)

    @property
    def body(self) -> list[ir.Operation]:
        """Operations of the region without its terminator."""
        return [op for op in self._operations if op.name != YieldOp.OP_NAME]

    @property
    def terminator(self) -> ir.Operation | None:
        """The region's terminator; None if it is omitted."""
        return next((op for op in self._operations if op.name == YieldOp.OP_NAME), None)

    @property
    def _operations(self) -> list[ir.Operation]:
        return [] if self._block is None else [op.operation for op in self._block.operations]


def _check_products(op: AttentionOp) -> None:
    queries, keys, values = (op.input_type(index).shape for index in range(3))
    if min(len(queries), len(keys), len(values)) < 2:
        raise op.error("operands must have rank >= 2")
    if queries[-1] != keys[-2]:
        raise op.error(
            "head dimension mismatched for first gemm: last dim of queries "
            f"({queries[-1]}) != second-to-last dim of keys ({keys[-2]})"
        )
    if keys[-1] != values[-2]:
        raise op.error(
            "sequence length dimension mismatch for second gemm: last dim of keys "
            f"({keys[-1]}) != second-to-last dim of values ({values[-2]})"
        )


def _check_heads(op: AttentionOp) -> None:
    """Checks that the number of query heads is a multiple of the key and value heads."""
    leading = [op.input_type(index).shape[:-2] for index in range(3)]
    if len({len(dims) for dims in leading}) > 1:
        raise op.error(
            "leading dimension mismatch: queries, keys, and values must have the same number of "
            "leading dimensions"
        )
    for dim, (queries, keys, values) in enumerate(zip(*leading, strict=True)):
        where = f"leading dimension mismatch at dimension {dim}"
        if keys != values:
            raise op.error(f"{where}: keys={keys} != values={values}")
        if queries != keys and (not keys or (queries or 1) % keys):
            raise op.error(
                f"{where}: queries={queries} is not equal to or divisible by keys={keys}"
            )


def _check_result_shapes(op: AttentionOp) -> None:
    queries, values = op.input_type(0).shape, op.input_type(2).shape
    rows = (*queries[:-2], *([op.chunks] if op.chunks > 1 else []), queries[-2])
    _check_shape(op, "result", op.output_type(0).shape, (*rows, values[-1]))
    if op.has_lse:
        _check_shape(op, "lse", op.output_type(1).shape, rows)


def _check_shape(
    op: AttentionOp, what: str, found: Sequence[Extent], expected: Sequence[Extent]
) -> None:
    if tuple(found) != tuple(expected):
        raise op.error(
            f"{what} shape is inconsistent with attention dimensions: expected "
            f"{list(expected)} but got {list(found)}"
        )


def _check_softmax_type(op: AttentionOp) -> None:
    kind = op.softmaxType
    if kind is not None and not isinstance(kind, ir.FloatType):
        raise op.error(f"softmaxType must be a float type, got {kind}")
    if kind is None and not op.input_type(0).is_float:
        raise op.error(
            "softmaxType must be set explicitly when Q has a non-float element type; "
            "preSoftmaxBody must dequantize to that float type"
        )


def _check_body(op: AttentionOp) -> None:
    for inner in op.body:
        if inner.name not in _BODY_OPS:
            raise VerifyError(
                f"'{inner.name}' op preSoftmaxBody must only contain elementwise migraphx ops (or "
                f"migraphx.dequantizelinear), but found '{inner.name}'",
                inner,
            )
    inputs = op.preSoftmaxElemWiseInputs
    if inputs and not op.body:
        raise op.error(
            "preSoftmaxElemWiseInputs are provided but preSoftmaxBody contains no operations"
        )
    if op.body and not inputs:
        raise op.error(
            "preSoftmaxBody contains operations but no preSoftmaxElemWiseInputs are provided"
        )
    if inputs:
        _check_block_arguments(op, inputs)
    _check_yield(op)


def _check_block_arguments(op: AttentionOp, inputs: list[ir.Value]) -> None:
    found, wanted = len(op.block_arguments), 1 + len(inputs)
    if found != wanted:
        raise op.error(
            f"preSoftmaxBody block must have exactly {wanted} arguments (1 for QK result + "
            f"{len(inputs)} preSoftmaxElemWiseInputs), got {found}"
        )
    rank = len(op.input_type(0).shape) + 1
    for value in inputs if op.chunks > 1 else ():
        if len(op.type_of(value).shape) != rank:
            raise op.error(
                f"preSoftmaxElemWiseInput shape rank ({len(op.type_of(value).shape)}) must match "
                f"split QK shape rank ({rank}) when splitkv is enabled"
            )


def _check_yield(op: AttentionOp) -> None:
    terminator = op.terminator
    yields = terminator is not None and len(terminator.operands) > 0
    if yields == bool(op.body):
        return
    message = (
        "must not yield a value when preSoftmaxBody is empty"
        if yields
        else "must yield a value when preSoftmaxBody contains operations"
    )
    raise VerifyError(f"'migraphx.yield' op {message}", terminator or op.operation)


_OPERANDS = (("kvcache", AttentionOp.currentSeqLen), ("prefix_offset", AttentionOp.prefixOffset))
"""Features with the operand that they need."""


def _check_features(op: AttentionOp) -> None:
    """Checks that each feature has its operands, and that each operand has its feature."""
    for feature, required in (("sliding_window", "kvcache"), ("prefix_offset", "causal")):
        if feature in op.features and required not in op.features:
            raise op.error(f"feature '{feature}' requires '{required}' to be set")
    for feature, field in _OPERANDS:
        if feature in op.features and not field.values(op):
            raise op.error(f"feature '{feature}' requires '{field.name}' operand")
    if "sliding_window" in op.features and op.slidingWindowSize is None:
        raise op.error("feature 'sliding_window' requires 'slidingWindowSize' attribute")
    if "splitkv" in op.features:
        _check_split(op)
    _check_orphans(op)


def _check_orphans(op: AttentionOp) -> None:
    for feature, field in _OPERANDS:
        if field.values(op) and feature not in op.features:
            raise op.error(f"'{field.name}' operand requires feature '{feature}'")
    for feature, name in (("splitkv", "splitKV"), ("sliding_window", "slidingWindowSize")):
        if name in op.operation.attributes and feature not in op.features:
            raise op.error(f"'{name}' attribute requires feature '{feature}'")


def _check_split(op: AttentionOp) -> None:
    if not op.has_lse:
        raise op.error("feature 'splitkv' requires LSE result")
    if op.chunks <= 1:
        raise op.error("feature 'splitkv' requires splitKV > 1")
    length = op.input_type(1).shape[-1]
    if length is not None and length % op.chunks:
        raise op.error(f"key sequence length ({length}) must be divisible by splitKV ({op.chunks})")


def _check_lengths(op: AttentionOp) -> None:
    """Checks that there is a length per sequence and head: the op broadcasts none."""
    leading = op.input_type(0).shape[:-2]
    for _, field in _OPERANDS:
        found = next((op.type_of(value).shape for value in field.values(op)), leading)
        if found != leading:
            raise op.error(
                f"'{field.name}' shape must match Q leading dims {list(leading)} (got "
                f"{list(found)}); broadcast across heads explicitly via "
                "migraphx.multibroadcast if needed"
            )


def _check_window(op: AttentionOp) -> None:
    length = op.input_type(1).shape[-1]
    if op.slidingWindowSize is None:
        return
    if op.slidingWindowSize <= 0:
        raise op.error("slidingWindowSize must be positive")
    if length is not None and op.slidingWindowSize > length:
        raise op.error("slidingWindowSize must not exceed max sequence length")

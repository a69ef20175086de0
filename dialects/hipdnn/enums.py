"""Enumerations of hipDNN, spelled as in its JSON."""

from enum import StrEnum


class PointwiseMode(StrEnum):
    """What a pointwise op computes."""

    ABS = "abs"
    ADD = "add"
    ADD_SQUARE = "add_square"
    BINARY_SELECT = "binary_select"
    CEIL = "ceil"
    CMP_EQ = "cmp_eq"
    CMP_GE = "cmp_ge"
    CMP_GT = "cmp_gt"
    CMP_LE = "cmp_le"
    CMP_LT = "cmp_lt"
    CMP_NEQ = "cmp_neq"
    COS = "cos"
    DIV = "div"
    ELU_BWD = "elu_bwd"
    ELU_FWD = "elu_fwd"
    ERF = "erf"
    EXP = "exp"
    FLOOR = "floor"
    GELU_APPROX_TANH_BWD = "gelu_approx_tanh_bwd"
    GELU_APPROX_TANH_FWD = "gelu_approx_tanh_fwd"
    GELU_BWD = "gelu_bwd"
    GELU_FWD = "gelu_fwd"
    GEN_INDEX = "gen_index"
    IDENTITY = "identity"
    LOG = "log"
    LOGICAL_AND = "logical_and"
    LOGICAL_NOT = "logical_not"
    LOGICAL_OR = "logical_or"
    MAX_OP = "max_op"
    MIN_OP = "min_op"
    MOD = "mod"
    MUL = "mul"
    NEG = "neg"
    POW = "pow"
    RECIPROCAL = "reciprocal"
    RELU_BWD = "relu_bwd"
    RELU_FWD = "relu_fwd"
    RSQRT = "rsqrt"
    SIGMOID_BWD = "sigmoid_bwd"
    SIGMOID_FWD = "sigmoid_fwd"
    SIN = "sin"
    SOFTPLUS_BWD = "softplus_bwd"
    SOFTPLUS_FWD = "softplus_fwd"
    SQRT = "sqrt"
    SUB = "sub"
    SWISH_BWD = "swish_bwd"
    SWISH_FWD = "swish_fwd"
    TAN = "tan"
    TANH_BWD = "tanh_bwd"
    TANH_FWD = "tanh_fwd"


class ReductionMode(StrEnum):
    """What a reduction computes over the reduced dimensions."""

    ADD = "ADD"
    MUL = "MUL"
    MIN = "MIN"
    MAX = "MAX"
    AMAX = "AMAX"
    AVG = "AVG"
    NORM1 = "NORM1"
    NORM2 = "NORM2"
    MUL_NO_ZEROS = "MUL_NO_ZEROS"


class ConvMode(StrEnum):
    """Whether a convolution flips its filter."""

    CONVOLUTION = "CONVOLUTION"
    CROSS_CORRELATION = "CROSS_CORRELATION"


class NormFwdPhase(StrEnum):
    """Whether a norm also returns its statistics."""

    INFERENCE = "INFERENCE"
    TRAINING = "TRAINING"


class DiagonalAlignment(StrEnum):
    """Where the diagonal of an attention mask starts."""

    TOP_LEFT = "TOP_LEFT"
    BOTTOM_RIGHT = "BOTTOM_RIGHT"


class AttentionImplementation(StrEnum):
    """How an engine is asked to run attention."""

    AUTO = "AUTO"
    COMPOSITE = "COMPOSITE"
    UNIFIED = "UNIFIED"


class MoeGroupedMatmulMode(StrEnum):
    """How a grouped matrix product finds the rows of a group."""

    NONE = "none"
    GATHER = "gather"
    SCATTER = "scatter"


class ResampleMode(StrEnum):
    """How a resample op combines the elements of a window."""

    MAXPOOL = "MAXPOOL"
    AVGPOOL_EXCLUDE_PADDING = "AVGPOOL_EXCLUDE_PADDING"
    AVGPOOL_INCLUDE_PADDING = "AVGPOOL_INCLUDE_PADDING"
    BILINEAR = "BILINEAR"
    NEAREST = "NEAREST"


class PaddingMode(StrEnum):
    """What a resample op reads outside of its input."""

    NEG_INF_PAD = "NEG_INF_PAD"
    ZERO_PAD = "ZERO_PAD"
    EDGE_VAL_PAD = "EDGE_VAL_PAD"

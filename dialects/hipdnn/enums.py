"""Enumerations of hipDNN, spelled as in its JSON."""

from enum import StrEnum


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

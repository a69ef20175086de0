"""Recognises decomposed nodes: normalisations, attention and activations."""

from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.registration import Registry
from hipgraft.transforms.recognition.activations import (
    recognize_gelu,
    recognize_swish,
    recognize_tanh_gelu,
)
from hipgraft.transforms.recognition.attention import recognize_attention, share_heads
from hipgraft.transforms.recognition.norms import recognize_norm
from hipgraft.transforms.recognition.values import Rules

PATTERNS = Registry(
    "pattern",
    {
        "erf": recognize_gelu,
        "tanh_fwd": recognize_tanh_gelu,
        "sigmoid_fwd": recognize_swish,
        "AVG": recognize_norm,
        "hipdnn.matmul": recognize_attention,
        "hipdnn.sdpa": share_heads,
    },
)
"""All patterns by the mode or the name of the op at which they begin."""

__all__ = ["PATTERNS", "Declined", "Rules"]

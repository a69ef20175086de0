"""Recognises decomposed nodes, and constants that arithmetic can be folded into."""

from collections.abc import Callable, Mapping, Sequence

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.registration import Registry
from hipgraft.transforms.recognition.activations import (
    recognize_gelu,
    recognize_swish,
    recognize_tanh_gelu,
)
from hipgraft.transforms.recognition.adapters import merge_adapter
from hipgraft.transforms.recognition.attention import recognize_attention
from hipgraft.transforms.recognition.attention_operands import read_sources
from hipgraft.transforms.recognition.convolutions import fold_batchnorm
from hipgraft.transforms.recognition.norms import recognize_norm
from hipgraft.transforms.recognition.values import Rules

Pattern = Callable[[ir.Operation, Rules], str | None]
"""Replaces the arithmetic that an op is part of, and returns the name of what it is now."""

FAMILIES: dict[str, dict[str, Pattern]] = {
    "attention": {"hipdnn.matmul": recognize_attention, "hipdnn.sdpa": read_sources},
    "norms": {"AVG": recognize_norm},
    "activations": {
        "erf": recognize_gelu,
        "tanh_fwd": recognize_tanh_gelu,
        "sigmoid_fwd": recognize_swish,
    },
    "convolutions": {"hipdnn.conv_fprop": fold_batchnorm},
    "adapters": {"add": merge_adapter},
}
"""Patterns by family, and then by the mode or the name of the op at which each begins."""

PATTERNS = Registry("pattern", *FAMILIES.values())
"""Every pattern by the mode or the name of the op at which it begins."""


def patterns_of(families: Sequence[str]) -> Mapping[str, Pattern]:
    """Returns the patterns of some families, or all that are registered if none is given.

    Raises:
        ValueError: there is no such family.
    """
    for family in families:
        if family not in FAMILIES:
            known = ", ".join(f"'{name}'" for name in FAMILIES)
            raise ValueError(f"unknown family '{family}'; expected one of {known}")
    if not families:
        return PATTERNS
    return {name: PATTERNS[name] for family in families for name in FAMILIES[family]}


__all__ = ["FAMILIES", "PATTERNS", "Declined", "Pattern", "Rules", "patterns_of"]

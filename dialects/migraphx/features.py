"""Encodes features of `migraphx.attention`: bits of an integer in the IR, words in the syntax."""

from __future__ import annotations

from collections.abc import Iterable

FEATURES = ("kvcache", "causal", "prefix_offset", "sliding_window", "splitkv")
"""The features by bit, the lowest first."""


def encode_features(words: Iterable[str]) -> int:
    """Returns the number that encodes features.

    Raises:
        ValueError: a word is not a feature.
    """
    return sum(1 << FEATURES.index(word) for word in set(words))


def decode_features(number: int) -> tuple[str, ...]:
    """Returns the features that a number encodes, in the order of their bits."""
    return tuple(word for bit, word in enumerate(FEATURES) if number >> bit & 1)

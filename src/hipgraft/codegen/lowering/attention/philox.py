"""Emits Philox 4x32-10, the counter-based generator of random numbers, in scalar code.

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter

_ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)


def random_word(scalars: ScalarEmitter, seed: Scalar, counter: Scalar) -> Scalar:
    """Emits the first 32 random bits for a counter.

    32-bit words are kept in 64-bit integers, in which the product of two words does not overflow.

    Args:
        scalars: emitter that receives the ops.
        seed: the key, i64.
        counter: the lower 64 of the counter's 128 bits, i64; the upper 64 bits are 0.

    Returns:
        The word as i64.
    """
    zero = scalars.constant(0, "i64")
    words = [_low(scalars, counter), _high(scalars, counter), zero, zero]
    key = [_low(scalars, seed), _high(scalars, seed)]
    for _ in range(_ROUNDS):
        words = _round(scalars, words, key)
        key = [_plus(scalars, *pair) for pair in zip(key, _KEY_STEPS, strict=True)]
    return words[0]


def _round(scalars: ScalarEmitter, words: list[Scalar], key: list[Scalar]) -> list[Scalar]:
    first, second = (
        scalars.op("arith.muli", word, scalars.constant(factor, "i64"))
        for word, factor in zip(words[::2], _MULTIPLIERS, strict=True)
    )
    return [
        _mixed(scalars, _high(scalars, second), words[1], key[0]),
        _low(scalars, second),
        _mixed(scalars, _high(scalars, first), words[3], key[1]),
        _low(scalars, first),
    ]


def _mixed(scalars: ScalarEmitter, *words: Scalar) -> Scalar:
    product, word, key = words
    return scalars.op("arith.xori", scalars.op("arith.xori", product, word), key)


def _plus(scalars: ScalarEmitter, word: Scalar, step: int) -> Scalar:
    return _low(scalars, scalars.op("arith.addi", word, scalars.constant(step, "i64")))


def _low(scalars: ScalarEmitter, value: Scalar) -> Scalar:
    return scalars.op("arith.andi", value, scalars.constant(0xFFFFFFFF, "i64"))


def _high(scalars: ScalarEmitter, value: Scalar) -> Scalar:
    return scalars.op("arith.shrui", value, scalars.constant(32, "i64"))

"""Rewriting ops: a bounded greedy driver, and a plain collect-then-mutate loop.

A pattern is a function of an op that rewrites it, or returns `NoMatch` with the reason why not.
Reasons become missed-optimisation remarks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hipgraft.ir.bindings import ir, rewrite
from hipgraft.ir.diagnostics import PassFailure
from hipgraft.ir.io import walk
from hipgraft.passmanager.base import PassState


@dataclass(frozen=True)
class NoMatch:
    """Why a pattern does not apply.

    Attributes:
        name: kebab-case identifier of the reason.
        reason: the sentence for the reader.
    """

    name: str
    reason: str


GreedyPattern = Callable[[ir.Operation, rewrite.PatternRewriter], NoMatch | None]
OpPattern = Callable[[ir.Operation], NoMatch | None]

_REWRITES_PER_OP = 8
_LEAST_REWRITES = 1000


def rewrite_greedily(
    module: ir.Module,
    patterns: Iterable[tuple[str, GreedyPattern]],
    state: PassState,
    *,
    max_iterations: int = 10,
) -> int:
    """Applies patterns until none does, and returns how often one did.

    MLIR folds ops and erases dead ones on the way. The number of rewrites is bounded by the number
    of ops, because MLIR's driver never returns from patterns that undo each other.

    Args:
        module: what to rewrite.
        patterns: pairs of an op name and the pattern for ops of that name. A pattern creates ops
            under `rewriter.ip`, with the op's location, and ends in `rewriter.replace_op` or
            `rewriter.erase_op`.
        state: takes the statistic `rewrites` and the remarks of declined ops.
        max_iterations: how often the whole module is gone through.

    Raises:
        PassFailure: the patterns do not come to an end.
    """
    attempts = _Attempts()
    # These hold the only references to the Python functions while the driver runs.
    pattern_set = rewrite.RewritePatternSet()
    for name, pattern in patterns:
        pattern_set.add(name, attempts.counted(pattern))
    frozen = pattern_set.freeze()
    config = rewrite.GreedyRewriteConfig()
    config.max_iterations = max_iterations
    config.max_num_rewrites = max(_LEAST_REWRITES, _REWRITES_PER_OP * _count_ops(module))
    try:
        rewrite.apply_patterns_and_fold_greedily(module, frozen, config)
    except RuntimeError as error:
        if "failed to converge" not in str(error):
            raise
        message = f"patterns did not converge: {attempts.rewrites} rewrites were made"
        raise PassFailure(message, module.operation) from None
    attempts.report(module, state)
    return attempts.rewrites


def rewrite_each(
    module: ir.Module, names: Iterable[str], pattern: OpPattern, state: PassState
) -> int:
    """Applies a pattern once to each op of the given names, and returns how often it applied.

    The ops are collected first: the pattern may replace and erase its own op and create others,
    but must leave the other collected ones alone.
    """
    count = 0
    for op in collect(module, names):
        outcome = pattern(op)
        if outcome is None:
            count += 1
        else:
            state.missed(op, outcome.name, outcome.reason)
    state.count("rewrites", count)
    return count


def collect(module: ir.Module, names: Iterable[str]) -> list[ir.Operation]:
    """Returns the ops of the given names, outer ones first."""
    wanted = frozenset(names)
    return [op for op in walk(module.operation) if op.name in wanted]


class _Attempts:
    """Counts rewrites and keeps the reasons of declined ops.

    The driver visits an op again after each change near it, and a declined op may match later. So
    reasons are kept by location, and reported for the ops that are still there.
    """

    def __init__(self) -> None:
        self.rewrites = 0
        self.reasons: dict[tuple[str, str], NoMatch] = {}

    def counted(
        self, pattern: GreedyPattern
    ) -> Callable[[ir.Operation | ir.OpView, rewrite.PatternRewriter], bool]:
        def attempt(op: ir.Operation | ir.OpView, rewriter: rewrite.PatternRewriter) -> bool:
            operation = op.operation
            key = _key(operation)
            outcome = pattern(operation, rewriter)
            if outcome is None:
                self.rewrites += 1
            else:
                self.reasons[key] = outcome
            # MLIR takes a falsy return for success.
            return outcome is not None

        return attempt

    def report(self, module: ir.Module, state: PassState) -> None:
        state.count("rewrites", self.rewrites)
        for op in walk(module.operation):
            reason = self.reasons.get(_key(op))
            if reason is not None:
                state.missed(op, reason.name, reason.reason)


def _key(op: ir.Operation) -> tuple[str, str]:
    # Locations are equal without having equal hashes.
    return op.name, str(op.location)


def _count_ops(module: ir.Module) -> int:
    return sum(1 for _ in walk(module.operation))

"""The rewriting drivers: they count, come to an end, and report what was declined."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hipgraft.ir.bindings import ir, make_context, rewrite
from hipgraft.ir.diagnostics import PassFailure, RemarkKind
from hipgraft.passmanager.base import PassState
from hipgraft.passmanager.rewriting import NoMatch, collect, rewrite_each, rewrite_greedily

_TEXT = """\
func.func @f(%x: i32, %y: i32) -> (i32, i32) {
  %0 = arith.muli %x, %x : i32
  %1 = arith.muli %x, %y : i32
  return %0, %1 : i32, i32
}
"""


@pytest.fixture
def module() -> Iterator[ir.Module]:
    module = ir.Module.parse(_TEXT, make_context())
    with module.context, ir.Location.unknown():
        yield module


def _square_to_sum(op: ir.Operation, rewriter: rewrite.PatternRewriter) -> NoMatch | None:
    if op.operands[0] != op.operands[1]:
        return NoMatch("no-square", "the operands differ")
    with rewriter.ip:
        results = [op.results[0].type]
        new = ir.Operation.create("arith.addi", results, list(op.operands), loc=op.location)
    rewriter.replace_op(op, new)
    return None


def _to_itself(op: ir.Operation, rewriter: rewrite.PatternRewriter) -> NoMatch | None:
    with rewriter.ip:
        results = [op.results[0].type]
        new = ir.Operation.create(op.name, results, list(op.operands), loc=op.location)
    rewriter.replace_op(op, new)
    return None


def test_greedy_rewrites_are_counted_and_declined_ops_reported(module: ir.Module):
    state = PassState("test")
    assert rewrite_greedily(module, [("arith.muli", _square_to_sum)], state) == 1
    assert [op.name for op in collect(module, ["arith.addi", "arith.muli"])] == [
        "arith.addi",
        "arith.muli",
    ]
    assert state.counters["rewrites"] == 1
    assert [(r.kind, r.name, r.location) for r in state.remarks] == [
        (RemarkKind.MISSED, "no-square", "-:3:8")
    ]


def test_greedy_rewriting_that_has_no_end_is_an_error(module: ir.Module):
    with pytest.raises(PassFailure, match="patterns did not converge"):
        rewrite_greedily(module, [("arith.muli", _to_itself)], PassState("test"))


def test_bug_in_a_pattern_keeps_its_type(module: ir.Module):
    def buggy(op: ir.Operation, rewriter: rewrite.PatternRewriter) -> NoMatch | None:
        raise KeyError(op.name)

    with pytest.raises(KeyError):
        rewrite_greedily(module, [("arith.muli", buggy)], PassState("test"))


def test_each_op_is_rewritten_once(module: ir.Module):
    def double(op: ir.Operation) -> NoMatch | None:
        if op.operands[0] != op.operands[1]:
            return NoMatch("no-square", "the operands differ")
        with ir.InsertionPoint(op):
            results = [op.results[0].type]
            new = ir.Operation.create("arith.muli", results, list(op.operands), loc=op.location)
        op.results[0].replace_all_uses_with(new.result)
        op.erase()
        return None

    state = PassState("test")
    assert rewrite_each(module, ["arith.muli"], double, state) == 1
    assert module.operation.verify()
    assert [remark.name for remark in state.remarks] == ["no-square"]

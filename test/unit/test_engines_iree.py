"""The rules of the engine `iree` accept exactly the graphs that compile for gfx942.

Graphs of each kind of op, drawn at random in small sizes, follow the rules and compile. Graphs that
break a rule do not compile.
"""

from __future__ import annotations

import pytest
from engine_graphs import WINDOW, failure_of, graph, node, single, subject
from hypothesis import Phase, given, settings
from lowering_cases import Case, build_graph
from random_graphs import FAMILIES, graphs

from hipgraft.codegen.provider import compile_container
from hipgraft.codegen.target import Target
from hipgraft.dialects.hipdnn import graph as graph_builder
from hipgraft.dialects.hipdnn import yield_
from hipgraft.engines import find_engine, graph_of
from hipgraft.engines.registry import IREE
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.passes.hipdnn_outline import HipdnnOutlinePass
from hipgraft.passmanager.base import PassState
from hipgraft.transforms.fusion import MAX_OPERANDS

TARGET = Target.parse("gfx942")
ROW = {"x": "4x8xf32"}
HEADS = {"q": "1x2x8x8xf16", "k": "1x2x8x8xf16", "v": "1x2x8x8xf16"}
POOL = WINDOW.split(", dilation")[0] + ", window = array<i64: 2, 2>"
EDGES = f'{POOL}, resample_mode = "AVGPOOL_INCLUDE_PADDING", padding_mode = "EDGE_VAL_PAD"'
CHANNEL = dict.fromkeys("sb", "1x4x1x1xf32")

REFUSED = {
    "graph/op/types": [
        single("pointwise", {"x": "4x8xsi32"}, "4x8xf32", 'mode = "identity"'),
        single("reduction", {"x": "4x8xui16"}, "4x1xui16", 'mode = "ADD"'),
    ],
    "graph/convolution/types": [
        single("conv_fprop", {"x": "1x4x6x6xf4E2M1FN", "w": "4x4x3x3xf4E2M1FN"},
               "1x4x6x6xf4E2M1FN", WINDOW),
    ],
    "graph/training/absent/peer_stats": [
        single("batchnorm", {"x": "2x4x3x3xf32"} | CHANNEL | {"e": "1xf32", "p": "1x4x1x1xf32"},
               "2x4x3x3xf32",
               "operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 1>"),
    ],
    "graph/attention/rules[0]": [
        single("sdpa", HEADS, "1x2x8x8xf16", "dropout_probability = 0.5 : f32"),
    ],
    "graph/block_scale_quantize/types": [
        single("block_scale_quantize", {"x": "4x64xf32"}, ("4x64xi16", "4x2xf32"),
               "block_size = 32 : i64"),
    ],
    "graph/resample_bwd/rules[0]": [
        single("resample_bwd", {"dy": "1x1x5x5xf32"}, "1x1x4x4xf32", EDGES),
    ],
    "graph/custom_op/rules[0]": [
        single("custom_op", {"x": "4xf32"}, "4xf32", 'custom_op_id = "other.op", data = "x"'),
    ],
}  # fmt: skip


def error_of(module: ir.Module) -> str:
    """Returns the compiler's error for the graph, or the op, of a module; empty if it compiles."""
    op = subject(module)
    try:
        compile_container(op if op.regions else contained(op), TARGET)
    except HipgraftError as error:
        return error.message or "an error without text"
    return ""


def contained(op: ir.Operation) -> ir.Operation:
    """A graph of an op that stands in a function."""
    with ir.InsertionPoint(op), op.location:
        container = graph_builder(list(op.operands), [result.type for result in op.results])
    with ir.InsertionPoint(container.body), op.location:
        copy = op.clone()
        for index, argument in enumerate(container.body.arguments):
            copy.operands[index] = argument
        yield_(list(copy.results))
    return container.operation


@pytest.mark.sampled(32)
@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_drawn_graphs_are_taken_and_compile(family: str) -> None:
    @given(graphs(family))
    @settings(max_examples=1, derandomize=True, database=None, phases=[Phase.generate])
    def check(cases: list[Case]) -> None:
        for case in cases:
            with make_context(), ir.Location.unknown():
                module, op = build_graph(case)
                assert find_engine(IREE).check(graph_of(op.operation), TARGET.name) is None
                compile_container(op.operation, TARGET)
                del module

    check()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "text"), [(rule, text) for rule, texts in REFUSED.items() for text in texts]
)
def test_what_breaks_a_rule_does_not_compile(rule: str, text: str) -> None:
    failure = failure_of(IREE, text, TARGET.name)
    assert failure is not None
    assert failure.rule == rule
    with make_context() as context:
        assert error_of(ir.Module.parse(text, context))


def test_graphs_read_as_many_tensors_as_outlining_lets_them() -> None:
    """IREE limits the bindings of a dispatch; `MAX_OPERANDS` is that limit."""
    for count in (MAX_OPERANDS, MAX_OPERANDS + 1):
        arguments = {f"x{at}": "8xf32" for at in range(count)}
        lines = [f"%s1 = {node('pointwise', {'x0': '8xf32', 'x1': '8xf32'}, '8xf32', MODE)}"]
        for at in range(2, count):
            operands = {f"s{at - 1}": "8xf32", f"x{at}": "8xf32"}
            lines.append(f"%s{at} = {node('pointwise', operands, '8xf32', MODE)}")
        text = graph("\n".join(lines), arguments, {f"s{count - 1}": "8xf32"})
        failure = failure_of(IREE, text)
        assert (failure is None) == (count == MAX_OPERANDS)


MODE = 'mode = "add"'


def test_outlining_leaves_what_no_engine_takes() -> None:
    text = single("pointwise", {"x": "4x8xsi32"}, "4x8xf32", 'mode = "identity"')
    with make_context() as context, ir.Location.unknown(context):
        module, state = ir.Module.parse(text, context), PassState("hipdnn-outline")
        HipdnnOutlinePass().run(module, state)
        assert subject(module).name == "hipdnn.pointwise"
    (remark,) = state.remarks
    assert remark.name == "not-taken"
    assert "iree: expected 'in_0' of type f16, bf16" in remark.message

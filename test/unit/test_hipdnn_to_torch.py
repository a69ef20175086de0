"""Torch forms of hipDNN ops, lowered by torch-mlir and run on the CPU, against the oracles.

The cases are those of the lowering, in f32 where an op has them in several types.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import test_lowering_attention as attention
import test_lowering_block_scale as block_scale
import test_lowering_contractions as contractions
import test_lowering_gradients as gradients
import test_lowering_moe as moe
import test_lowering_pointwise as pointwise
import test_lowering_reductions as reductions
import test_lowering_resample as resample
from lowering_cases import Case, Results, build_graph, selected
from programs import run_passes

from hipgraft.codegen.lowering.all_ops import lower_container
from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir, make_context
from hipgraft.transforms.hipdnn_to_torch import FORMS

MODULES = (
    attention, block_scale, contractions, gradients, moe, pointwise, reductions, resample
)  # fmt: skip

# Why the op of a case stays, by the case's name.
STAYS = {
    "block_scale-quantize": "torch has no op for it",
    "block_scale-mx_matmul": "torch-mlir has no elements of type f8E8M0FNU",
    "block_scale-dequantize_f4E2M1FN_f8E4M3FN": "torch-mlir has no elements of type f4E2M1FN",
    "attention-random_dropout": "torch-mlir has no random numbers of a given generator",
    "attention-backward_random_dropout": "torch-mlir has no random numbers of a given generator",
    "attention-blocks": "a fallback takes no unsigned integers",
    "attention-many_blocks": "a fallback takes no unsigned integers",
    "attention-dump_some": "torch-mlir has no random numbers of a given generator",
    "attention-dump_none": "torch's attention does not tell what its dropout keeps",
}

# What torch-mlir or IREE's CPU code computes otherwise, or does not compile: NaN in maxima,
# conversions of 8-bit floats, sums over other dimensions than those of the scale.
OTHERWISE = (
    "max_op_nan",
    "min_op_nan",
    "relu_nan",
    "every_code_",
    "rounding_",
    "ln_beyond_scale_gradient",
)


def is_taken(case: Case) -> bool:
    """Leaves out cases that differ only in element types or in their lowering."""
    is_narrow = case.name.endswith(("_f16", "_bf16")) and not case.name.startswith("cast")
    is_exotic = "f8E8M0" in case.name or "f4E2M1" in case.name
    return not (is_narrow or is_exotic or case.name.startswith(("fused", *OTHERWISE)))


NAMED = {
    f"{module.__name__.removeprefix('test_lowering_')}-{case.name}": case
    for module in MODULES
    for case in module.CASES
}
CASES = {
    name: case
    for name, case in NAMED.items()
    if is_taken(case) and not name.startswith(tuple(STAYS))
}


def as_torch(case: Case) -> tuple[str, list[str]]:
    """Lowers the torch form of a case's graph; also returns why ops stay."""
    with make_context(), ir.Location.unknown():
        module, _graph = build_graph(case)
        (state,) = run_passes(module, "convert-hipdnn-to-torch")
        if state.remarks:
            return "", [remark.message for remark in state.remarks]
        (op,) = (op for op in module.body.operations if op.name == hipdnn.FallbackOp.OP_NAME)
        return lower_container(op.operation, Target.parse("cpu")), []


@pytest.fixture(scope="module")
def forms(request: pytest.FixtureRequest) -> Results:
    """Results of the cases that are selected."""

    def lower(case: Case) -> str:
        text, reasons = as_torch(case)
        assert not reasons
        return text

    chosen = selected(request, "forms", "name")
    return Results([replace(CASES[name], name=called(name)) for name in chosen], lower)


def called(name: str) -> str:
    """The name of a case's function."""
    return name.replace("-", "_")


@pytest.mark.sampled(52)
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_torch_form(name: str, forms: Results):
    CASES[name].check(forms[called(name)])


@pytest.mark.parametrize("start", STAYS)
def test_reason_of_what_stays(start: str):
    case = next(case for name, case in NAMED.items() if name.startswith(start))
    _, reasons = as_torch(case)
    assert STAYS[start] in reasons[0]


def test_every_op_but_those_without_meaning_in_torch_has_a_form():
    computing = {name for name in hipdnn.OPS if hipdnn.GraphOp.computes(name)}
    assert computing - FORMS.keys() == {"hipdnn.custom_op", "hipdnn.block_scale_quantize"}

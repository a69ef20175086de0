"""Every op computes in its declared type: f32 graphs that compute in f64 have no f32 arithmetic."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from lowering_cases import FIELDS, Case, lower_case
from test_lowering_coverage import MODULES

# What rounds.
_IN_F32 = re.compile(
    r"arith\.(?:add|sub|mul|div|rem)f .*: f32$|math\.\w+ .*: f32$"
    r"|linalg\.(?:batch_)?matmul[^>]*outs\([^)]*f32>\)",
    re.MULTILINE,
)

# Their operands are never all of f32.
_OF_OTHER_TYPES = {
    "hipdnn.block_scale_dequantize",
    "hipdnn.block_scale_quantize",
    "hipdnn.custom_op",
    "hipdnn.moe_grouped_matmul",
    "hipdnn.moe_grouped_matmul_bwd",
}


def is_f32(case: Case) -> bool:
    elements = {str(value.dtype) for value in case.inputs}
    return elements == {"float32"} and set(case.elements) == {"f32"} and case.target == "cpu"


@pytest.mark.slow
def test_no_arithmetic_in_f32() -> None:
    rounding: dict[str, str] = {}
    for case in (case for module in MODULES for case in module.CASES if is_f32(case)):
        found = _IN_F32.search(lower_case(replace(case, compute="f64")))
        if found:
            rounding[case.name] = found.group()
    assert rounding == {}
    without = {name for name, fields in FIELDS.items() if "compute_type" not in fields}
    assert without <= _OF_OTHER_TYPES

"""Every operand, result and attribute of a compute op has a case that an oracle checks."""

from __future__ import annotations

import pytest
import test_lowering_attention
import test_lowering_block_scale
import test_lowering_contractions
import test_lowering_gradients
import test_lowering_moe
import test_lowering_pointwise
import test_lowering_ragged
import test_lowering_reductions
import test_lowering_resample
from lowering_cases import FIELDS, lower_case

from hipgraft.dialects.hipdnn import ComputeOp, CustomOp
from hipgraft.dialects.hipdnn.op import OPS

MODULES = (
    test_lowering_attention,
    test_lowering_block_scale,
    test_lowering_contractions,
    test_lowering_gradients,
    test_lowering_moe,
    test_lowering_pointwise,
    test_lowering_ragged,
    test_lowering_reductions,
    test_lowering_resample,
)

NO_MATTER_OF_NUMBERS = {
    "generate_stats": "the result 'stats' says the same",
    "generate_index": "the result or operand 'index' says the same",
    "implementation": "a choice of hipDNN's engines, all of which compute the same",
    "mma_core_mode": "the type of the operands, which the tensors have",
    "is_deterministic": "kernels have no atomics: runs agree bit by bit",
    "conv_mode": "the verifier allows what engines have, cross-correlation",
    "forward_phase": "the results 'mean', 'inv_variance', 'inv_rms' say the same",
    "peer_stats": "refused: hipDNN does not define what they hold",
    "compute_type": "has a test module",
    "transpose": "the strides of the results say the same",
}


@pytest.mark.slow
def test_each_field_has_a_case() -> None:
    for module in MODULES:
        for case in module.CASES:
            lower_case(case)
    missing = [
        f"{name}: {field.name}"
        for name, op_class in OPS.items()
        if issubclass(op_class, ComputeOp) and op_class is not CustomOp  # has a test module
        for field in (*op_class.operand_fields, *op_class.result_fields, *op_class.attribute_fields)
        if field.name not in NO_MATTER_OF_NUMBERS and field.name not in FIELDS.get(name, set())
    ]
    assert missing == []

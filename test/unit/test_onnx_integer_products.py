"""Products of integers with factors against ONNX's reference."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator
from small_onnx import evaluating, results_of, save

pytestmark = pytest.mark.slow

FACTORS = [(-1.0, 1.0), (3.0, -2.0), (0.5, 1.0), (1.0, 0.25), (-1.5, 0.5)]


@evaluating
def both(path, inputs):
    """Our results, and those of the reference."""
    wanted = ReferenceEvaluator(onnx.load(path)).run(None, inputs)
    return results_of(path, [*inputs.values()])[0], wanted[0]


@pytest.mark.sampled(14)
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32])
@pytest.mark.parametrize(("alpha", "beta"), FACTORS)
@pytest.mark.parametrize("operands", ["ab", "abc"])
def test_fractions_are_cut_at_the_end(tmp_path, dtype, alpha, beta, operands):
    rng = np.random.default_rng(0)
    shapes = {"a": (4, 3), "b": (2, 4), "c": (2,)}
    inputs = {name: rng.integers(0, 40, shapes[name]).astype(dtype) for name in operands}
    attributes = {"alpha": alpha, "beta": beta, "transA": 1, "transB": 1}
    node = helper.make_node("Gemm", [*operands], ["y"], **attributes)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    got, wanted = both(save(tmp_path / "m.onnx", [node], inputs, [("y", kind)]), inputs)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, wanted)

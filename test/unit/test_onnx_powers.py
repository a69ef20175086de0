"""Powers of integers against Python's, and of other exponents against NumPy's in f64."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper
from small_onnx import evaluating, results_of, save

pytestmark = pytest.mark.slow

COUNTS = np.arange(9)


@evaluating
def computed(tmp_path, x, exponents, constants) -> list[np.ndarray]:
    """The powers by each of the exponents, which are inputs and constants."""
    inputs, fixed = ({f"{i}{kind}": one for i, one in enumerate(each)}
                     for kind, each in (("i", exponents), ("c", constants)))  # fmt: skip
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    names = [*inputs, *fixed]
    nodes = [helper.make_node("Pow", ["x", name], [f"y{name}"]) for name in names]
    outputs = [(f"y{name}", kind) for name in names]
    path = save(tmp_path / "m.onnx", nodes, {"x": x, **inputs}, outputs, fixed, opset=18)
    return results_of(path, [x, *inputs.values()])


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.uint32, np.uint64])
def test_exact_and_wrapped(tmp_path, dtype):
    bases = np.arange(0, 14) if np.dtype(dtype).kind == "u" else np.arange(-6, 8)
    x = np.repeat(bases[:, None], COUNTS.size, 1).astype(dtype)
    exponents = [COUNTS.astype(kind) for kind in (np.int64, np.float32, np.uint8, np.uint64)]
    constants = [np.int64(0), np.float32(5), COUNTS.astype(np.int32)]
    found = computed(tmp_path, x, exponents, constants)
    for exponent, result in zip([*exponents, *constants], found, strict=True):
        powers = x.astype(object) ** np.asarray(exponent).astype(int).astype(object)
        np.testing.assert_array_equal(result, (powers & ((1 << 64) - 1)).astype("u8").astype(dtype))


def test_inverses_roots_and_large_exponents(tmp_path):
    x = np.array([1, -1, 2, -2, 5, -1, 1, -1, 1, 9, 2, 3], np.int32)
    exponents = [-3, -3, -1, -5, -2, -4, 70, 65, -70, 0.5, 2.5, 1]
    want = np.power(x.astype(np.float64), exponents).astype(np.int32)
    whole = np.array(exponents).astype(np.int64)
    (of_float, of_integer) = computed(tmp_path, x, [np.array(exponents, np.float32), whole], [])
    np.testing.assert_array_equal(of_float, want)
    np.testing.assert_array_equal(of_integer, np.power(x.astype(np.float64), whole).astype("i4"))

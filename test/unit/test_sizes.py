"""Sizes of types against NumPy's own count of bytes, on random shapes and strides."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.sizes import nbytes
from hipgraft.tools import hipgraft_compile

ELEMENTS = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i64": np.int64}


def spanned(shape: list[int], strides: list[int], offset: int, dtype: type) -> int:
    """Bytes up to the end of the last element, from NumPy's bounds of a strided window."""
    if 0 in shape:
        return 0
    width = np.dtype(dtype).itemsize
    base = np.zeros(1, dtype)
    view = np.lib.stride_tricks.as_strided(base, shape, [step * width for step in strides])
    first, end = np.lib.array_utils.byte_bounds(view)
    return offset * width + end - first


@pytest.mark.parametrize("seed", range(50))
def test_sizes_are_numpy_s(seed: int) -> None:
    generator = random.Random(seed)
    element, dtype = generator.choice(sorted(ELEMENTS.items()))
    shape = [generator.randrange(5) for _ in range(generator.randrange(1, 4))]
    strides = [generator.randrange(7) for _ in shape]
    offset = generator.randrange(3)
    packed = np.zeros(shape, dtype).nbytes
    extents, steps = "x".join(map(str, shape)), ", ".join(map(str, strides))
    layout = f"strided<[{steps}], offset: {offset}>"
    cases = {
        f"tensor<{extents}x{element}>": packed,
        f"memref<{extents}x{element}, {layout}>": spanned(shape, strides, offset, dtype),
        f"!torch.vtensor<{shape},{element.replace('i', 'si')}>".replace(" ", ""): packed,
        f"!migraphx.shaped<{extents}x{element}, {'x'.join(map(str, strides))}>": spanned(
            shape, strides, 0, dtype
        ),
    }
    with make_context():
        assert {text: nbytes(ir.Type.parse(text)) for text in cases} == cases


MODEL = """
func.func @main(%x: !torch.vtensor<[{n},{n}],f32>) -> !torch.vtensor<[{n},{n}],f32> {{
  %0 = torch.aten.relu %x : !torch.vtensor<[{n},{n}],f32> -> !torch.vtensor<[{n},{n}],f32>
  return %0 : !torch.vtensor<[{n},{n}],f32>
}}
"""


@pytest.mark.parametrize("extent", [2**31, 2**32, 2**40, 2**62])
def test_a_program_of_wrapped_sizes_is_not_written(
    tmp_path: Path, extent: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.mlir").write_text(MODEL.format(n=extent))
    output = tmp_path / "out.mlir"
    assert hipgraft_compile.main([str(tmp_path / "model.mlir"), "-q", f"-o={output}"]) == 1
    assert "model.mlir:2:1: error: " in capsys.readouterr().err
    assert not output.exists()

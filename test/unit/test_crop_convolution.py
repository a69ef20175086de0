"""Parts of convolutions along spatial dims, against NumPy's convolution and slice in f64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import run_passes

import hipgraft
from hipgraft.ir.bindings import ir, make_context

Array = np.ndarray[Any, Any]
X = (1, 4, 9)
W = (6, 2, 3)


def vtensor(shape: tuple[int, ...]) -> str:
    return f"!torch.vtensor<[{','.join(map(str, shape))}],f32>"


def convolved(x: Array, w: Array, stride: int, padding: int, dilation: int) -> Array:
    """Convolves [N, C, L] with filters [K, C / 2, T] of two groups."""
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding)))
    span = (w.shape[2] - 1) * dilation + 1
    windows = np.lib.stride_tricks.sliding_window_view(padded, span, 2)[:, :, ::stride, ::dilation]
    parts = zip(np.split(windows, 2, 1), np.split(w, 2), strict=True)
    return np.concatenate([np.einsum("nclt,kct->nkl", a, b) for a, b in parts], 1)


def program(
    attributes: tuple[int, int, int], whole: int, bounds: tuple[int, int], part: int
) -> str:
    constants = sorted({*attributes, *bounds, 0, 1, 2})
    first, last = (f"%i{n & 0xFFFF}" for n in bounds)
    lines = [f"%i{n & 0xFFFF} = torch.constant.int {n}" for n in constants]
    lines += ["%none = torch.constant.none", "%false = torch.constant.bool false"]
    for name, number in zip("spd", attributes, strict=True):
        lines.append(
            f"%{name} = torch.prim.ListConstruct %i{number} : (!torch.int) -> !torch.list<int>"
        )
    lines += [
        "%o = torch.prim.ListConstruct %i0 : (!torch.int) -> !torch.list<int>",
        "%c = torch.aten.convolution %x, %w, %none, %s, %p, %d, %false, %o, %i2 : "
        f"{vtensor(X)}, {vtensor(W)}, !torch.none, !torch.list<int>, !torch.list<int>, "
        "!torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> "
        f"{vtensor((1, 6, whole))}",
        f"%r = torch.aten.slice.Tensor %c, %i2, {first}, {last}, %i1 : "
        f"{vtensor((1, 6, whole))}, !torch.int, !torch.int, !torch.int, !torch.int -> "
        f"{vtensor((1, 6, part))}",
    ]
    body = "\n".join(lines)
    kinds = f"%x: {vtensor(X)}, %w: {vtensor(W)}"
    result = vtensor((1, 6, part))
    return f"func.func @main({kinds}) -> {result} {{\n{body}\nreturn %r : {result}\n}}"


CASES = [
    # stride, padding, dilation, first and last bound of the slice, whether less is computed
    ((1, 2, 1), (0, 9), True),
    ((1, 2, 1), (2, 11), True),
    ((1, 2, 1), (1, 100), True),
    ((1, 2, 1), (-9, -1), True),
    ((2, 3, 1), (0, 6), True),
    ((2, 3, 1), (1, 6), True),
    ((2, 3, 1), (1, 5), False),
    ((1, 4, 2), (2, 11), True),
    ((1, 4, 2), (0, 2), False),
    ((1, 0, 1), (1, 5), False),
    ((1, 1, 1), (2, 9), False),
]


@pytest.mark.sampled(16)
@pytest.mark.parametrize(("attributes", "bounds", "is_cropped"), CASES)
def test_parts(attributes: tuple[int, int, int], bounds: tuple[int, int], is_cropped: bool):
    random = np.random.default_rng(5)
    x, w = (random.normal(size=shape).astype(np.float32) for shape in (X, W))
    whole = convolved(x.astype(np.float64), w.astype(np.float64), *attributes)
    expected = whole[:, :, slice(*bounds)]
    text = program(attributes, whole.shape[2], bounds, expected.shape[2])
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        run_passes(module, "torch-legalize-operators")
        assert ("aten.slice" not in str(module)) == is_cropped
    (result,) = hipgraft.compile(text, target="cpu").run([x, w])
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)

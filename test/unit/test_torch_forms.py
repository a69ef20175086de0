"""Forms of ATen ops that torch-mlir lacks or lowers wrongly, against NumPy's definitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hipgraft

pytestmark = pytest.mark.slow

Array = np.ndarray[Any, Any]

random = np.random.default_rng(3)
X = random.normal(size=(2, 7)).astype(np.float32)
W = random.normal(size=(3, 2, 2)).astype(np.float32)
INDICES = np.array([6, -7, -1])
V = random.normal(size=(3,)).astype(np.float32)
N = np.array([[1, -8, 3]])

F32, INDEX, INT = (
    "!torch.vtensor<[{}],f32>",
    "!torch.vtensor<[3],si64>",
    "!torch.vtensor<[1,3],si64>",
)
INPUTS = {"x": (X, F32.format("2,7")), "w": (W, F32.format("3,2,2")), "i": (INDICES, INDEX)}
INPUTS |= {"v": (V, F32.format("3")), "n": (N, INT)}


def pooled(reduce: Callable[[Array], Any]) -> Array:
    windows = [(number * 7 // 4, -(-(number + 1) * 7 // 4)) for number in range(4)]
    return np.array([[reduce(row[a:b]) for a, b in windows] for row in X])


def put() -> Array:
    expected = X.copy()
    expected[0, [6, 0]] = V[:2]
    return expected


def convolved() -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(X, 2, 1)
    return np.einsum("kcr,cwr->kw", W, windows)


CASES: dict[str, tuple[str, str, Array]] = {
    "average": ("adaptive_avg_pool1d(%x, %four)", F32.format("2,4"), pooled(np.mean)),
    "convolution": (
        "conv1d(%x, %w, %none, %ones, %zeros, %ones, %one)", F32.format("3,6"), convolved()
    ),
    "behind": ("constant_pad_nd(%x, %others, %nine)", F32.format("2,6"),
               np.pad(X[:, :5], ((0, 0), (1, 0)), constant_values=9)),
    "crop": ("constant_pad_nd(%x, %amounts, %nine)", F32.format("2,7"),
             np.pad(X[:, 2:], ((0, 0), (0, 2)), constant_values=9)),
    "left": ("__lshift__.Scalar(%n, %two)", INT, N << 2),
    "put": ("index_put(%x, %indices, %first, %no)", F32.format("2,7"), put()),
    "right": ("bitwise_right_shift.Tensor_Scalar(%n, %one)", INT, N >> 1),
    "roll": ("roll(%x, %threes, %empty)", F32.format("2,7"), np.roll(X, 3)),
}  # fmt: skip
CONSTANTS = """
  %none = torch.constant.none
  %no = torch.constant.bool false
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %three = torch.constant.int 3
  %count = torch.constant.int 4
  %less = torch.constant.int -2
  %nine = torch.constant.float 9.0
  %ones = torch.prim.ListConstruct %one : (!torch.int) -> !torch.list<int>
  %zeros = torch.prim.ListConstruct %zero : (!torch.int) -> !torch.list<int>
  %threes = torch.prim.ListConstruct %three : (!torch.int) -> !torch.list<int>
  %four = torch.prim.ListConstruct %count : (!torch.int) -> !torch.list<int>
  %empty = torch.prim.ListConstruct : () -> !torch.list<int>
  %others = torch.prim.ListConstruct %one, %less : (!torch.int, !torch.int) -> !torch.list<int>
  %amounts = torch.prim.ListConstruct %less, %two : (!torch.int, !torch.int) -> !torch.list<int>
  %rows = torch.vtensor.literal(dense<[0, -2]> : tensor<2xsi64>) : !torch.vtensor<[2],si64>
  %columns = torch.aten.slice.Tensor %i, %zero, %zero, %two, %one
    : !torch.vtensor<[3],si64>, !torch.int, !torch.int, !torch.int, !torch.int
    -> !torch.vtensor<[2],si64>
  %first = torch.aten.slice.Tensor %v, %zero, %zero, %two, %one
    : !torch.vtensor<[3],f32>, !torch.int, !torch.int, !torch.int, !torch.int
    -> !torch.vtensor<[2],f32>
  %indices = torch.prim.ListConstruct %rows, %columns
    : (!torch.vtensor<[2],si64>, !torch.vtensor<[2],si64>) -> !torch.list<optional<vtensor>>
"""
TYPES = {name: kind for name, (_, kind) in INPUTS.items()} | {
    "none": "!torch.none", "no": "!torch.bool", "nine": "!torch.float",
    **dict.fromkeys(("zero", "one", "two", "three"), "!torch.int"),
    **dict.fromkeys(("ones", "zeros", "threes", "four", "empty"), "!torch.list<int>"),
    **dict.fromkeys(("amounts", "others"), "!torch.list<int>"),
    "first": "!torch.vtensor<[2],f32>", "indices": "!torch.list<optional<vtensor>>",
}  # fmt: skip


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Array]:
    lines: list[str] = []
    for name, (text, kind, _) in CASES.items():
        op, _, operands = text.partition("(")
        names = operands.rstrip(")").split(", ")
        kinds = ", ".join(TYPES[one.removeprefix("%")] for one in names)
        lines.append(
            f'%r_{name} = torch.operator "torch.aten.{op}"({operands} : ({kinds}) -> {kind}'
        )
    arguments = ", ".join(f"%{name}: {kind}" for name, (_, kind) in INPUTS.items())
    results = ", ".join(f"%r_{name}" for name in CASES)
    kinds = ", ".join(kind for _, kind, _ in CASES.values())
    body = "\n".join([CONSTANTS, *lines, f"return {results} : {kinds}"])
    path = tmp_path_factory.mktemp("forms") / "m.mlir"
    path.write_text(f"func.func @main({arguments}) -> ({kinds}) {{{body}}}")
    program = hipgraft.compile(path, "cpu")
    return dict(zip(CASES, program.run([array for array, _ in INPUTS.values()]), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_form(found: dict[str, Array], name: str):
    np.testing.assert_allclose(found[name], CASES[name][2], rtol=1e-5, atol=1e-6)

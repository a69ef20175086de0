"""ATen ops converted to hipDNN and back, run on the CPU, against numpy's definitions.

All ops are in one program, because each compilation has a high fixed cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np
import pytest
from oracle.gradients import gradient
from programs import run_passes

from hipgraft import runtime
from hipgraft.ir.bindings import ir, make_context
from hipgraft.passmanager.runner import Runner
from hipgraft.runtime.devices import open_device
from hipgraft.service import Cache, CompileService, default_cache_directory, use_service

pytestmark = pytest.mark.slow

Array = np.ndarray[Any, Any]

PIPELINE = (
    "builtin.module(hipdnn-outline,hipdnn-outline-fallback,"
    "hipdnn-compile{target=cpu},hipdnn-bufferize)"
)

random = np.random.default_rng(7)
INPUTS: dict[str, Array] = {
    "x": random.normal(size=(2, 4, 6, 6)).astype(np.float32),
    "dy": random.normal(size=(2, 4, 6, 6)).astype(np.float32),
    "y": random.uniform(0.05, 0.95, (2, 4, 6, 6)).astype(np.float32),
    "w": random.normal(size=(4, 2, 3, 3)).astype(np.float32),
    "u": random.normal(size=(4, 4, 3, 3)).astype(np.float32),
    "q": random.integers(0, 2, (2, 4, 6, 6)).astype(np.bool_),
    "b": random.normal(size=(4,)).astype(np.float32),
    "v": random.uniform(0.5, 2, (4,)).astype(np.float32),
    "i": random.integers(-3, 4, (4, 6)).astype(np.int64),
    "t": random.integers(0, 2, (4, 6)).astype(np.bool_),
    "m": random.normal(size=(5, 6)).astype(np.float32),
    "n": random.normal(size=(6, 4)).astype(np.float32),
}
X, DY, Y, W, U, B, V, M, N = (
    INPUTS[name].astype(np.float64) for name in ("x", "dy", "y", "w", "u", "b", "v", "m", "n")
)
ELEMENTS = {"float32": "f32", "int64": "si64", "bool": "i1"}


@dataclass(frozen=True)
class Case:
    """An op, its operands (names of inputs or Python constants), and its expected results."""

    op: str
    operands: Sequence[Any]
    expected: Sequence[Array]


def windows(x: Array, size: int, step: int, pad: int, fill: float) -> Array:
    """Windows `[N, C, H, W, size, size]` of a padded tensor."""
    edges = [(0, 0), (0, 0), (pad, pad), (pad, pad)]
    padded = np.pad(x, edges, constant_values=fill)
    found = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(2, 3))
    return found[:, :, ::step, ::step]


def convolution(x: Array, w: Array, pad: int, groups: int) -> Array:
    """Convolution of stride 1, computed as sums."""
    seen = windows(x, w.shape[2], 1, pad, 0.0)
    seen = seen.reshape(x.shape[0], groups, -1, *seen.shape[2:])
    filters = w.reshape(groups, -1, *w.shape[1:])
    y = np.einsum("ngchwrs,gkcrs->ngkhw", seen, filters)
    return y.reshape(x.shape[0], -1, *y.shape[3:])


def adjoint(function: Callable[[Array], Array], shape: Sequence[int], dy: Array) -> Array:
    """The gradient of a linear function at any point, from its values on the unit vectors."""
    size = math.prod(shape)
    units = np.eye(size).reshape(size, *shape)
    return np.array([np.vdot(function(unit), dy) for unit in units]).reshape(shape)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def batch_norm() -> tuple[Array, Array, Array]:
    mean = X.mean((0, 2, 3))
    deviation = 1 / np.sqrt(X.var((0, 2, 3)) + 1e-3)
    channel = (1, 4, 1, 1)
    y = (X - mean.reshape(channel)) * (deviation * V).reshape(channel) + B.reshape(channel)
    return y, mean, deviation


def layer_norm() -> tuple[Array, Array, Array]:
    mean = X.mean(3, keepdims=True)
    deviation = 1 / np.sqrt(X.var(3, keepdims=True) + 1e-3)
    return (X - mean) * deviation, mean, deviation


def central(function: Callable[[Array], Array]) -> Array:
    """`dy · function'(x)` by a central difference."""
    step = 1e-5
    return DY * (function(X + step) - function(X - step)) / (2 * step)


def gelu(x: Array) -> Array:
    return x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


ONES, TWOS, ZEROS = [1, 1], [2, 2], [0, 0]

# Where the maxima of 3 by 3 windows are in a channel, row by row.
WINDOWS = windows(X, 3, 2, 1, -np.inf)
PLACES = windows(np.arange(36.0).reshape(1, 1, 6, 6), 3, 2, 1, -1).reshape(1, 1, 3, 3, 9)
LARGEST = WINDOWS.reshape(2, 4, 3, 3, 9).argmax(4)[..., None]
MAXIMA = np.take_along_axis(np.broadcast_to(PLACES, (2, 4, 3, 3, 9)), LARGEST, 4)[..., 0]
MAXIMA = MAXIMA.astype(np.int64)
ROWS, COLUMNS = np.indices((2, 4, 1, 1))[:2]
INPUTS["maxima"] = MAXIMA
INPUTS["pooled"] = random.normal(size=(2, 4, 3, 3)).astype(np.float32)


def adjoint_of_pooling(function: Callable[[Array], Array]) -> Array:
    return adjoint(function, (2, 4, 6, 6), INPUTS["pooled"].astype(np.float64))


SCORES = np.exp(X @ DY.swapaxes(2, 3) / 4)
ATTENTION = SCORES / SCORES.sum(3, keepdims=True) @ Y
INPUTS["attention"] = ATTENTION.astype(np.float32)
INPUTS["log_sum"] = np.log(SCORES.sum(3)).astype(np.float32)


def attention_gradients() -> list[Array]:
    """Computes gradients of attention on queries x, keys dy and values y by central differences."""

    def attend(q: Array, k: Array, v: Array) -> Array:
        powers = np.exp(q @ k.swapaxes(2, 3) / 4)
        return powers / powers.sum(3, keepdims=True) @ v

    operands = [X, DY, Y]
    return [
        gradient(lambda u, at=at: attend(*operands[:at], u, *operands[at + 1 :]), operands[at], DY)
        for at in range(3)
    ]


def group_norm(x: Array, scale: Array, bias: Array) -> Array:
    """Normalises two groups of two channels each."""
    rows = x.reshape(2, 2, -1)
    centred = rows - rows.mean(2, keepdims=True)
    normal = centred / np.sqrt(rows.var(2, keepdims=True) + 1e-3)
    return normal.reshape(x.shape) * scale.reshape(1, 4, 1, 1) + bias.reshape(1, 4, 1, 1)


def group_norm_gradients() -> list[Array]:
    """Computes the gradients with respect to x, scale and bias by central differences."""
    operands = [X, V, B]
    return [
        gradient(lambda u, at=at: group_norm(*operands[:at], u, *operands[at + 1 :]), value, DY)
        for at, value in enumerate(operands)
    ]


INPUTS["group_mean"] = X.reshape(2, 2, -1).mean(2).astype(np.float32)
INPUTS["group_rstd"] = (1 / np.sqrt(X.reshape(2, 2, -1).var(2) + 1e-3)).astype(np.float32)

CONV = ["w", [4], ONES, ONES, ONES, False, ZEROS, 2, [True, True, True]]

UNKNOWN = (
    "aten.native_group_norm_backward",
    "aten.silu_backward",
    "aten.softplus_backward",
    "aten.mish",
    "aten._scaled_dot_product_flash_attention_for_cpu",
    "aten._scaled_dot_product_flash_attention_for_cpu_backward",
)

CASES = [
    Case("aten.max_pool2d", ["x", [3, 3], TWOS, ONES, ONES, False],
         [windows(X, 3, 2, 1, -np.inf).max((4, 5))]),
    Case("aten.max_pool2d", ["x", [3, 3], TWOS, ZEROS, ONES, True],
         [windows(np.pad(X, [(0, 0), (0, 0), (0, 1), (0, 1)], constant_values=-np.inf),
                  3, 2, 0, 0).max((4, 5))]),
    Case("aten.max_pool2d_with_indices", ["x", [3, 3], TWOS, ONES, ONES, False],
         [WINDOWS.max((4, 5)), MAXIMA]),
    Case("aten.max_pool2d_with_indices_backward",
         ["pooled", "x", [3, 3], TWOS, ONES, ONES, False, "maxima"],
         [adjoint_of_pooling(lambda u: u.reshape(2, 4, 36)[ROWS, COLUMNS, MAXIMA])]),
    Case("aten.avg_pool2d_backward", ["pooled", "x", [3, 3], TWOS, ONES, False, True, None],
         [adjoint_of_pooling(lambda u: windows(u, 3, 2, 1, 0.0).mean((4, 5)))]),
    Case("aten.avg_pool2d", ["x", [3, 3], TWOS, ONES, False, True, None],
         [windows(X, 3, 2, 1, 0.0).mean((4, 5))]),
    Case("aten.avg_pool2d", ["x", [3, 3], TWOS, ONES, False, False, None],
         [np.nanmean(windows(X, 3, 2, 1, np.nan), (4, 5))]),
    Case("aten.adaptive_avg_pool2d", ["x", [3, 2]],
         [X.reshape(2, 4, 3, 2, 2, 3).mean((3, 5))]),
    Case("aten.adaptive_avg_pool2d", ["x", ONES], [X.mean((2, 3), keepdims=True)]),
    Case("aten.convolution", ["x", "w", None, ONES, ONES, ONES, True, ZEROS, 2],
         [np.stack([adjoint(lambda u: convolution(u[None], W, 1, 2), (4, 6, 6), x[None])
                    for x in X])]),
    Case("aten.convolution_backward", ["dy", "x", *CONV],
         [np.stack([adjoint(lambda u: convolution(u[None], W, 1, 2), (4, 6, 6), dy[None])
                    for dy in DY]),
          adjoint(lambda u: convolution(X, u, 1, 2), (4, 2, 3, 3), DY),
          DY.sum((0, 2, 3))]),
    Case("aten.native_batch_norm", ["x", "v", "b", None, None, True, 0.1, 1e-3],
         list(batch_norm())),
    Case("aten.native_layer_norm", ["x", [6], None, None, 1e-3], list(layer_norm())),
    Case("aten.native_group_norm_backward",
         ["dy", "x", "group_mean", "group_rstd", "v", 2, 4, 36, 2, [True, True, True]],
         group_norm_gradients()),
    Case("aten.threshold_backward", ["dy", "x", 0.25], [np.where(X > 0.25, DY, 0)]),
    Case("aten.leaky_relu_backward", ["dy", "x", 0.1, False], [np.where(X > 0, DY, DY * 0.1)]),
    Case("aten.hardtanh_backward", ["dy", "x", -0.5, 0.5], [np.where(abs(X) < 0.5, DY, 0)]),
    Case("aten.gelu_backward", ["dy", "x", "'none"], [central(gelu)]),
    Case("aten.silu_backward", ["dy", "x"], [central(lambda x: x * sigmoid(x))]),
    Case("aten.softplus_backward", ["dy", "x", 2.0, 20.0],
         [central(lambda x: np.log1p(np.exp(2 * x)) / 2)]),
    Case("aten.sigmoid_backward", ["dy", "y"], [DY * Y * (1 - Y)]),
    Case("aten.tanh_backward", ["dy", "y"], [DY * (1 - Y**2)]),
    Case("aten._softmax_backward_data", ["dy", "y", -1, 6],
         [Y * (DY - (DY * Y).sum(3, keepdims=True))]),
    Case("aten._log_softmax_backward_data", ["dy", "y", 3, 6],
         [DY - np.exp(Y) * DY.sum(3, keepdims=True)]),
    Case("aten.any.dim", ["q", 3, True], [INPUTS["q"].any(3, keepdims=True)]),
    Case("aten.all.dim", ["q", 1, False], [INPUTS["q"].all(1)]),
    Case("aten.any", ["x"], [np.array(True)]),
    Case("aten.prod.dim_int", ["y", 3, True, None], [Y.prod(3, keepdims=True)]),
    Case("aten.linalg_vector_norm", ["x", 2.0, [1], False, None], [np.sqrt((X**2).sum(1))]),
    Case("aten.linalg_vector_norm", ["x", math.inf, [2, 3], False, None], [abs(X).max((2, 3))]),
    Case("aten.logsumexp", ["x", [3], False], [np.log(np.exp(X).sum(3))]),
    Case("aten.pow.Tensor_Tensor", ["y", "x"], [Y**X]),
    Case("aten.pow.Scalar", [3, "x"], [3**X]),
    Case("aten.fmod.Tensor", ["x", "y"], [np.fmod(INPUTS["x"], INPUTS["y"]).astype(np.float64)]),
    Case("aten.exp2", ["x"], [2**X]),
    Case("aten.log2", ["y"], [np.log2(Y)]),
    Case("aten.sign", ["x"], [np.sign(X)]),
    Case("aten.div.Tensor_mode", ["x", "y", "'trunc"], [np.trunc(X / Y)]),
    Case("aten.mish", ["x"], [X * np.tanh(np.log1p(np.exp(X)))]),
    Case("aten.log_sigmoid", ["x"], [np.log(sigmoid(X))]),
    Case("aten.prelu", ["x", "b"], [np.where(X > 0, X, X * B.reshape(1, 4, 1, 1))]),
    Case("aten.to.dtype", ["i", 6, False, False, None], [INPUTS["i"].astype(np.float64)]),
    Case("aten.to.dtype", ["t", 6, False, False, None], [INPUTS["t"].astype(np.float64)]),
    Case("aten.softplus", ["x", 2.0, 20.0], [np.log1p(np.exp(2 * X)) / 2]),
    Case("aten.softplus", ["x", 2.0, 1.0],
         [np.where(2 * X > 1, X, np.log1p(np.exp(2 * X)) / 2)]),
    Case("aten.softplus", ["x", -2.0, 1.0],
         [np.where(-2 * X > 1, X, np.log1p(np.exp(-2 * X)) / -2)]),
    Case("aten.silu", ["x"], [X * sigmoid(X)]),
    Case("aten.gelu", ["x", "'none"], [gelu(X)]),
    Case("aten.where.self", ["q", "x", "y"], [np.where(INPUTS["q"], X, Y)]),
    Case("aten.maximum", ["x", "y"], [np.maximum(X, Y)]),
    Case("aten.matmul", ["x", "y"], [X @ Y]),
    Case("aten.addmm", ["b", "m", "n", 2, 3], [2 * B + 3 * (M @ N)]),
    Case("aten.addmm", ["b", "m", "n", 0.5, 1], [B / 2 + M @ N]),
    Case("aten.convolution_backward",
         ["dy", "x", "u", [4], ONES, ONES, ONES, False, ZEROS, 1, [True, True, True]],
         [np.stack([adjoint(lambda u: convolution(u[None], U, 1, 1), (4, 6, 6), dy[None])
                    for dy in DY]),
          adjoint(lambda u: convolution(X, u, 1, 1), (4, 4, 3, 3), DY),
          DY.sum((0, 2, 3))]),
    Case("aten.batch_norm", ["x", "v", "b", "b", "v", False, 0.1, 1e-3, False],
         [(X - B.reshape(1, 4, 1, 1)) / np.sqrt(V.reshape(1, 4, 1, 1) + 1e-3)
          * V.reshape(1, 4, 1, 1) + B.reshape(1, 4, 1, 1)]),
    Case("aten.scaled_dot_product_attention", ["x", "dy", "y", None, 0.0, False, 0.25, False],
         [ATTENTION]),
    Case("aten._scaled_dot_product_flash_attention_for_cpu",
         ["x", "dy", "y", 0.0, False, None, 0.25], [ATTENTION, np.log(SCORES.sum(3))]),
    Case("aten._scaled_dot_product_flash_attention_for_cpu_backward",
         ["dy", "x", "dy", "y", "attention", "log_sum", 0.0, False, None, 0.25],
         list(attention_gradients())),
    Case("aten.elu", ["x", 1.5, 2.0, 1],
         [2 * np.where(X > 0, X, 1.5 * np.expm1(X))]),
]  # fmt: skip


def element(expected: Array) -> str:
    """Keeps integers and booleans; everything else is computed in single precision."""
    return "float32" if expected.dtype == np.float64 else str(expected.dtype)


def spelling(op: str) -> str:
    """Ops that torch-mlir does not know come as `torch.operator`."""
    return f'torch.operator "torch.{op}"' if op in UNKNOWN else f'"torch.{op}"'


class Program:
    """Text of a torch function that computes all cases."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.results: list[str] = []
        self.types: list[str] = []

    def constant(self, value: Any) -> tuple[str, str]:
        """Writes a constant or a list of them; returns its name and type."""
        name = f"%c{len(self.lines)}"
        if isinstance(value, list):
            parts = [self.constant(part) for part in cast("list[Any]", value)]
            name = f"%c{len(self.lines)}"
            element = parts[0][1].removeprefix("!torch.")
            types = ", ".join(kind for _, kind in parts)
            names = ", ".join(part for part, _ in parts)
            self.lines.append(
                f"{name} = torch.prim.ListConstruct {names} : ({types}) -> !torch.list<{element}>"
            )
            return name, f"!torch.list<{element}>"
        kind, text = _constant_text(value)
        self.lines.append(f"{name} = torch.constant.{kind} {text}")
        return name, f"!torch.{kind}"

    def operand(self, value: Any) -> tuple[str, str]:
        """An input by its name, or a constant; a string constant begins with a quote."""
        if isinstance(value, str) and value in INPUTS:
            return f"%{value}", vtensor(INPUTS[value].shape, str(INPUTS[value].dtype))
        return self.constant(value)

    def add(self, case: Case) -> None:
        """Writes a case and returns its results from the function."""
        operands = [self.operand(value) for value in case.operands]
        names = [f"%r{len(self.results)}_{index}" for index in range(len(case.expected))]
        kinds = [vtensor(np.shape(value), element(value)) for value in case.expected]
        self.lines.append(
            f"{', '.join(names)} = {spelling(case.op)}({', '.join(name for name, _ in operands)})"
            f" : ({', '.join(kind for _, kind in operands)}) -> ({', '.join(kinds)})"
        )
        self.results += names
        self.types += kinds

    def text(self) -> str:
        """The whole function."""
        arguments = ", ".join(
            f"%{name}: {vtensor(value.shape, str(value.dtype))}" for name, value in INPUTS.items()
        )
        types = ", ".join(self.types)
        body = "\n".join([*self.lines, f"return {', '.join(self.results)} : {types}"])
        return f"func.func @main({arguments}) -> ({types}) {{\n{body}\n}}"


def _constant_text(value: Any) -> tuple[str, str]:
    if value is None:
        return "none", ""
    if isinstance(value, bool):
        return "bool", str(value).lower()
    if isinstance(value, int):
        return "int", str(value)
    if isinstance(value, float):
        return "float", "0x7FF0000000000000" if math.isinf(value) else f"{value:e}"
    return "str", f'"{value[1:]}"'


def vtensor(shape: Sequence[int], dtype: str) -> str:
    return f"!torch.vtensor<[{','.join(map(str, shape))}],{ELEMENTS[dtype]}>"


# Programs that the cases are split into. `make test` runs one.
PARTS = 4


@cache
def results(part: int, *, back: bool) -> list[list[Array]]:
    """Runs a program of every fourth case, as torch ops again if `back`; results by case."""
    program = Program()
    cases = CASES[part::PARTS]
    for case in cases:
        program.add(case)
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(program.text())
        (state,) = run_passes(module, "convert-torch-to-hipdnn")
        assert state.counters["kept-ops"] == 0, [remark.message for remark in state.remarks]
        if back:
            (state,) = run_passes(module, "convert-hipdnn-to-torch")
            assert not state.remarks, [one.message for one in state.remarks]
        # Most graphs are the same in both forms.
        with use_service(CompileService(cache=Cache(default_cache_directory()))):
            Runner(keep_reproducer=False).run(module, PIPELINE)
        flat = iter(runtime.run_module(module, list(INPUTS.values()), open_device("cpu")))
    return [[next(flat) for _ in case.expected] for case in cases]


@pytest.mark.sampled(2 * PARTS)
@pytest.mark.parametrize(
    "back", [False, pytest.param(True, marks=pytest.mark.thorough)], ids=["hipdnn", "torch"]
)
@pytest.mark.parametrize("index", range(len(CASES)), ids=lambda i: f"{CASES[i].op}-{i}")
def test_results_are_those_of_the_definition(index: int, back: bool):
    found = results(index % PARTS, back=back)[index // PARTS]
    for result, expected in zip(found, CASES[index].expected, strict=True):
        np.testing.assert_allclose(result, expected, rtol=2e-4, atol=2e-5)

"""Constants per channel folded into convolutions, against NumPy's arithmetic in f64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs import run_passes

from hipgraft import runtime
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.dtypes import numpy_dtype
from hipgraft.passmanager.runner import Runner
from hipgraft.runtime.devices import open_device

PIPELINE = (
    "builtin.module(hipdnn-outline,hipdnn-outline-fallback,"
    "hipdnn-compile{target=cpu},hipdnn-bufferize)"
)
FILTERS, CHANNELS, EXTENT = 6, 4, 7
Y = (2, FILTERS, EXTENT - 2, EXTENT - 2)

Array = np.ndarray[Any, Any]


def convolved(x: Array, w: Array) -> Array:
    """Convolves [N, C, H, W] with filters [K, C / groups, 3, 3] without padding."""
    groups = x.shape[1] // w.shape[1]
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    parts = zip(np.split(windows, groups, 1), np.split(w, groups), strict=True)
    return np.concatenate([np.einsum("nchwij,kcij->nkhw", a, b) for a, b in parts], 1)


class Program:
    """A convolution and the ops that follow it, as text and as values that NumPy computes."""

    def __init__(self, groups: int, element: str, seed: int):
        self.random = np.random.default_rng(seed)
        self.element, self.lines = element, list[str]()
        shape = (FILTERS, CHANNELS // groups, 3, 3)
        self.filters = self.constant("w", shape, self.random.normal(size=shape))
        self.after: list[Callable[[Array], Array]] = []
        self.last = "%y0"
        self.count = 0

    def constant(self, name: str, shape: tuple[int, ...], values: Array) -> Array:
        """Adds a constant of a shape, and returns its elements in f64."""
        held = values.astype(numpy_dtype(self.element)).reshape(shape)
        extents = "".join(f"{extent}x" for extent in shape)
        raw = held.tobytes().hex().upper()
        kind = f"tensor<{extents}{self.element}>"
        self.lines.append(f'%{name} = arith.constant dense<"0x{raw}"> : {kind}')
        return held.astype(np.float64)

    def per_channel(self) -> tuple[str, str, Array]:
        """Adds a constant per channel, viewed as [1, K, 1, 1]; all are positive."""
        name = f"c{len(self.lines)}"
        values = self.constant(name, (FILTERS,), self.random.uniform(0.5, 2, FILTERS))
        before, after = (
            f"tensor<{FILTERS}x{self.element}>",
            f"tensor<1x{FILTERS}x1x1x{self.element}>",
        )
        view = f'"hipdnn.view"(%{name}) {{offset = 0 : i64, strides = array<i64: 0, 1, 0, 0>}}'
        self.lines.append(f"%v{name} = {view} : ({before}) -> {after}")
        return f"%v{name}", after, values.reshape(1, FILTERS, 1, 1)

    def splat(self) -> tuple[str, str, Array]:
        """Adds a number for all channels."""
        name = f"c{len(self.lines)}"
        return f"%{name}", f"tensor<1x{self.element}>", self.constant(name, (1,), np.array([3.0]))

    def append(
        self, name: str, others: list[tuple[str, str, Array]], *, first: bool = True
    ) -> None:
        """Adds an op that reads the last value, as its first operand or its last."""
        kind = f"tensor<{'x'.join(map(str, Y))}x{self.element}>"
        read = [(self.last, kind), *[each[:2] for each in others]]
        read = read if first else read[::-1]
        self.count += 1
        made = f"%y{self.count}"
        values, kinds = (", ".join(column) for column in zip(*read, strict=True))
        self.lines.append(f"{made} = {name.format(values)} : ({kinds}) -> {kind}")
        self.last = made

    def text(self, groups_type: str) -> str:
        """Returns the program; `groups_type` is the type of the filters."""
        x = f"tensor<2x{CHANNELS}x{EXTENT}x{EXTENT}x{self.element}>"
        y = f"tensor<{'x'.join(map(str, Y))}x{self.element}>"
        conv = (
            '%y0 = "hipdnn.conv_fprop"(%x, %w) {pre_padding = array<i64: 0, 0>, '
            "post_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, "
            f"dilation = array<i64: 1, 1>}} : ({x}, {groups_type}) -> {y}"
        )
        constants = [line for line in self.lines if not line.startswith("%y")]
        steps = [line for line in self.lines if line.startswith("%y")]
        body = "\n".join([*constants, conv, *steps])
        return f"func.func @main(%x: {x}) -> {y} {{\n{body}\nreturn {self.last} : {y}\n}}"


POINTWISE: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
}


def add_pointwise(program: Program) -> None:
    mode = str(program.random.choice(list(POINTWISE)))
    other = program.per_channel() if program.random.random() < 0.7 else program.splat()
    first = bool(mode == "div" or program.random.random() < 0.5)
    program.append(f'"hipdnn.pointwise"({{}}) {{{{mode = "{mode}"}}}}', [other], first=first)
    function, values = POINTWISE[mode], other[2]
    program.after.append(lambda y: function(y, values) if first else function(values, y))


def add_batchnorm(program: Program) -> None:
    constants = [program.per_channel() for _ in range(4)]
    mean, spread, scale, bias = (each[2] for each in constants)
    if program.random.random() < 0.5:
        program.append('"hipdnn.batchnorm_inference"({})', constants)
        program.after.append(lambda y: (y - mean) * spread * scale + bias)
        return
    epsilon = program.splat()
    program.append('"hipdnn.batchnorm_inference_variance_ext"({})', [*constants, epsilon])
    program.after.append(lambda y: (y - mean) / np.sqrt(spread + epsilon[2]) * scale + bias)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("element", "tolerance"), [("f32", 1e-5), ("f16", 4e-3)])
def test_constants_per_channel(element: str, tolerance: float, seed: int):
    groups = 1 + seed % 2
    program = Program(groups, element, seed)
    add_batchnorm(program)
    for _ in range(int(program.random.integers(4))):
        (add_pointwise, add_batchnorm)[int(program.random.integers(2))](program)
    text = program.text(f"tensor<{FILTERS}x{CHANNELS // groups}x3x3x{element}>")
    x = program.random.normal(size=(2, CHANNELS, EXTENT, EXTENT)).astype(numpy_dtype(element))
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        (state,) = run_passes(module, "hipdnn-recognize")
        assert state.counters["recognised-nodes"] == 1
        assert "batchnorm" not in str(module)
        assert str(module).count("hipdnn.pointwise") <= 1
        Runner(keep_reproducer=False).run(module, PIPELINE)
        (result,) = runtime.run_module(module, [x], open_device("cpu"))
    expected = convolved(x.astype(np.float64), program.filters)
    for step in program.after:
        expected = step(expected)
    error = np.abs(result.astype(np.float64) - expected).max()
    assert error <= tolerance * np.abs(expected).max()

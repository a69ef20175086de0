"""Tensors stored channels last: results against onnxruntime, the choice against all choices."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import onnxruntime
import pytest
from emulator import open_emulator, requires_emulator
from onnx import TensorProto, helper
from small_onnx import save

import hipgraft
from hipgraft import runtime
from hipgraft.ir.bindings import ir
from hipgraft.passmanager.runner import Runner
from hipgraft.runtime.devices import open_device
from hipgraft.transforms.layouts import LayoutCut

SHAPE = (2, 32, 6, 5)
CHANNELS = SHAPE[1]
FORMS = {"conv": (1, 3), "point": (1, 1), "grouped": (4, 3), "depthwise": (CHANNELS, 7)}
"""The groups and the window's extent of each kind of convolution."""
ALONE: dict[str, tuple[str, dict[str, Any]]] = {
    "relu": ("Relu", {}),
    "pool": ("MaxPool", {"kernel_shape": [3, 3], "pads": [1] * 4}),
}

MIXERS = (18, 3, 4, 5, 9, 15, 21)
SEEDS = (11, 12, 18, 10, 27, 23, 38, 20)  # networks with tensors that gain


@pytest.mark.parametrize("seed", range(20))
def test_cut_of_least_cost(seed: int) -> None:
    draw, cut = random.Random(seed), LayoutCut()
    tensors = range(draw.randint(1, 7))
    first = [draw.choice((0, 0, draw.randint(1, 9))) for _ in tensors]
    last = [draw.choice((0, 0, draw.randint(1, 9))) for _ in tensors]
    pairs = list(itertools.combinations(tensors, 2))
    costs = {pair: draw.randint(1, 5) for pair in draw.sample(pairs, len(pairs) // 2)}
    for tensor in tensors:
        value = cast(ir.Value, tensor)
        cut.add(value, first=1e-6 * first[tensor], last=1e-6 * last[tensor])
    for (a, b), cost in costs.items():
        cut.relate(cast(ir.Value, a), cast(ir.Value, b), 1e-6 * cost)

    def cost_of(stored_last: set[Any]) -> int:
        apart = sum(c for (a, b), c in costs.items() if (a in stored_last) != (b in stored_last))
        return apart + sum(last[t] if t in stored_last else first[t] for t in tensors)

    choices = [
        set(chosen)
        for n in range(len(tensors) + 1)
        for chosen in itertools.combinations(tensors, n)
    ]
    best = min(map(cost_of, choices))
    found = cast(set[Any], cut.last())
    assert cost_of(found) == best
    assert len(found) == min(len(each) for each in choices if cost_of(each) == best)


def random_network(path: Path, seed: int) -> tuple[Path, int]:
    """Writes a random network of convolutions with other ops between them.

    Returns:
        The path, and the number of results.
    """
    draw, numbers = random.Random(seed), np.random.default_rng(seed)
    nodes: list[onnx.NodeProto] = []
    constants: dict[str, np.ndarray] = {}
    values = ["x"]

    def make(op: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(nodes)}"
        nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def convolve(image: str, groups: int, window: int) -> str:
        weights, bias = f"w{len(nodes)}", f"b{len(nodes)}"
        shape = (CHANNELS, CHANNELS // groups, window, window)
        scale = np.sqrt(np.prod(shape[1:]))
        constants[weights] = (numbers.standard_normal(shape) / scale).astype(np.float16)
        constants[bias] = numbers.standard_normal(CHANNELS).astype(np.float16)
        return make("Conv", image, weights, bias, group=groups, pads=[window // 2] * 4)

    for _ in range(draw.randint(6, 12)):
        source = draw.choice(values[-3:])
        others = ("relu", "add", "pool", "cat", "norm", "gate", "rows", "depthwise")
        kind = draw.choice(("conv",) * 6 + ("point", "grouped") + others)
        if kind in FORMS:
            value = convolve(source, *FORMS[kind])
        elif kind == "rows":
            constants["scale"] = np.linspace(0.5, 1.5, CHANNELS, dtype=np.float16)
            rows = make("Transpose", source, perm=[0, 2, 3, 1])
            normed = make("LayerNormalization", rows, "scale")
            value = make("Transpose", normed, perm=[0, 3, 1, 2])
        elif kind in ALONE:
            op, attributes = ALONE[kind]
            value = make(op, source, **attributes)
        elif kind == "norm":
            constants["scale"] = np.linspace(0.5, 1.5, CHANNELS, dtype=np.float16)
            constants["shift"] = np.linspace(-1, 1, CHANNELS, dtype=np.float16)
            value = make("InstanceNormalization", source, "scale", "shift")
        elif kind == "gate":
            value = make("Mul", source, make("Sigmoid", make("GlobalAveragePool", source)))
        elif kind == "add":
            value = make("Add", source, draw.choice(values))
        else:
            joined = make("Concat", source, draw.choice(values), axis=1)
            constants["starts"], constants["ends"] = np.array([16]), np.array([48])
            constants["axes"] = np.array([1])
            value = make("Slice", joined, "starts", "ends", "axes")
        values.append(value)
    results = sorted({values[-1], *draw.sample(values[1:], draw.randint(0, 1))})
    image = np.zeros(SHAPE, np.float16)
    outputs = [(name, TensorProto.FLOAT16) for name in results]
    return save(path, nodes, {"x": image}, outputs, constants), len(results)


def random_mixer(path: Path, seed: int) -> tuple[Path, np.ndarray]:
    """Writes a random network of products along tokens and along channels, in any order.

    Returns:
        The path, and an input [batch, tokens, channels].
    """
    draw, numbers = random.Random(seed), np.random.default_rng(seed)
    batch, tokens = draw.choice((1, 2)), draw.choice((5, 8))
    nodes: list[onnx.NodeProto] = []
    constants = {"scale": np.linspace(0.5, 1.5, CHANNELS, dtype=np.float16)}

    def make(op: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(nodes)}"
        nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def weights(*shape: int) -> str:
        name = f"w{len(constants)}"
        values = numbers.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
        constants[name] = values.astype(np.float16)
        return name

    def transposed(rows: str) -> str:
        return make("Transpose", rows, perm=[0, 2, 1])

    def product(rows: str, extent: int) -> str:
        hidden = make("Relu", make("MatMul", rows, weights(extent, 24)))
        return make("Add", make("MatMul", hidden, weights(24, extent)), weights(extent))

    makers: dict[str, Callable[[str, str], str]] = {
        "tokens": lambda x, _: transposed(product(transposed(x), tokens)),
        "channels": lambda x, _: product(x, CHANNELS),
        "norm": lambda x, _: make("LayerNormalization", x, "scale"),
        "conv": lambda x, _: transposed(
            make("Conv", transposed(x), weights(CHANNELS, CHANNELS, 3), pads=[1, 1])
        ),
        "add": lambda x, y: make("Add", x, y),
        "gate": lambda x, y: make("Mul", make("Sigmoid", x), y),
        "mean": lambda x, y: make("Add", make("ReduceMean", x, axes=[draw.choice((1, 2))]), y),
    }
    values = ["x"]
    for _ in range(draw.randint(6, 10)):
        source, other = draw.choice(values[-2:]), draw.choice(values)
        kinds = (*makers, "tokens", "norm", "add")
        values.append(makers[draw.choice(kinds)](source, other))
    rows = numbers.standard_normal((batch, tokens, CHANNELS)).astype(np.float16)
    outputs = [(values[-1], TensorProto.FLOAT16)]
    return save(path, nodes, {"x": rows}, outputs, constants, opset=17), rows


def expected(path: Path, image: np.ndarray) -> list[np.ndarray]:
    """Returns onnxruntime's results of a model."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return cast(list[np.ndarray], session.run(None, {"x": image}))


def assert_close(results: list[np.ndarray], path: Path, image: np.ndarray) -> None:
    for got, want in zip(results, expected(path, image), strict=True):
        scale = max(1.0, float(abs(want).max()))
        np.testing.assert_allclose(got / scale, want / scale, atol=4e-3, rtol=0)


def drawn_image() -> np.ndarray:
    return np.random.default_rng(1).standard_normal(SHAPE).astype(np.float16)


@pytest.mark.slow
@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_networks_on_the_cpu(tmp_path: Path, seed: int) -> None:
    path, count = random_network(tmp_path / "net.onnx", seed)
    program = hipgraft.compile(path, "gfx942", compile_to="hipdnn-graphs")
    assert "channels-last" in {remark.name for remark in program.report.remarks}
    pipeline = "builtin.module(hipdnn-compile{target=cpu},hipdnn-bufferize)"
    with program.module.context, ir.Location.unknown():
        Runner(keep_reproducer=False).run(program.module, pipeline)
        results = runtime.run_module(program.module, [drawn_image()], open_device("cpu"))
    assert len(results) == count
    assert_close(results, path, drawn_image())


@requires_emulator
@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS[:1])
def test_random_networks_on_the_emulator(tmp_path: Path, seed: int) -> None:
    path, _ = random_network(tmp_path / "net.onnx", seed)
    program = hipgraft.compile(path, "gfx942")
    results = program.run([drawn_image()], open_emulator("gfx942"))
    assert_close(results, path, drawn_image())


@requires_emulator
@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", MIXERS)
def test_random_mixers_on_the_emulator(tmp_path: Path, seed: int) -> None:
    path, rows = random_mixer(tmp_path / "mixer.onnx", seed)
    program = hipgraft.compile(path, "gfx942")
    assert "channels-last" in {remark.name for remark in program.report.remarks}
    assert_close(program.run([rows], open_emulator("gfx942")), path, rows)

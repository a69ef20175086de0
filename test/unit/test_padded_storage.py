"""Networks whose results are stored inside the padding of their readers, against onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from emulator import requires_emulator
from onnx import TensorProto, helper
from small_onnx import save

import hipgraft

PASS = "hipdnn-place-in-padding"
TYPES = {"f16": (np.float16, TensorProto.FLOAT16), "f32": (np.float32, TensorProto.FLOAT)}


@dataclass(frozen=True)
class Value:
    """A tensor [N, channels, side, side]."""

    name: str
    channels: int
    side: int


class Network:
    """A network of convolutions, norms and concatenations that read any earlier results."""

    kinds = ("conv", "conv", "conv", "add", "pool", "norm", "join")

    def __init__(self, seed: int):
        self.draw = np.random.default_rng(seed)
        self.dtype, self.element = TYPES[str(self.draw.choice([*TYPES]))]
        self.nodes: list[object] = []
        self.constants: dict[str, np.ndarray] = {}
        side, channels = int(self.draw.choice([6, 7, 14])), int(self.draw.choice([32, 48, 64]))
        self.x = self._numbers((int(self.draw.choice([1, 1, 2])), channels, side, side), 1)
        self.values = [Value("x", channels, side)]

    def _numbers(self, shape: Sequence[int], scale: float) -> np.ndarray:
        return (self.draw.standard_normal(shape) * scale).astype(self.dtype)

    def _constant(self, value: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def _op(self, name: str, *operands: str, **attributes: object) -> str:
        result = f"r{len(self.nodes)}"
        self.nodes.append(helper.make_node(name, operands, [result], **attributes))
        return result

    def grow(self) -> None:
        """Adds an op with another result."""
        back = min(int(self.draw.geometric(0.8)), len(self.values))
        value = self.values[-back]
        kind = str(self.draw.choice(self.kinds))
        self.values.append(getattr(self, f"_{kind}")(value))

    def _add(self, value: Value) -> Value:
        alike = [
            one
            for one in self.values
            if (one.channels, one.side) == (value.channels, value.side) and one != value
        ]
        if not alike:
            return self._conv(value)
        other = alike[int(self.draw.integers(len(alike)))]
        return replace(value, name=self._op("Relu", self._op("Add", value.name, other.name)))

    def _pool(self, value: Value) -> Value:
        made = self._op(
            "MaxPool", value.name, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1]
        )
        return replace(value, name=made)

    def _norm(self, value: Value) -> Value:
        """A group norm as PyTorch exports it, and SiLU."""
        groups = 8
        ones, zeros = (np.full(groups, each, self.dtype) for each in (1, 0))
        flat = self._op("Reshape", value.name, self._constant(np.array([0, groups, -1])))
        names = self._constant(ones), self._constant(zeros)
        normal = self._op("InstanceNormalization", flat, *names, epsilon=1e-5)
        shape = np.array([self.x.shape[0], value.channels, value.side, value.side])
        normal = self._op("Reshape", normal, self._constant(shape))
        factor, bias = (
            self._constant(self._numbers((value.channels, 1, 1), 0.3) + np.asarray(add, self.dtype))
            for add in (1, 0)
        )
        normal = self._op("Add", self._op("Mul", normal, factor), bias)
        return replace(value, name=self._op("Mul", normal, self._op("Sigmoid", normal)))

    def _join(self, value: Value) -> Value:
        """A concatenation, and mostly a norm of it."""
        alike = [one for one in self.values if one.side == value.side and one != value]
        if not alike or value.channels > 128:
            return self._conv(value)
        other = alike[int(self.draw.integers(len(alike)))]
        made = Value(
            self._op("Concat", value.name, other.name, axis=1),
            value.channels + other.channels,
            value.side,
        )
        return self._norm(made) if self.draw.random() < 0.7 else made

    def _depthwise(self, value: Value) -> Value:
        window, step = int(self.draw.choice([3, 5, 5, 7])), int(self.draw.choice([1, 1, 2]))
        reach = window // 2
        filters = self._numbers((value.channels, 1, window, window), 0.6 / window)
        made = self._op(
            "Conv",
            value.name,
            self._constant(filters),
            kernel_shape=[window, window],
            pads=[reach] * 4,
            strides=[step, step],
            group=value.channels,
        )
        made = self._op("Relu", made) if self.draw.random() < 0.7 else made
        return Value(made, value.channels, (value.side - 1) // step + 1)

    def _conv(self, value: Value) -> Value:
        window, step = int(self.draw.choice([1, 3, 3, 5])), int(self.draw.choice([1, 1, 2]))
        spread, filters = int(self.draw.choice([1, 1, 2])), int(self.draw.choice([32, 48, 64]))
        reach, side = spread * (window - 1), value.side
        before = reach // 2
        after = before if step == 1 else int(self.draw.integers(0, before + 1))
        if (side + before + after - reach - 1) // step < 1:
            step, after = 1, before
        scale = 1.2 / (value.channels**0.5 * window)
        made = self._op(
            "Conv",
            value.name,
            self._constant(self._numbers((filters, value.channels, window, window), scale)),
            self._constant(self._numbers((filters,), 0.2)),
            kernel_shape=[window, window],
            pads=[before, before, after, after],
            strides=[step, step],
            dilations=[spread, spread],
        )
        made = self._op("Relu", made) if self.draw.random() < 0.7 else made
        return Value(made, filters, (side + before + after - reach - 1) // step + 1)

    def _op_value(self, name: str, image: str) -> Value:
        return replace(self.values[0], name=self._op(name, image))

    def _padded(self, image: str) -> str:
        """A 3x3 convolution that keeps the shape of `x`."""
        channels = self.x.shape[1]
        filters = self._constant(self._numbers((channels, channels, 3, 3), 0.1))
        return self._op("Conv", image, filters, kernel_shape=[3, 3], pads=[1, 1, 1, 1])

    def write(self, path: Path) -> Path:
        """Writes the network; its results are the last value and the mean of another."""
        other = self.values[int(self.draw.integers(1, len(self.values)))].name
        mean = self._op("GlobalAveragePool", other)
        last = self._op("Identity", self.values[-1].name)
        outputs = [(mean, self.element), (last, self.element)]
        return save(path, self.nodes, {"x": self.x}, outputs, self.constants, opset=17)


@requires_emulator
@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(40))
def test_random_networks(seed: int, tmp_path: Path) -> None:
    check(Network(seed), tmp_path / "network.onnx")


@requires_emulator
@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(40))
def test_random_depthwise_networks(seed: int, tmp_path: Path) -> None:
    network = Network(seed)
    network.kinds = ("depthwise", "depthwise", "conv", "add", "pool")
    check(network, tmp_path / "network.onnx")


def check(network: Network, path: Path) -> None:
    for _ in range(6):
        network.grow()
    network.write(path)
    architecture = str(network.draw.choice(["gfx942", "gfx950"]))
    program = hipgraft.compile(path, architecture)
    found = program.run([network.x], f"emulator:{architecture}")
    wanted = onnxruntime.InferenceSession(path).run(None, {"x": network.x})
    tolerance = 2e-2 if network.dtype == np.float16 else 1e-4
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def _remarks(path: Path, architecture: str) -> set[str]:
    program = hipgraft.compile(path, architecture, compile_to="hipdnn-graphs")
    return {one.name for one in program.report.remarks if one.pass_name == PASS}


def test_only_cdna_has_borders(tmp_path: Path) -> None:
    """Two convolutions read the same result, and an addition reads it inside its border."""
    network = Network(0)
    network.values = [network._op_value("Relu", "x")]
    image = network.values[0].name
    sums = [network._padded(image), network._padded(image)]
    total = network._op("Add", network._op("Add", *sums), image)
    network.values.append(replace(network.values[0], name=total))
    path = network.write(tmp_path / "network.onnx")
    assert _remarks(path, "gfx942") == {"padding"}
    assert _remarks(path, "gfx90a,gfx942") == {"padding"}
    assert _remarks(path, "gfx1100") == _remarks(path, "gfx942,gfx1100") == set()

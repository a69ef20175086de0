"""Networks whose results are stored inside the padding of their readers, against onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from emulator import requires_emulator
from onnx import TensorProto, helper
from small_onnx import save

import hipgraft

TYPES = {"f16": (np.float16, TensorProto.FLOAT16), "f32": (np.float32, TensorProto.FLOAT)}


class Network:
    """A network of convolutions in which each of them reads earlier results."""

    def __init__(self, seed: int):
        self.draw = np.random.default_rng(seed)
        self.dtype, self.element = TYPES[str(self.draw.choice([*TYPES]))]
        self.nodes: list[object] = []
        self.constants: dict[str, np.ndarray] = {}
        side = int(self.draw.choice([6, 7, 14]))
        self.channels = int(self.draw.choice([32, 48, 64]))
        self.x = self._numbers((int(self.draw.choice([1, 1, 2])), self.channels, side, side), 1)
        self.values = [("x", side)]

    def _numbers(self, shape: Sequence[int], scale: float) -> np.ndarray:
        return (self.draw.standard_normal(shape) * scale).astype(self.dtype)

    def _op(self, name: str, *operands: str, **attributes: object) -> str:
        result = f"r{len(self.nodes)}"
        self.nodes.append(helper.make_node(name, operands, [result], **attributes))
        return result

    def grow(self) -> None:
        """Adds an op with another result."""
        name, side = self.values[-1 - min(int(self.draw.geometric(0.8)) - 1, len(self.values) - 1)]
        kind = str(self.draw.choice(["conv", "conv", "conv", "add", "pool"]))
        alike = [value for value in self.values if value[1] == side]
        if kind == "add" and len(alike) > 1:
            other = alike[int(self.draw.integers(len(alike)))][0]
            self.values.append((self._op("Relu", self._op("Add", name, other)), side))
        elif kind == "pool":
            made = self._op("MaxPool", name, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])
            self.values.append((made, side))
        else:
            self._convolve(name, side)

    def _convolve(self, image: str, side: int) -> None:
        window, step = int(self.draw.choice([1, 3, 3, 5])), int(self.draw.choice([1, 1, 2]))
        spread = int(self.draw.choice([1, 1, 2]))
        reach = spread * (window - 1)
        before = reach // 2
        after = before if step == 1 else int(self.draw.integers(0, before + 1))
        if (side + before + after - reach - 1) // step < 1:
            step, after = 1, before
        w, b = f"w{len(self.nodes)}", f"b{len(self.nodes)}"
        shape = (self.channels, self.channels, window, window)
        self.constants[w] = self._numbers(shape, 1.2 / (self.channels**0.5 * window))
        self.constants[b] = self._numbers((self.channels,), 0.2)
        made = self._op(
            "Conv",
            image,
            w,
            b,
            kernel_shape=[window, window],
            pads=[before, before, after, after],
            strides=[step, step],
            dilations=[spread, spread],
        )
        made = self._op("Relu", made) if self.draw.random() < 0.7 else made
        self.values.append((made, (side + before + after - reach - 1) // step + 1))

    def write(self, path: Path) -> Path:
        """Writes the network; its results are the last value and the mean of another."""
        other = self.values[int(self.draw.integers(1, len(self.values)))][0]
        mean = self._op("GlobalAveragePool", other)
        last = self._op("Identity", self.values[-1][0])
        outputs = [(mean, self.element), (last, self.element)]
        return save(path, self.nodes, {"x": self.x}, outputs, self.constants, opset=17)


@requires_emulator
@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(60))
def test_random_networks(seed: int, tmp_path: Path) -> None:
    network = Network(seed)
    for _ in range(6):
        network.grow()
    path = network.write(tmp_path / "network.onnx")
    architecture = str(network.draw.choice(["gfx942", "gfx950"]))
    program = hipgraft.compile(path, architecture)
    found = program.run([network.x], f"emulator:{architecture}")
    wanted = onnxruntime.InferenceSession(path).run(None, {"x": network.x})
    tolerance = 2e-2 if network.dtype == np.float16 else 1e-4
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)

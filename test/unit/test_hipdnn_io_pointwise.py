"""Pointwise nodes of hipDNN's files: every mode, with random operands, layouts and attributes.

The oracle has each mode in the files' order of operands: gradients have the upstream gradient `dy`
in `in_0` and the forward op's operand in `in_1`. A second oracle, the difference quotient of the
forward mode, knows nothing of the backward modes.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hipdnn_graphs import graph, pointwise, scalar, tensor
from oracle.pointwise import MODES

from hipgraft import hipdnn_io
from hipgraft.compiler.program import compile
from hipgraft.dialects.hipdnn import PointwiseMode
from hipgraft.ir.bindings import make_context

CONTEXT = make_context()

# hipDNN's and the oracle's names of attributes, with the range of random values.
RELU = {
    "relu_lower_clip": ("lower", -0.8, 0.2),
    "relu_upper_clip": ("upper", 0.4, 1.2),
    "relu_lower_clip_slope": ("slope", -0.5, 0.5),
}
ATTRIBUTES: dict[str, dict[str, tuple[str, float, float]]] = {
    "relu": RELU,
    "elu": {"elu_alpha": ("alpha", 0.2, 2.0)},
    "swish": {"swish_beta": ("beta", -2.0, 2.0)},
    "softplus": {"softplus_beta": ("beta", 0.5, 3.0)},
}
ROUNDED = ("cmp_", "logical_", "max_op", "min_op")
POSITIVE = ("log", "pow", "rsqrt", "sqrt")
NOT_ZERO = ("div", "mod", "reciprocal")
# Away from where two branches of a mode meet, which a difference quotient would straddle.
STEP = 1e-5
BACKWARD = [mode.value for mode in PointwiseMode if mode.value.endswith("_bwd")]

# Uids: two operands of any numbers, others where a mode needs them; results from 50 on.
GRADIENT, OPERAND, POSITIVES, NUMBERS, ROUNDED_A, ROUNDED_B = range(1, 7)
ZERO, CONNECTED, RESULTS = 10, 20, 50


def in_file_order(mode: str) -> list[int]:
    """The uids of a node's operands, as a file has them."""
    if mode == "binary_select":
        return [GRADIENT, OPERAND, ROUNDED_A]
    arity = len(PointwiseMode(mode).info.operands)
    if mode.startswith(ROUNDED):
        return [ROUNDED_A, ROUNDED_B][:arity]
    if mode in POSITIVE:
        return [POSITIVES, OPERAND][:arity]
    if mode in NOT_ZERO:
        return [OPERAND, NUMBERS] if arity == 2 else [NUMBERS]
    return [GRADIENT, OPERAND] if arity == 2 else [OPERAND]


def expected(mode: str, operands: list[np.ndarray], given: dict[str, float]) -> np.ndarray:
    wide = [one.astype(np.float64) for one in operands]
    if mode == "binary_select":
        on_true, on_false, mask = wide
        return np.where(mask != 0, on_true, on_false)
    if mode == "gen_index":
        return np.broadcast_to(MODES[mode](wide[0], axis=0), wide[0].shape)
    return MODES[mode](*wide, **given)


class Drawn:
    """A graph with a node of every mode on the same operands.

    Each operand is an input plus zero, so that the nodes are connected.

    Attributes:
        source: its JSON.
        inputs: values of the operands, in the order of their uids.
        results: results of each node in turn, in double precision.
    """

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)
        self.dims = [int(one) for one in self.random.integers(1, 5, self.random.integers(1, 5))]
        values = self._values()
        zero = np.zeros([1] * len(self.dims), np.float32)
        self.inputs = [*values.values(), zero]
        self.modes = [mode.value for mode in PointwiseMode]
        self.tensors = [
            tensor(uid, list(one.shape), strides=self._strides(list(one.shape)))
            for uid, one in (values | {ZERO: zero}).items()
        ]
        self.nodes: list[Any] = []
        self._connect(values)
        self.results: list[np.ndarray] = []
        for uid, mode in enumerate(self.modes, RESULTS):
            operands = in_file_order(mode)
            given = self._attributes(mode)
            attributes: dict[str, Any] = {key: number for key, (_, number) in given.items()}
            if mode == "gen_index":
                attributes["axis_tensor_uid"] = 0
            self.nodes.append(self._node(mode, operands, uid, attributes))
            named = {name: number for name, number in given.values() if number is not None}
            result = expected(mode, [values[one] for one in operands], named)
            self.results.append(result)
            dims = list(result.shape)
            self.tensors.append(tensor(uid, dims, strides=self._strides(dims)))
        self.source = graph(self.nodes, self.tensors)

    def _connect(self, values: dict[int, np.ndarray]) -> None:
        ones = [1] * len(self.dims)
        self.tensors.append(tensor(CONNECTED, ones, virtual=True))
        self.nodes.append(pointwise("identity", ZERO, out=CONNECTED, name="zero"))
        for uid, one in values.items():
            dims, out = list(one.shape), CONNECTED + uid
            self.tensors.append(tensor(out, dims, strides=self._strides(dims), virtual=True))
            self.nodes.append(pointwise("add", uid, CONNECTED, out=out, name=f"operand {uid}"))

    def _node(self, mode: str, operands: list[int], out: int, attributes: dict[str, Any]) -> Any:
        connected = [CONNECTED + uid for uid in operands]
        return pointwise(mode, *connected, out=out, name=mode, **attributes)

    def _values(self) -> dict[int, np.ndarray]:
        def uniform(low: float, high: float, dims: list[int]) -> np.ndarray:
            return self.random.uniform(low, high, dims).astype(np.float32)

        first = [1 if self.random.random() < 0.2 else extent for extent in self.dims]
        sign = np.where(self.random.random(self.dims) < 0.5, -1, 1)
        return {
            GRADIENT: uniform(-1.5, 1.5, first),
            OPERAND: uniform(-1.4, 1.4, self.dims),
            POSITIVES: uniform(0.1, 3, self.dims),
            NUMBERS: uniform(0.3, 2, self.dims) * sign.astype(np.float32),
            ROUNDED_A: np.round(uniform(-1.5, 1.5, self.dims)),
            ROUNDED_B: np.round(uniform(-1.5, 1.5, self.dims)),
        }

    def _attributes(self, mode: str) -> dict[str, tuple[str, float | None]]:
        """Numbers or nulls, by hipDNN's names, with the oracle's names."""
        family = mode.removesuffix("_fwd").removesuffix("_bwd")
        drawn: dict[str, tuple[str, float | None]] = {}
        for key, (name, low, high) in ATTRIBUTES.get(family, {}).items():
            number = float(np.float32(self.random.uniform(low, high)))
            drawn[key] = (name, number if self.random.random() < 0.7 else None)
        return drawn

    def _strides(self, dims: list[int]) -> list[int]:
        strides, step = [0] * len(dims), 1
        for dim in self.random.permutation(len(dims)):
            strides[dim] = step
            step *= dims[dim] + int(self.random.integers(0, 2))
        return strides


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(2))
def test_every_mode_computes_what_the_oracle_says(seed: int):
    drawn = Drawn(seed)
    document = hipdnn_io.read_json(json.dumps(drawn.source))
    found = compile(hipdnn_io.import_document(document), "cpu").run(drawn.inputs)
    for mode, result, exact in zip(drawn.modes, found, drawn.results, strict=True):
        np.testing.assert_allclose(
            result, np.broadcast_to(exact, result.shape), rtol=3e-5, atol=3e-5, err_msg=mode
        )


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(2, 8))
def test_every_mode_comes_back_as_it_was(seed: int):
    source = Drawn(seed).source
    module = hipdnn_io.import_document(hipdnn_io.read_json(json.dumps(source)), CONTEXT)
    document = hipdnn_io.export_graph(hipdnn_io.find_graph(module))
    assert json.loads(hipdnn_io.write_json(document)) == source
    again = hipdnn_io.read_flatbuffer(hipdnn_io.write_flatbuffer(document))
    for node, first in zip(again.nodes, document.nodes, strict=True):
        given = {key: value for key, value in first.fields.items() if value is not None}
        assert node.fields == pytest.approx(given)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("mode", BACKWARD)
def test_gradient_is_the_slope_of_the_forward_mode(mode: str):
    """`in_0` times the difference quotient of the forward mode at `in_1`, for each gradient."""
    forward = MODES[mode.replace("_bwd", "_fwd")]
    dy, x = (np.linspace(*ends, 23, dtype=np.float32) for ends in ((-3, 2), (1.37, -2.11)))
    source = graph([pointwise(mode, 1, 2, out=3)], [tensor(uid, [23]) for uid in (1, 2, 3)])
    (found,) = compile(
        hipdnn_io.import_document(hipdnn_io.read_json(json.dumps(source))), "cpu"
    ).run([dy, x])
    wide = x.astype(np.float64)
    slope = (forward(wide + STEP) - forward(wide - STEP)) / (2 * STEP)
    np.testing.assert_allclose(found, dy * slope, rtol=1e-4, atol=1e-4)


def test_gradient_of_a_published_form():
    """An activation's gradient between a norm and its gradient: `dy` is in `in_0`."""
    source = graph(
        [
            pointwise("add", 1, 2, out=3, name="forward"),
            pointwise("relu_bwd", 4, 3, out=5, name="gradient", relu_upper_clip=0.5),
        ],
        [
            tensor(1, [4]),
            scalar(2, 0.25),
            tensor(3, [4], virtual=True),
            tensor(4, [4]),
            tensor(5, [4]),
        ],
    )
    x, dy = (np.array(one, np.float32) for one in ([-1, 0, 0.2, 0.5], [1, 2, -3, 4]))
    (found,) = compile(
        hipdnn_io.import_document(hipdnn_io.read_json(json.dumps(source))), "cpu"
    ).run([x, dy])
    assert found.tolist() == [0, 2, -3, 0]

"""Imported graphs compute hipDNN's definitions, with any layouts of their tensors in memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator import open_emulator, requires_emulator
from hipdnn_graphs import (
    GRAPHS,
    SDPA,
    attention_inputs,
    attention_outputs,
    graph,
    node,
    pointwise,
    tensor,
    uids,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import tensors as oracle
from oracle.attention import attend

from hipgraft import frontends, hipdnn_io
from hipgraft.compiler.program import compile
from hipgraft.runtime import run_module

INPUTS = Path(__file__).resolve().parents[1] / "lit" / "tools" / "Inputs"


@dataclass(frozen=True)
class Run:
    """A graph with inputs of its arguments, and the results by definition."""

    name: str
    source: Any
    inputs: Sequence[np.ndarray]
    expected: np.ndarray
    tolerance: float = 1e-5

    def check(self, results: Sequence[np.ndarray]) -> None:
        (result,) = results
        np.testing.assert_allclose(
            result.astype(np.float64), self.expected, rtol=self.tolerance, atol=self.tolerance
        )


def uniform(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(7).uniform(-1, 1, shape).astype(dtype)


def conv_bias_relu() -> Run:
    """Channels last throughout, f16 with f32 intermediates."""
    source = json.loads((INPUTS / "conv_bias_relu.json").read_text())
    x, w, b = (uniform(*s, dtype=np.float16) for s in ([1, 4, 6, 6], [8, 4, 3, 3], [1, 8, 1, 1]))
    wide = (one.astype(np.float64) for one in (x, w))
    y = oracle.conv(*wide, pre=[1, 1], post=[1, 1], stride=[1, 1], dilation=[1, 1])
    return Run("conv_bias_relu", source, [x, w, b], np.maximum(y + b, 0), 2e-3)


def padded_sum() -> Run:
    """Inputs and results with gaps between rows, and a row that strides of 0 broadcast."""
    gaps = {"strides": [192, 64, 8, 1]}
    source = graph(
        [pointwise("sub", 1, 2, out=3)],
        [
            tensor(1, [2, 3, 4, 4], **gaps),
            tensor(2, [2, 3, 4, 4], strides=[0, 0, 0, 1]),
            tensor(3, [2, 3, 4, 4], **gaps),
        ],
    )
    x, row = uniform(2, 3, 4, 4), np.broadcast_to(uniform(4), (2, 3, 4, 4))
    return Run("padded_sum", source, [x, row], x.astype(np.float64) - row)


def transposed_product() -> Run:
    """Each matrix by columns, in batches that share the right one."""
    source = graph(
        [node("MatmulAttributes", inputs=uids(a=1, b=2), outputs=uids(c=3))],
        [
            tensor(1, [3, 4, 5], strides=[20, 1, 4]),
            tensor(2, [1, 5, 6], strides=[30, 1, 5]),
            tensor(3, [3, 4, 6], strides=[24, 1, 4]),
        ],
    )
    a, b = uniform(3, 4, 5), uniform(1, 5, 6)
    return Run("transposed_product", source, [a, b], a.astype(np.float64) @ b)


def conv_3d() -> Run:
    """Three spatial dimensions, padded on one side, rows of the operand with gaps."""
    parameters = {
        "conv_mode": "CROSS_CORRELATION",
        "pre_padding": [1, 1, 1],
        "post_padding": [0, 0, 0],
        "stride": [2, 1, 1],
        "dilation": [1, 1, 1],
    }
    source = graph(
        [
            node(
                "ConvolutionFwdAttributes",
                inputs=uids(x=1, w=2),
                outputs=uids(y=3),
                parameters=parameters,
            )
        ],
        [
            tensor(1, [2, 2, 4, 5, 6], strides=[480, 240, 48, 8, 1]),
            tensor(2, [3, 2, 2, 2, 2]),
            tensor(3, [2, 3, 2, 5, 6]),
        ],
    )
    x, w = uniform(2, 2, 4, 5, 6), uniform(3, 2, 2, 2, 2)
    y = oracle.conv(
        x.astype(np.float64),
        w.astype(np.float64),
        pre=[1, 1, 1],
        post=[0, 0, 0],
        stride=[2, 1, 1],
        dilation=[1, 1, 1],
    )
    return Run("conv_3d", source, [x, w], y)


def relu_gradient() -> Run:
    """The gradient comes first, then the forward op's input."""
    x, dy = uniform(3, 4), uniform(4, 3).T.copy()
    return Run("relu_gradient", GRAPHS["relu_bwd"], [dy, x], np.where(x > 0, dy, 0))


def select() -> Run:
    """The mask comes last."""
    source = GRAPHS["binary_select"]
    a, b, mask = uniform(3, 4), uniform(3, 4) + 5, (uniform(3, 4) > 0).astype(np.float32)
    return Run("select", source, [a, b, mask], np.where(mask != 0, a, b))


def bytes_without_sign() -> Run:
    """Numbers from 128 on stay positive."""
    source = graph(
        [pointwise("add", 1, 2, out=3)],
        [tensor(1, [3, 4], "uint8"), tensor(2, [3, 4], "uint8"), tensor(3, [3, 4], "int32")],
    )
    x = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20
    y = x[::-1].copy()
    return Run("bytes_without_sign", source, [x, y], x.astype(np.int32) + y.astype(np.int32), 0)


def packed_attention() -> Run:
    """Batches one after the other; as FlashInfer writes it, with one token as batch stride."""
    dims, lengths, starts = [2, 2, 4, 8], [3, 1], [0, 3, 4]
    lies = {"ragged_offset_tensor_uid": 6, "ragged_offset_multiplier": 16}
    tokens = [tensor(uid, dims, strides=[16, 8, 16, 1], **lies) for uid in (1, 2, 3, 5)]
    source = graph(
        [
            node(
                "SdpaAttributes",
                inputs=attention_inputs(q=1, k=2, v=3),
                outputs=attention_outputs(o=5),
                attributes=SDPA | {"attn_scale_value": 0.5, "right_bound": -1},
            )
        ],
        [*tokens, tensor(6, [3, 1, 1, 1], "int32")],
    )
    memory = [uniform(2, 4, 2, 8) + shift for shift in range(3)]
    expected = np.zeros((8, 2, 8))
    for start, length in zip(starts[:-1], lengths, strict=True):
        q, k, v = (
            one.reshape(8, 2, 8)[start : start + length].transpose(1, 0, 2)[None].astype(float)
            for one in memory
        )
        expected[start : start + length] = attend(q, k, v, scale=0.5)["o"][0].transpose(1, 0, 2)
    views = [one.transpose(0, 2, 1, 3) for one in memory]
    result = expected.reshape(2, 4, 2, 8).transpose(0, 2, 1, 3)
    return Run(
        "packed_attention",
        source,
        [*views, np.array(starts, np.int32)[:, None, None, None]],
        result,
    )


RUNS = [
    bytes_without_sign,
    packed_attention,
    conv_bias_relu,
    padded_sum,
    transposed_product,
    conv_3d,
    relu_gradient,
    select,
]
names = [make.__name__ for make in RUNS]


def compiled(source: Any, target: str) -> Any:
    document = hipdnn_io.read_json(json.dumps(source))
    return compile(hipdnn_io.import_document(document), target)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("make", RUNS, ids=names)
def test_graph_runs_on_the_cpu(make: Any):
    run = make()
    run.check(compiled(run.source, "cpu").run(run.inputs))


@st.composite
def layouts(draw: st.DrawFn, dims: list[int], *, written: bool = False) -> list[int]:
    """Draws strides in any order of the dimensions, with gaps; operands may have any step, or 0.

    The strides of results nest: each is a multiple of the next smaller one.
    """
    strides, step = [0] * len(dims), 1
    for dim in draw(st.permutations(range(len(dims)))):
        strides[dim] = step
        gap = draw(st.integers(0, 3))
        step = step * (dims[dim] + gap) if written else step * dims[dim] + gap
    shared = st.just([]) if written else st.lists(st.sampled_from(range(len(dims))), max_size=1)
    for dim in draw(shared):
        strides[dim] = 0
    return strides


@pytest.mark.thorough
@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.data())
def test_any_layout(data: st.DataObject):
    dims = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    a, b = (data.draw(layouts(dims)) for _ in range(2))
    c = data.draw(layouts(dims, written=True))
    tensors = [tensor(1, dims, strides=a), tensor(2, dims, strides=b), tensor(3, dims, strides=c)]
    source = graph([pointwise("sub", 1, 2, out=3)], tensors)
    x, y = (broadcast(uniform(*dims), strides) for strides in (a, b))
    Run("any_layout", source, [x, y], x.astype(np.float64) - y).check(
        compiled(source, "cpu").run([x, y])
    )


def broadcast(values: np.ndarray, strides: Sequence[int]) -> np.ndarray:
    """Values that are the same along the dimensions of stride 0."""
    first = tuple(slice(0, 1 if stride == 0 else None) for stride in strides)
    return np.broadcast_to(values[first], values.shape)


@requires_emulator
@pytest.mark.parametrize("make", [conv_bias_relu, padded_sum], ids=names[:2])
def test_graph_runs_as_gfx942_code(make: Any):
    run = make()
    module = compiled(run.source, "gfx942").module
    run.check(run_module(module, run.inputs, open_emulator("gfx942")))


def test_files_are_models(tmp_path: Path):
    module = frontends.read(INPUTS / "conv_bias_relu.json")
    assert frontends.stage_of(module) == "hipdnn-graphs"
    assert frontends.argument_names(module) == ["x", "w", "b"]
    buffer = tmp_path / "graph.fb"
    document = hipdnn_io.export_graph(hipdnn_io.find_graph(module))
    buffer.write_bytes(hipdnn_io.write_flatbuffer(document))
    assert frontends.argument_names(frontends.read(buffer)) == ["x", "w", "b"]

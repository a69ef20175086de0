"""Whole models without copies: concatenations of inner dims, and heads merged with batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from emulator import open_emulator, requires_emulator
from onnx import helper
from small_onnx import F32, save

import hipgraft

Random = np.random.Generator
Array = np.ndarray


def concatenation(random: Random, path: Path) -> tuple[dict[str, Array], Array]:
    """Writes a model that concatenates products along an inner dim, and multiplies the result."""
    rank = int(random.integers(2, 4))
    dim = int(random.integers(1, rank))
    shape = [int(random.integers(2, 5)), *(int(n) for n in random.choice([1, 4, 8, 12], rank - 1))]
    inputs, constants = dict[str, Array](), dict[str, Array]()
    nodes, parts = [], list[Array]()
    for name in "abc"[: random.integers(2, 4)]:
        own = [*shape[:dim], int(random.choice([4, 8, 12])), *shape[dim + 1 :]]
        order = [int(each) for each in random.permutation(rank)]
        back = [order.index(each) for each in range(rank)]
        *lead, rows, columns = (own[each] for each in order)
        inputs[name] = random.standard_normal((*lead, rows, 8)).astype(np.float32)
        factor = random.standard_normal((*lead, 8, columns)).astype(np.float32)
        constants[f"{name}0"] = factor
        nodes.append(helper.make_node("MatMul", [name, f"{name}0"], [f"{name}1"]))
        nodes.append(helper.make_node("Transpose", [f"{name}1"], [f"{name}2"], perm=back))
        parts.append((inputs[name] @ factor).transpose(back))
    nodes.append(helper.make_node("Concat", [f"{name}2" for name in inputs], ["cat"], axis=dim))
    nodes.append(helper.make_node("MatMul", ["cat", "w"], ["y"]))
    whole = np.concatenate(parts, dim)
    lead = whole.shape[:-2]
    constants["w"] = random.standard_normal((*lead, whole.shape[-1], 8)).astype(np.float32)
    save(path, nodes, inputs, [("y", F32)], constants)
    return inputs, whole @ constants["w"]


@pytest.mark.sampled(20)
@pytest.mark.parametrize("seed", range(24))
def test_random_concatenations(tmp_path: Path, seed: int):
    inputs, expected = concatenation(np.random.default_rng(seed), tmp_path / "m.onnx")
    with hipgraft.compile(tmp_path / "m.onnx", "cpu") as program:
        (found,) = program.run(list(inputs.values()))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@requires_emulator
@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", range(12))
def test_random_concatenations_on_gpu_code(tmp_path: Path, seed: int):
    inputs, expected = concatenation(np.random.default_rng(100 + seed), tmp_path / "m.onnx")
    architecture = ("gfx942", "gfx1100")[seed % 2]
    device = open_emulator(architecture)
    with hipgraft.compile(tmp_path / "m.onnx", architecture) as program:
        (found,) = program.run(list(inputs.values()), device)
    device.close()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_inner_concatenation_takes_no_launch(tmp_path: Path):
    """Products of both operands, their concatenation, and a product of that: three launches."""
    random = np.random.default_rng(3)
    inputs = {name: random.standard_normal((4, 16)).astype(np.float32) for name in "ab"}
    shapes = {"v": (16, 24), "w": (16, 40), "u": (64, 8)}
    constants = {n: random.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    nodes = [
        helper.make_node("MatMul", ["a", "v"], ["0"]),
        helper.make_node("MatMul", ["b", "w"], ["1"]),
        helper.make_node("Concat", ["0", "1"], ["2"], axis=1),
        helper.make_node("MatMul", ["2", "u"], ["y"]),
    ]
    path = save(tmp_path / "m.onnx", nodes, inputs, [("y", F32)], constants)
    with hipgraft.compile(path, "gfx942") as program:
        text = str(program.module)
    assert (text.count(" gpu.launch_func "), text.count("gpu.memcpy")) == (3, 0)


def multi_head(path: Path, batch: int, length: int, *, masked: bool) -> tuple[Array, Array, Array]:
    """Writes PyTorch's multi-head attention, sequence first; returns input, mask and result."""
    random = np.random.default_rng(batch)
    heads, width = 4, 16
    size = width // heads
    x = random.standard_normal((length, batch, width)).astype(np.float32)
    mask = np.where(random.random((batch * heads, length, length)) < 0.3, -1e9, 0)
    weights = random.standard_normal((width, 3 * width)).astype(np.float32)
    joined = np.array([length, batch * heads, size])
    constants = {"w": weights, "s": np.float32(size**-0.5), "joined": joined}
    constants |= {str(start): np.array([start]) for start in range(0, 3 * width + 1, width)}
    constants |= {"two": np.array([2]), "out": np.array([length, batch, width])}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["packed"])]
    for number, name in enumerate("qkv"):
        ends = [str(number * width), str((number + 1) * width)]
        nodes += [
            helper.make_node("Slice", ["packed", *ends, "two"], [f"{name}0"]),
            helper.make_node("Reshape", [f"{name}0", "joined"], [f"{name}1"]),
        ]
    nodes += [
        helper.make_node("Transpose", ["q1"], ["q2"], perm=[1, 0, 2]),
        helper.make_node("Transpose", ["k1"], ["k2"], perm=[1, 2, 0]),
        helper.make_node("Transpose", ["v1"], ["v2"], perm=[1, 0, 2]),
        helper.make_node("Mul", ["q2", "s"], ["q3"]),
        helper.make_node("MatMul", ["q3", "k2"], ["scores"]),
        helper.make_node("Add", ["scores", "mask"], ["hidden"]),
        helper.make_node("Softmax", ["hidden" if masked else "scores"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "v2"], ["o"]),
        helper.make_node("Transpose", ["o"], ["o1"], perm=[1, 0, 2]),
        helper.make_node("Reshape", ["o1", "out"], ["y"]),
    ]
    inputs = {"x": x, "mask": mask.astype(np.float32)}
    save(path, nodes, inputs, [("y", F32)], constants)
    q, k, v = (part.reshape(joined).transpose(1, 0, 2) for part in np.split(x @ weights, 3, 2))
    scores = q @ k.transpose(0, 2, 1) * size**-0.5 + masked * mask
    p = np.exp(scores - scores.max(-1, keepdims=True))
    y = (p / p.sum(-1, keepdims=True)) @ v
    return x, inputs["mask"], y.transpose(1, 0, 2).reshape(x.shape)


@requires_emulator
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("batch", [1, 3])
def test_packed_projection_is_read_where_it_is(tmp_path: Path, batch: int, masked: bool):
    x, mask, expected = multi_head(tmp_path / "m.onnx", batch, 8, masked=masked)
    device = open_emulator("gfx942")
    with hipgraft.compile(tmp_path / "m.onnx", "gfx942") as program:
        text = str(program.module)
        (found,) = program.run([x, mask], device)
    device.close()
    assert "slow_memcpy" not in text
    assert text.count(" gpu.launch_func ") <= 4
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
def test_norm_of_a_gated_sum_takes_one_launch(tmp_path: Path, architecture: str):
    """A gated residual network normalises rows that elementwise ops compute in another shape."""
    random = np.random.default_rng(9)
    x, r = (random.standard_normal((2, 7, n)).astype(np.float32) for n in (16, 8))
    scale, bias = (random.standard_normal(8).astype(np.float32) for _ in range(2))
    nodes = [
        helper.make_node("Split", ["x"], ["a", "g"], axis=-1, num_outputs=2),
        helper.make_node("Sigmoid", ["g"], ["s"]),
        helper.make_node("Mul", ["a", "s"], ["gated"]),
        helper.make_node("Add", ["r", "gated"], ["sum"]),
        helper.make_node("LayerNormalization", ["sum", "scale", "bias"], ["y"], axis=-1),
    ]
    constants = {"scale": scale, "bias": bias}
    path = save(tmp_path / "m.onnx", nodes, {"x": x, "r": r}, [("y", F32)], constants)
    total = r + x[..., :8] / (1 + np.exp(-x[..., 8:]))
    centered = total - total.mean(-1, keepdims=True)
    expected = centered / np.sqrt(total.var(-1, keepdims=True) + 1e-5) * scale + bias
    device = open_emulator(architecture)
    with hipgraft.compile(path, architecture) as program:
        assert str(program.module).count(" gpu.launch_func ") == 1
        (found,) = program.run([x, r], device)
    device.close()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)

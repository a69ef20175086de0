"""Products of one left factor in one graph: their launches, and their results against NumPy."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import hipgraft
from hipgraft.dialects.hipdnn import GraphOp
from hipgraft.hipdnn_io.exporter import export_graph, find_graph
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import HipgraftError

# x feeds q, k and v, each with a bias; y feeds a gate and the gated product.
TEXT = """func.func @main(%x: tensor<32x64xf16>, %wq: tensor<64x48xf16>, %wk: tensor<64x48xf16>,
    %wv: tensor<64x48xf16>, %b: tensor<1x48xf16>, %y: tensor<16x64xf16>, %wg: tensor<64x48xf16>,
    %wu: tensor<64x48xf16>) -> (tensor<32x48xf16>, tensor<32x48xf16>, tensor<32x48xf16>,
    tensor<16x48xf16>) {
  %q = "hipdnn.matmul"(%x, %wq) : (tensor<32x64xf16>, tensor<64x48xf16>) -> tensor<32x48xf16>
  %k = "hipdnn.matmul"(%x, %wk) : (tensor<32x64xf16>, tensor<64x48xf16>) -> tensor<32x48xf16>
  %v = "hipdnn.matmul"(%x, %wv) : (tensor<32x64xf16>, tensor<64x48xf16>) -> tensor<32x48xf16>
  %qb = "hipdnn.pointwise"(%q, %b) {mode = "add"}
      : (tensor<32x48xf16>, tensor<1x48xf16>) -> tensor<32x48xf16>
  %kb = "hipdnn.pointwise"(%k, %b) {mode = "sub"}
      : (tensor<32x48xf16>, tensor<1x48xf16>) -> tensor<32x48xf16>
  %g = "hipdnn.matmul"(%y, %wg) : (tensor<16x64xf16>, tensor<64x48xf16>) -> tensor<16x48xf16>
  %s = "hipdnn.pointwise"(%g) {mode = "swish_fwd"} : (tensor<16x48xf16>) -> tensor<16x48xf16>
  %u = "hipdnn.matmul"(%y, %wu) : (tensor<16x64xf16>, tensor<64x48xf16>) -> tensor<16x48xf16>
  %m = "hipdnn.pointwise"(%s, %u) {mode = "mul"}
      : (tensor<16x48xf16>, tensor<16x48xf16>) -> tensor<16x48xf16>
  return %qb, %kb, %v, %m
      : tensor<32x48xf16>, tensor<32x48xf16>, tensor<32x48xf16>, tensor<16x48xf16>
}
"""
SHAPES = ((32, 64), (64, 48), (64, 48), (64, 48), (1, 48), (16, 64), (64, 48), (64, 48))


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("target", "device"), [("cpu", "cpu"), ("gfx942", "emulator"), ("gfx1100", "emulator:gfx1100")]
)
def test_joined_products_compute_what_each_does(target: str, device: str, tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(TEXT)
    generator = np.random.default_rng(5)
    values = [(0.3 * generator.standard_normal(shape)).astype(np.float16) for shape in SHAPES]
    with hipgraft.compile(path, target=target) as program:
        if target != "cpu":
            assert str(program.module).count(" gpu.launch_func ") == 2
        found = program.run(values, device=device)
    x, wq, wk, wv, b, y, wg, wu = (value.astype(np.float64) for value in values)
    gate = y @ wg
    exact = [x @ wq + b, x @ wk - b, x @ wv, gate / (1 + np.exp(-gate)) * (y @ wu)]
    for result, expected in zip(found, exact, strict=True):
        # Sums are rounded to f16 once.
        np.testing.assert_allclose(result, expected, rtol=2e-3, atol=1e-3)


def _parted(rows: int, depth: int, width: int, parts: int, element: str, is_row: bool) -> str:
    """Writes a product by columns plus a bias, whose parts are multiplied with each other."""
    whole = parts * width
    kind = {
        "x": f"tensor<{rows}x{depth}x{element}>",
        "w": f"tensor<{whole}x{depth}x{element}>",
        "t": f"tensor<{depth}x{whole}x{element}>",
        "b": f"tensor<{1 if is_row else rows}x{whole}x{element}>",
        "p": f"tensor<{rows}x{whole}x{element}>",
        "y": f"tensor<{rows}x{width}x{element}>",
    }
    lines = [
        f"func.func @main(%x: {kind['x']}, %w: {kind['w']}, %b: {kind['b']}) -> {kind['y']} {{",
        f'%t = "hipdnn.view"(%w) {{offset = 0 : i64, strides = array<i64: 1, {depth}>}}'
        f" : ({kind['w']}) -> {kind['t']}",
        f'%m = "hipdnn.matmul"(%x, %t) : ({kind["x"]}, {kind["t"]}) -> {kind["p"]}',
        f'%s = "hipdnn.pointwise"(%m, %b) {{mode = "add"}}'
        f" : ({kind['p']}, {kind['b']}) -> {kind['p']}",
    ]
    for part in range(parts):
        lines += [
            f'%v{part} = "hipdnn.view"(%s) {{offset = {part * width} : i64,'
            f" strides = array<i64: {whole}, 1>}} : ({kind['p']}) -> {kind['y']}",
            f'%a{part} = "hipdnn.pointwise"(%v{part}) {{mode = "tanh_fwd"}}'
            f" : ({kind['y']}) -> {kind['y']}",
        ]
    total = "%a0"
    for part in range(1, parts):
        lines.append(
            f'%y{part} = "hipdnn.pointwise"({total}, %a{part}) {{mode = "sub"}}'
            f" : ({kind['y']}, {kind['y']}) -> {kind['y']}"
        )
        total = f"%y{part}"
    return "\n".join([*lines, f"return {total} : {kind['y']}", "}"])


@pytest.mark.sampled(32)
@pytest.mark.parametrize("seed", range(1, 25))
def test_parts_of_few_rows_are_one_launch(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    target = draw.choice(["gfx942", "gfx90a", "gfx1100", "gfx1201"])
    element = draw.choice(["f16", "f32"])
    few = [1, 1, 2, 3, 5, 8] if element == "f16" else [1, 2, 3, 8, 12, 16]
    rows, parts = draw.choice(few), draw.choice([2, 3, 4])
    depth, width = draw.choice([1, 7, 64, 100, 192, 300]), draw.choice([2, 5, 24, 32])
    is_row = draw.random() < 0.5
    path = tmp_path / "model.mlir"
    path.write_text(_parted(rows, depth, width, parts, element, is_row))
    shapes = (rows, depth), (parts * width, depth), (1 if is_row else rows, parts * width)
    generator = np.random.default_rng(seed)
    dtype = np.float16 if element == "f16" else np.float32
    x, w, b = (generator.standard_normal(shape).astype(dtype) for shape in shapes)
    w /= dtype(np.sqrt(depth))
    with hipgraft.compile(path, target=target) as program:
        assert str(program.module).count(" gpu.launch_func ") == 1
        (found,) = program.run([x, w, b], device=f"emulator:{target}")
    total = x.astype(np.float64) @ w.astype(np.float64).T + b.astype(np.float64)
    first, *others = np.split(np.tanh(total), parts, axis=1)
    tolerance = 4e-3 if element == "f16" else 1e-5
    np.testing.assert_allclose(found, first - sum(others), rtol=tolerance, atol=tolerance)


GRAPH = """func.func @main(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0:2 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<4x4xf32>):
    %1 = "hipdnn.matmul"(%g, %g) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "hipdnn.matmul"(%g, %g) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    "hipdnn.yield"(%1, %2) : (tensor<4x4xf32>, tensor<4x4xf32>) -> ()
  }) {engine = "iree"} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return %0#0, %0#1 : tensor<4x4xf32>, tensor<4x4xf32>
}
"""


def test_hipdnn_has_no_graph_of_joined_products() -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(GRAPH)
        graph: GraphOp = find_graph(module)
        with pytest.raises(
            HipgraftError, match="graphs are connected, but this one has 2 separate"
        ):
            export_graph(graph)

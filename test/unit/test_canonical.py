"""Keys of containers: every ingredient of a kernel counts, names do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hipgraft.codegen.canonical import container_key, find_containers
from hipgraft.compiler.program import compile
from hipgraft.ir.bindings import ir, make_context
from hipgraft.service import Cache, CompileService

GRAPH = """
func.func @main(%a: tensor<4x6xf16>, %b: tensor<6x8xf16>) -> tensor<4x8xf16> {
  %0 = "hipdnn.graph"(%a, %b) ({
  ^bb0(%x: tensor<4x6xf16>, %w: tensor<6x8xf16>):
    %c = arith.constant dense<5.0e-01> : tensor<1x1xf32>
    %m = "hipdnn.matmul"(%x, %w) {compute_type = f32}
      : (tensor<4x6xf16>, tensor<6x8xf16>) -> tensor<4x8xf32>
    %s = "hipdnn.pointwise"(%m, %c) {mode = "sub", compute_type = f32,
        operandSegmentSizes = array<i32: 1, 1, 0>}
      : (tensor<4x8xf32>, tensor<1x1xf32>) -> tensor<4x8xf16>
    "hipdnn.yield"(%s) : (tensor<4x8xf16>) -> ()
  }) {name = "g", arg_strides = [array<i64: 6, 1>, array<i64: 8, 1>],
      result_strides = [array<i64: 8, 1>]}
    : (tensor<4x6xf16>, tensor<6x8xf16>) -> tensor<4x8xf16>
  return %0 : tensor<4x8xf16>
}
"""


def key(text: str) -> str:
    with make_context() as context:
        module = ir.Module.parse(text, context)
        return container_key(find_containers(module)[-1])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("array<i64: 6, 1>", "array<i64: 1, 4>"),
        ("result_strides = [array<i64: 8, 1>]", "result_strides = [array<i64: 1, 4>]"),
        ("f16", "bf16"),
        ("x8x", "x10x"),
        ("compute_type = f32}", "compute_type = f64}"),
        ('mode = "sub"', 'mode = "add"'),
        ("(%m, %c)", "(%c, %m)"),
        ("5.0e-01", "2.5e-01"),
        ('"hipdnn.graph"', '"hipdnn.fallback"'),
        ('{name = "g",', '{name = "g", arg_offsets = array<i64: 2, 0>,'),
        ("tensor<4x8xf32>\n    %s", "tensor<4x8xf64>\n    %s"),
    ],
)
def test_each_ingredient_counts(old: str, new: str) -> None:
    assert old in GRAPH
    text = GRAPH.replace(old, new)
    if "(%c, %m)" in text:
        text = text.replace(
            "(tensor<4x8xf32>, tensor<1x1xf32>)", "(tensor<1x1xf32>, tensor<4x8xf32>)"
        )
    if "4x8xf64" in text:
        text = text.replace("(tensor<4x8xf32>, tensor<1x1", "(tensor<4x8xf64>, tensor<1x1")
    assert key(text) != key(GRAPH)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('name = "g"', 'name = "another"'),
        ("@main", "@forward"),
        ("%m", "%product"),
        ("%x", "%left"),
        ("%a", "%image"),
        ("{mode =", '{torch.note = "aten.sub", mode ='),
        ("^bb0", "\n\n  ^bb7"),
        ("func.func", "func.func private @before(%z: tensor<2xf32>)\nfunc.func"),
    ],
)
def test_names_and_places_do_not_count(old: str, new: str) -> None:
    assert old in GRAPH
    assert key(GRAPH.replace(old, new)) == key(GRAPH)


STORED = """
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "hipdnn.fallback"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    %c = arith.constant dense_resource<HANDLE> : tensor<4xf32>
    %p = torch_c.from_builtin_tensor %x : tensor<4xf32> -> !torch.vtensor<[4],f32>
    %q = torch_c.from_builtin_tensor %c : tensor<4xf32> -> !torch.vtensor<[4],f32>
    %r = torch.aten.mul.Tensor %p, %q
      : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    %y = torch_c.to_builtin_tensor %r : !torch.vtensor<[4],f32> -> tensor<4xf32>
    "hipdnn.yield"(%y) : (tensor<4xf32>) -> ()
  }) {name = "f"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
{-# dialect_resources: {builtin: {HANDLE: "0x04000000BYTES"}} #-}
"""


def stored(handle: str, factor: float) -> str:
    values = np.full(4, factor, np.float32).tobytes().hex()
    return STORED.replace("HANDLE", handle).replace("BYTES", values)


def test_the_content_of_constants_counts_and_their_handles_do_not() -> None:
    assert key(stored("w", 2)) == key(stored('"a long > name"', 2))
    assert key(stored("w", 2)) != key(stored("w", 3))


@pytest.mark.slow
def test_constants_of_one_handle_in_two_modules(tmp_path: Path) -> None:
    x = np.arange(4, dtype=np.float32)
    for factor in (2, 3):
        with make_context() as context:
            module = ir.Module.parse(stored("w", factor), context)
            service = CompileService(cache=Cache(tmp_path))
            (y,) = compile(module, "cpu", service=service).run([x])
        np.testing.assert_array_equal(y, factor * x)

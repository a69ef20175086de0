"""Merged programs, executed instruction by instruction and compared with NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from emulator import open_emulator, requires_emulator
from programs import build_program, run_passes, uniform

from hipgraft.host.jit import Jit
from hipgraft.ir.bindings import ir
from hipgraft.runtime import run_module
from hipgraft.runtime.devices import open_device

pytestmark = [pytest.mark.slow, requires_emulator]

ARCHITECTURES = ("gfx942", "gfx1100")

ABS = """
func.func @main(%x: tensor<{shape}xf32>) -> tensor<{shape}xf32> {{
  %r = math.absf %x : tensor<{shape}xf32>
  return %r : tensor<{shape}xf32>
}}"""

SUM_OF_PRODUCTS = """
func.func @main(%x: tensor<16x32xf16>, %y: tensor<16x32xf16>) -> tensor<16x16xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x16xf32>) -> tensor<16x16xf32>
  %wide = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<16x32xf16>, tensor<16x32xf16>) outs(%init : tensor<16x16xf32>) {
  ^bb0(%a: f16, %b: f16, %c: f32):
    %a32 = arith.extf %a : f16 to f32
    %b32 = arith.extf %b : f16 to f32
    %p = arith.mulf %a32, %b32 : f32
    %s = arith.addf %p, %c : f32
    linalg.yield %s : f32
  } -> tensor<16x16xf32>
  %r = arith.truncf %wide : tensor<16x16xf32> to tensor<16x16xf16>
  return %r : tensor<16x16xf16>
}"""


def check(
    function: str,
    graphs: Mapping[str, tuple[str, str]],
    inputs: Sequence[np.ndarray],
    expected: Sequence[np.ndarray],
    tolerance: float = 0.0,
) -> None:
    """Runs a program on the CPU and, with separate buffers and with an arena, on the emulator."""
    program = build_program(function, graphs, ["cpu"])
    run_passes(program, "hipdnn-bufferize")
    compare(run_module(program, inputs, open_device("cpu")), expected, tolerance)
    merged = build_program(function, graphs, ARCHITECTURES)
    run_passes(merged, "hipdnn-bufferize", "hipdnn-merge")
    for architecture in ARCHITECTURES:
        compare(run_on_emulator(merged, inputs, architecture), expected, tolerance)
    run_passes(merged, "hipdnn-plan-memory")
    for architecture in ARCHITECTURES:
        compare(run_on_emulator(merged, inputs, architecture), expected, tolerance)


def run_on_emulator(
    module: ir.Module, inputs: Sequence[np.ndarray], architecture: str
) -> list[np.ndarray]:
    device = open_emulator(architecture)
    results = run_module(module, inputs, device)
    assert not device._buffers, "the run leaves memory behind"
    return results


def compare(found: Sequence[np.ndarray], expected: Sequence[np.ndarray], tolerance: float) -> None:
    assert [array.dtype for array in found] == [array.dtype for array in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            one.astype(np.float64), other.astype(np.float64), rtol=tolerance, atol=tolerance
        )


def test_argument_used_twice() -> None:
    x = uniform(16, 32)
    function = """
func.func @main(%unused: tensor<7xf32>, %x: tensor<16x32xf16>) -> tensor<256xf16> {
  %0 = "hipdnn.execute"(%x, %x) {callee = @gram}
      : (tensor<16x32xf16>, tensor<16x32xf16>) -> tensor<16x16xf16>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1>}
      : (tensor<16x16xf16>) -> tensor<256xf16>
  return %1 : tensor<256xf16>
}"""
    attributes = """
operand_types = [tensor<16x32xf16>, tensor<16x32xf16>], result_types = [tensor<16x16xf16>]"""
    wide = x.astype(np.float32)
    expected = (wide @ wide.T).astype(np.float16).reshape(-1)
    inputs = [uniform(7, dtype=np.float32), x]
    check(function, {"gram": (SUM_OF_PRODUCTS, attributes)}, inputs, [expected], 2e-3)


RETURNED = """
func.func @main(%x: tensor<64xf32>, %y: tensor<5xi32>)
    -> (tensor<5xi32>, tensor<64xf32>, tensor<64xf32>) {
  %r = math.absf %x : tensor<64xf32>
  return %y, %r, %x : tensor<5xi32>, tensor<64xf32>, tensor<64xf32>
}"""


def test_argument_returned() -> None:
    function = """
func.func @main(%x: tensor<64xf32>, %y: tensor<5xi32>)
    -> (tensor<8x8xf32>, tensor<5xi32>, tensor<64xf32>) {
  %0:3 = "hipdnn.execute"(%x, %y) {callee = @both}
      : (tensor<64xf32>, tensor<5xi32>) -> (tensor<5xi32>, tensor<64xf32>, tensor<64xf32>)
  %1 = "hipdnn.view"(%0#1) {offset = 0 : i64, strides = array<i64: 8, 1>}
      : (tensor<64xf32>) -> tensor<8x8xf32>
  return %1, %0#0, %0#2 : tensor<8x8xf32>, tensor<5xi32>, tensor<64xf32>
}"""
    attributes = """
operand_types = [tensor<64xf32>, tensor<5xi32>],
result_types = [tensor<5xi32>, tensor<64xf32>, tensor<64xf32>]"""
    x, y = uniform(64, dtype=np.float32), np.arange(5, dtype=np.int32)
    check(function, {"both": (RETURNED, attributes)}, [x, y], [np.abs(x).reshape(8, 8), y, x])


FILLS = """
func.func @main(%x: tensor<3xf32>)
    -> (tensor<4x8xf16>, tensor<3xi8>, tensor<3xf32>, tensor<6xi64>, tensor<5xi1>) {
  %halves = arith.constant dense<3.5> : tensor<4x8xf16>
  %bytes = arith.constant dense<-7> : tensor<3xi8>
  %longs = arith.constant dense<-2> : tensor<6xi64>
  %bits = arith.constant dense<true> : tensor<5xi1>
  %r = math.absf %x : tensor<3xf32>
  return %halves, %bytes, %r, %longs, %bits
      : tensor<4x8xf16>, tensor<3xi8>, tensor<3xf32>, tensor<6xi64>, tensor<5xi1>
}"""


def test_fills_of_all_widths() -> None:
    types = "tensor<4x8xf16>, tensor<3xi8>, tensor<3xf32>, tensor<6xi64>, tensor<5xi1>"
    function = f"""
func.func @main(%x: tensor<3xf32>) -> ({types}) {{
  %0:5 = "hipdnn.execute"(%x) {{callee = @fills}} : (tensor<3xf32>) -> ({types})
  return %0#0, %0#1, %0#2, %0#3, %0#4 : {types}
}}"""
    x = uniform(3, dtype=np.float32)
    expected = [
        np.full((4, 8), 3.5, np.float16),
        np.full(3, -7, np.int8),
        np.abs(x),
        np.full(6, -2, np.int64),
        np.ones(5, np.bool_),
    ]
    attributes = f"operand_types = [tensor<3xf32>], result_types = [{types}]"
    check(function, {"fills": (FILLS, attributes)}, [x], expected)


INSERT = """
func.func @main(%x: tensor<8x15xf16>, %u: tensor<2x15xf16>) -> tensor<8x15xf16> {
  %r = tensor.insert_slice %u into %x[3, 0] [2, 15] [1, 1]
      : tensor<2x15xf16> into tensor<8x15xf16>
  return %r : tensor<8x15xf16>
}"""


def test_copy_into_the_middle_of_a_result() -> None:
    function = """
func.func @main(%x: tensor<8x15xf16>, %u: tensor<2x15xf16>) -> tensor<8x15xf16> {
  %0 = "hipdnn.execute"(%x, %u) {callee = @insert}
      : (tensor<8x15xf16>, tensor<2x15xf16>) -> tensor<8x15xf16>
  return %0 : tensor<8x15xf16>
}"""
    attributes = """
operand_types = [tensor<8x15xf16>, tensor<2x15xf16>], result_types = [tensor<8x15xf16>]"""
    x, u = uniform(8, 15), uniform(2, 15, seed=1)
    expected = x.copy()
    expected[3:5] = u
    check(function, {"insert": (INSERT, attributes)}, [x, u], [expected])


TOTAL = """
func.func @main(%x: tensor<65536xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %r = linalg.reduce ins(%x : tensor<65536xf32>) outs(%init : tensor<f32>) dimensions = [0]
    (%a: f32, %b: f32) { %s = arith.addf %a, %b : f32  linalg.yield %s : f32 }
  return %r : tensor<f32>
}"""


def test_workspace_between_dispatches() -> None:
    """Two calls: the workspaces and the intermediate share the arena without a clash."""
    function = """
func.func @main(%x: tensor<65536xf32>, %y: tensor<65536xf32>) -> (tensor<f32>, tensor<1xf32>) {
  %0 = "hipdnn.execute"(%x) {callee = @total} : (tensor<65536xf32>) -> tensor<f32>
  %1 = "hipdnn.execute"(%y) {callee = @total} : (tensor<65536xf32>) -> tensor<f32>
  %2 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1>}
      : (tensor<f32>) -> tensor<1xf32>
  %3 = "hipdnn.execute"(%2) {callee = @abs} : (tensor<1xf32>) -> tensor<1xf32>
  return %1, %3 : tensor<f32>, tensor<1xf32>
}"""
    graphs = {
        "total": (TOTAL, "operand_types = [tensor<65536xf32>], result_types = [tensor<f32>]"),
        "abs": (
            ABS.format(shape=1),
            "operand_types = [tensor<1xf32>], result_types = [tensor<1xf32>]",
        ),
    }
    x = uniform(65536, dtype=np.float32)
    y = uniform(65536, dtype=np.float32, seed=1)
    expected = [
        y.astype(np.float64).sum().astype(np.float32),
        np.abs(x.astype(np.float64).sum()).astype(np.float32).reshape(1),
    ]
    check(function, graphs, [x, y], [np.asarray(array) for array in expected], 1e-3)


# Rows 2 to 5 of an 8x12 operand, by the kernel's own offset; a transposed and a repeated one.
WINDOWS = """
func.func @main(%x: tensor<6x12xf32>, %t: tensor<12x4xf32>, %row: tensor<12xf32>)
    -> (tensor<4x12xf32>, tensor<4x12xf16>) {
  %s = tensor.extract_slice %x[2, 0] [4, 12] [1, 1] : tensor<6x12xf32> to tensor<4x12xf32>
  %e32 = tensor.empty() : tensor<4x12xf32>
  %e16 = tensor.empty() : tensor<4x12xf16>
  %r:2 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>,
                       affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>,
                       affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%s, %t, %row : tensor<4x12xf32>, tensor<12x4xf32>, tensor<12xf32>)
      outs(%e32, %e16 : tensor<4x12xf32>, tensor<4x12xf16>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32, %h: f16):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %p, %c : f32
    %n = arith.truncf %q : f32 to f16
    linalg.yield %q, %n : f32, f16
  } -> (tensor<4x12xf32>, tensor<4x12xf16>)
  return %r#0, %r#1 : tensor<4x12xf32>, tensor<4x12xf16>
}"""


def test_views_of_arguments_and_results() -> None:
    """Offsets: into an argument, an intermediate, and a result that is also read."""
    function = """
func.func @main(%x: tensor<8x12xf32>, %t: tensor<12x4xf32>, %w: tensor<1x12xf32>)
    -> (tensor<48xf32>, tensor<2x12xf32>, tensor<1x12xf32>) {
  %rows = "hipdnn.view"(%x) {offset = 24 : i64, strides = array<i64: 12, 1>}
      : (tensor<8x12xf32>) -> tensor<4x12xf32>
  %transposed = "hipdnn.view"(%t) {offset = 0 : i64, strides = array<i64: 1, 4>}
      : (tensor<12x4xf32>) -> tensor<4x12xf32>
  %repeated = "hipdnn.view"(%w) {offset = 0 : i64, strides = array<i64: 0, 1>}
      : (tensor<1x12xf32>) -> tensor<4x12xf32>
  %0:2 = "hipdnn.execute"(%rows, %transposed, %repeated) {callee = @windows}
      : (tensor<4x12xf32>, tensor<4x12xf32>, tensor<4x12xf32>)
      -> (tensor<4x12xf32>, tensor<4x12xf16>)
  %flat = "hipdnn.view"(%0#0) {offset = 0 : i64, strides = array<i64: 1>}
      : (tensor<4x12xf32>) -> tensor<48xf32>
  %tail = "hipdnn.view"(%0#0) {offset = 24 : i64, strides = array<i64: 12, 1>}
      : (tensor<4x12xf32>) -> tensor<2x12xf32>
  %1 = "hipdnn.execute"(%tail) {callee = @abs} : (tensor<2x12xf32>) -> tensor<2x12xf32>
  %last = "hipdnn.view"(%0#1) {offset = 36 : i64, strides = array<i64: 12, 1>}
      : (tensor<4x12xf16>) -> tensor<1x12xf16>
  %2 = "hipdnn.execute"(%last) {callee = @widen} : (tensor<1x12xf16>) -> tensor<1x12xf32>
  return %flat, %1, %2 : tensor<48xf32>, tensor<2x12xf32>, tensor<1x12xf32>
}"""
    # 72 bytes into an intermediate is less aligned than kernels assume: this one adds it itself.
    widen = """
func.func @main(%x: tensor<1x48xf16>) -> tensor<1x12xf32> {
  %s = tensor.extract_slice %x[0, 36] [1, 12] [1, 1] : tensor<1x48xf16> to tensor<1x12xf16>
  %r = arith.extf %s : tensor<1x12xf16> to tensor<1x12xf32>
  return %r : tensor<1x12xf32>
}"""
    windows = """
operand_types = [tensor<4x12xf32>, tensor<4x12xf32>, tensor<4x12xf32>],
result_types = [tensor<4x12xf32>, tensor<4x12xf16>],
arg_strides = [unit, array<i64: 1, 4>, array<i64: 0, 1>], arg_offsets = array<i64: 24, 0, 0>"""
    graphs = {
        "windows": (WINDOWS, windows),
        "abs": (
            ABS.format(shape="2x12"),
            "operand_types = [tensor<2x12xf32>], result_types = [tensor<2x12xf32>]",
        ),
        "widen": (
            widen,
            """operand_types = [tensor<1x12xf16>], result_types = [tensor<1x12xf32>],
               arg_offsets = array<i64: 36>""",
        ),
    }
    x, t, w = (uniform(*shape, dtype=np.float32) for shape in ((8, 12), (12, 4), (1, 12)))
    wide = x[2:6] * t.T + w
    expected = [wide.reshape(-1), np.abs(wide[2:]), wide.astype(np.float16)[3:].astype(np.float32)]
    check(function, graphs, [x, t, w], expected, 1e-3)


def test_parts_of_a_concatenation() -> None:
    """Kernels write into the concatenation, which copies nothing."""
    function = """
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %0 = "hipdnn.execute"(%x) {callee = @abs} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "hipdnn.execute"(%y) {callee = @abs} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "hipdnn.execute"(%0, %1) {callee = @cat}
      : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %3 = "hipdnn.execute"(%2) {callee = @negative} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}"""
    cat = """
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %r = tensor.concat dim(0) %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}"""
    types = "operand_types = [tensor<{0}xf32>{1}], result_types = [tensor<{2}xf32>]"
    graphs = {
        "abs": (ABS.format(shape="4x8"), types.format("4x8", "", "4x8")),
        "cat": (cat, types.format("4x8", ", tensor<4x8xf32>", "8x8")),
        "negative": (
            ABS.format(shape="8x8").replace("absf", "negf").replace("math.", "arith."),
            types.format("8x8", "", "8x8"),
        ),
    }
    x, y = (uniform(4, 8, dtype=np.float32) for _ in range(2))
    check(function, graphs, [x, y], [-np.abs(np.concatenate([x, y]))])
    planned = build_program(function, graphs, ["gfx942"])
    run_passes(planned, "hipdnn-bufferize", "hipdnn-merge", "hipdnn-plan-memory")
    assert "gpu.memcpy" not in str(planned)


def test_small_integers_and_constants() -> None:
    """i1 between kernels, i64 arguments, f16 weights in a resource, bf16 and f32 literals."""
    function = """
func.func @main(%i: tensor<9xi64>, %j: tensor<9xi64>) -> tensor<9xf32> {
  %w = arith.constant dense_resource<weights> : tensor<9xf16>
  %b = arith.constant dense<[1.5, -2.0, 0.25, 3.0, 1.0, -1.0, 8.0, 9.0, 0.5]> : tensor<9xbf16>
  %o = arith.constant dense<0.5> : tensor<9xf32>
  %0 = "hipdnn.execute"(%i, %j) {callee = @less} : (tensor<9xi64>, tensor<9xi64>) -> tensor<9xi1>
  %1 = "hipdnn.execute"(%0, %w, %b, %o) {callee = @choose}
      : (tensor<9xi1>, tensor<9xf16>, tensor<9xbf16>, tensor<9xf32>) -> tensor<9xf32>
  return %1 : tensor<9xf32>
}
{-# dialect_resources: { builtin: {
  weights: "0x02000000003C0040004200440045004600470048803C"
} } #-}"""
    less = """
func.func @main(%i: tensor<9xi64>, %j: tensor<9xi64>) -> tensor<9xi1> {
  %r = arith.cmpi slt, %i, %j : tensor<9xi64>
  return %r : tensor<9xi1>
}"""
    choose = """
func.func @main(%c: tensor<9xi1>, %w: tensor<9xf16>, %b: tensor<9xbf16>, %o: tensor<9xf32>)
    -> tensor<9xf32> {
  %w32 = arith.extf %w : tensor<9xf16> to tensor<9xf32>
  %b32 = arith.extf %b : tensor<9xbf16> to tensor<9xf32>
  %s = arith.select %c, %w32, %b32 : tensor<9xi1>, tensor<9xf32>
  %r = arith.addf %s, %o : tensor<9xf32>
  return %r : tensor<9xf32>
}"""
    graphs = {
        "less": (
            less,
            "operand_types = [tensor<9xi64>, tensor<9xi64>], result_types = [tensor<9xi1>]",
        ),
        "choose": (
            choose,
            """operand_types = [tensor<9xi1>, tensor<9xf16>, tensor<9xbf16>, tensor<9xf32>],
               result_types = [tensor<9xf32>]""",
        ),
    }
    i = np.array([0, 5, -3, 1 << 40, 7, -(1 << 40), 2, 2, 9])
    j = np.array([1, 4, -2, 1 << 41, 7, 0, 3, 1, 10])
    w = np.array([1, 2, 3, 4, 5, 6, 7, 8, 1.125], np.float32)
    b = np.array([1.5, -2.0, 0.25, 3.0, 1.0, -1.0, 8.0, 9.0, 0.5], np.float32)
    check(function, graphs, [i, j], [np.where(i < j, w, b) + np.float32(0.5)])


def test_just_in_time_through_upstream_lowering() -> None:
    """`gpu-to-llvm` and MLIR's execution engine call the device as the interpreter does."""
    function = """
func.func @main(%x: tensor<65536xf32>, %rows: tensor<4x12xf32>)
    -> (tensor<1xf32>, tensor<48xf32>, tensor<2x12xf32>) {
  %0 = "hipdnn.execute"(%x) {callee = @total} : (tensor<65536xf32>) -> tensor<f32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1>}
      : (tensor<f32>) -> tensor<1xf32>
  %2 = "hipdnn.execute"(%1) {callee = @abs} : (tensor<1xf32>) -> tensor<1xf32>
  %3 = "hipdnn.execute"(%rows) {callee = @abs_rows} : (tensor<4x12xf32>) -> tensor<4x12xf32>
  %4 = "hipdnn.view"(%3) {offset = 0 : i64, strides = array<i64: 1>}
      : (tensor<4x12xf32>) -> tensor<48xf32>
  %5 = "hipdnn.view"(%3) {offset = 24 : i64, strides = array<i64: 12, 1>}
      : (tensor<4x12xf32>) -> tensor<2x12xf32>
  %6 = "hipdnn.execute"(%5) {callee = @double} : (tensor<2x12xf32>) -> tensor<2x12xf32>
  return %2, %4, %6 : tensor<1xf32>, tensor<48xf32>, tensor<2x12xf32>
}"""
    double = """
func.func @main(%x: tensor<2x12xf32>) -> tensor<2x12xf32> {
  %r = arith.addf %x, %x : tensor<2x12xf32>
  return %r : tensor<2x12xf32>
}"""

    def types(operand: str, result: str) -> str:
        return f"operand_types = [tensor<{operand}>], result_types = [tensor<{result}>]"

    graphs = {
        "total": (TOTAL, types("65536xf32", "f32")),
        "abs": (ABS.format(shape=1), types("1xf32", "1xf32")),
        "abs_rows": (ABS.format(shape="4x12"), types("4x12xf32", "4x12xf32")),
        "double": (double, types("2x12xf32", "2x12xf32")),
    }
    module = build_program(function, graphs, ["gfx942"])
    run_passes(module, "hipdnn-bufferize", "hipdnn-merge", "hipdnn-plan-memory")
    x, rows = uniform(65536, dtype=np.float32), uniform(4, 12, dtype=np.float32, seed=1)
    device = open_emulator("gfx942")
    with Jit(module, device) as program:
        found = program.run([x, rows])
    assert not device._buffers, "the run leaves memory behind"
    total = np.abs(x.astype(np.float64).sum()).astype(np.float32)
    compare(found, [total.reshape(1), np.abs(rows).reshape(-1), 2 * np.abs(rows[2:])], 1e-3)

"""CUDA tile sizes, checked by the launches of compiled kernels."""

from __future__ import annotations

import re

import pytest

from hipgraft.codegen.canonical import find_containers
from hipgraft.codegen.kernel import Dispatch
from hipgraft.codegen.provider import compile_container, compile_text
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import without
from hipgraft.codegen.workarounds.unmasked_gathers import UNMASKED_GATHERS
from hipgraft.ir.bindings import ir, make_context

SM_80 = Target.parse("sm_80")
PRODUCT = """
func.func @main(%a: tensor<{a}x{left}>, %b: tensor<{b}x{right}>) -> tensor<{m}x{n}xf32> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<{m}x{n}xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %product = linalg.generic {{
      indexing_maps = [affine_map<(m, n, k) -> ({a_map})>, affine_map<(m, n, k) -> ({b_map})>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : tensor<{a}x{left}>, tensor<{b}x{right}>)
      outs(%init : tensor<{m}x{n}xf32>) {{
  ^bb0(%x: {left}, %y: {right}, %sum: f32):
    {body}
    %2 = arith.mulf %x32, %y32 : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  }} -> tensor<{m}x{n}xf32>
  return %product : tensor<{m}x{n}xf32>
}}
"""
# Sums of rows of 197 elements that are read by index.
GATHERS = """
func.func @main(%x: tensor<300xf32>, %indices: tensor<64x197xi64>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {
      indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%indices : tensor<64x197xi64>) outs(%init : tensor<64xf32>) {
  ^bb0(%in: i64, %out: f32):
    %0 = arith.index_cast %in : i64 to index
    %1 = tensor.extract %x[%0] : tensor<300xf32>
    %2 = arith.addf %out, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<64xf32>
  return %sum : tensor<64xf32>
}
"""
# Softmax without its division, as a reduction after another.
ROWS = """
func.func @main(%x: tensor<2364x{length}xf32>) -> tensor<2364xf32> {{
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<2364xf32>
  %least = linalg.fill ins(%low : f32) outs(%empty : tensor<2364xf32>) -> tensor<2364xf32>
  %none = linalg.fill ins(%zero : f32) outs(%empty : tensor<2364xf32>) -> tensor<2364xf32>
  %max = linalg.generic {{
      indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>],
      iterator_types = ["parallel", "reduction"]}}
      ins(%x : tensor<2364x{length}xf32>) outs(%least : tensor<2364xf32>) {{
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %out, %in : f32
    linalg.yield %0 : f32
  }} -> tensor<2364xf32>
  %sum = linalg.generic {{
      indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>,
                       affine_map<(r, c) -> (r)>],
      iterator_types = ["parallel", "reduction"]}}
      ins(%x, %max : tensor<2364x{length}xf32>, tensor<2364xf32>)
      outs(%none : tensor<2364xf32>) {{
  ^bb0(%in: f32, %most: f32, %out: f32):
    %0 = arith.subf %in, %most : f32
    %1 = math.exp %0 : f32
    %2 = arith.addf %out, %1 : f32
    linalg.yield %2 : f32
  }} -> tensor<2364xf32>
  return %sum : tensor<2364xf32>
}}
"""

# 196 rows of 384 channels; with channels first, the channels of a row are 196 elements apart.
NORM = """
func.func @f(%x: tensor<1x196x384xf16>, %s: tensor<1x1x384xf16>) -> tensor<1x196x384xf16> {{
  %g = "hipdnn.graph"(%x, %s) ({{
  ^bb0(%a: tensor<1x196x384xf16>, %b: tensor<1x1x384xf16>):
    %e = arith.constant dense<1.0e-6> : tensor<f32>
    %y = "hipdnn.layernorm"(%a, %b, %b, %e) {{compute_type = f32, normalized_dim_count = 1 : i64,
        operandSegmentSizes = array<i32: 1, 1, 1, 1>, resultSegmentSizes = array<i32: 1, 0, 0>}}
        : (tensor<1x196x384xf16>, tensor<1x1x384xf16>, tensor<1x1x384xf16>, tensor<f32>)
        -> tensor<1x196x384xf16>
    "hipdnn.yield"(%y) : (tensor<1x196x384xf16>) -> ()
  }}) {{name = "norm", arg_strides = [array<i64: 75264, {strides}>, unit]}}
      : (tensor<1x196x384xf16>, tensor<1x1x384xf16>) -> tensor<1x196x384xf16>
  return %g : tensor<1x196x384xf16>
}}
"""


def product(m: int, n: int, k: int, *elements: str, swapped: bool = False) -> str:
    """The product of [m, k] and [k, n], or the same product with swapped factors."""
    factors = [(f"{m}x{k}", "m, k"), (f"{k}x{n}", "k, n")]
    (a, a_map), (b, b_map) = reversed(factors) if swapped else factors
    wide = [
        f"%{name}32 = arith.extf %{name} : {element} to f32"
        if element != "f32"
        else f"%{name}32 = arith.addf %{name}, %{name} : f32"
        for name, element in zip("xy", elements, strict=True)
    ]
    left, right = elements
    body = "\n    ".join(wide)
    text = PRODUCT.format(
        a=a, b=b, a_map=a_map, b_map=b_map, m=m, n=n, left=left, right=right, body=body
    )
    for name, element in zip("xy", elements, strict=True):
        if element == "f32":  # as it is
            text = text.replace(f"%{name}32 = arith.addf %{name}, %{name} : f32", "")
            text = text.replace(f"%{name}32", f"%{name}")
    return text


def launch(text: str) -> tuple[int, int]:
    """Returns the numbers of workgroups and threads of the only launch."""
    (step,) = compile_text(text, SM_80).steps
    assert isinstance(step, Dispatch)
    return step.grid[0], step.block[0] * step.block[1]


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(product(128, 768, 768, "f32", "f32"), (96, 256), id="small-f32"),
        pytest.param(product(1500, 2048, 512, "f32", "f32"), (768, 256), id="large-f32"),
        pytest.param(product(256, 196, 1024, "f32", "f32", swapped=True), (56, 256), id="swapped"),
        pytest.param(product(197, 64, 160, "f32", "f16"), (14, 256), id="mixed"),
        pytest.param(product(197, 768, 768, "f16", "f16"), (84, 128), id="f16"),
        pytest.param(product(196, 384, 1536, "bf16", "bf16"), (84, 128), id="bf16"),
    ],
)
def test_products(text: str, expected: tuple[int, int]) -> None:
    assert launch(text) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "swapped", "has_matrix_instructions"),
    [
        ((64, 64, 64), False, True),
        ((64, 64, 64), True, False),
        ((2, 3, 32), True, False),
        ((64, 64, 8), False, False),
        ((64, 64, 13), False, False),
        ((3, 5, 24), False, False),
    ],
)
def test_matrix_instructions_take_whole_depths_in_order(
    sizes: tuple[int, int, int], swapped: bool, has_matrix_instructions: bool
) -> None:
    """IREE's matrix instructions are wrong for other products, which get none."""
    text = product(*sizes, "f16", "f16", swapped=swapped)
    code = compile_text(text, SM_80).objects[0]
    assert (b"mma.sync" in code) == has_matrix_instructions


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("depth", [7, 13, 25, 197])
@pytest.mark.parametrize("element", ["f32", "f16"])
def test_nothing_is_read_behind_the_last_step_of_a_product(element: str, depth: int) -> None:
    """A row index clamped to K would read the row after the last, where 0 times NaN is NaN."""
    code = compile_text(product(64, 64, depth, "f32", element), SM_80).objects[0]
    assert re.search(rb"min\.[us]32\s+%r\d+, %r\d+, " + str(depth).encode() + b";", code) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("length", "threads"), [(197, 32), (600, 128), (1500, 128), (4099, 256), (50257, 1024)]
)
def test_a_ragged_row_is_given_to_warps(length: int, threads: int) -> None:
    assert launch(ROWS.format(length=length)) == (2364, threads)


@pytest.mark.slow
def test_lanes_beyond_a_row_read_at_a_known_index() -> None:
    """The index register of lanes that do not load the index holds 0, not an arbitrary value."""
    assert starts_with_0(compile_text(GATHERS, SM_80).objects[0])
    with without(UNMASKED_GATHERS):
        assert not starts_with_0(compile_text(GATHERS, SM_80).objects[0])


def starts_with_0(code: bytes) -> bool:
    """Whether the only register that a branch loads is set before it."""
    (register,) = re.findall(rb"bra.*\n\s*ld\.global\S*\s+(%rd\d+)", code)
    return re.search(rb"mov\.b64\s+" + register + b", 0;", code) is not None


@pytest.mark.slow
@pytest.mark.parametrize(("strides", "launches"), [("384, 1", 1), ("1, 196", 2)])
def test_norms_read_rows_in_one_piece(strides: str, launches: int) -> None:
    """Each row has a workgroup; with one thread per row, only 7 workgroups would run."""
    with make_context() as context:
        module = ir.Module.parse(NORM.format(strides=strides), context)
        (container,) = find_containers(module)
        steps = compile_container(container, SM_80).dispatches
    assert len(steps) == launches
    assert steps[-1].grid == (196, 1, 1)


@pytest.mark.slow
def test_own_tiles_stand_in_for_those_that_do_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    text = product(128, 768, 768, "f32", "f32")
    tiled = launch(text)
    monkeypatch.setattr("hipgraft.codegen.iree.cuda_tiles._FEWEST_ROWS", 1000)
    own = launch(text)
    monkeypatch.undo()
    monkeypatch.setattr("hipgraft.codegen.iree.cuda_tiles.compilation_info", broken_info)
    assert launch(text) == own != tiled


def broken_info(*_: object) -> str:
    """More threads than a workgroup may have."""
    return (
        "#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{"
        "workgroup = [4, 0, 0]}>, translation_info = #iree_codegen.translation_info<"
        "pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1]>>"
    )

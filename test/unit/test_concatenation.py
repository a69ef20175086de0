"""Concatenations whose parts of the result are not contiguous, on CPU and GPU code."""

from __future__ import annotations

import iree.runtime as iree_runtime
import numpy as np
import pytest
from emulator import requires_emulator, run_kernel
from lowering_cases import DTYPES, Array

from hipgraft.codegen.iree.session import get_session
from hipgraft.codegen.lowering.all_ops import lower_container
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.ir.bindings import ir, make_context

random = np.random.default_rng(11)

# The halves of [1, 3, 5, 2 n], stored as [1, 5, 3, 2 n]; another op reads the whole tensor.
_TEXT = """
func.func private @f() {{
  %x:3 = "test.source"() : () -> (!half, !half, !whole)
  %g:2 = "hipdnn.fallback"(%x#0, %x#1, %x#2) ({{
  ^bb0(%a: !half, %b: !half, %c: !whole):
    %n = "hipdnn.pointwise"(%a) {{mode = "neg"}} : (!half) -> !half
    %0 = torch_c.from_builtin_tensor %n : !half -> !vhalf
    %1 = torch_c.from_builtin_tensor %b : !half -> !vhalf
    %2 = torch.prim.ListConstruct %0, %1 : (!vhalf, !vhalf) -> !torch.list<vtensor>
    %dim = torch.constant.int {dim}
    %3 = torch.aten.cat %2, %dim : !torch.list<vtensor>, !torch.int -> !vwhole
    %4 = torch.aten.abs %3 : !vwhole -> !vwhole
    %5 = torch_c.to_builtin_tensor %3 : !vwhole -> !whole
    %6 = torch_c.to_builtin_tensor %4 : !vwhole -> !whole
    %s = "hipdnn.pointwise"(%5, %c) {{mode = "add"}} : (!whole, !whole) -> !whole
    "hipdnn.yield"(%s, %6) : (!whole, !whole) -> ()
  }}) {{name = "g", arg_offsets = array<i64: {n}, 0, 0>,
       arg_strides = [array<i64: 0, {width}, {row}, 1>, array<i64: 0, {width}, {row}, 1>, unit]}}
    : (!half, !half, !whole) -> (!whole, !whole)
  return
}}
"""


def fallback(n: int, element: str, dim: int = -1) -> str:
    half, whole = f"1x3x5x{n}x{element}", f"1x3x5x{2 * n}x{element}"
    names = {
        "!vhalf": f"!torch.vtensor<[1,3,5,{n}],{element}>",
        "!vwhole": f"!torch.vtensor<[1,3,5,{2 * n}],{element}>",
        "!half": f"tensor<{half}>",
        "!whole": f"tensor<{whole}>",
    }
    text = _TEXT.format(n=n, width=2 * n, row=6 * n, dim=dim)
    for name, kind in names.items():
        text = text.replace(name, kind)
    return text


def lowered(text: str, architecture: str) -> str:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        block = module.body.operations[0].operation.regions[0].blocks[0]
        (op,) = [each for each in block.operations if each.operation.name == "hipdnn.fallback"]
        return lower_container(op, Target.parse(architecture))


def operands(n: int, element: str) -> list[Array]:
    memory = random.uniform(-1, 1, (5, 3, 2 * n, 1)).astype(DTYPES[element])
    added = random.uniform(-1, 1, (1, 3, 5, 2 * n)).astype(DTYPES[element])
    return [memory, memory, added]


def expected(values: list[Array], n: int) -> list[Array]:
    x = values[0].reshape(5, 3, 2 * n).swapaxes(0, 1)[None]
    whole = np.concatenate([-x[..., n:], x[..., :n]], axis=-1)
    return [whole + values[2], abs(whole)]


@pytest.mark.slow
@pytest.mark.sampled(8)
@pytest.mark.parametrize("element", ["f32", "f16"])
@pytest.mark.parametrize("n", [4, 16, 18])
def test_on_the_cpu(n: int, element: str) -> None:
    values = operands(n, element)
    text = lowered(fallback(n, element), "cpu")
    session = get_session(Target.parse("cpu").iree_flags)
    binary = session.compile_to_vmfb(session.parse(text))
    config = iree_runtime.Config("local-task")
    module = iree_runtime.VmModule.copy_buffer(config.vm_instance, binary)
    results = iree_runtime.load_vm_module(module, config).main(*values)
    for result, wanted in zip(results, expected(values, n), strict=True):
        np.testing.assert_array_equal(result.to_host(), wanted)


@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("n", [4, 18])
def test_as_gpu_code(n: int, architecture: str) -> None:
    values = operands(n, "f16")
    kernel = compile_text(lowered(fallback(n, "f16"), architecture), Target.parse(architecture))
    results = run_kernel(kernel, values, [((1, 3, 5, 2 * n), np.float16)] * 2)
    for result, wanted in zip(results, expected(values, n), strict=True):
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("dim", [-1, 3, 1, -3])
def test_parts_are_computed_where_they_are_read(dim: int) -> None:
    text = fallback(4, "f32", dim)
    if dim in (1, -3):
        text = text.replace("1x3x5x8x", "1x6x5x4x").replace("[1,3,5,8]", "[1,6,5,4]")
    assert "torch.aten.cat" not in lowered(text, "gfx942")


@pytest.mark.parametrize(
    ("mode", "count", "is_stored"),
    [("mul", 3, False), ("mul", 4, True), ("mul", 40, True), ("neg", 31, False), ("neg", 32, True)],
)
def test_long_chains_are_stored(mode: str, count: int, is_stored: bool) -> None:
    """Four squarings read 16 elements, and the other part one more; `fallback` negates first."""
    half = "tensor<1x3x5x4xf32>"
    operands, types = ("{0}, {0}", f"{half}, {half}") if mode == "mul" else ("{0}", half)
    ops, value = "", "%n"
    for n in range(count):
        inputs = operands.format(value)
        value = f"%c{n}"
        ops += f'{value} = "hipdnn.pointwise"({inputs}) {{mode = "{mode}"}} : ({types}) -> {half}\n'
    text = fallback(4, "f32").replace("%0 = torch_c", f"{ops}%0 = torch_c")
    text = text.replace("from_builtin_tensor %n", f"from_builtin_tensor {value}")
    made = lowered(text, "gfx942")
    assert "torch.aten.cat" not in made
    assert ("optimization_barrier" in made) == is_stored


# A repeated table row for each batch, and values computed from it and from another tensor.
_SELECTED = """
func.func private @f() {
  %x:3 = "test.source"() : () -> (tensor<5x8xf32>, tensor<3xi64>, tensor<3x4x8xf32>)
  %g = "hipdnn.fallback"(%x#0, %x#1, %x#2) ({
  ^bb0(%table: tensor<5x8xf32>, %ids: tensor<3xi64>, %c: tensor<3x4x8xf32>):
    %none = torch.constant.none
    %i0 = torch.constant.int 0
    %i4 = torch.constant.int 4
    %last = torch.constant.int -1
    %before_last = torch.constant.int -2
    %0 = torch_c.from_builtin_tensor %table : tensor<5x8xf32> -> !torch.vtensor<[5,8],f32>
    %1 = torch_c.from_builtin_tensor %ids : tensor<3xi64> -> !torch.vtensor<[3],si64>
    %2 = torch.aten.index_select %0, %i0, %1
      : !torch.vtensor<[5,8],f32>, !torch.int, !torch.vtensor<[3],si64> -> !torch.vtensor<[3,8],f32>
    %3 = torch.aten.unsqueeze %2, %before_last
      : !torch.vtensor<[3,8],f32>, !torch.int -> !torch.vtensor<[3,1,8],f32>
    %4 = torch.prim.ListConstruct %last, %i4, %last
      : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %5 = torch.aten.broadcast_to %3, %4
      : !torch.vtensor<[3,1,8],f32>, !torch.list<int> -> !torch.vtensor<[3,4,8],f32>
    %row = torch_c.to_builtin_tensor %3 : !torch.vtensor<[3,1,8],f32> -> tensor<3x1x8xf32>
    %d = "hipdnn.pointwise"(%c, %row) {mode = "sub"}
      : (tensor<3x4x8xf32>, tensor<3x1x8xf32>) -> tensor<3x4x8xf32>
    %e = "hipdnn.pointwise"(%d, %row) {mode = "mul"}
      : (tensor<3x4x8xf32>, tensor<3x1x8xf32>) -> tensor<3x4x8xf32>
    %6 = torch_c.from_builtin_tensor %e : tensor<3x4x8xf32> -> !torch.vtensor<[3,4,8],f32>
    %7 = torch_c.from_builtin_tensor %c : tensor<3x4x8xf32> -> !torch.vtensor<[3,4,8],f32>
    %8 = torch.prim.ListConstruct %7, %5, %6
      : (!torch.vtensor<[3,4,8],f32>, !torch.vtensor<[3,4,8],f32>, !torch.vtensor<[3,4,8],f32>)
      -> !torch.list<vtensor>
    %9 = torch.aten.cat %8, %last
      : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[3,4,24],f32>
    %10 = torch_c.to_builtin_tensor %9 : !torch.vtensor<[3,4,24],f32> -> tensor<3x4x24xf32>
    "hipdnn.yield"(%10) : (tensor<3x4x24xf32>) -> ()
  }) {name = "g"} : (tensor<5x8xf32>, tensor<3xi64>, tensor<3x4x8xf32>) -> tensor<3x4x24xf32>
  return
}
"""


@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
def test_what_other_ops_compute_is_stored(architecture: str) -> None:
    table, c = random.uniform(-1, 1, (5, 8)), random.uniform(-1, 1, (3, 4, 8))
    values = [table.astype(np.float32), np.array([4, 0, 2]), c.astype(np.float32)]
    text = lowered(_SELECTED, architecture)
    assert text.count("optimization_barrier") == 2  # the rows, and their view that an op reads
    kernel = compile_text(text, Target.parse(architecture))
    (result,) = run_kernel(kernel, values, [((3, 4, 24), np.float32)])
    rows = np.broadcast_to(values[0][values[1]][:, None], (3, 4, 8))
    wanted = np.concatenate([values[2], rows, (values[2] - rows) * rows], axis=-1)
    np.testing.assert_allclose(result, wanted, rtol=1e-6)
    assert len(kernel.steps) == 2


# Two parts along the first dim, which are contiguous in the result.
_CONTIGUOUS = """
func.func private @f() {{
  %x:2 = "test.source"() : () -> (tensor<{rows}x8xf32>, tensor<4x8xf32>)
  %g = "hipdnn.fallback"(%x#0, %x#1) ({{
  ^bb0(%a: tensor<{rows}x8xf32>, %b: tensor<4x8xf32>):
    {op}
    %0 = torch_c.from_builtin_tensor %a : tensor<{rows}x8xf32> -> !torch.vtensor<[{rows},8],f32>
    %1 = torch_c.from_builtin_tensor {part} : tensor<4x8xf32> -> !torch.vtensor<[4,8],f32>
    %2 = torch.prim.ListConstruct %0, %1
      : (!torch.vtensor<[{rows},8],f32>, !torch.vtensor<[4,8],f32>) -> !torch.list<vtensor>
    %dim = torch.constant.int 0
    %3 = torch.aten.cat %2, %dim
      : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[{whole},8],f32>
    %4 = torch_c.to_builtin_tensor %3
      : !torch.vtensor<[{whole},8],f32> -> tensor<{whole}x8xf32>
    "hipdnn.yield"(%4) : (tensor<{whole}x8xf32>) -> ()
  }}) {{name = "g", arg_offsets = array<i64: 0, {offset}>}}
    : (tensor<{rows}x8xf32>, tensor<4x8xf32>) -> tensor<{whole}x8xf32>
  return
}}
"""
_COMPUTED = '%c = "hipdnn.pointwise"(%b) {mode = "neg"} : (tensor<4x8xf32>) -> tensor<4x8xf32>'
_REDUCED = (
    '%r = "hipdnn.reduction"(%b) {mode = "ADD"} : (tensor<4x8xf32>) -> tensor<4x1xf32> '
    '%c = "hipdnn.pointwise"(%b, %r) {mode = "add"} '
    ": (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>"
)


@pytest.mark.parametrize(
    ("rows", "op", "offset", "is_left"),
    [
        (4, "", 0, True),
        (4, "", 8, False),
        (4, _COMPUTED, 0, False),
        (1 << 18, _COMPUTED, 0, True),
        (4, _REDUCED, 0, True),
    ],
    ids=["whole", "window", "computed", "large", "reduced"],
)
def test_contiguous_parts_are_left_to_iree_if_they_may_take_no_launch(
    rows: int, op: str, offset: int, is_left: bool
) -> None:
    part = "%c" if op else "%b"
    text = _CONTIGUOUS.format(rows=rows, whole=rows + 4, op=op, part=part, offset=offset)
    assert ("torch.aten.cat" in lowered(text, "gfx942")) == is_left

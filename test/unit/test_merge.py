"""Merged programs as upstream tools see them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from programs import build_program, compiled, run_passes

from hipgraft.codegen.kernel import Dispatch, kernels_of
from hipgraft.codegen.objects.code_object import CodeObject
from hipgraft.host.lowering import lower_host
from hipgraft.ir.bindings import gpu_d, ir
from hipgraft.ir.upstream import PHASE_HOST_TO_LLVM
from hipgraft.passes.hipdnn_merge import HipdnnMergePass
from hipgraft.transforms.host_builder import HostBuilder, Region

SUM = """
func.func @main(%x: tensor<65536xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %r = linalg.reduce ins(%x : tensor<65536xf32>) outs(%init : tensor<f32>) dimensions = [0]
    (%a: f32, %b: f32) { %s = arith.addf %a, %b : f32  linalg.yield %s : f32 }
  return %r : tensor<f32>
}"""

TRIPLE = """
func.func @main(%x: tensor<1xf32>, %w: tensor<3xf32>)
    -> (tensor<3xf32>, tensor<5xi8>, tensor<3xf32>) {
  %e = tensor.empty() : tensor<3xf32>
  %b = arith.constant dense<-7> : tensor<5xi8>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (0)>, affine_map<(i) -> (i)>,
                                        affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %w : tensor<1xf32>, tensor<3xf32>) outs(%e : tensor<3xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    linalg.yield %m : f32
  } -> tensor<3xf32>
  return %r, %b, %w : tensor<3xf32>, tensor<5xi8>, tensor<3xf32>
}"""

PROGRAM = """
func.func @main(%x: tensor<65536xf32>) -> (tensor<3xf32>, tensor<5xi8>, tensor<3xf32>) {
  %w = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = "hipdnn.execute"(%x) {callee = @sum} : (tensor<65536xf32>) -> tensor<f32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1>}
      : (tensor<f32>) -> tensor<1xf32>
  %2:3 = "hipdnn.execute"(%1, %w) {callee = @triple}
      : (tensor<1xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<5xi8>, tensor<3xf32>)
  return %2#0, %2#1, %2#2 : tensor<3xf32>, tensor<5xi8>, tensor<3xf32>
}"""

GRAPHS = {
    "sum": (SUM, "operand_types = [tensor<65536xf32>], result_types = [tensor<f32>]"),
    "triple": (
        TRIPLE,
        """operand_types = [tensor<1xf32>, tensor<3xf32>],
           result_types = [tensor<3xf32>, tensor<5xi8>, tensor<3xf32>]""",
    ),
}
TARGETS = ("gfx942", "gfx950", "gfx1100")


@pytest.fixture(scope="module")
def merged() -> ir.Module:
    module = build_program(PROGRAM, GRAPHS, TARGETS)
    run_passes(module, "hipdnn-bufferize", "hipdnn-merge", "hipdnn-plan-memory")
    return module


def of_kind(module: ir.Module, name: str) -> list[ir.Operation]:
    return [op.operation for op in module.body.operations if op.operation.name == name]


def symbol(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["sym_name"]).value


def test_lowers_with_upstream_passes(merged: ir.Module) -> None:
    text = lower_host(merged, "gfx942").text
    left = set(re.findall(r"\b((?:memref|arith|func|gpu|builtin)\.[a-z_]+)\b", text))
    # The last two become LLVM when the module is translated, with the binary embedded.
    assert left == {"gpu.container_module", "gpu.binary", "gpu.launch_func", *gpu_attributes(text)}


def gpu_attributes(text: str) -> set[str]:
    return {name.removeprefix("#") for name in re.findall(r"#gpu\.[a-z_]+", text)}


def test_recipe_is_the_documented_one() -> None:
    documented = " ".join((HipdnnMergePass.__doc__ or "").split())
    positions = [documented.find(f"`{name}`") for name in PHASE_HOST_TO_LLVM]
    assert -1 not in positions
    assert positions == sorted(positions)


def test_objects_are_the_compiler_s_and_hold_what_is_launched(merged: ir.Module) -> None:
    texts = {"sum": SUM, "triple": TRIPLE}
    launched = set(re.findall(r"launch_func async \[%\w+\] @(\w+)::@(\S+)", str(merged)))
    found: set[tuple[str, str]] = set()
    for binary in of_kind(merged, "gpu.binary"):
        name = symbol(binary)
        for attribute in ir.ArrayAttr(binary.attributes["objects"]):
            data = gpu_d.ObjectAttr(attribute).object
            code = CodeObject.parse(data)
            kernel = compiled(texts[name.split("_")[0]], code.architecture)
            assert data in kernel.objects
            assert f'chip = "{code.architecture}"' in str(attribute)
            found |= {(name, symbol) for symbol in code.kernels}
            for step in kernel.dispatches:
                assert code.kernels[step.kernel].workgroup_size in (None, step.block)
    assert found == launched


def test_each_target_has_one_function(merged: ir.Module) -> None:
    targets = [
        ir.StringAttr(target).value
        for function in of_kind(merged, "func.func")
        for target in ir.ArrayAttr(function.attributes["hipgraft.targets"])
    ]
    assert sorted(targets) == sorted(TARGETS)


def test_launches_are_the_schedule_s() -> None:
    """Grid, block and arguments of every launch, against the executable's own steps."""
    module = build_program(PROGRAM, GRAPHS, ["gfx942"])
    steps = {symbol(op): kernels_of(op)[0].steps for op in of_kind(module, "hipdnn.executable")}
    expected = [
        (step.kernel, step.grid, step.block, len(step.bindings) + len(step.constants))
        for name in ("sum", "triple")
        for step in steps[name]
        if isinstance(step, Dispatch)
    ]
    run_passes(module, "hipdnn-bufferize", "hipdnn-merge")
    (function,) = of_kind(module, "func.func")
    found = []
    for op in function.regions[0].blocks[0].operations:
        if op.operation.name == "gpu.launch_func":
            sizes = list(ir.DenseI32ArrayAttr(op.operation.attributes["operandSegmentSizes"]))
            extents = [constant(op.operation.operands[i]) for i in range(1, 7)]
            kernel = ir.SymbolRefAttr(op.operation.attributes["kernel"]).value[1]
            found.append((kernel, tuple(extents[:3]), tuple(extents[3:]), sizes[11]))
    assert found == expected


def constant(value: ir.Value) -> int:
    return ir.IntegerAttr(value.owner.operation.attributes["value"]).value


@pytest.mark.parametrize(
    ("length", "offset", "pattern", "pattern_length", "expected"),
    [
        (64, 0, 0, 1, "memset 4 0"),
        (64, 0, 0x3C, 1, "memset 4 1010580540"),
        (6, 0, 0x3C00, 2, "memset 2 15360"),
        (64, 2, 0, 4, "memset 2 0"),
        (16, 0, -2, 8, "memcpy 8"),
        (16, 0, -1, 8, "memset 4 -1"),
        (3, 0, 7, 1, "memcpy 1"),
        (64, 1, 0, 4, "memcpy 1"),
    ],
)
def test_fills(length: int, offset: int, pattern: int, pattern_length: int, expected: str) -> None:
    """The word is the widest that fits; a fill that no word fits is copied from a constant."""
    text = f"""
func.func @main(%y: memref<128xi8>) attributes {{hipgraft.results = 1 : i64}} {{
  "hipdnn.execute"(%y) {{callee = @f}} : (memref<128xi8>) -> ()
  return
}}
"hipdnn.executable"() {{sym_name = "f", operand_types = [], result_types = [tensor<128xi8>],
  binaries = [{{target = "gfx942", format = "hsaco", objects = ["x"], workspace_size = 0 : i64,
    steps = [{{op = "fill", buffer = 0 : i64, offset = {offset} : i64, length = {length} : i64,
      pattern = {pattern} : i64, pattern_length = {pattern_length} : i64}}]}}]}} : () -> ()"""
    module = build_program(text, {}, [])
    run_passes(module, "hipdnn-merge")
    (function,) = of_kind(module, "func.func")
    (op,) = [
        op.operation
        for op in function.regions[0].blocks[0].operations
        if op.operation.name in ("gpu.memset", "gpu.memcpy")
    ]
    words = ir.MemRefType(op.operands[1].type)
    width = words.element_type.width // 8
    assert width * int(np.prod(words.shape)) == length
    name = op.name.removeprefix("gpu.")
    value = f" {constant(op.operands[2])}" if name == "memset" else ""
    assert f"{name} {width}{value}" == expected


@pytest.mark.parametrize(("groups", "functions"), [(1, 1), (2, 2)])
def test_targets_with_equal_schedules_share_a_function(groups: int, functions: int) -> None:
    steps = """{{op = "dispatch", object = 0 : i64, kernel = "k", block = array<i64: 64, 1, 1>,
        grid = array<i64: {}, 1, 1>, dynamic_shared_memory = 0 : i64, constants = array<i32>,
        bindings = [{{buffer = 0 : i64, offset = 0 : i64, length = 8 : i64, access = "write"}}]}}"""
    kernels = [
        f"""{{target = "{target}", format = "hsaco", objects = ["x"], workspace_size = 0 : i64,
            steps = [{steps.format(count)}]}}"""
        for target, count in (("gfx942", 1), ("gfx950", groups))
    ]
    text = f"""
func.func @main(%y: memref<8xi8>) attributes {{hipgraft.results = 1 : i64}} {{
  "hipdnn.execute"(%y) {{callee = @f}} : (memref<8xi8>) -> ()
  return
}}
"hipdnn.executable"() {{sym_name = "f", operand_types = [], result_types = [tensor<8xi8>],
  binaries = [{", ".join(kernels)}]}} : () -> ()"""
    module = build_program(text, {}, [])
    run_passes(module, "hipdnn-merge")
    assert len(of_kind(module, "gpu.binary")) == 1
    assert len(of_kind(module, "func.func")) == functions


def test_views_are_made_once() -> None:
    module = build_program("func.func private @f(memref<64xi8>)", {}, [])
    function = of_kind(module, "func.func")[0]
    with module.context, ir.Location.unknown() as location:
        block = function.regions[0].blocks.append(ir.MemRefType.get([64], ir.Type.parse("i8")))
        with ir.InsertionPoint(block):
            builder = HostBuilder(function, None, location)
            region = Region(block.arguments[0]).at(16)
            assert builder.pointer(region) == builder.pointer(region)
            assert builder.pointer(Region(block.arguments[0])) == block.arguments[0]
            builder.finish()
    assert str(function).count("memref.view") == 1

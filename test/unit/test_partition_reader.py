"""The metadata of each op for the cost model: seconds of arithmetic, and workgroups."""

from __future__ import annotations

import pytest

from hipgraft.codegen.chips import GPUS
from hipgraft.ir.bindings import ir, make_context
from hipgraft.transforms.partition.program import Facts, Program, Role
from hipgraft.transforms.partition.reader import ProgramReader
from hipgraft.transforms.partition.rules import is_stored

GPU = GPUS["mi300x"]
VECTOR = GPU.peaks["vector"]

OPS = """
%product = "hipdnn.matmul"(%a, %b)
  : (tensor<2x100x48xf16>, tensor<2x48x200xf16>) -> tensor<2x100x200xf16>
%sum = "hipdnn.pointwise"(%x, %x) {mode = "add"}
  : (tensor<1x4x64x64xf32>, tensor<1x4x64x64xf32>) -> tensor<1x4x64x64xf32>
%function = "hipdnn.pointwise"(%x) {mode = "tanh_fwd"}
  : (tensor<1x4x64x64xf32>) -> tensor<1x4x64x64xf32>
%reduced = "hipdnn.reduction"(%x) {mode = "ADD"}
  : (tensor<1x4x64x64xf32>) -> tensor<1x1x1x1xf32>
%pooled = "hipdnn.resample_fwd"(%x) {
  pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 2, 2>,
  window = array<i64: 2, 2>, resample_mode = "MAXPOOL", padding_mode = "ZERO_PAD"}
  : (tensor<1x4x64x64xf32>) -> tensor<1x4x32x32xf32>
"""


@pytest.fixture
def facts() -> dict[str, Facts]:
    with make_context(), ir.Location.unknown():
        types = ("2x100x48xf16", "2x48x200xf16", "1x4x64x64xf32")
        arguments = ", ".join(
            f"%{name}: tensor<{kind}>" for name, kind in zip("abx", types, strict=True)
        )
        module = ir.Module.parse(f"func.func @f({arguments}) {{ {OPS} return }}")
        block = module.body.operations[0].operation.regions[0].blocks[0]
        ops = [op.operation for op in block.operations][:-1]
        program, kept = ProgramReader(GPU, {"*": 1.0}).read([([op], True) for op in ops], [])
        assert kept == list(range(len(ops)))
        return dict(
            zip(("product", "sum", "function", "reduced", "pooled"), program.ops, strict=True)
        )


def test_seconds_of_arithmetic(facts: dict[str, Facts]) -> None:
    elements = 4 * 64 * 64
    assert facts["product"].seconds == pytest.approx(2 * 2 * 100 * 48 * 200 / GPU.peaks["f16"])
    assert facts["sum"].seconds == pytest.approx(elements / VECTOR)
    assert facts["function"].seconds == pytest.approx(20 * elements / VECTOR)
    assert facts["reduced"].seconds == pytest.approx(elements / VECTOR)
    assert facts["pooled"].seconds == pytest.approx(4 * 32 * 32 / VECTOR)


def test_workgroups(facts: dict[str, Facts]) -> None:
    """A workgroup computes 1024 elements, or reduces 8192, or 16x32 results of a small product."""
    assert {name: one.workgroups for name, one in facts.items()} == {
        "product": 2 * 7 * 7, "sum": 16, "function": 16, "reduced": 2, "pooled": 4,
    }  # fmt: skip


@pytest.mark.parametrize(("rows", "workgroups"), [(32, 64), (512, 304 // 2), (4096, 64 * 16)])
def test_tiles_of_a_product_keep_the_gpu_busy(rows: int, workgroups: int) -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(
            f"func.func @f(%a: tensor<{rows}x64xf16>, %b: tensor<64x1024xf16>) {{"
            f'  %0 = "hipdnn.matmul"(%a, %b) : (tensor<{rows}x64xf16>, tensor<64x1024xf16>)'
            f" -> tensor<{rows}x1024xf16> return }}"
        )
        op = module.body.operations[0].operation.regions[0].blocks[0].operations[0].operation
        program, _ = ProgramReader(GPU, {"*": 1.0}).read([([op], True)], [])
    assert program.ops[0].workgroups == workgroups


def test_roles(facts: dict[str, Facts]) -> None:
    assert facts["product"].role is facts["pooled"].role is Role.ANCHOR
    assert facts["sum"].role is Role.ELEMENTWISE
    assert facts["reduced"].role is Role.REDUCTION
    assert facts["reduced"].walked == (1, 4, 64, 64)


def test_an_op_is_stored_for_any_of_its_results() -> None:
    program = Program()
    facts = Facts("norm", Role.NORM)
    first = program.op(facts, [program.value(8)], [8, 8])
    inside = program.op(facts, [program.made[first][0]], [8])
    program.op(facts, [program.made[first][1]], [8])
    members = {first, inside}
    assert is_stored(program, first, members)
    assert not is_stored(program, first, {*members, 2})
    program.exported[program.made[first][0]] = True
    assert is_stored(program, first, {*members, 2})

"""Imports torch modules: repairs of plain imports against numpy, stages, and rejected modules."""

import numpy as np
import pytest
from emulator import missing_reason

import hipgraft
from hipgraft import frontends
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import HipgraftError

pytestmark = pytest.mark.slow

IN_PLACE = """\
func.func @main(%x: !torch.vtensor<[4],f32>, %y: !torch.vtensor<[4],f32>)
    -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>) {
  %int1 = torch.constant.int 1
  %0 = torch.aten.neg %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %1 = torch.aten.abs %0 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %2 = torch.aten.add_.Tensor %0, %y, %int1 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
  %3 = torch.aten.mul.Tensor %0, %1 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %3, %2 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>
}
"""  # noqa: E501

RELU = """\
func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.relu %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
"""

rng = np.random.default_rng(0)


def write(path, text):
    path.write_text(text)
    return path


def test_in_place_op_changes_what_reads_later(tmp_path):
    x, y = (rng.standard_normal(4).astype(np.float32) for _ in range(2))
    program = hipgraft.compile(write(tmp_path / "m.mlir", IN_PLACE), "cpu")
    product, total = program.run([x, y])
    np.testing.assert_allclose(total, y - x, rtol=1e-6)
    np.testing.assert_allclose(product, (y - x) * np.abs(x), rtol=1e-6)


def test_repaired_text_keeps_its_locations(tmp_path):
    module = frontends.read(write(tmp_path / "m.mlir", IN_PLACE))
    assert 'm.mlir":6:' in module.operation.get_asm(enable_debug_info=True)


@pytest.mark.parametrize("element", ["f16", "f32"])
def test_boolean_mask_of_attention(tmp_path, element):
    q = f"!torch.vtensor<[1,2,4,8],{element}>"
    text = f"""
      func.func @main(%q: {q}, %k: {q}, %v: {q}, %m: !torch.vtensor<[4,4],i1>) -> {q} {{
        %p = torch.constant.float 0.0
        %no = torch.constant.bool false
        %none = torch.constant.none
        %0 = torch.aten.scaled_dot_product_attention %q, %k, %v, %m, %p, %no, %none, %no
          : {q}, {q}, {q}, !torch.vtensor<[4,4],i1>, !torch.float, !torch.bool, !torch.none,
            !torch.bool -> {q}
        return %0 : {q}
      }}"""
    dtype = {"f16": np.float16, "f32": np.float32}[element]
    arrays = [rng.standard_normal((1, 2, 4, 8)).astype(dtype) for _ in range(3)]
    mask = np.tril(np.ones((4, 4), dtype=bool))
    (got,) = hipgraft.compile(write(tmp_path / "m.mlir", text), "cpu").run([*arrays, mask])
    query, key, value = (array.astype(np.float64) for array in arrays)
    scores = np.where(mask, query @ key.swapaxes(-1, -2) / np.sqrt(8), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    want = weights / weights.sum(-1, keepdims=True) @ value
    np.testing.assert_allclose(got, want, rtol=2e-2, atol=5e-3 if element == "f16" else 1e-5)


def test_group_norm(tmp_path):
    text = """
      func.func @main(%x: !torch.vtensor<[2,8,4,4],f32>, %w: !torch.vtensor<[8],f32>,
          %b: !torch.vtensor<[8],f32>) -> !torch.vtensor<[2,8,4,4],f32> {
        %groups = torch.constant.int 4
        %eps = torch.constant.float 1.0e-5
        %no = torch.constant.bool false
        %0 = torch.aten.group_norm %x, %groups, %w, %b, %eps, %no
          : !torch.vtensor<[2,8,4,4],f32>, !torch.int, !torch.vtensor<[8],f32>,
            !torch.vtensor<[8],f32>, !torch.float, !torch.bool -> !torch.vtensor<[2,8,4,4],f32>
        return %0 : !torch.vtensor<[2,8,4,4],f32>
      }"""
    x = rng.standard_normal((2, 8, 4, 4)).astype(np.float32)
    w, b = (rng.standard_normal(8).astype(np.float32) for _ in range(2))
    (got,) = hipgraft.compile(write(tmp_path / "m.mlir", text), "cpu").run([x, w, b])
    grouped = x.reshape(2, 4, -1).astype(np.float64)
    normal = grouped - grouped.mean(-1, keepdims=True)
    normal /= np.sqrt(grouped.var(-1, keepdims=True) + 1e-5)
    want = normal.reshape(x.shape) * w.reshape(8, 1, 1) + b.reshape(8, 1, 1)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "stage", ["torch", "hipdnn-ops", "hipdnn-graphs", "hipdnn-executables", "hipdnn-buffers"]
)
def test_program_of_each_stage_is_recognised_and_resumed(tmp_path, stage):
    path = tmp_path / "stage.mlir"
    target = "cpu"
    hipgraft.compile(write(tmp_path / "m.mlir", RELU), target, compile_to=stage).save(path)
    assert frontends.stage_of(frontends.read(path)) == stage
    x = rng.standard_normal(4).astype(np.float32)
    (got,) = hipgraft.compile(path, target).run([x])
    np.testing.assert_array_equal(got, np.maximum(x, 0))


def test_gpu_program_runs_its_outlined_graphs_on_the_cpu(tmp_path):
    program = hipgraft.compile(write(tmp_path / "m.mlir", RELU), "gfx942")
    assert frontends.stage_of(program.module) == "host"
    x = rng.standard_normal(4).astype(np.float32)
    np.testing.assert_array_equal(program.run([x])[0], np.maximum(x, 0))
    assert [row.launches for row in program.report.executables] == [{"gfx942": 1}]


def test_bytecode_is_read(tmp_path):
    path = tmp_path / "m.mlirbc"
    program = hipgraft.compile(write(tmp_path / "m.mlir", RELU), compile_to="torch")
    program.save(path, bytecode=True)
    assert "torch.aten.relu" in str(frontends.load(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("module {}", "the module has no function"),
        (RELU.replace("relu", "relux"), "custom op 'torch.aten.relux' is unknown"),
        (RELU.replace("[4]", "[?]"), "symbolic dimensions without extents: 'arg0.0' (dim"),
        (RELU + RELU.replace("@main", "@other"), "expected one public function, found 2"),
    ],
)
def test_what_is_refused(tmp_path, text, message):
    path = write(tmp_path / "m.mlir", text)
    with pytest.raises(HipgraftError) as error:
        frontends.load(path)
    assert message in error.value.message
    assert error.value.location.startswith(str(path))


def test_module_of_the_callers_context():
    context = make_context()
    with context:
        module = ir.Module.parse(RELU)
    program = hipgraft.compile(module, "cpu")
    assert program.module.context is context


BYTES = """\
func.func @main(%x: !torch.vtensor<[4],ui8>)
    -> (!torch.vtensor<[],si64>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],i1>) {
  %none = torch.constant.none
  %half = torch.constant.float 5.0e-01
  %zero = torch.constant.int 0
  %0 = torch.aten.sum %x, %none : !torch.vtensor<[4],ui8>, !torch.none -> !torch.vtensor<[],si64>
  %1 = torch.aten.mul.Scalar %x, %half : !torch.vtensor<[4],ui8>, !torch.float -> !torch.vtensor<[4],f32>
  %2 = torch.vtensor.literal(dense<1.0> : tensor<4xf32>) : !torch.vtensor<[4],f32>
  %3 = torch.aten.gt.Scalar %2, %zero : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],i1>
  return %0, %1, %3 : !torch.vtensor<[],si64>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],i1>
}
"""  # noqa: E501


TO_BYTES = """\
func.func @main(%x: !torch.vtensor<[6],f32>) -> !torch.vtensor<[6],ui8> {
  %zero = torch.constant.int 0
  %false = torch.constant.bool false
  %none = torch.constant.none
  %0 = torch.aten.to.dtype %x, %zero, %false, %false, %none : !torch.vtensor<[6],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[6],ui8>
  return %0 : !torch.vtensor<[6],ui8>
}
"""  # noqa: E501


@pytest.mark.parametrize("target", ["cpu", "gfx942"])
def test_floats_become_unsigned_bytes(target: str):
    if target != "cpu" and missing_reason():
        pytest.skip(str(missing_reason()))
    x = np.array([0, 1.9, 127, 128, 200.5, 255], np.float32)
    with hipgraft.compile(TO_BYTES, target) as program:
        (y,) = program.run([x], "cpu" if target == "cpu" else f"emulator:{target}")
    np.testing.assert_array_equal(y.view(np.uint8), x.astype(np.uint8))


def test_unsigned_bytes_and_constants_that_are_compared():
    x = np.array([0, 3, 128, 255], np.uint8)
    total, halves, is_positive = hipgraft.compile(BYTES, "cpu").run([x])
    assert total == 386
    np.testing.assert_array_equal(halves, x / 2)
    assert is_positive.all()

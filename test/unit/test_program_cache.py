"""Whole programs in the cache: when an unchanged model is not compiled again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_models import save
from test_service import graph

from hipgraft.compiler.program import Program, compile
from hipgraft.frontends.onnx import importer
from hipgraft.ir.bindings import asm
from hipgraft.ir.diagnostics import CodegenError
from hipgraft.service import Cache, CompileService, Job, Outcome, Override, in_process
from hipgraft.service.tuning.database import Database, Tuned
from hipgraft.service.tuning.search import Search

_TUNED = Tuned("0" * 64, "gfx942", "3.13.0", "one", "default", "static", {})

# As PyTorch exports it: a resource begins with its alignment, here 64.
_WEIGHTED = """
module {{
  func.func @main(%x: !torch.vtensor<[2,16],f32>) -> !torch.vtensor<[2,16],f32> {{
    %w = torch.vtensor.literal(dense_resource<w> : tensor<16x16xf32>) : !torch.vtensor<[16,16],f32>
    %0 = torch.aten.mm %x, %w
      : !torch.vtensor<[2,16],f32>, !torch.vtensor<[16,16],f32> -> !torch.vtensor<[2,16],f32>
    return %0 : !torch.vtensor<[2,16],f32>
  }}
}}
{{-# dialect_resources: {{ builtin: {{ w: "0x40000000{digits}" }} }} #-}}
"""


class Counting:
    """Workers that count the programs that reach code generation."""

    def __init__(self, cache: Cache):
        self.cache = cache
        self.stages: list[str] = []

    def compile(self, model: Path, **options: object) -> Program:
        choice = {name: options.pop(name) for name in ("overrides", "search") if name in options}
        self.stages = []
        return compile(
            model,
            **options,
            on_stage=lambda stage, module: self.stages.append(stage),
            service=CompileService(cache=self.cache, **choice),
        )

    @property
    def was_found(self) -> bool:
        return len(self.stages) == 1


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.mlir"
    path.write_text(graph("one", 8))
    return path


@pytest.fixture
def counting(tmp_path: Path) -> Counting:
    return Counting(Cache(tmp_path / "cache"))


def test_found_program_is_the_compiled_one(model: Path, counting: Counting) -> None:
    cold = counting.compile(model)
    assert not counting.was_found
    warm = counting.compile(model)
    assert counting.stages == ["host"]
    assert asm(warm.module) == asm(cold.module)
    assert warm.report == cold.report
    assert warm.outlined is not None


@pytest.fixture
def weighted(tmp_path: Path) -> Path:
    """A model with weights so large that they are resources of the module."""
    weights = np.arange(300 * 300, dtype=np.float32).reshape(300, 300)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    return save(tmp_path / "weighted.onnx", nodes, {"x": [24, 300]}, [24, 300], {"w": weights})


@pytest.mark.slow
def test_weights_are_found_wherever_memory_lies(weighted: Path, counting: Counting) -> None:
    """MLIR reads bytecode with resources only at addresses of their alignment."""
    cold = counting.compile(weighted)
    assert "dense_resource" in asm(cold.module)
    held: list[Program] = []
    for _ in range(12):
        held.append(counting.compile(weighted))
        assert counting.was_found
    assert asm(held[-1].module) == asm(cold.module)


@pytest.mark.slow
def test_what_cannot_be_read_is_compiled_anew(
    weighted: Path, counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No allocation is guaranteed to have this alignment."""
    monkeypatch.setattr(importer, "RESOURCE_ALIGNMENT", 1 << 18)
    cold = counting.compile(weighted)
    again = counting.compile(weighted)
    assert not counting.was_found
    assert asm(again.module) == asm(cold.module)


@pytest.mark.slow
def test_found_program_has_its_aligned_weights(model: Path, counting: Counting) -> None:
    weights = np.random.default_rng(0).standard_normal((16, 16)).astype("<f4")
    model.write_text(_WEIGHTED.format(digits=weights.tobytes().hex()))
    counting.compile(model, target="cpu")
    found = counting.compile(model, target="cpu")
    assert counting.was_found
    x = np.ones((2, 16), np.float32)
    np.testing.assert_allclose(found.run([x])[0], x @ weights, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_each_ingredient_counts(model: Path, counting: Counting) -> None:
    variations: list[dict[str, object]] = [
        {},
        {"target": "gfx1100"},
        {"target": "gfx942,gfx1100"},
        {"compile_to": "hipdnn-buffers"},
        {"extra_flags": ["--iree-opt-level=O2"]},
        {"overrides": [Override("one", "", ("--iree-opt-level=O1",))]},
        {"overrides": [Override("one", "", ("--iree-opt-level=O2",))]},
        {"overrides": [Override("two", "", ("--iree-opt-level=O1",))]},
        {"search": Search("none")},
        {"search": Search("full")},
        {"search": Search("full", budget=60)},
        {"search": Search("none", database=Database([_TUNED]))},
    ]
    check_each_counts(model, counting, variations)


@pytest.mark.slow
def test_extents_count(tmp_path: Path, counting: Counting) -> None:
    model = tmp_path / "relu.mlir"
    kind = "!torch.vtensor<[?],f32>"
    model.write_text(
        f"func.func @main(%x: {kind}) -> {kind} {{\n"
        f"  %0 = torch.aten.relu %x : {kind} -> {kind}\n"
        f"  return %0 : {kind}\n}}\n"
    )
    variations: list[dict[str, object]] = [
        {"dims": {"arg0.0": 1}},
        {"dims": {"arg0.0": 2}},
        {"shapes": {"arg0": [3]}},
        {"specialize": {"arg0.0": [1, 2]}},
    ]
    check_each_counts(model, counting, [{**one, "compile_to": "hipdnn-ops"} for one in variations])


@pytest.mark.slow
@pytest.mark.parametrize("ingredient", ["package_version", "cpu_identity"])
def test_what_compiles_counts(
    ingredient: str, model: Path, counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting.compile(model, target="cpu")
    monkeypatch.setattr(f"hipgraft.compiler.program_cache.{ingredient}", lambda: "other")
    counting.compile(model, target="cpu")
    assert not counting.was_found


def test_the_name_that_messages_say_counts(model: Path, counting: Counting) -> None:
    counting.compile(model)
    counting.compile(model.rename(model.with_name("other.mlir")))
    assert not counting.was_found


def test_data_in_other_files_is_read_each_time(weighted: Path, counting: Counting) -> None:
    content = onnx.load(weighted)
    onnx.save(content, weighted, save_as_external_data=True, location="weights", size_threshold=0)
    for _ in range(2):
        counting.compile(weighted, compile_to="hipdnn-ops")
        assert not counting.was_found


@pytest.mark.slow
def test_large_programs_are_not_kept(
    model: Path, counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hipgraft.compiler.program_cache._MOST_BYTES", model.stat().st_size)
    for _ in range(2):
        counting.compile(model)
        assert not counting.was_found


def check_each_counts(model: Path, counting: Counting, variations: list[dict[str, object]]) -> None:
    for options in variations:
        counting.compile(model, **options)
        assert not counting.was_found, options
    for options in variations:
        counting.compile(model, **options)
        assert counting.was_found, options
    model.write_text(graph("one", 16))
    counting.compile(model)
    assert not counting.was_found


@pytest.mark.slow
def test_intermediate_files_are_made_each_time(model: Path, counting: Counting) -> None:
    for name in ("a", "b"):
        counting.compile(model, save_temps=str(model.with_name(name)))
        assert not counting.was_found
        assert list(model.with_name(name).glob("*.hsaco"))


def test_what_a_crash_spoiled_is_not_kept(
    model: Path, counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = in_process.compile_job

    def crash(work: Job) -> Outcome:
        return Outcome(error=CodegenError("crashed"), permanent=False)

    monkeypatch.setattr(in_process, "compile_job", crash)
    counting.compile(model, compile_to="hipdnn-executables")
    monkeypatch.setattr(in_process, "compile_job", real)
    program = counting.compile(model, compile_to="hipdnn-executables")
    assert not counting.was_found
    assert len(program.report.executables) == 1

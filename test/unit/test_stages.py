"""Stages are recognized, routes between them are short, and every door runs the same passes."""

from pathlib import Path

import pytest

import hipgraft
from hipgraft import frontends, pipelines
from hipgraft.ir.bindings import asm, ir, make_context
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.passmanager.runner import Runner
from hipgraft.pipelines import STAGES, HipgraftConfig, route, stage_of

pytestmark = pytest.mark.slow

MODELS = Path(__file__).resolve().parents[1] / "models"
ORDER = [stage.name for stage in STAGES]


def names(current: str, last: str, **options: bool) -> list[str]:
    return [name for name, _ in route(current, HipgraftConfig(compile_to=last), **options)]


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage.phases])
def test_stage_that_is_made_has_a_contract(stage: pipelines.Stage):
    assert stage.contract is not None
    assert stage.contract.name == stage.name


def test_phases_come_from_earlier_stages():
    for stage in STAGES:
        for before in stage.phases:
            assert ORDER.index(before) <= ORDER.index(stage.name)


@pytest.mark.parametrize(
    ("current", "last", "expected"),
    [
        ("onnx", "torch", ["torch"]),
        ("torch", "torch", ["torch"]),
        ("torch", "hipdnn-graphs", ["torch", "hipdnn-ops", "hipdnn-graphs"]),
        ("migraphx", "hipdnn-graphs", ["hipdnn-ops", "hipdnn-graphs"]),
        ("hipdnnep", "hipdnn-graphs", ["hipdnn-ops", "hipdnn-graphs"]),
        ("hipdnn-graphs", "hipdnn-executables", ["hipdnn-executables"]),
        ("hipdnn-graphs", "hipdnn-linalg", ["hipdnn-linalg"]),
        ("hipdnn-linalg", "host", ["hipdnn-executables", "hipdnn-buffers", "host"]),
        ("host", "host", []),
        ("host", "hipdnn-ops", []),
    ],
)
def test_route_has_the_fewest_phases(current: str, last: str, expected: list[str]):
    assert names(current, last) == expected


RELU = '"hipdnn.pointwise"(%X) {mode = "relu_fwd"} : (tensor<4xf32>) -> tensor<4xf32>'
GRAPH = f"""
  %g = "hipdnn.graph"(%x) ({{
  ^bb0(%a: tensor<4xf32>):
    %r = {RELU.replace("%X", "%a")}
    "hipdnn.yield"(%r) : (tensor<4xf32>) -> ()
  }}) : (tensor<4xf32>) -> tensor<4xf32>
"""


@pytest.mark.parametrize(
    ("outside", "stage"), [("", "hipdnn-graphs"), (RELU.replace("%X", "%g"), "hipdnn-ops")]
)
def test_graphs_beside_ops_are_not_all_outlined(outside: str, stage: str):
    result = "%y" if outside else "%g"
    op = f"%y = {outside}" if outside else ""
    text = f"func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {{ {GRAPH} {op}\n"
    with make_context():
        assert stage_of(ir.Module.parse(f"{text} return {result} : tensor<4xf32> }}")) == stage


def test_dynamic_programs_have_no_stages_in_between():
    assert names("onnx", "", dynamic=True) == ["torch", "host"]
    with pytest.raises(HipgraftError, match="no stage 'hipdnn-ops'"):
        names("torch", "hipdnn-ops", dynamic=True)


@pytest.mark.parametrize("model", ["bert_tiny.mlir", "train_cnn_tiny.onnx"])
def test_every_door_makes_the_same_modules(model: str):
    """The API stage by stage, and the named pipeline that `hipgraft-opt` runs."""
    reached: dict[str, str] = {}
    hipgraft.compile(
        MODELS / model,
        compile_to="hipdnn-graphs",
        on_stage=lambda stage, module: reached.update({stage: asm(module)}),
    )
    for last, expected in reached.items():
        module = frontends.read(MODELS / model)
        name = {"onnx": "hipgraft-onnx", "torch": "hipgraft-torch"}[stage_of(module)]
        Runner().run(module, f"builtin.module({name}{{compile-to={last}}})")
        assert asm(module) == expected


def test_lowered_modules_are_what_is_compiled():
    """Stage `hipdnn-linalg` on the way changes nothing but where the input is written."""
    text = """
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = "hipdnn.graph"(%x) ({
      ^bb0(%a: tensor<8xf32>):
        %1 = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<8xf32>) -> tensor<8xf32>
        "hipdnn.yield"(%1) : (tensor<8xf32>) -> ()
      }) {name = "relu"} : (tensor<8xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    """
    ways = ("", "convert-hipdnn-to-linalg{target=gfx942},")
    made: list[str] = []
    for way in ways:
        with make_context():
            module = ir.Module.parse(text)
            Runner().run(module, f"builtin.module({way}hipdnn-compile{{target=gfx942}})")
            made.append(asm(module))
    assert made[0] == made[1]

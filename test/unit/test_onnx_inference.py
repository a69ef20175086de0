"""Malformed nodes at which ONNX's shape inference ends the process are errors of the tools."""

from __future__ import annotations

import subprocess
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
SPLIT = helper.make_node("Split", ["x"], ["y", "z"], num_outputs=1)


def compiled(folder: Path, node: onnx.NodeProto, *inputs: tuple[str, int, list[int]]) -> str:
    """Writes a model of one node, compiles it, and returns the tool's output."""
    values = [helper.make_tensor_value_info(*one) for one in (("x", FLOAT, [2, 4]), *inputs)]
    results = [helper.make_tensor_value_info(name, FLOAT, None) for name in node.output]
    graph = helper.make_graph([node], "g", values, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.save(model, folder / "m.onnx")
    command = ["hipgraft-compile", "m.onnx", "--compile-to=torch", "-o", "m.mlir"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == (1 if done.stderr else 0)
    return done.stderr


@pytest.mark.slow
def test_a_lost_inference_is_an_error(tmp_path: Path) -> None:
    said = compiled(tmp_path, SPLIT)
    assert said.startswith("m.onnx: error: invalid ONNX model: its types cannot be inferred: the")


@pytest.mark.slow
@pytest.mark.sampled(8)
@pytest.mark.parametrize("axis", [(1 << 63) - 1, 2, -3, -(1 << 63)])
def test_axes_beyond_the_rank_are_errors(axis: int, tmp_path: Path) -> None:
    """Inference would write outside a shape's memory, which may go unnoticed."""
    results = ["y", "mean", "deviation"]
    norm = helper.make_node("LayerNormalization", ["x", "w"], results, name="n", axis=axis)
    said = compiled(tmp_path, norm, ("w", FLOAT, [4]))
    assert f"LayerNormalization 'n': axis {axis} is none of 2" in said


@pytest.mark.slow
def test_extents_of_minus_one_are_unknown(tmp_path: Path) -> None:
    """Taken as a number, -1 would crash the inference of these operators."""
    gather = helper.make_node("GatherND", ["x", "i"], ["y"])
    assert "ended by" not in compiled(tmp_path, gather, ("i", INT64, [2, 2, -1]))
    pad = helper.make_node("Pad", ["x", "p"], ["y"], mode="reflect")
    assert "ended by" not in compiled(tmp_path, pad, ("p", INT64, [-1]))
    add = helper.make_node("Add", ["x", "z"], ["y"])
    assert compiled(tmp_path, add, ("z", FLOAT, [-1, 4])) == ""


@pytest.mark.slow
def test_well_formed_nodes_are_read(tmp_path: Path) -> None:
    split = helper.make_node("Split", ["x"], ["y", "z"], num_outputs=2)
    assert compiled(tmp_path, split) == ""
    results = ["y", "mean", "deviation"]
    norm = helper.make_node("LayerNormalization", ["x", "w"], results, axis=-1)
    assert compiled(tmp_path, norm, ("w", FLOAT, [4])) == ""

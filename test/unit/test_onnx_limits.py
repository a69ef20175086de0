"""Small ONNX files that describe much work: rejected, or left to the program, in bounded memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from small_onnx import drawn, save

from hipgraft.frontends import read
from hipgraft.ir.diagnostics import HipgraftError

INT64, FLOAT = TensorProto.INT64, TensorProto.FLOAT
MOST_SECONDS = 60
MOST_BYTES = 2 << 30

# Reads a model and prints how much memory that took.
READER = """
import re, sys
from hipgraft.frontends import read
from hipgraft.ir.diagnostics import HipgraftError
try:
    read(sys.argv[1])
    print("read")
except HipgraftError as error:
    print(error)
# Not `ru_maxrss`: that starts from the size of the process that was forked.
with open("/proc/self/status") as status:
    print(int(re.search("VmHWM: *\t *([0-9]+) kB", status.read())[1]) * 1024)
"""


def model(
    nodes: list[onnx.NodeProto],
    constants: dict[str, list[int] | np.ndarray],
    functions: list[onnx.FunctionProto] = (),
    **options: int,
) -> onnx.ModelProto:
    """Returns a model that adds the first element of `big` to an input."""
    first = helper.make_node("ReduceMax", ["big"], ["last"], keepdims=0)
    cast = helper.make_node("Cast", ["last"], ["one"], to=FLOAT)
    add = helper.make_node("Add", ["x", "one"], ["y"])
    # Known only when that was folded, and shapes have not been inferred since.
    known = [helper.make_node("Neg", [f"-{name}"], [name]) for name in constants]
    constants = {f"-{name}": -np.asarray(value, np.int64) for name, value in constants.items()}
    graph = helper.make_graph(
        [*known, *nodes, first, cast, add],
        "g",
        [helper.make_tensor_value_info("x", FLOAT, [2])],
        [helper.make_tensor_value_info("y", FLOAT, [2])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    imports = [helper.make_opsetid("", options.get("opset", 17)), helper.make_opsetid("f", 1)]
    return helper.make_model(graph, opset_imports=imports, functions=functions, ir_version=8)


def op(name: str, *inputs: str, **attributes: object) -> onnx.NodeProto:
    return helper.make_node(name, inputs, ["big"], **attributes)


N = 2**33
CASES: dict[str, Callable[[], onnx.ModelProto]] = {
    "Range": lambda: model([op("Range", "a", "n", "b")], {"a": 0, "n": N, "b": 1}),
    "Expand": lambda: model([op("Expand", "a", "n")], {"a": [1], "n": [N]}),
    "Tile": lambda: model([op("Tile", "a", "n")], {"a": [1, 2], "n": [N]}),
    "Pad": lambda: model([op("Pad", "a", "n")], {"a": [1], "n": [0, N]}),
    "ConstantOfShape": lambda: model(
        [op("ConstantOfShape", "n", value=numpy_helper.from_array(np.array([1], np.int64)))],
        {"n": [N]},
    ),
    "OneHot": lambda: model([op("OneHot", "a", "n", "v")], {"a": [1], "n": [N], "v": [0, 1]}),
    "Where": lambda: model(
        [
            helper.make_node("Cast", ["c"], ["d"], to=TensorProto.BOOL),
            op("Where", "d", "p", "q"),
        ],
        {
            "c": np.ones((4096, 1, 1)),
            "p": np.ones((1, 4096, 1)),
            "q": np.ones((1, 1, 4096)),
        },
    ),
    "rank": lambda: model(
        [
            helper.make_node("Range", ["a", "n", "b"], ["r"]),
            op("ConstantOfShape", "r", value=numpy_helper.from_array(np.array([1], np.int64))),
        ],
        {"a": 0, "n": 2**31, "b": 1},
    ),
}


def read_elsewhere(path: Path) -> tuple[str, int]:
    """Returns the output of reading a model in a child process, and the memory that it took."""
    command = [sys.executable, "-c", READER, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS, check=True)
    *said, memory = done.stdout.strip().splitlines()
    return "\n".join(said), int(memory)


@pytest.mark.slow
@pytest.mark.sampled(12)
@pytest.mark.parametrize("case", CASES)
def test_memory_is_bounded(case: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(CASES[case](), path)
    assert path.stat().st_size < 200_000
    said, memory = read_elsewhere(path)
    assert said == "read" or "error: " in said
    assert memory < MOST_BYTES


def doubling(depth: int) -> list[onnx.FunctionProto]:
    def call(name: str, given: str, result: str) -> onnx.NodeProto:
        domain = "f" if name.startswith("F") else ""
        return helper.make_node(name, [given], [result], domain=domain)

    imports = [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]
    bodies = [("Neg", "Neg"), *((f"F{n}", f"F{n}") for n in range(depth - 1))]
    return [
        helper.make_function(
            "f", f"F{n}", ["a"], ["c"], [call(x, "a", "b"), call(y, "b", "c")], imports
        )
        for n, (x, y) in enumerate(bodies)
    ]


def test_functions_that_double(tmp_path: Path) -> None:
    node = helper.make_node("F29", ["a"], ["big"], domain="f")
    onnx.save(model([node], {"a": [1]}, doubling(30)), tmp_path / "model.onnx")
    with pytest.raises(HipgraftError, match=r"has \d+ nodes with its functions inlined") as caught:
        read(tmp_path / "model.onnx")
    assert caught.value.location == str(tmp_path / "model.onnx")
    node = helper.make_node("F3", ["a"], ["big"], domain="f")
    onnx.save(model([node], {"a": [1]}, doubling(4)), tmp_path / "model.onnx")
    read(tmp_path / "model.onnx")


def test_a_function_that_calls_itself(tmp_path: Path) -> None:
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]
    inner = helper.make_node("F", ["a"], ["b"], domain="f")
    function = helper.make_function("f", "F", ["a"], ["b"], [inner], imports)
    node = helper.make_node("F", ["a"], ["big"], domain="f")
    onnx.save(model([node], {"a": [1]}, [function]), tmp_path / "model.onnx")
    with pytest.raises(HipgraftError):
        read(tmp_path / "model.onnx")


@pytest.mark.parametrize("opset", [0, -1, 999, 2**62])
def test_an_unknown_opset(opset: int, tmp_path: Path) -> None:
    onnx.save(model([op("Neg", "a")], {"a": [1]}, opset=opset), tmp_path / "model.onnx")
    with pytest.raises(HipgraftError, match=f"unknown opset {opset}; the newest known is"):
        read(tmp_path / "model.onnx")


def test_results_shaped_by_values_are_refused_with_the_operator(tmp_path):
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Unique", ["r"], ["y"], name="/head/pick", axis=0),
    ]
    path = save(tmp_path / "m.onnx", nodes, {"x": drawn(2, 3)}, [("y", TensorProto.FLOAT)])
    with pytest.raises(HipgraftError, match="'Unique' of slices") as error:
        read(path)
    assert error.value.location == "m.onnx:/head/pick (Unique)"


@pytest.mark.parametrize("place", ["body", "function"])
def test_attributes_out_of_range_inside(tmp_path, place):
    bad = helper.make_node("ArgMax", ["x"], ["i"], name="bad", keepdims=7)
    infos = [helper.make_tensor_value_info("x", FLOAT, [3, 7])]
    results = [helper.make_tensor_value_info("i", INT64, None)]
    functions = []
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
    if place == "body":
        body = helper.make_graph([bad], "body", [], results)
        infos.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
        node = helper.make_node("If", ["c"], ["i"], then_branch=body, else_branch=body)
    else:
        functions = [helper.make_function("local", "Best", ["x"], ["i"], [bad], opsets[:1])]
        node = helper.make_node("Best", ["x"], ["i"], domain="local")
    graph = helper.make_graph([node], "g", infos, results)
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, functions=functions), path)
    with pytest.raises(HipgraftError, match="'ArgMax' with keepdims = 7, which is neither 0 nor 1"):
        read(path)


@pytest.mark.parametrize(
    ("op", "attribute", "value"),
    [
        ("GatherND", "batch_dims", -2),
        ("ReduceMax", "keepdims", 2),
        ("ScatterElements", "reduction", "sum"),
    ],
)
def test_attributes_out_of_range(tmp_path, op, attribute, value):
    """With a negative `batch_dims`, ONNX's shape inference would end the process."""
    operands = ["x", "i", "x"] if op == "ScatterElements" else ["x", "i"]
    node = helper.make_node(op, operands, ["y"], name="bad", **{attribute: value})
    infos = [
        helper.make_tensor_value_info("x", FLOAT, [3, 7]),
        helper.make_tensor_value_info("i", INT64, [1]),
    ]
    results = [helper.make_tensor_value_info("y", FLOAT, None)]
    graph = helper.make_graph([node], "g", infos, results)
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), path)
    with pytest.raises(HipgraftError, match=f"'{op}' with {attribute} = {value!r}, ") as error:
        read(path)
    assert error.value.location == "m.onnx:bad"

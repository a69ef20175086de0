"""Comparisons of a tensor with a number of the other kind, which torch-mlir folds wrongly."""

from __future__ import annotations

import operator
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

import hipgraft
from hipgraft.codegen.workarounds.mixed_comparisons import whole_comparison

Comparison = Callable[[object, object], object]

ORDERS: dict[str, Comparison] = {
    name: getattr(operator, name) for name in ("gt", "ge", "lt", "le", "eq", "ne")
}
VALUES = {
    "si64": [-(2**63), -9, -5, -4, 0, 2, 3, 4, 9, 2**63 - 1],
    "si32": [-(2**31), -9, -5, -4, 0, 2, 3, 4, 9, 2**31 - 1],
    "f32": [-5.0, -0.5, 0.0, 3.0, 3.5, 4.0],
}
NUMBERS = {
    "float": [0.0, 2.5, -4.5, 3.0, 1e30, -1e30, float("inf"), float("nan")],
    "int": [0, 3, -5],
}
TYPES = {"si64": np.int64, "si32": np.int32, "f32": np.float32}


@given(
    st.sampled_from(list(ORDERS)),
    st.one_of(st.floats(), st.integers(-300, 300).map(lambda half: half / 2)),
    st.sampled_from(["si8", "ui8", "si64"]),
    st.data(),
)
def test_whole_comparisons_are_equivalent(
    order: str, value: float, element: str, data: st.DataObject
) -> None:
    bits, is_signed = int(element[2:]), element[0] == "s"
    least = -(1 << (bits - 1)) if is_signed else 0
    x = data.draw(st.integers(least, least + (1 << bits) - 1))
    found, whole = whole_comparison(order, value, element)
    assert least <= whole < least + (1 << bits)
    assert ORDERS[found](x, whole) == ORDERS[order](x, value)


def written(element: str, kind: str, number: float) -> str:
    """Compares constants with a number in all orders."""
    values = VALUES[element]
    tensor, flags = (f"!torch.vtensor<[{len(values)}],{each}>" for each in (element, "i1"))
    plain = str(number) if kind == "int" else f"{number:.1e}"
    text = {"inf": "0x7FF0000000000000", "nan": "0x7FF8000000000000"}.get(plain, plain)
    lines = [
        f"%x = torch.vtensor.literal(dense<{values}> : tensor<{len(values)}x{element}>) : {tensor}",
        f"%n = torch.constant.{kind} {text}",
        *(
            f"%{order} = torch.aten.{order}.Scalar %x, %n : {tensor}, !torch.{kind} -> {flags}"
            for order in ORDERS
        ),
        f"return {', '.join(f'%{order}' for order in ORDERS)} : {', '.join([flags] * len(ORDERS))}",
    ]
    results = ", ".join([flags] * len(ORDERS))
    return f"func.func @main() -> ({results}) {{\n{chr(10).join(lines)}\n}}\n"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("element", "number"),
    [
        *((element, one) for element in ("si64", "si32") for one in NUMBERS["float"]),
        *(("f32", one) for one in NUMBERS["int"]),
    ],
)
def test_constants_are_compared(tmp_path: Path, element: str, number: float) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(written(element, "int" if element == "f32" else "float", number))
    results = hipgraft.compile(path, "cpu").run([])
    values = np.array(VALUES[element], TYPES[element]).tolist()
    for (order, compare), found in zip(ORDERS.items(), results, strict=True):
        assert found.tolist() == [compare(one, number) for one in values], order


FAULTY = """
func.func @main() -> tensor<5x2xi1> {
  %s = torch.constant.float 0.0
  %x = torch.vtensor.literal(dense<[[-5, -9], [-4, 9], [-4, -3], [6, 3], [4, 0]]>
    : tensor<5x2xsi64>) : !torch.vtensor<[5,2],si64>
  %y = torch.aten.gt.Scalar %x, %s : !torch.vtensor<[5,2],si64>, !torch.float
    -> !torch.vtensor<[5,2],i1>
  %r = torch_c.to_builtin_tensor %y : !torch.vtensor<[5,2],i1> -> tensor<5x2xi1>
  return %r : tensor<5x2xi1>
}
"""


def test_the_compiler_has_the_fault() -> None:
    program = (
        "import sys\n"
        "from hipgraft.codegen.provider import compile_text\n"
        "from hipgraft.codegen.target import Target\n"
        "from hipgraft.codegen.workarounds import without\n"
        "from hipgraft.codegen.workarounds.mixed_comparisons import MIXED_COMPARISONS\n"
        "compile_text(sys.argv[1], Target.parse('cpu'))\n"
        "print('compiled', flush=True)\n"
        "with without(MIXED_COMPARISONS):\n"
        "    compile_text(sys.argv[1], Target.parse('cpu'))\n"
    )
    command = [sys.executable, "-c", program, FAULTY]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.stdout == "compiled\n", done.stderr
    assert done.returncode < 0, "the fault is gone: remove the workaround"


def test_prelu_of_constant_integers() -> None:
    x = np.array([[-5, 9], [-4, 0]])
    node = helper.make_node("PRelu", ["x", "slope"], ["y"])
    graph = helper.make_graph(
        [node],
        "g",
        [],
        [helper.make_tensor_value_info("y", TensorProto.INT64, x.shape)],
        [
            helper.make_tensor("x", TensorProto.INT64, x.shape, x),
            helper.make_tensor("slope", TensorProto.INT64, [1], [4]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)])
    (found,) = hipgraft.compile(model, "cpu").run([])
    assert found.tolist() == np.where(x < 0, 4 * x, x).tolist()

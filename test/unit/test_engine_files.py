"""Invalid engine files give errors with a line; expressions are a subset of Python's."""

from __future__ import annotations

import os
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from engine_graphs import engine_of, failure_of, single

from hipgraft.engines import engine_names, find_engine, registry
from hipgraft.engines.expressions import Expression, ExpressionError
from hipgraft.engines.layouts import LAYOUTS, has_layout
from hipgraft.ir.diagnostics import HipgraftError

GOOD = """\
hipgraft_engine: 1
name: MINE
summary: ReLU.
patterns:
  - name: relu
    nodes:
      - op: pointwise
        modes: [relu_fwd]
"""
NODE = "      - op: pointwise\n"
BROKEN = {
    "[": ("", "malformed engine file: "),
    "&a [*a]": (":1:", "malformed engine file: aliases are not read"),
    "": (":1:1", "expected 'object', got 'null'"),
    "name: x": (":1:1", "object missing required field 'hipgraft_engine'"),
    GOOD.replace("engine: 1", "engine: 2"): (":1:18", "invalid enum value 2"),
    GOOD.replace("MINE", "[1]"): (":2:7", "expected 'str', got 'array'"),
    GOOD + "colour: red\n": (":1:1", "object contains unknown field 'colour'"),
    GOOD.replace("pointwise", "pointwize"): (":7:13", "'pointwize' is no op: expected one of"),
    GOOD.replace("pointwise", "[]"): (":7:13", "expected an op"),
    GOOD.replace("relu_fwd", "relu"): (":8:16", "'relu' is no mode of pointwise: expected one of"),
    GOOD.replace("modes: [relu_fwd]", "types: {x: [f16]}"): (
        ":8:20",
        "'x' is no operand or result of pointwise: expected one of *, in_0, in_1, in_2, out_0",
    ),
    GOOD.replace("modes: [relu_fwd]", "types: {in_0: [half]}"): (
        ":8:23",
        "'half' is no element type, as f16, bf16 or i8 are",
    ),
    GOOD.replace("modes: [relu_fwd]", "layouts: {in_0: [NHWC]}"): (":8:25", "'NHWC' is no layout"),
    GOOD.replace("modes: [relu_fwd]", "attributes: {clip: [1]}"): (
        ":8:21",
        "'clip' is no attribute of pointwise",
    ),
    GOOD.replace("modes: [relu_fwd]", "reads: relu"): (":8:16", "'relu' is no node before"),
    GOOD.replace("modes: [relu_fwd]", "because: {tipes: bad}"): (":8:18", "'tipes' is no kind"),
    GOOD + "        rules: [{require: 'x.rank == 1', because: bad}]\n": (
        ":9:27",
        "'x' is no name that this rule may use",
    ),
    GOOD + "        rules: [{require: 'in_0.shape == [1]', because: bad}]\n": (
        ":9:27",
        "'shape' is no part of 'in_0': expected one of constant, dims",
    ),
    GOOD + "        rules: [{require: 'in_0 =', because: bad}]\n": (":9:27", "is no expression"),
    GOOD + "        rules: [{require: open(1), because: bad}]\n": (":9:27", "calls none of"),
    GOOD + NODE: (":9:9", "expected another name than 'pointwise'"),
    GOOD.split("    nodes")[0] + "    nodes: []\n": (":6:12", "expected at least one node"),
    GOOD.split("patterns")[0] + "patterns: []\n": (":4:11", "expected at least one pattern"),
}  # fmt: skip


@pytest.mark.parametrize("text", BROKEN)
def test_broken_files_are_located_errors(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    where, message = BROKEN[text]
    with pytest.raises(HipgraftError) as raised:
        engine_of(path, text)
    assert str(raised.value).startswith(f"{path}{where}")
    assert message in raised.value.message


def test_good_file(tmp_path: Path) -> None:
    engine = engine_of(tmp_path / "mine.yml", GOOD)
    taken = single("pointwise", {"x": "8xf32"}, "8xf32", 'mode = "relu_fwd"')
    assert (engine.name, engine.summary) == ("MINE", "ReLU.")
    assert failure_of(engine, taken) is None


def test_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    assert engine_of(path, GOOD).summary == "ReLU."
    path.write_text(GOOD.replace("ReLU.", "Other."))
    os.utime(path, (1, 1))
    assert find_engine(str(path)).summary == "Other."


def test_engines_of_other_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("their_engines")
    (tmp_path / "mine.yaml").write_text(GOOD)
    module.PATH = tmp_path / "mine.yaml"
    module.NUMBER = 5
    monkeypatch.setitem(sys.modules, "their_engines", module)
    points = [
        EntryPoint(name, f"their_engines:{value}", "hipgraft.engines")
        for name, value in (("MINE", "PATH"), ("OTHER", "PATH"), ("BAD", "NUMBER"))
    ]
    monkeypatch.setattr(registry, "plugins", lambda group: points)
    assert engine_names()[-3:] == ["BAD", "MINE", "OTHER"]
    assert find_engine("MINE").name == "MINE"
    with pytest.raises(HipgraftError, match=r"expected the engine 'OTHER' .* but found 'MINE'"):
        find_engine("OTHER")
    with pytest.raises(HipgraftError, match="malformed entry point of an engine"):
        find_engine("BAD")


def test_unknown_engines_are_told_with_the_known_ones() -> None:
    with pytest.raises(
        HipgraftError, match="unknown engine 'IREE': expected iree, ASM_SDPA_ENGINE"
    ):
        find_engine("IREE")


NAMES: dict[str, Any] = {"a": 3, "l": [1, 2, 4], "s": "fusilli.rope", "n": None, "b": True}


@pytest.mark.parametrize(
    "text",
    [
        "a == 3", "a != 3", "a < 4 <= 4", "1 < a < 3", "-a + 5 == 2", "a * 2 - 1 == 5",
        "a / 2 == 1.5", "a // 2 == 1", "a % 2 == 1", "l[-1] == 4", "l[1:] == [2, 4]",
        "l[::2] == [1, 4]",
        "2 in l", "5 not in l", "max(l) == 4 and min(l) == 1", "len(l) == a", "sum(l) == 7",
        "not b or a == 3", "(a, 1) == (3, 1)", "abs(-a) == 3", "n == None", "s[0] == 'f'",
    ],
)  # fmt: skip
def test_expressions_are_pythons(text: str) -> None:
    assert Expression(text).holds(NAMES.__getitem__) == bool(eval(text, {}, NAMES))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("product(l) == 8", True),
        ("starts_with(s, 'fusilli.')", True),
        ("present(n)", False),
        ("absent(n) and present(a)", True),
        ("l[3] == 1", False),
        ("n.dims[0] == 1", False),
        ("a % 0 == 1", False),
        ("s * 3 == ''", False),
        ("a < s", False),
    ],
)
def test_expressions_with_own_functions_or_without_value(text: str, value: bool) -> None:
    assert Expression(text).holds(NAMES.__getitem__) is value


@pytest.mark.parametrize(
    "text",
    [
        "a ** 9", "[x for x in l]", "lambda: 1", "(a := 1)", "f'{a}'", "l.append(1)",
        "a if b else a",
        "__import__('os')", "a @ a", "a is None", "max(l, key=a)", "{1: 2}", "max(*l)", "a.b()", "",
        "a; a", "a" * 2000, "(" * 500, "'\\ud800",
    ],
)  # fmt: skip
def test_other_python_is_no_expression(text: str) -> None:
    with pytest.raises(ExpressionError):
        Expression(text)


def test_values_behind_a_failed_condition() -> None:
    expression = Expression("l[0] % 2 == 0 and a in [1, 2] and present(n)")
    assert expression.found(NAMES.__getitem__) == "l = [1, 2, 4], a = 3"


LIES_IN = {
    (2, 3, 4, 5): {
        (60, 20, 5, 1): {"row-major"},
        (60, 1, 15, 3): {"channels-last"},
        (60, 20, 1, 4): {"column-major"},
        (60, 5, 15, 1): {"BSHD"},
        (80, 20, 5, 1): {"padded row-major"},
        (60, 2, 15, 3): set(),
        (60, 20, 5, 0): set(),
        (60, 20, 10, 2): set(),
    },
    (1, 3, 1, 1): {(7, 1, 9, 9): {"row-major", "channels-last", "column-major", "BSHD"}},
    (4, 5): {(5, 1): {"row-major"}, (1, 4): {"column-major"}, (1, 6): {"padded column-major"}},
    (4,): {(1,): {"row-major"}, (2,): set()},
}


@pytest.mark.parametrize("dims", LIES_IN)
def test_layouts(dims: tuple[int, ...]) -> None:
    for strides, packed in LIES_IN[dims].items():
        expected = {name if name in packed else f"padded {name}" for name in packed}
        expected |= {f"padded {name}" for name in packed if not name.startswith("padded")}
        found = {name for name in LAYOUTS if has_layout(dims, strides, name)}
        assert found == expected | packed


def test_an_absent_operand_has_no_attributes(tmp_path: Path) -> None:
    rule = "        rules: [{require: in_1.rank != 1, because: bad}]\n"
    engine = engine_of(tmp_path / "mine.yaml", GOOD.replace("relu_fwd", "relu_fwd, add") + rule)
    one = single("pointwise", {"x": "8xf32"}, "8xf32", 'mode = "relu_fwd"')
    two = single("pointwise", {"x": "8xf32", "y": "8xf32"}, "8xf32", 'mode = "add"')
    assert failure_of(engine, one) is None
    assert "bad" in str(failure_of(engine, two))

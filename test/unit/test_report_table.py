"""The report at several widths: numbers stay whole, nothing is cut, and rows are distinct."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from hipgraft.codegen.objects.resource_stats import KernelResources
from hipgraft.compiler.coverage import CoverageRow
from hipgraft.compiler.report import GraphRow, KernelRow, LaunchRow, Report
from hipgraft.ir.diagnostics import Remark, RemarkKind
from hipgraft.tools import hipgraft_compile
from hipgraft.tools.memory_chart import _Block, draw
from hipgraft.tools.report_table import Made, print_report
from hipgraft.tools.result_table import print_results
from hipgraft.tools.tables import Column, open_console, print_table

WIDTHS = (60, 80, 120, 200)
NAMES = [f"conv_fprop_add_batchnorm_inference_variance_ext_relu_fwd_{n}" for n in (7, 8)]
NODES = ("m.onnx:/encoder/layer.11/[attention]/Conv_17", "m.onnx:find (NonZero)")
TARGETS = ("gfx942", "gfx950", "gfx1100")


def missed(op: str, reason: str, location: str) -> Remark:
    message = f"'{op}' op stays: {reason}"
    return Remark(RemarkKind.MISSED, "convert", "reason", message, location, "main", {}, op)


def work(name: str, **numbers: str) -> Remark:
    args = {"executable": name, "target": "gfx942", "plan": "default", **numbers}
    return Remark(RemarkKind.ANALYSIS, "hipdnn-compile", "work", "", "", "main", args)


@pytest.fixture(scope="module")
def report() -> Report:
    resources = KernelResources("k", 1024, 64, 512, 256, 104, 31337, 163840, 65536, 4096, 8)
    numbers = {
        "least-matrix-instructions": "123456789",
        "matrix-instructions": "1048576",
        "least-bytes": "987654321987",
        "bytes": "1987654321987",
        "microseconds": "4242",
        "excess": "1000666333 of what passes between 2 launches",
    }
    plan = "0,8388608,0,77 0,4194304,3,9"
    arena = {"buffers": "8388608,0,77,0 4194304,3,9,8388608", "planned": "12582912"}
    arena |= {"lower_bound": "12582900", "unplanned": "99999999"}
    return Report(
        graphs=[
            GraphRow(NAMES[0], "graph", ("conv_fprop", "pointwise", "pointwise"), NODES),
            GraphRow(NAMES[1], "fallback", ("aten.nonzero",), NODES[1:]),
            GraphRow(NAMES[0], "graph", ("conv_fprop", "pointwise", "pointwise"), ()),
        ],
        coverage=[
            CoverageRow("conv_fprop", "iree", 2, 2, 7777777777, 5555555, (), NODES),
            CoverageRow(
                "aten.nonzero", "fallback", 1, 2, 0, 5555555, ("no op finds it",), NODES[1:]
            ),
        ],
        executables=[
            LaunchRow(NAMES[0], dict.fromkeys(TARGETS, 2), 2),
            LaunchRow(NAMES[1], {"gfx942": 1, "gfx950": 3, "gfx1100": 3}, 1),
        ],
        kernels=[KernelRow(name, target, resources) for name in NAMES for target in TARGETS],
        remarks=[
            missed("torch.aten.nonzero", "it has no static shape", NODES[1]),
            missed("torch.aten.nonzero", "it has no static shape", NODES[0]),
            missed("torch.aten.sort", "no hipDNN op sorts", "/some/folder/m.mlir:3:7"),
            work(NAMES[0], **numbers),
            Remark(RemarkKind.ANALYSIS, "hipdnn-plan-memory", "plan", plan, "", "main", arena),
        ],
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut(
    width: int, report: Report, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    files = [tmp_path / "m.mlir", tmp_path / "m.safetensors"]
    for path in files:
        path.write_bytes(bytes(1234567))
    print_report(report, TARGETS, Made(12.34, files))
    said = capsys.readouterr().err
    assert "\u2026" not in said
    assert "..." not in re.sub(r"^ *\d+ [a-z.]+$", "", said, flags=re.MULTILINE)  # the arena
    lines = [line for line in said.splitlines() if not line.startswith("wrote ")]
    assert max(map(len, lines)) <= width
    assert sum(line.startswith(f"wrote {tmp_path}") for line in said.splitlines()) == 2
    words = set(re.findall(r"[\w.,]+", said.replace("\n", " ")))
    for number in ("1024", "512", "256", "104", "31337", "163840", "65536", "4096", "12582912"):
        assert number in words
    for number in ("123,456,789", "1,048,576", "987,654,321,987", "1,987,654,321,987", "4,242"):
        assert number in words
    assert {"1000666333", "8388608", "4194304", "12582900", "99999999"} <= words
    flat = re.sub(r"\s+", " ", said)
    assert "3 graphs, 2 distinct" in flat
    assert "compiled 2 graphs, 1 fallback" in flat
    share = "coverage: hipDNN graphs have 50.0 % of ops, 100.0 % of flops, 50.0 % of bytes"
    assert share in flat
    assert {"7,777,777,777", "5,555,555", "finds"} <= words
    assert "5 launches on gfx942, 7 launches on gfx950, 7 launches on gfx1100; 12.3 s" in flat
    assert flat.count("(1,234,567 bytes)") == 2
    assert "which is needed beside it" in flat


def test_rows_are_told_by_short_names_and_nodes(report: Report, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    print_report(report, TARGETS, Made(1.0, []))
    said = capsys.readouterr().err
    assert re.search(
        r"^g0 +2 +2 +graph +conv_fprop, 2 x pointwise +/encoder.*find \(Non", said, re.M
    )
    assert re.search(r"^g0 +gfx950 +1024 ", said, re.M)
    assert re.search(r"^g1 +gfx1100 +1024 ", said, re.M)
    row = r"^torch.aten.nonzero +2 +stays: it has no static shape +find \(NonZero\), /encoder"
    assert re.search(row, said, re.M)
    assert re.search(r"^torch.aten.sort +1 +stays: no hipDNN op sorts +m.mlir:3:7", said, re.M)


@pytest.mark.parametrize(("columns", "width"), [("90", 90), (None, 120), ("wide", 120)])
def test_width_off_a_terminal(columns: str | None, width: int, monkeypatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    assert open_console().width == width


@pytest.mark.parametrize("width", WIDTHS)
def test_results_are_not_cut(width: int, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    values = np.array([-1.23456e-07, 9.87654e08])
    print_results(["/a/rather/long/name/of/a/result/that/an/exporter/made"], [values], None)
    said = capsys.readouterr().out
    assert "-1.23456e-07" in said
    assert "9.87654e+08" in said
    assert "\u2026" not in said


def test_columns_that_do_not_fit_go_to_further_tables(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    columns = [Column("id", True, True), *(Column(f"n{number}") for number in range(4))]
    print_table(open_console(), columns, [["x", *("123456",) * 4]])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines if line.startswith("x")] == [
        ["x", "123456", "123456"]
    ] * 2


def test_the_drawing_fits() -> None:
    lines = draw([_Block(8, first, first + 1, 8 * first) for first in range(300)], 2400, 47)
    assert max(map(len, lines)) <= 60


@pytest.mark.slow
def test_programs_of_dynamic_shapes_have_reports(tmp_path: Path, capsys) -> None:
    values = [helper.make_tensor_value_info(name, 1, ["n", 8]) for name in "xy"]
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    onnx.save(model, tmp_path / "m.onnx")
    command = [str(tmp_path / "m.onnx"), "-q", "--report", "-o", str(tmp_path / "m.mlir")]
    assert hipgraft_compile.main(command) == 0
    said = capsys.readouterr().err
    assert re.search(r"^g0 +1 +1 +function +aten.relu +Relu_0 +main", said, re.M)
    assert re.search(r"^g0 +gfx942 +64 ", said, re.M)
    assert "compiled 1 function; 1 launch on gfx942; " in said
    assert "m.mlir (" in said

"""The sweeps of hipDNN graphs, their oracle, and the script that counts what the plugin runs."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator import requires_emulator
from hipdnn_graphs import GRAPHS, graph, pointwise, tensor
from hipdnn_play import environment
from hipdnn_sweeps import SWEEPS, layernorm_backward, rmsnorm_backward, write_sweeps
from oracle.gradients import gradient
from oracle.graphs import NoOracleError, evaluate
from oracle.tensors import layernorm, rmsnorm
from served import user_in

from hipgraft import hipdnn_io
from hipgraft.hipdnn_io.files import case_names, read_file
from hipgraft.hipdnn_io.wiring import wire

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "hipdnn_graphs.py"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """Creates a user's folders with a separate helper, which ends afterwards."""
    with user_in(tmp_path_factory.mktemp("home")) as home:
        yield home


def read(source: Any) -> Any:
    return hipdnn_io.read_json(json.dumps(source))


@pytest.mark.slow
def test_each_case_has_an_oracle(tmp_path: Path) -> None:
    """The cases are those of the table, and results are finite for random inputs."""
    write_sweeps(tmp_path)
    draw, count = np.random.default_rng(0), 0
    for path in tmp_path.glob("*/graph.template.json"):
        for case in case_names(path):
            document = read_file(path, case)
            wiring = wire(document)
            inputs = {one.uid: draw.uniform(0.1, 1, one.dims) for one in wiring.arguments}
            values = evaluate(document, inputs)
            for one in wiring.results:
                assert values[one.uid].shape == tuple(one.dims), (path, case)
                assert np.isfinite(values[one.uid]).all(), (path, case)
            count += 1
    assert count == sum(map(len, SWEEPS.values()))
    assert len(SWEEPS) >= 20


def test_gradients_of_norms_are_those_by_differences() -> None:
    dims, row = (2, 3, 8), (1, 1, 8)
    draw = np.random.default_rng(1)
    dy, x, scale = draw.uniform(-1, 1, dims), draw.uniform(-1, 1, dims), draw.uniform(-1, 1, row)
    _, mean, inverse = layernorm(x, scale, np.zeros(row), 0, (2,))
    _, rms = rmsnorm(x, scale, 0, (2,))

    def centred(x: Any, scale: Any) -> Any:
        return layernorm(x, scale, np.zeros(row), 0, (2,))[0]

    def plain(x: Any, scale: Any) -> Any:
        return rmsnorm(x, scale, 0, (2,))[0]

    for source, statistics, norm, first in (
        (layernorm_backward(dims, 1, "float"), {4: mean, 5: inverse}, centred, 6),
        (rmsnorm_backward(dims, "float"), {4: rms}, plain, 5),
    ):
        found = evaluate(read(source), {1: dy, 2: x, 3: scale} | statistics)
        dx = gradient(lambda value, norm=norm: norm(value, scale), x, dy)
        dscale = gradient(lambda value, norm=norm: norm(x, value), scale, dy)
        np.testing.assert_allclose(found[first], dx, atol=1e-7)
        np.testing.assert_allclose(found[first + 1], dscale, atol=1e-7)


def test_graphs_without_an_oracle_are_told() -> None:
    for name in ("resample_fwd", "sdpa_paged", "sdpa_ragged", "custom_op", "binary_select"):
        document = read(GRAPHS[name])
        inputs = {one.uid: np.ones(one.dims) for one in wire(document).arguments}
        with pytest.raises(NoOracleError):
            evaluate(document, inputs)


@pytest.mark.thorough
@requires_emulator
@pytest.mark.slow
def test_outcomes_are_counted(home: Path, tmp_path: Path) -> None:
    """One graph for each outcome; the time limits are those of the command."""
    folder = tmp_path / "graphs"
    write_sweeps(folder / "sweeps")
    for path in (folder / "sweeps").iterdir():
        if path.name != "sdpa_window":
            for file in path.iterdir():
                file.unlink()
    packed = graph([pointwise("identity", 1, out=2)], [tensor(uid, [64], "int4") for uid in (1, 2)])
    (folder / "packed.json").write_text(json.dumps(packed))
    (folder / "custom.json").write_text(json.dumps(GRAPHS["custom_op"]))
    (folder / "text.json").write_text("no graph")
    report = tmp_path / "outcomes.json"
    command = [sys.executable, SCRIPT, folder, "--cases=1", "--quiet", f"--json={report}"]

    def run(*flags: str) -> tuple[int, str, list[dict[str, Any]]]:
        done = subprocess.run(
            [*command, *flags], env=environment(home), capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, json.loads(report.read_text())

    status, text, rows = run()
    found = {row["graph"]: row["outcome"] for row in rows}
    assert found == {
        "sdpa_window": "right",
        "packed.json": "not applicable",
        "custom.json": "no oracle",
        "text.json": "not read",
    }
    assert status == 0
    counts = sorted(text.splitlines()[-1].split(", "))
    assert counts == ["1 no oracle", "1 not applicable", "1 not read", "1 right"]
    assert "in a byte" in next(row["text"] for row in rows if row["graph"] == "packed.json")
    assert {row["outcome"] for row in run("--seconds=0")[2]} == {"not run"}
    outcomes = {row["graph"]: row["outcome"] for row in run("--each=0.01")[2]}
    assert outcomes["sdpa_window"] == "too long"
    # 2 · 2 · 2 · 16 · 24 · 24 multiplications.
    for work, outcome in (("73727", "compiled"), ("73728", "right")):
        outcomes = {row["graph"]: row["outcome"] for row in run(f"--work={work}")[2]}
        assert outcomes["sdpa_window"] == outcome


@requires_emulator
@pytest.mark.slow
def test_wrong_results_are_told(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The oracle of one element is off by 1 % here."""
    spec = importlib.util.spec_from_file_location("count_hipdnn_graphs", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    def off(document: Any, inputs: Any) -> Any:
        values = evaluate(document, inputs)
        values[3] = values[3].copy()
        values[3][0, 0] *= 1.01
        return values

    monkeypatch.setattr(script, "evaluate", off)
    for name, value in environment(home).items():
        monkeypatch.setenv(name, value)
    added = graph([pointwise("add", 1, 2, out=3)], [tensor(uid, [5, 8]) for uid in (1, 2, 3)])
    (tmp_path / "add.json").write_text(json.dumps(added))
    assert script.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 wrong"

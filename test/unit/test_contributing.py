"""The pass and the lowering alternative that CONTRIBUTING.md walks through work."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from lowering_cases import Results, lower_case
from test_lowering_contractions import matmul_case

from hipgraft.codegen.lowering.context import ALTERNATIVES
from hipgraft.ir.registration import Registry

PAGE = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"
TOOLS = {
    "hipgraft-opt": f"{sys.executable} -m hipgraft.tools.hipgraft_opt",
    "FileCheck": f"{Path(sys.executable).parent / 'filecheck'}",
}


def block(label: str) -> str:
    found = re.search(rf"<!-- {label} -->\n```\w+\n(.*?)\n```\n", PAGE.read_text(), flags=re.DOTALL)
    # A fence inside the block is indented, so the first one at a line's start ends it.
    assert found is not None
    return found[1] + "\n"


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    (tmp_path / "example_passes.py").write_text(block("pass"))
    metadata = tmp_path / "example-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: example\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(
        "[hipgraft.passes]\nhipdnn-erase-identity = example_passes:HipdnnEraseIdentityPass\n"
    )
    return tmp_path


def run_lines() -> list[str]:
    return re.findall(r"^// RUN: (.*)$", block("test"), flags=re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_example_does_what_its_test_says(plugin: Path, number: int):
    test = plugin / "hipdnn-erase-identity.mlir"
    test.write_text(block("test"))
    command = run_lines()[number].replace("%s", str(test))
    for tool, call in TOOLS.items():
        command = command.replace(tool, call)
    paths = [str(plugin), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_all_run_lines_are_run():
    assert len(run_lines()) == 3


@pytest.mark.slow
def test_example_alternative_computes_the_product(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(
        ALTERNATIVES, "hipdnn.matmul", Registry("alternative", ALTERNATIVES["hipdnn.matmul"])
    )
    exec(block("alternative"), {"__name__": "example"})
    case = replace(
        matmul_case("example", (2, 9, 7), (2, 7, 5)), plan="hipdnn.matmul=transposed-product"
    )
    assert lower_case(case) != lower_case(replace(case, plan="default"))
    case.check(Results([case])[case.name])


def test_example_alternative_leaves_wide_products_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(
        ALTERNATIVES, "hipdnn.matmul", Registry("alternative", ALTERNATIVES["hipdnn.matmul"])
    )
    exec(block("alternative"), {"__name__": "example"})
    case = replace(matmul_case("wide", (5, 7), (7, 9)), plan="hipdnn.matmul=transposed-product")
    assert lower_case(case) == lower_case(replace(case, plan="default"))

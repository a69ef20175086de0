"""The registry: what it finds, without importing it, and whom it blames."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.passmanager import registry
from hipgraft.passmanager.base import Pass
from hipgraft.passmanager.contracts import CONTRACTS
from hipgraft.passmanager.registry import Entry


def test_files_are_passes_and_pipelines():
    entries = registry.entries()
    assert entries["test-fail"] == Entry(
        "test-fail", "pass", "hipgraft.passes.testing.test_fail", testing=True
    )
    assert entries["hipgraft-torch"].kind == "pipeline"


@pytest.mark.parametrize("name", registry.entries())
def test_each_entry_can_be_imported(name: str):
    if registry.entries()[name].kind == "pass":
        pass_ = registry.pass_class(name)
        assert issubclass(pass_, Pass)
        assert pass_.name == name
    else:
        assert registry.named_pipeline(name).doc


@pytest.mark.parametrize("name", registry.entries())
def test_stages_of_passes_exist(name: str):
    if registry.entries()[name].kind == "pass":
        pass_ = registry.pass_class(name)
        assert {pass_.requires, pass_.ensures} <= {None, *CONTRACTS}


def test_finding_imports_nothing():
    script = (
        "import sys\n"
        "from hipgraft.passmanager import registry\n"
        "registry.entries()\n"
        "loaded = [m for m in sys.modules if m.startswith(('hipgraft.passes.', 'iree'))]\n"
        "sys.exit(str(loaded) if loaded else 0)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_two_of_one_name_are_an_error_that_names_both(monkeypatch: pytest.MonkeyPatch):
    plugin = Entry("test-fail", "pass", "other.passes", "FailPass", origin="other-package")
    monkeypatch.setattr(registry, "_plugin_entries", lambda: iter([plugin]))
    with pytest.raises(HipgraftError) as error:
        registry.entries.__wrapped__()
    assert error.value.message == (
        "pass or pipeline 'test-fail' is registered twice: "
        "by hipgraft (hipgraft.passes.testing.test_fail) "
        "and by other-package (other.passes)"
    )


_PLUGIN = """\
from dataclasses import dataclass
from hipgraft.passmanager.base import Pass

@dataclass(frozen=True)
class OtherPass(Pass):
    name = "other-pass"

    def run(self, module, state):
        state.log("other pass ran")
"""


@pytest.mark.slow
def test_other_packages_add_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """An installed package with an entry point, as pip leaves it, is found by the tool."""
    (tmp_path / "other.py").write_text(_PLUGIN)
    info = tmp_path / "other_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[hipgraft.passes]\nother-pass = other:OtherPass\n")
    monkeypatch.syspath_prepend(tmp_path)
    path = os.pathsep.join(sys.path)
    tool = [sys.executable, "-m", "hipgraft.tools.hipgraft_opt"]
    outcome = subprocess.run(
        [*tool, "--other-pass", "--debug-only=other-pass"],
        input="",
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert outcome.stderr.startswith("[other-pass] other pass ran\n")

"""The generated pages in docs/ agree with the sources."""

import re
from pathlib import Path

import pytest

from hipgraft.hipdnn_io.plan_payload import ENGINE_NAME
from hipgraft.ir.environment import VARIABLES
from hipgraft.passmanager import options as pass_options
from hipgraft.passmanager import registry
from hipgraft.tools.dev import gen_docs

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


@pytest.mark.parametrize("name", ["passes.md", "pipelines.md", "tools.md"])
def test_page_is_current(name: str):
    assert (DOCS / name).read_text() == gen_docs.pages()[name], "run `make docs`"


def test_every_pass_has_a_section_with_its_options():
    text = gen_docs.pages()["passes.md"]
    for entry in registry.entries().values():
        if entry.kind == "pass" and not entry.testing:
            section = text.split(f"## `{entry.name}`\n")[1].split("\n## ")[0]
            options = pass_options.describe(registry.pass_class(entry.name))
            missing = [option.name for option in options if f"| `{option.name}` |" not in section]
            assert not missing, entry.name


def test_every_environment_variable_is_documented():
    sources = [
        path for path in ROOT.glob("src/hipgraft/**/*.py") if "__pycache__" not in path.parts
    ]
    folders = (ROOT / name for name in ("passes", "pipelines", "dialects", "tools"))
    sources += [path for folder in folders for path in folder.rglob("*.py")]
    named = {
        name
        for path in sources
        for name in re.findall(r"[\"'`$](HIPGRAFT_[A-Z0-9_]+)[\"'`]", path.read_text())
    }
    for path in ROOT.glob("src/hipgraft/**/*.cpp"):
        named |= set(re.findall(r'(?:getenv|variable)\("(HIPGRAFT_\w+)"', path.read_text()))
    assert named - {ENGINE_NAME} == set(VARIABLES)

"""The generated pages in docs/ say what the sources say."""

from pathlib import Path

import pytest

from hipgraft.passmanager import options as pass_options
from hipgraft.passmanager import registry
from hipgraft.tools.dev import gen_docs

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("name", ["passes.md", "pipelines.md"])
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

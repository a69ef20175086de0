"""The files that are generated from op classes and engine files are current."""

from hipgraft.engines.registry import COMPILED
from hipgraft.tools.dev import gen_dialect_builders, gen_dialect_docs, gen_engines


def test_reference_pages_are_current():
    for name, text in gen_dialect_docs.pages().items():
        assert (gen_dialect_docs.TARGETS / name).read_text() == text, f"run `make docs`: {name}"


def test_builders_are_current():
    text = gen_dialect_builders.builders_text()
    assert gen_dialect_builders.TARGET.read_text() == text, "run `make docs`"


def test_engines_are_current():
    assert COMPILED.read_text() == gen_engines.text(), "run `make docs`"

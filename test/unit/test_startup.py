"""Modules that tools must not import at start-up; benchmarks/startup.py measures their cost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hipgraft.passmanager import registry
from hipgraft.tools import opt_help
from hipgraft.tools.dev import gen_docs

INPUTS = Path(__file__).resolve().parents[1] / "lit" / "tools" / "Inputs"
_MAIN = """
import sys
from importlib import import_module
tool = sys.argv[0] = sys.argv.pop(1)
try:
    import_module(f"hipgraft.tools.hipgraft_{tool}").main()
except SystemExit:
    pass
print(*sys.modules, file=sys.stderr)
"""


def modules_of(*command: str) -> set[str]:
    """Returns the modules that are imported at the end of a command."""
    done = subprocess.run(
        [sys.executable, "-c", _MAIN, *command], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("words", [["--help"], ["--help-hidden"], ["--version"]])
def test_what_needs_no_module_loads_no_compiler(words: list[str]) -> None:
    loaded = modules_of("opt", *words)
    assert not [name for name in loaded if name.startswith(("iree.", "hipgraft.passes."))]


@pytest.mark.parametrize("tool", ["compile", "run", "translate", "cache", "tune", "reduce"])
def test_help_loads_neither_compiler_nor_numpy(tool: str) -> None:
    assert not {"iree.compiler", "numpy", "importlib.metadata"} & modules_of(tool, "--help")


def test_a_module_needs_neither_numpy_nor_metadata() -> None:
    loaded = modules_of("opt", str(INPUTS / "identity.mlir"))
    assert "iree.compiler.ir" in loaded
    assert not {"numpy", "importlib.metadata", "hipgraft.frontends", "hipgraft.codegen"} & loaded


@pytest.mark.slow
def test_the_bindings_find_numpy_when_they_need_it() -> None:
    script = """
import hipgraft.ir.bindings, sys
from iree.compiler import ir
assert "numpy" not in sys.modules
with ir.Context() as context:
    made = ir.AttrBuilder.get("I64ElementsAttr")([1, 2, 3], context)
import numpy
assert numpy.array(made).tolist() == [1, 2, 3]
assert type(numpy) is type(sys)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_help_of_passes_is_current() -> None:
    assert opt_help.PASS_HELP.read_text() == gen_docs.pass_help(), "run `make docs`"
    own = {entry.name for entry in registry.entries().values() if entry.origin == "hipgraft"}
    assert set(json.loads(opt_help.PASS_HELP.read_text())) == own

"""The repository keeps its own rules: layout, imports, sizes, no traces of a machine."""

import ast
import dataclasses
import inspect
import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pytest

from hipgraft.passmanager import registry
from hipgraft.tools.dev import gen_stubs

ROOT = Path(__file__).resolve().parents[2]
OUR_FOLDERS = ("dialects", "passes", "pipelines", "tools", "src/hipgraft", "benchmarks")
SECTIONS = ("Before", "After", "Requires", "Ensures", "Errors", "Source")
LINE_LIMIT = 400

# Hosts that pages and licences may name; package indices and machines are not among them.
PUBLIC_HOSTS = {
    "www.apache.org",
    "llvm.org",
    "mlir.llvm.org",
    "iree.dev",
    "github.com",
    "arxiv.org",
}

# Joined here so that this file does not hold what it looks for.
MACHINE_PATH = re.compile(
    rb"(?<![\w./~$%}-])/(?:" + b"|".join([b"work", b"tmp", b"home", b"root"]) + rb")/"
)
URL_HOST = re.compile(rb"https?://([\w.-]+)")


@cache
def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def our_sources() -> list[Path]:
    """Python files of the project at their real places, without tests and generated stubs."""
    found = {path.resolve() for folder in OUR_FOLDERS for path in (ROOT / folder).rglob("*.py")}
    return sorted(found)


def pass_files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).glob("[!_]*.py"))


ALL_PASS_FILES = [*pass_files("passes"), *pass_files("passes/testing")]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", ALL_PASS_FILES, ids=lambda path: path.stem)
def test_pass_file_has_one_pass_named_like_it(path: Path):
    name = path.stem.replace("_", "-")
    cls = registry.pass_class(name)
    assert cls.name == name
    assert cls.__name__ == "".join(part.capitalize() for part in path.stem.split("_")) + "Pass"
    assert dataclasses.is_dataclass(cls)
    assert cls.__dataclass_params__.frozen
    undocumented = [f.name for f in dataclasses.fields(cls) if not f.metadata.get("doc")]
    assert not undocumented, "options without a line of documentation"
    classes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    assert [node.name for node in classes if node.name.endswith("Pass")] == [cls.__name__]
    assert classes[-1].name == cls.__name__, "the pass class comes last"


@pytest.mark.parametrize("path", pass_files("passes"), ids=lambda path: path.stem)
def test_pass_docstring_has_its_sections_in_order(path: Path):
    doc = inspect.getdoc(registry.pass_class(path.stem.replace("_", "-"))) or ""
    found = re.findall(rf"^({'|'.join(SECTIONS)}):$", doc, flags=re.MULTILINE)
    assert tuple(found) == SECTIONS
    assert doc.splitlines()[0].endswith("."), "the first line is a sentence"


@pytest.mark.parametrize("path", our_sources(), ids=relative)
def test_source_file_is_short_enough_to_read(path: Path):
    lines = path.read_text().splitlines()
    is_generated = "not by hand" in lines[0]
    assert len(lines) <= LINE_LIMIT or is_generated


def imported_modules(path: Path) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.update(f"{node.module}.{alias.name}" for alias in node.names)
    return modules


@pytest.mark.slow
@pytest.mark.parametrize("path", our_sources(), ids=relative)
def test_bindings_are_imported_in_one_place(path: Path):
    if path == ROOT / "src/hipgraft/ir/bindings.py":
        return
    # The compiler's API and the ONNX importer are not MLIR's bindings.
    others = ("iree.compiler.api.", "iree.compiler.extras.onnx_importer")
    modules = [name for name in imported_modules(path) if name.startswith("iree.compiler")]
    assert not [name for name in modules if not name.startswith(others)]


def test_bindings_are_imported_there():
    assert "iree.compiler.ir" in imported_modules(ROOT / "src/hipgraft/ir/bindings.py")


@pytest.mark.parametrize("path", tracked_files(), ids=relative)
def test_file_has_no_trace_of_a_machine(path: Path):
    data = path.read_bytes()
    lines = [line for line in data.split(b"\n") if MACHINE_PATH.search(line)]
    assert not lines[:3], "absolute path"
    hosts = {host.decode() for host in URL_HOST.findall(data)} - PUBLIC_HOSTS
    assert not hosts, "host that is not a public page's"


@pytest.mark.parametrize("folder", ["work", "tmp", "home", "root"])
def test_traces_of_a_machine_are_recognised(folder: str):
    assert MACHINE_PATH.search(f'open("/{folder}/x")'.encode())
    assert not MACHINE_PATH.search(f"test/{folder}/x %t/{folder}/x".encode())


# Slow to import, and needed by some commands only.
HEAVY = ("onnx", "rich", "yaml", "networkx", "iree.runtime", "torch_mlir")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("import hipgraft", ("iree.compiler", "numpy", *HEAVY)),
        # The bindings import numpy themselves.
        ("from hipgraft.tools.hipgraft_opt import main; main(['--version'])", HEAVY),
        ("from hipgraft.tools.hipgraft_opt import main; main(['--list-passes'])", HEAVY),
    ],
)
def test_start_up_imports_little(statement: str, unwanted: tuple[str, ...]):
    script = (
        f"import sys, json\ntry:\n    {statement}\nexcept SystemExit as exit:\n"
        "    assert not exit.code, exit.code\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert sorted(set(loaded) & set(unwanted)) == []


def test_lock_has_the_exact_pins_of_pyproject():
    lock = dict(line.split("==") for line in (ROOT / "requirements.lock").read_text().split())
    locked = {name.lower().replace("_", "-"): release for name, release in lock.items()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    for requirement in needed:
        name = re.match(r"[\w.-]+", requirement)
        assert name is not None
        assert name[0].lower() in locked, "run `make lock`"
        pin = re.search(r"==(\S+)", requirement)
        assert pin is None or locked[name[0].lower()] == pin[1], "run `make lock`"


@pytest.mark.slow
def test_stubs_are_those_of_the_pinned_bindings(tmp_path: Path):
    # In a separate process, because the generator replaces the package's classes by native ones.
    subprocess.run([sys.executable, gen_stubs.__file__, "--output", tmp_path], check=True)
    for stub in tmp_path.rglob("*.pyi"):
        committed = ROOT / "src/iree-stubs/compiler" / stub.relative_to(tmp_path)
        assert committed.read_text() == stub.read_text(), "run `make stubs`"
        assert version("iree-base-compiler") in stub.read_text().splitlines()[0]

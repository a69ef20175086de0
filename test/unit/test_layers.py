"""The packages of `hipgraft` are layers: imports go down only, and no files import in a circle."""

import ast
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parents[2] / "src" / "hipgraft"

# From the bottom to the top. A package imports from those before it and from itself.
LAYERS = (
    "ir",  # MLIR's bindings, types, builders, symbols, diagnostics
    "native",  # the player in C++
    "dialects",  # op definitions, verifiers, syntax
    "passmanager",  # passes and how they run
    "hipdnn_io",  # hipDNN's files
    "engines",  # which graphs engines take
    "codegen",  # a graph in, a kernel out
    "emulator",  # kernels executed on the CPU
    "runtime",  # kernels and programs on devices
    "transforms",  # building blocks of passes
    "host",  # host programs lowered to LLVM
    "service",  # many kernels compiled, cached and tuned
    "integrations",  # other compilers
    "passes",
    "pipelines",
    "frontends",  # models in
    "reduction",  # modules made smaller
    "compiler",  # a model in, a program out
    "onnxruntime",  # ONNX Runtime's execution provider
    "helper",  # the process that compiles for hosts
    "torch",  # PyTorch's compiler
    "onnx_backend",  # ONNX's backend interface
    "tools",
)

# Inside of `codegen.lowering`, likewise; files beside the packages may import any of them.
LOWERING = (
    "emit",
    "context",
    "reduction",
    "pointwise",
    "matmul",
    "conv",
    "norms",
    "resample",
    "attention",
    "moe",
)


@cache
def sources() -> dict[str, Path]:
    """Files by the names of their modules, without `hipgraft.` and without its own `__init__`."""
    found: dict[str, Path] = {}
    for top in (ROOT / layer for layer in LAYERS):
        for path in top.resolve().rglob("*.py"):
            parts = (top.name, *path.relative_to(top.resolve()).with_suffix("").parts)
            found[".".join(part for part in parts if part != "__init__")] = path
    return found


def imports(path: Path) -> set[str]:
    """The modules of this project that a file imports anywhere, also late or for types.

    A package that a module is in is imported with it.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        ours = [name.removeprefix("hipgraft.") for name in names if name.startswith("hipgraft.")]
        found.update(name if name in sources() else name.rpartition(".")[0] for name in ours)
    found.update(package for name in list(found) for package in packages_of(name))
    return found & set(sources())


def packages_of(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


@cache
def arrows() -> list[tuple[str, str]]:
    return [
        (name, other)
        for name, path in sources().items()
        for other in imports(path)
        if other not in packages_of(name)
    ]


def test_each_package_is_a_layer():
    packages = {path.name for path in ROOT.iterdir() if (path / "__init__.py").is_file()}
    assert packages == set(LAYERS)
    modules = {path.stem for path in ROOT.glob("*.py")}
    assert modules == {"__init__"}


@pytest.mark.slow
def test_imports_go_down():
    rank = {name: number for number, name in enumerate(LAYERS)}
    upward = [
        f"{name} imports {other}"
        for name, other in arrows()
        if rank[other.partition(".")[0]] > rank[name.partition(".")[0]]
    ]
    assert not upward


@pytest.mark.slow
def test_imports_of_lowerings_go_down():
    rank = {name: number for number, name in enumerate(LOWERING)}
    prefix = "codegen.lowering."
    families = [
        (one.removeprefix(prefix).partition(".")[0], other.removeprefix(prefix).partition(".")[0])
        for one, other in arrows()
        if one.startswith(prefix) and other.startswith(prefix)
    ]
    ranked = [pair for pair in families if pair[0] in rank and pair[1] in rank]
    assert not [pair for pair in ranked if rank[pair[1]] > rank[pair[0]]]


def test_no_files_import_in_a_circle():
    graph = nx.DiGraph(arrows())
    assert not [circle for circle in nx.strongly_connected_components(graph) if len(circle) > 1]


@pytest.mark.parametrize("layer", LAYERS)
def test_layer_says_what_it_is(layer: str):
    assert ast.get_docstring(ast.parse((ROOT / layer / "__init__.py").read_text()))


def test_a_checkout_without_links_says_how_to_get_them(tmp_path):
    package = tmp_path / "hipgraft"
    package.mkdir()
    shutil.copy(ROOT / "__init__.py", package)
    (package / "dialects").write_text("../../dialects")  # as Git writes a link that it cannot make
    command = [sys.executable, "-c", "import hipgraft"]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert "ImportError: hipgraft's checkout lacks its symbolic links" in done.stderr

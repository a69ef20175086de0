"""A wheel built from the repository contains the linked folders, and its tools start."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path
from sysconfig import get_path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("dialects", "passes", "pipelines", "tools")
BUILD_SDIST = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
EMPTY_OUTPUT = """#!/bin/sh
while [ $# -gt 0 ]; do
  if [ "$1" = -o ]; then : >"$2"; fi
  shift
done
"""
IMPORT_ALL = """
import hipgraft
from hipgraft.passmanager import registry
print(hipgraft.__path__[0])
for entry in registry.entries().values():
    find = registry.pass_class if entry.kind == "pass" else registry.named_pipeline
    print(entry.kind, find(entry.name).name)
"""


def run(*command: str | Path, **options: object) -> str:
    """Runs a command and returns its output; the test fails with its errors."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tracked_copy(target: Path) -> Path:
    """A copy of the tracked files, as a clone has them: no leftovers of earlier builds."""
    for name in run("git", "ls-files", "-z", cwd=ROOT).split("\0"):
        if (ROOT / name).is_symlink() or (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name, follow_symlinks=False)
    return target


def build_wheel(source: Path, target: Path, compiler: Path | None = None) -> Path:
    """Builds a wheel, with the C++ compiler of a folder if one is given."""
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    path = os.pathsep.join([*([] if compiler is None else [str(compiler)]), os.environ["PATH"]])
    environment = {**os.environ, "CXXFLAGS": "-O0", "PATH": path}
    run(*pip, "--wheel-dir", target, source, env=environment)
    (wheel,) = target.glob("*.whl")
    return wheel


def files_in(wheel: Path, package: str = "hipgraft") -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith(f"{package}/")}


def files_of_folder(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tracked_copy(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel whose libraries are empty files, because compiling them takes most of a minute."""
    # Built from a copy, because a build leaves files in its source.
    copy = tmp_path_factory.mktemp("build") / "source"
    shutil.copytree(source, copy, symlinks=True)
    compiler = tmp_path_factory.mktemp("compiler")
    (compiler / "c++").write_text(EMPTY_OUTPUT)
    (compiler / "c++").chmod(0o755)
    return build_wheel(copy, tmp_path_factory.mktemp("wheel"), compiler)


def test_wheel_holds_every_file_of_the_package(source: Path, wheel: Path):
    names = {
        name
        for name in files_of_folder(source / "src/hipgraft")
        if not name.startswith(tuple(f"{folder}/" for folder in FOLDERS))
    }
    names |= {
        "emulator/_core.so",
        "emulator/libamdhip64.so",
        "native/libhipgraft.so",
        "native/libhipgraft_onnxruntime.so",
        "native/libhipgraft_plugin.so",
    }
    for folder in FOLDERS:
        linked = files_of_folder(source / folder)
        assert linked, folder
        names |= {f"{folder}/{name}" for name in linked if not name.startswith("dev/")}
    assert files_in(wheel) == {f"hipgraft/{name}" for name in names}


@pytest.mark.thorough
def test_sdist_makes_the_same_wheel(source: Path, wheel: Path, tmp_path: Path):
    copy = tmp_path / "source"
    shutil.copytree(source, copy, symlinks=True)
    run(sys.executable, "-c", BUILD_SDIST, tmp_path, cwd=copy)
    (archive,) = tmp_path.glob("*.tar.gz")
    shutil.unpack_archive(archive, tmp_path)
    unpacked = archive.with_name(archive.name.removesuffix(".tar.gz"))
    assert files_in(build_wheel(unpacked, tmp_path / "wheel")) == files_in(wheel)


def test_wheel_starts_and_finds_its_passes(wheel: Path, tmp_path: Path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    path, *found = run(
        sys.executable, "-c", IMPORT_ALL, env={"PYTHONPATH": str(tmp_path), "PATH": ""}
    ).splitlines()
    assert Path(path) == tmp_path / "hipgraft"
    assert {"pass hipdnn-outline", "pipeline hipgraft-onnx"} <= set(found)


def test_wheel_holds_the_stubs_that_are_whole(wheel: Path):
    dialects = {f"iree-stubs/compiler/dialects/{name}.pyi" for name in ("arith", "func", "gpu")}
    bindings = {f"iree-stubs/compiler/{name}.pyi" for name in ("ir", "passmanager")}
    assert files_in(wheel, "iree-stubs") == {"iree-stubs/py.typed", *bindings, *dialects}


_USER = """
import hipgraft
from hipgraft.ir.bindings import ir

hipgraft.compile(3)
program = hipgraft.compile("model.onnx")
reveal_type(program)
reveal_type(program.module)
reveal_type(program.module.operation.location)
reveal_type(program.report.kernels)
reveal_type(ir.Module.parse(""))
reveal_type(hipgraft.load("model.hgb"))
program.module.no_such_name
"""


@pytest.mark.skipif(find_spec("pyright") is None, reason="needs pyright")
def test_the_types_of_an_installed_wheel(wheel: Path, tmp_path: Path):
    """The project's environment has the wheel and its dependencies, nothing of this checkout."""
    packages = tmp_path / "venv" / Path(get_path("purelib")).relative_to(sys.prefix)
    packages.mkdir(parents=True)
    zipfile.ZipFile(wheel).extractall(packages)
    for name in ("iree", "numpy", "onnx"):
        (packages / name).symlink_to(Path(get_path("purelib")) / name)
    project = tmp_path / "project"
    project.mkdir()
    (project / "main.py").write_text(_USER)
    settings = {"venvPath": str(tmp_path), "venv": "venv", "typeCheckingMode": "strict"}
    (project / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--project", project]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    wrong = {row["range"]["start"]["line"] for row in found if row["severity"] == "error"}
    lines = _USER.splitlines()
    assert {lines[one] for one in wrong} == {
        "hipgraft.compile(3)",
        "program.module.no_such_name",
    }, found
    types = [row["message"].split(" is ")[1] for row in found if row["severity"] == "information"]
    kinds = ("Program", "Module", "Location", "list[KernelRow]", "Module", "Bundle")
    assert types == [f'"{kind}"' for kind in kinds]

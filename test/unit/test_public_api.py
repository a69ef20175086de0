"""The package's own namespace: its version, what it lists, and the modules that are public."""

import re
import subprocess
import sys
import tomllib
from importlib import import_module, metadata
from pathlib import Path

import pytest

import hipgraft

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "public-api.md"
MODULES = re.findall(r"^\| `(hipgraft[\w.]*)` \|", PAGE.read_text(), flags=re.MULTILINE)
NAMES = [
    (module, name)
    for module, cell in re.findall(r"^\| `(hipgraft[\w.]*)` \| (.*?) \|", PAGE.read_text(), re.M)
    for name in re.findall(r"`(\w+)`", cell)
]


def test_version_is_the_one_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert hipgraft.__version__ == project["version"]


def test_package_that_is_not_installed_has_no_version(monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(AttributeError, match="not installed"):
        _ = hipgraft.__version__


def test_version_is_read_only_when_it_is_asked_for():
    script = "import hipgraft, sys; print('importlib.metadata' in sys.modules)"
    # Without `site`, whose editable finders import what they need.
    command = [sys.executable, "-S", "-c", script]
    environment = {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"


def test_dir_lists_what_is_exported():
    assert set(hipgraft.__all__) <= set(dir(hipgraft))
    assert {"__doc__", "__path__"} <= set(dir(hipgraft))


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'hipgraft' has no attribute 'absent'"):
        _ = hipgraft.absent


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_page_of_public_modules_names_what_exists(module: str, name: str):
    assert hasattr(import_module(module), name)


def test_page_names_all_that_the_package_exports():
    assert {name for module, name in NAMES if module == "hipgraft"} == set(hipgraft.__all__)
    assert "hipgraft" in MODULES

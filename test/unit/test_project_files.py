"""Checks the files for contributors: links, make targets, CI, hooks and issue templates."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


@cache
def targets() -> set[str]:
    return set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_lead_somewhere(page: Path):
    broken: list[str] = []
    for link in LINK.findall(page.read_text()):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_make_targets_exist(page: Path):
    text = page.read_text()
    named = set(re.findall(r"`make\s(\w+)`", text)) | set(
        re.findall(r"^make (\w+)(?: +#.*)?$", text, re.M)
    )
    assert named <= targets()


def test_continuous_integration_runs_all_tests():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    steps = workflow["jobs"]["test"]["steps"]
    assert "make test" in [step.get("run") for step in steps]


def test_hooks_fetch_nothing_and_run_the_locked_ruff():
    repositories = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    hooks = repositories[0]["hooks"]
    assert {hook["language"] for hook in hooks} == {"system"}
    assert all(hook["entry"].startswith(".venv/bin/ruff ") for hook in hooks)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_issue_template_is_a_form(template: Path):
    form = yaml.safe_load(template.read_text())
    assert {"name", "description", "body"} <= set(form)
    fields = [field["id"] for field in form["body"]]
    assert len(fields) == len(set(fields))
    assert any(field.get("validations", {}).get("required") for field in form["body"])


def test_check_runs_what_test_runs_without_the_slow_tests():
    recipe = subprocess.run(
        ["make", "--dry-run", "check", "test"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    pytests = [line for line in recipe.splitlines() if "/pytest " in line]
    assert len(pytests) == 2
    assert [line for line in pytests if '-m "not slow and not thorough"' in line] == pytests[:1]
    for tool in ("ruff format --check", "ruff check", "pyright", "lit -sv"):
        assert f"/{tool}" in recipe

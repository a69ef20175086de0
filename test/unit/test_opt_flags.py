"""hipgraft-opt takes the flags of iree-opt, or a page says why it does not."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hipgraft.codegen.target import PRODUCTS, Target, known_targets
from hipgraft.tools import hipgraft_opt
from hipgraft.tools.native_options import LACKING, iree_opt, known_options
from hipgraft.tools.opt_flags import _ALIASES, flag_fields

MODULE = """
func.func @f(%x: i32) -> (i32, i32) {
  %0 = arith.addi %x, %x : i32
  %1 = arith.addi %x, %x : i32
  return %0, %1 : i32, i32
}
"""

LIBRARY_OPTIONS = """
from hipgraft.tools.native_options import set_options
set_options(["--help-hidden"])
"""


def opt(*flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hipgraft.tools.hipgraft_opt", *flags]
    return subprocess.run(command, input=MODULE, capture_output=True, text=True, check=False)


def test_flags_of_iree_opt() -> None:
    """Each is a flag of the tool's own, an option of the library, or documented as lacking."""
    command = [sys.executable, "-c", LIBRARY_OPTIONS]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    library = set(re.findall(r"^  --?([\w-]+)", said, re.MULTILINE))
    assert len(library) > 100
    taken = library | set(flag_fields()) | set(_ALIASES)
    page = (Path(__file__).parents[2] / "docs" / "tools.md").read_text()
    lacking = {name for name in known_options() if name not in taken}
    assert lacking <= set(LACKING)
    assert all(f"| `--{name}` | " in page for name in lacking)
    assert not set(LACKING) & set(flag_fields())


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("flags", "pattern"),
    [
        (["--mlir-print-value-users"], r"arith.addi %arg0, %arg0 : i32 // user: %3"),
        (["--mlir-print-skip-regions"], r"^module \{\.\.\.\}$"),
        (["--mlir-print-unique-ssa-ids"], r"%\d = arith.addi"),
        (["--mlir-disable-threading"], "addi"),
        (["--mlir-pass-pipeline-local-reproducer"], "addi"),
        (["--verify-roundtrip"], "addi"),
        (["--iree-hal-target-device=local"], "addi"),
        (["-h"], r"^OVERVIEW"),
        (["--help-list"], r"^OVERVIEW"),
        (["--help=canonicalize"], r"  --max-iterations=<long> +- Max. iterations"),
        (["--show-dialects"], r"^Available Dialects: affine, .*, hipdnn, .*, migraphx, "),
    ],
)
def test_flag_works(flags: list[str], pattern: str) -> None:
    done = opt(*flags)
    assert done.returncode == 0, done.stderr
    assert re.search(pattern, done.stdout, re.MULTILINE)


def test_native_help_has_no_other_pass() -> None:
    assert opt("--help=cse").stdout.count("\n") == 1


def test_passes_for_tests_are_hidden() -> None:
    assert "--test-" not in opt("--help").stdout
    assert "--test-" in opt("--help-hidden").stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--irdl-file=x", "'--irdl-file' is an option of iree-opt only: dialects are defined in"),
        ("--color=blue", "expected one of auto, true, false, found 'blue'"),
        ("--iree-no-such", "unknown command line argument '--iree-no-such'"),
        ("--mlir-timing-display=x", "expected one of tree, list, found 'x'"),
        ("--emit-bytecode-version=99", "cannot write bytecode"),
    ],
)
def test_flag_is_refused(flag: str, message: str) -> None:
    done = opt(flag, "--emit-bytecode")
    assert done.returncode == 1
    assert message in done.stderr


def test_displays_and_markers(tmp_path: Path, capfd) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(MODULE + "// -----\n" + MODULE)
    flags = ["--cse", "--mlir-timing", "--mlir-timing-display=list", "--mlir-pass-statistics"]
    flags += ["--mlir-pass-statistics-display=pipeline", "--split-input-file"]
    assert hipgraft_opt.main([str(path), *flags, "--output-split-marker=// ====="]) == 0
    said = capfd.readouterr()
    assert said.out.count("// =====\n") == 1
    times = [float(one) for one in re.findall(r"^ +([0-9.]+) \([^)]*\)  (?!Total)", said.err, re.M)]
    assert times == sorted(times, reverse=True)


@pytest.mark.slow
def test_generated_reproducer_runs(tmp_path: Path, capfd) -> None:
    path = tmp_path / "r.mlir"
    done = opt("--cse", f"--mlir-generate-reproducer={path}")
    assert done.stdout.count("addi") == 1
    assert hipgraft_opt.main([str(path), "--run-reproducer"]) == 0
    assert capfd.readouterr().out.count("addi") == 1
    assert iree_opt(str(path), "--run-reproducer").count("addi") == 1


@pytest.mark.parametrize("product", PRODUCTS)
def test_products_are_targets(product: str) -> None:
    assert Target.parse(product.upper()).name == PRODUCTS[product]
    assert PRODUCTS[product] in known_targets()


@pytest.mark.slow
@pytest.mark.parametrize(("flag", "has_colours"), [("--color", True), ("--color=false", False)])
def test_diagnostics_in_colour(flag: str, has_colours: bool, tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text("func.func @f() {\n  return %x\n}\n")
    found = opt(str(path), flag).stderr
    red = "\x1b[0;1;31merror: \x1b[0m" in found
    assert red == ("\x1b" in found) == has_colours
    plain = re.sub(r"\x1b\[[0-9;]*m", "", found)
    assert plain == opt(str(path)).stderr  # no terminal, no colours
    assert "m.mlir:2:12: error: " in plain

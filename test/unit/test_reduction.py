"""Modules are reduced part by part, and stay valid at their stage.

The tool runs in a process of its own: it forks, and one with the compiler's threads should not.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.io import walk
from hipgraft.passmanager import contracts
from hipgraft.passmanager.verification import dialect_errors
from hipgraft.reduction.edits import EDITS

ROOT = Path(__file__).resolve().parents[2]
TYPE = "tensor<8x16xf32>"
GRAPHS = 10


def graph(number: int) -> str:
    mode = "tanh_fwd" if number == GRAPHS - 3 else "relu_fwd"
    return f"""
  %{number}:2 = "hipdnn.graph"(%a, %w) ({{
  ^bb0(%x: {TYPE}, %y: tensor<16x16xf32>):
    %m = "hipdnn.matmul"(%x, %y) : ({TYPE}, tensor<16x16xf32>) -> {TYPE}
    %r = "hipdnn.pointwise"(%m) {{mode = "{mode}"}} : ({TYPE}) -> {TYPE}
    %s = "hipdnn.pointwise"(%r, %m) {{mode = "add"}} : ({TYPE}, {TYPE}) -> {TYPE}
    "hipdnn.yield"(%s, %r) : ({TYPE}, {TYPE}) -> ()
  }}) {{name = "g{number}", arg_strides = [unit, array<i64: 1, 16>]}}
    : ({TYPE}, tensor<16x16xf32>) -> ({TYPE}, {TYPE})"""


def module_text() -> str:
    """40 ops in and around ten graphs; one of them computes a tanh."""
    types, values = ", ".join([TYPE] * GRAPHS), ", ".join(f"%{n}#0" for n in range(GRAPHS))
    body = "".join(graph(number) for number in range(GRAPHS))
    return f"""
func.func @unused(%x: {TYPE}) -> {TYPE} {{ return %x : {TYPE} }}
func.func @main(%a: {TYPE}, %w: tensor<16x16xf32>) -> ({types}) {{{body}
  return {values} : {types}
}}
"""


def reduce(folder: Path, text: str, test: str, *flags: str) -> subprocess.CompletedProcess[str]:
    (folder / "in.mlir").write_text(text)
    return subprocess.run(
        [*tool(), str(folder / "in.mlir"), f"--test={test}", f"-o{folder / 'out.mlir'}", *flags],
        capture_output=True,
        text=True,
    )


def tool() -> list[str]:
    return [sys.executable, "-m", "hipgraft.tools.hipgraft_reduce"]


def inner(text: str) -> list[ir.Operation]:
    return list(walk(ir.Module.parse(text, make_context()).operation))[1:]


@pytest.mark.slow
def test_of_40_ops_a_graph_with_one_op_is_left_and_valid_at_its_stage(tmp_path: Path) -> None:
    assert len([op for op in inner(module_text()) if op.name.startswith("hipdnn.")]) == 5 * GRAPHS
    done = reduce(tmp_path, module_text(), "grep -q tanh_fwd")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out.mlir").read_text()
    names = [op.name for op in inner(text)]
    assert names == ["func.func", "hipdnn.graph", "hipdnn.pointwise", "hipdnn.yield", "func.return"]
    assert "tensor<1x1xf32>" in text
    assert TYPE not in text
    assert "strides" not in text
    module = ir.Module.parse(text, make_context())
    assert not dialect_errors(module)
    assert not contracts.check(module, "hipdnn-graphs", "")


@pytest.mark.thorough
@pytest.mark.slow
def test_trials_at_the_same_time_find_the_same(tmp_path: Path) -> None:
    found: list[str] = []
    for jobs in ("1", "3"):
        assert reduce(tmp_path, module_text(), "grep -q tanh_fwd", "-j", jobs).returncode == 0
        found.append((tmp_path / "out.mlir").read_text())
    assert found[0] == found[1]


@pytest.mark.slow
def test_shapes_stay_consistent(tmp_path: Path) -> None:
    """The height of a convolution's result follows from the height of its image."""
    text = """
func.func @main(%x: tensor<2x3x20x20xf32>, %w: tensor<8x3x5x5xf32>) -> tensor<2x8x16x16xf32> {
  %0 = "hipdnn.conv_fprop"(%x, %w) {pre_padding = array<i64: 0, 0>,
    post_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>}
    : (tensor<2x3x20x20xf32>, tensor<8x3x5x5xf32>) -> tensor<2x8x16x16xf32>
  return %0 : tensor<2x8x16x16xf32>
}
"""
    assert not dialect_errors(ir.Module.parse(text, make_context()))
    assert reduce(tmp_path, text, "grep -q conv_fprop").returncode == 0
    reduced = (tmp_path / "out.mlir").read_text()
    assert not dialect_errors(ir.Module.parse(reduced, make_context()))
    assert "tensor<1x1x1x1xf32>" in reduced


@pytest.mark.parametrize(("form", "substitute"), [(0, "%arg0"), (1, "%cst"), (2, "%arg1")])
def test_a_result_is_replaced_in_three_ways(form: int, substitute: str) -> None:
    """The replacement is an existing value, a constant, or a new argument."""
    text = """
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = "hipdnn.pointwise"(%x) {mode = "exp"} : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }
    """
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        (edit,) = [one for one in EDITS if one.name == "ops"]
        edit.apply(edit.sites(module), form)
        module.operation.verify()
        assert f"return {substitute} :" in str(module)


@pytest.mark.slow
def test_a_result_is_not_replaced_by_a_later_one() -> None:
    text = """
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf16> {
      %0 = "hipdnn.pointwise"(%x) {mode = "identity"} : (tensor<2xf32>) -> tensor<2xf16>
      %1 = "hipdnn.pointwise"(%0) {mode = "exp"} : (tensor<2xf16>) -> tensor<2xf16>
      return %1 : tensor<2xf16>
    }
    """
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        (edit,) = [one for one in EDITS if one.name == "ops"]
        (first,) = [site for site in edit.sites(module) if "identity" in str(site)]
        edit.apply([first], 0)
        module.operation.verify()
        assert '"hipdnn.pointwise"(%cst)' in str(module)


def test_edits_are_tried_again_after_those_that_let_them_succeed(tmp_path: Path) -> None:
    """Functions are erased before calls, but only one that nothing calls can be erased."""
    text = """
    func.func private @called(%x: tensor<2xf32>) -> tensor<2xf32> {
      return %x : tensor<2xf32>
    }
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = call @called(%x) : (tensor<2xf32>) -> tensor<2xf32>
      %1 = "hipdnn.pointwise"(%0) {mode = "exp"} : (tensor<2xf32>) -> tensor<2xf32>
      return %1 : tensor<2xf32>
    }
    """
    assert reduce(tmp_path, text, "grep -q pointwise").returncode == 0
    reduced = (tmp_path / "out.mlir").read_text()
    assert "pointwise" in reduced
    assert "called" not in reduced


def test_an_invalid_module_is_reduced_too(tmp_path: Path) -> None:
    """A rule that the input breaks is not checked: the violation may be the defect under test."""
    wrong = module_text().replace('mode = "tanh_fwd"', 'mode = "no_such_mode"')
    assert reduce(tmp_path, wrong, "grep -q no_such_mode", "-q").returncode == 0
    assert len(inner((tmp_path / "out.mlir").read_text())) == 5


@pytest.mark.slow
def test_modules_that_mlir_cannot_print_are_not_tried(tmp_path: Path) -> None:
    """If an object has no offloading handler, MLIR verifies its binary but crashes printing it."""
    binary = 'gpu.binary @{} [#gpu.object<#rocdl.target, "x">]\n'
    text = binary.format("a") + binary.format("b")
    done = reduce(tmp_path, text, "grep -q binary")
    assert done.returncode == 0, done.stderr
    assert len(inner((tmp_path / "out.mlir").read_text())) == 1


@pytest.mark.slow
def test_attributes_that_the_bindings_cannot_read(tmp_path: Path) -> None:
    """The bindings abort the process when an unreadable attribute is looked up by index."""
    text = module_text().replace("{name = ", '{a.b = loc("x":1:2), a.c = array<ui8: 1>, name = ')
    done = reduce(tmp_path, text, "grep -q tanh_fwd", "-q")
    assert done.returncode == 0, done.stderr
    assert len(inner((tmp_path / "out.mlir").read_text())) == 5


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_the_smallest_so_far_and_no_process(tmp_path: Path, number: int) -> None:
    """Trials are quick until one has found something; the next one waits."""
    script = tmp_path / "test.sh"
    waits = f"test -e {tmp_path}/out.mlir && {{ echo $$ > $0.pid; exec sleep 100; }}"
    script.write_text(f'{waits}\ngrep -q tanh_fwd "$1"\n')
    (tmp_path / "in.mlir").write_text(module_text())
    output, folder = tmp_path / "out.mlir", tmp_path / "temporary"
    folder.mkdir()
    process = subprocess.Popen(
        [*tool(), str(tmp_path / "in.mlir"), f"--test=sh {script}", f"-o{output}", "-q"],
        env={**os.environ, "TMPDIR": str(folder)},
        stderr=subprocess.PIPE,
        text=True,
    )
    waiting = Path(f"{script}.pid")
    until = time.monotonic() + 30
    while not (waiting.exists() and waiting.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(120) == 128 + number, process.stderr and process.stderr.read()
    assert len(inner(output.read_text())) < len(inner(module_text()))
    assert not list(folder.iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(int(waiting.read_text()), 0)


_CRASHES = """
import os, signal
import test_reduction
from hipgraft.ir.bindings import asm, ir, make_context
from hipgraft.reduction import Reducer
from hipgraft.reduction.validity import Validity

owner, name = {place}
does, first = getattr(owner, name), os.getpid()

def crash(self, given, *rest):
    result = does(self, given, *rest)
    module = given if isinstance(result, bool) else result
    if module is not None and asm(module).count("hipdnn.pointwise") % 2:
        assert os.getpid() != first, "the search itself is lost"
        os.kill(os.getpid(), signal.SIGSEGV)
    return result

module = ir.Module.parse(test_reduction.module_text(), make_context())
assert asm(module).count("hipdnn.pointwise") % 2 == 0
setattr(owner, name, crash)
text = Reducer(module, lambda text: "tanh_fwd" in text).run()
assert "tanh_fwd" in text and len(text) < len(asm(module))
"""


@pytest.mark.slow
@pytest.mark.parametrize("place", ['Validity, "keeps"', 'Reducer, "edited"'])
def test_a_crash_of_a_verifier_or_an_edit_does_not_end_the_search(place: str) -> None:
    text, folder = _CRASHES.format(place=place), Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", text], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

"""The pass runner as a library: its exceptions, its records, and the files that it leaves."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import (
    Diagnostic,
    PassFailure,
    PipelineParseError,
    Severity,
    VerifyError,
)
from hipgraft.passmanager import reproducer
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.passmanager.pipeline import Step
from hipgraft.passmanager.runner import Instrument, Runner

_TEXT = """\
func.func @f(%x: i32) -> (i32, i32) {
  %0 = arith.addi %x, %x : i32
  %1 = arith.addi %x, %x : i32
  return %0, %1 : i32, i32
}
"""


@pytest.fixture
def module() -> ir.Module:
    return ir.Module.parse(_TEXT, make_context())


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@dataclass(frozen=True)
class ObservePass(Pass):
    """Checks the guarantees that a pass may rely on."""

    name: ClassVar[str] = "observe"

    def run(self, module: ir.Module, state: PassState) -> None:
        assert ir.Context.current == module.context
        assert ir.Location.current == ir.Location.unknown()
        state.count("runs")


def test_native_and_own_passes_run_in_order(module: ir.Module):
    result = Runner().run(module, ["cse", ObservePass(), "canonicalize,symbol-dce", ObservePass()])
    names = [record.name for record in result.records]
    assert names == ["cse", "observe", "canonicalize,symbol-dce", "observe"]
    assert str(module).count("arith.addi") == 1
    assert all(record.seconds > 0 for record in result.records)
    assert result.records[1].state.counters == {"runs": 1}


def test_one_by_one_takes_groups_apart(module: ir.Module):
    result = Runner(one_by_one=True).run(module, "cse,canonicalize")
    assert [record.name for record in result.records] == ["cse", "canonicalize"]


def test_malformed_pipeline_runs_nothing(module: ir.Module):
    before = str(module)
    with pytest.raises(PipelineParseError):
        Runner().run(module, "cse,no-such-pass")
    assert str(module) == before


def test_emitted_error_is_a_failure(module: ir.Module):
    seen: list[Diagnostic] = []
    with pytest.raises(PassFailure, match="test error") as error:
        Runner(on_diagnostic=seen.append).run(module, "test-emit-error")
    assert error.value.location == "-:1:1"
    assert [d.message for d in seen if d.severity is Severity.ERROR] == ["test error"]


def test_native_failure_has_message_and_place():
    module = ir.Module.parse(
        "func.func @f(%x: tensor<4xf32>) { %0 = tosa.abs %x : (tensor<4xf32>) -> tensor<4xf32>\n"
        "return }",
        make_context(),
    )
    with pytest.raises(PassFailure, match="illegal op still exists") as error:
        Runner().run(module, "iree-verify-input-legality")
    assert error.value.location == "-:1:40"


def test_a_warning_of_a_native_pass_is_no_failure():
    text = """
    func.func @f(%a: memref<64xf32>) {
      affine.for %i = 0 to 64 {
        %v = affine.load %a[%i] : memref<64xf32>
        affine.store %v, %a[%i] : memref<64xf32>
      }
      return
    }
    """
    copies = "func.func(affine-data-copy-generate{fast-mem-capacity=0 generate-dma=false})"
    heard: list[Diagnostic] = []
    result = Runner(on_diagnostic=heard.append).run(ir.Module.parse(text, make_context()), copies)
    assert [one.severity for one in heard] == [Severity.WARNING]
    assert result.diagnostics == heard


def test_failure_names_a_reproducer_that_fails_again(module: ir.Module):
    with pytest.raises(PassFailure) as error:
        Runner().run(module, "cse,test-fail{op=arith.addi}")
    path = Path(error.value.notes[-1].removeprefix("reproducer left in "))
    text = path.read_text()
    assert text.count("arith.addi %") == 1, "the module is the one after cse"
    again = ir.Module.parse(text, make_context())
    with pytest.raises(PassFailure, match=r"'arith\.addi' op is not wanted"):
        Runner(keep_reproducer=False).run(again, reproducer.read_pipeline(text))


def test_bug_keeps_its_type_and_gets_a_reproducer(module: ir.Module):
    with pytest.raises(KeyError) as error:
        Runner().run(module, "test-raise")
    (note,) = error.value.__notes__
    assert Path(note.removeprefix("reproducer left in ")).exists()


def test_given_reproducer_is_written_before_each_pass_and_removed(
    module: ir.Module, tmp_path: Path
):
    path = tmp_path / "reproducer.mlir"
    lines: list[str] = []

    class ReadReproducer(Instrument):
        def before(self, step: Step, module: ir.Module) -> None:
            lines.append(path.read_text().splitlines()[0])

    Runner(reproducer=path, instruments=[ReadReproducer()]).run(module, "cse,symbol-dce")
    assert [line.split("=")[1] for line in lines] == [
        "'builtin.module(cse)'",
        "'builtin.module(symbol-dce)'",
    ]
    assert not path.exists()


def test_only_a_reproducer_that_was_written_is_removed(module: ir.Module, tmp_path: Path) -> None:
    """A file of that name was removed although no pass ran, and so was a device."""
    mine, device = tmp_path / "mine.mlir", tmp_path / "device"
    mine.write_text("mine")
    Runner(reproducer=mine).run(module, "")
    assert mine.read_text() == "mine"
    device.symlink_to(os.devnull)
    Runner(reproducer=device).run(module, "cse")
    assert device.is_symlink()
    Runner(reproducer=mine).run(module, "cse")
    assert not mine.exists()


def test_no_reproducer_when_not_kept(module: ir.Module, tmp_path: Path):
    with pytest.raises(PassFailure) as error:
        Runner(keep_reproducer=False).run(module, "test-fail")
    assert error.value.notes == ("the test says so",)
    assert list(tmp_path.iterdir()) == []


def test_invalid_ir_after_a_pass_is_found(module: ir.Module):
    with pytest.raises(PassFailure):
        Runner(keep_reproducer=False).run(module, "test-break-ir")


def test_invalid_ir_after_a_pass_is_let_through_unverified(module: ir.Module):
    Runner(verify_each=False).run(module, "test-break-ir")
    assert "return" not in module.operation.get_asm(print_generic_op_form=True)


def test_invalid_hipdnn_op_is_found_before_the_first_pass():
    module = ir.Module.parse('"hipdnn.no_such_op"() : () -> ()', make_context())
    with pytest.raises(VerifyError) as error:
        Runner().run(module, "")
    assert error.value.location == "-:1:1"


def test_unknown_stage_contract_of_a_wrong_module(module: ir.Module):
    with pytest.raises(VerifyError, match="which 'test-check-stage' requires"):
        Runner(verify_contracts=True, keep_reproducer=False).run(module, "test-check-stage")
    Runner().run(module, "test-check-stage")


def test_record_is_given_also_when_the_pass_fails(module: ir.Module):
    names: list[str] = []
    runner = Runner(keep_reproducer=False, on_record=lambda record: names.append(record.name))
    with pytest.raises(PassFailure):
        runner.run(module, "cse,test-fail")
    assert names == ["cse", "test-fail"]


def test_instruments_see_each_step_and_its_end(module: ir.Module):
    events: list[str] = []

    class Log(Instrument):
        def before(self, step: Step, module: ir.Module) -> None:
            events.append(f"before {step.name}")

        def after(self, step: Step, module: ir.Module) -> None:
            events.append(f"after {step.name}")

        def failed(self, step: Step, module: ir.Module) -> None:
            events.append(f"failed {step.name}")

    with pytest.raises(PassFailure):
        Runner(keep_reproducer=False, instruments=[Log()]).run(module, "cse,symbol-dce,test-fail")
    assert events == [
        "before cse",
        "after cse",
        "before symbol-dce",
        "after symbol-dce",
        "before test-fail",
        "failed test-fail",
    ]


def test_the_context_is_left_as_it_was(module: ir.Module):
    Runner().run(module, "cse")
    assert not module.context.emit_error_diagnostics

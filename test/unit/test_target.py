"""Targets by name."""

from __future__ import annotations

import pytest

from hipgraft.codegen.iree.session import IreeSession
from hipgraft.codegen.target import CPU_VARIABLE, Target, TargetKind, known_targets
from hipgraft.ir.diagnostics import HipgraftError


@pytest.mark.parametrize(
    ("name", "kind", "wavefront"),
    [
        ("gfx90a", TargetKind.AMDGPU, 64),
        ("gfx942", TargetKind.AMDGPU, 64),
        ("gfx1100", TargetKind.AMDGPU, 32),
        ("sm_80", TargetKind.CUDA, 32),
        ("cpu", TargetKind.CPU, 1),
    ],
)
def test_parse(name: str, kind: TargetKind, wavefront: int) -> None:
    target = Target.parse(f" {name} ")
    assert (target.name, target.kind, target.wavefront_size) == (name, kind, wavefront)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gfx94", "unknown target 'gfx94': did you mean 'gfx942'?"),
        ("gfx120", "unknown target 'gfx120': did you mean 'gfx1200' or 'gfx1201'?"),
        ("gfx9425", "unknown target 'gfx9425': did you mean 'gfx942'"),
        ("mi300", "unknown target 'mi300': expected one of gfx908, gfx90a, gfx942, "),
        ("", "unknown target '': expected one of gfx908, "),
    ],
)
def test_unknown(name: str, message: str) -> None:
    with pytest.raises(HipgraftError) as error:
        Target.parse(name)
    assert error.value.message.startswith(message)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", known_targets())
def test_compiler_knows_target_and_flags(name: str) -> None:
    session = IreeSession(Target.parse(name).iree_flags)
    module = session.parse(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %y = math.absf %x : tensor<4xf32>\n"
        "  return %y : tensor<4xf32>\n}"
    )
    session.run(module, compile_to="executable-configurations")


def test_processor_of_the_target_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CPU_VARIABLE, raising=False)
    assert "--iree-llvmcpu-target-cpu=host" in Target.parse("cpu").iree_flags
    monkeypatch.setenv(CPU_VARIABLE, "x86-64-v3")
    assert "--iree-llvmcpu-target-cpu=x86-64-v3" in Target.parse("cpu").iree_flags

"""The prototype's environment variables, and rocMLIR's spellings of architectures."""

from pathlib import Path

import pytest

from hipgraft.integrations.rocmlir.arch import Architecture
from hipgraft.integrations.rocmlir.settings import Settings
from hipgraft.ir.diagnostics import HipgraftError


@pytest.mark.parametrize(
    ("text", "chip", "features"),
    [
        ("gfx942", "gfx942", ""),
        ("gfx90a:sramecc+:xnack-", "gfx90a", "+sramecc,-xnack"),
        ("amdgcn-amd-amdhsa:gfx906", "gfx906", ""),
        ("amdgcn-amd-amdhsa:gfx90a:xnack-", "gfx90a", "-xnack"),
    ],
)
def test_architecture(text: str, chip: str, features: str) -> None:
    assert Architecture.parse(text) == Architecture(chip, features)


def test_flags_of_the_prototype_are_translated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "- --iree-flow-enable-aggressive-fusion\n"
        "- --iree-rocm-target-chip=gfx942\n"
        "- --iree-opt-data-tiling=false\n"
    )
    settings = Settings.read(environment={"IREE_CONFIG": str(config), "IREE_DEBUG": "1"})
    assert settings.flags == (
        "--iree-dispatch-creation-enable-aggressive-fusion",
        "--iree-opt-data-tiling=false",
    )
    assert settings.debug == 1
    assert "warning: flag '--iree-rocm-target-chip' no longer exists" in capsys.readouterr().err


def test_flags_for_another_compiler_are_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("[--iree-flow-enable-aggressive-fusion, --iree-llvmgpu-enable-prefetch]\n")
    environment = {"IREE_CONFIG": str(config), "IREE_BIN": "there"}
    flags = ("--iree-flow-enable-aggressive-fusion", "--iree-llvmgpu-enable-prefetch")
    assert Settings.read(environment=environment).flags == flags
    assert not Settings.read(environment=environment, compiles=False).flags
    assert not capsys.readouterr().err


def test_a_configuration_may_be_empty(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("# nothing yet\n")
    assert not Settings.read(iree_config=str(tmp_path / "config.yaml"), environment={}).flags


def test_options_go_before_the_environment() -> None:
    environment = {"IREE_BIN": "there", "IREE_DEBUG": "2", "IREE_DISABLE": "0"}
    settings = Settings.read(iree_bin="here", iree_debug=0, environment=environment)
    assert settings == Settings(bin=Path("here"))
    assert Settings.read(environment={"IREE_DISABLE": "1"}).disabled


@pytest.mark.parametrize("content", ["flag: 1\n", "- 1\n", "- [\n"])
def test_a_configuration_that_is_no_list_of_flags_is_an_error(tmp_path: Path, content: str) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(content)
    with pytest.raises(HipgraftError) as error:
        Settings.read(iree_config=str(config), environment={})
    assert error.value.location == str(config)


def test_a_word_for_a_number_is_an_error() -> None:
    with pytest.raises(HipgraftError, match="expected a number in 'IREE_DEBUG', found 'much'"):
        Settings.read(environment={"IREE_DEBUG": "much"})

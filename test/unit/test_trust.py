"""Code in files runs only if hipgraft wrote it for this user, or if the user trusts it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from test_service_cache import entry, key

import hipgraft
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.runtime import known_code
from hipgraft.service import Cache
from hipgraft.tools import hipgraft_compile, hipgraft_run

INPUTS = Path(__file__).resolve().parents[1] / "lit" / "tools" / "Inputs"
MODEL = INPUTS / "conv_relu.mlir"
REFUSED = "was not written by hipgraft for you"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle and a program with native CPU modules, which this user has compiled."""
    folder = tmp_path_factory.mktemp("programs")
    for name, flags in (("x.hgb", ["--emit=bundle"]), ("x.mlir", ["--compile-to=hipdnn-buffers"])):
        command = [str(MODEL), "--target=cpu", *flags, f"-o{folder / name}", "-q"]
        assert hipgraft_compile.main(command) == 0
    return folder


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes this the machine of another user, for whom hipgraft has written nothing."""
    monkeypatch.setenv("HIPGRAFT_CACHE_DIR", str(tmp_path / "other-cache"))


def run(path: Path, *flags: str) -> int:
    return hipgraft_run.main([str(path), "--device=cpu", "-q", *flags])


def run_bundle(path: Path, *, trust: bool) -> Sequence[object]:
    with hipgraft.load(path, trust=trust) as bundle:
        shapes = [one.shape for one in bundle.recording("cpu").inputs]
        return bundle.run([np.zeros(shape, np.float16) for shape in shapes])


@pytest.mark.parametrize("name", ["x.hgb", "x.mlir"])
def test_code_that_this_user_compiled_runs(programs: Path, name: str) -> None:
    assert run(programs / name) == 0


@pytest.mark.parametrize("name", ["x.hgb", "x.mlir"])
@pytest.mark.usefixtures("elsewhere")
def test_code_of_others_needs_trust(
    programs: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(programs / name) == 1
    said = capsys.readouterr().err
    assert REFUSED in said
    assert "--trust" in said
    assert run(programs / name, "--trust") == 0


@pytest.mark.usefixtures("elsewhere")
def test_the_api_needs_trust(programs: Path) -> None:
    with pytest.raises(HipgraftError, match=REFUSED):
        run_bundle(programs / "x.hgb", trust=False)
    assert run_bundle(programs / "x.hgb", trust=True)


@pytest.mark.usefixtures("elsewhere")
def test_kernels_that_are_only_traced_need_no_trust(tmp_path: Path) -> None:
    path = tmp_path / "gpu.hgb"
    hipgraft.compile(MODEL, "gfx942").save_bundle(path)
    shutil.rmtree(tmp_path / "other-cache" / "known-code")
    assert hipgraft_run.main([str(path), "--device=trace:gfx942"]) == 0
    assert hipgraft_run.main([str(path), "--device=emulator"]) == 1


def test_other_calls_of_known_kernels_are_unknown(programs: Path, tmp_path: Path) -> None:
    """A changed header could make the kernels write elsewhere."""
    from test_hostile_bundle import header_of, with_header

    whole = (programs / "x.hgb").read_bytes()
    header = header_of(whole)
    header["metadata"] = {"changed": True}
    (tmp_path / "x.hgb").write_bytes(with_header(whole, header))
    with pytest.raises(HipgraftError, match=REFUSED):
        run_bundle(tmp_path / "x.hgb", trust=False)


def test_a_folder_that_others_can_write_to_knows_nothing(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(Path(os.environ["HIPGRAFT_CACHE_DIR"]) / "known-code", tmp_path / "known-code")
    monkeypatch.setenv("HIPGRAFT_CACHE_DIR", str(tmp_path))
    (tmp_path / "known-code").chmod(0o700)
    assert run(programs / "x.hgb") == 0
    (tmp_path / "known-code").chmod(0o777)
    assert run(programs / "x.hgb") == 1


def test_the_folder_is_not_writable_by_others_where_new_files_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIPGRAFT_CACHE_DIR", str(tmp_path / "cache"))
    before = os.umask(0)
    try:
        known_code.remember("0" * 64)
    finally:
        os.umask(before)
    assert known_code.is_known("0" * 64)


def test_where_nothing_can_be_noted_programs_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HIPGRAFT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    known_code.remember("0" * 64)
    assert not known_code.is_known("0" * 64)


def test_cache_entries_of_others_need_trust(tmp_path: Path) -> None:
    one, two = entry(key(1)), entry(key(2))
    for each in (one, two):
        Cache(tmp_path).put(each)
    for path in tmp_path.glob("*/*.zip"):
        path.chmod(0o666)
    cache = Cache(tmp_path)
    assert cache.get(one.key) is None
    assert cache.get(two.key) is None
    (problem,) = cache.problems
    assert "other users" in problem
    assert "--trust" in problem
    assert Cache(tmp_path, trust=True).get(one.key) is not None


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator can give files away")
def test_the_owner_decides_what_is_of_others(tmp_path: Path) -> None:
    one = entry(key(1))
    Cache(tmp_path).put(one)
    (path,) = tmp_path.glob("*/*.zip")
    os.chown(path, 12345, -1)
    assert Cache(tmp_path).get(one.key) is None
    assert Cache(tmp_path, trust=True).get(one.key) is not None


@pytest.mark.slow
def test_the_flag_reaches_the_cache(tmp_path: Path) -> None:
    """The kernel of another user is compiled again without `--trust`, and taken with it."""

    def compiled(*flags: str) -> str:
        command = [sys.executable, "-m", "hipgraft.tools.hipgraft_compile", str(MODEL)]
        done = subprocess.run(
            [*command, f"--cache-dir={tmp_path / 'cache'}", f"-o{tmp_path / 'out.mlir'}", *flags],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stderr

    compiled()
    for path in (tmp_path / "cache").glob("*/*.zip"):
        path.chmod(0o666)
    assert "are not used without --trust" not in compiled("--trust")
    assert "are not used without --trust" in compiled()

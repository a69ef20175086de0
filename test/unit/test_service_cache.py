"""The cache on disk: what a key depends on, damage, eviction, and several writers."""

from __future__ import annotations

import os
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hipgraft.codegen.kernel import Binding, Copy, Dispatch, Fill, Kernel
from hipgraft.codegen.target import CPU_VARIABLE, Target
from hipgraft.ir.diagnostics import CodegenError, HipgraftError
from hipgraft.service import Cache, Outcome, keys
from hipgraft.service.entry import Entry

PTX = b"""
.target sm_80
.visible .entry main_dispatch_0(
  .param .u64 .ptr p0, .param .u64 .ptr p1, .param .u32 p2, .param .u32 p3
)
{ ret; }
"""

KERNEL = Kernel(
    target="sm_80",
    format="ptx",
    objects=(b".target sm_80\n", PTX),
    workspace_size=128,
    steps=(
        Fill(2, 0, 64, 0, 4),
        Copy(0, 0, 3, 64, 16),
        Dispatch(
            object=1,
            kernel="main_dispatch_0",
            grid=(4, 2, 1),
            block=(64, 1, 1),
            dynamic_shared_memory=0,
            bindings=(Binding(0, 0, 256, "read"), Binding(1, 0, 256, "write")),
            constants=(7, -1),
        ),
    ),
)


def entry(key: str, *, size: int = 10) -> Entry:
    artifacts = {
        "input.mlir": os.urandom(size),
        **{f"{index}.ptx": data for index, data in enumerate(KERNEL.objects)},
    }
    outcome = Outcome(kernel=KERNEL, artifacts=artifacts, seconds=0.5)
    return Entry(key, {"name": "g", "seconds": 0.5}, outcome)


def key(number: int) -> str:
    return f"{number:02x}" * 32


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def test_kernel_comes_back_as_it_was(cache: Cache) -> None:
    cache.put(entry(key(1)))
    found = cache.get(key(1))
    assert found is not None
    assert found.outcome.kernel == KERNEL
    assert found.outcome.cached
    assert set(found.outcome.artifacts) == {"input.mlir", "0.ptx", "1.ptx"}
    assert cache.get(key(2)) is None
    assert not cache.problems


def test_error_of_the_compiler_comes_back(cache: Cache) -> None:
    error = CodegenError("failed to distribute", notes=("and more",))
    cache.put(Entry(key(1), {"seconds": 1.0}, Outcome(error=error)))
    found = cache.get(key(1))
    assert found is not None
    assert found.outcome.kernel is None
    assert isinstance(found.outcome.error, CodegenError)
    assert (found.outcome.error.message, found.outcome.error.notes) == (error.message, error.notes)


def test_entry_is_an_archive_that_anybody_reads(cache: Cache) -> None:
    cache.put(entry(key(1)))
    (stored,) = cache.entries()
    with zipfile.ZipFile(stored.path) as archive:
        assert archive.testzip() is None
        names = {"entry.json", "kernel.json", "input.mlir", "0.ptx", "1.ptx"}
        assert set(archive.namelist()) == names
        assert archive.read("0.ptx") == KERNEL.objects[0]


def test_no_damage_goes_unnoticed(cache: Cache) -> None:
    whole = entry(key(1)).to_bytes()
    cache.put(entry(key(1)))
    (stored,) = cache.entries()
    damaged = [whole[:length] for length in (0, 1, 64, len(whole) // 2, len(whole) - 1)]
    for place in range(0, len(whole), 37):
        damaged.append(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
    damaged.append(entry(key(2)).to_bytes())
    for data in damaged:
        stored.path.write_bytes(data)
        assert cache.get(key(1)) is None
        assert not stored.path.exists()
    assert len(cache.problems) == len(damaged)
    assert "is damaged: its checksum does not match" in cache.problems[0]


def test_least_recently_used_goes_first(cache: Cache) -> None:
    for number in range(4):
        cache.put(entry(key(number), size=10_000))
        (path,) = [each.path for each in cache.entries() if each.key == key(number)]
        os.utime(path, (number + 1, number + 1))
    cache.get(key(0))
    size = sum(each.size for each in cache.entries())
    evicted = cache.prune(max_bytes=size // 2)
    assert [each.key for each in evicted] == [key(1), key(2)]
    assert {each.key for each in cache.entries()} == {key(0), key(3)}


def test_files_that_a_dead_writer_left_are_removed_when_old(cache: Cache) -> None:
    """Another process may still be writing a new one."""
    cache.put(entry(key(1)))
    (stored,) = cache.entries()
    old, new = (stored.path.with_name(f"{name}.tmp") for name in ("old", "new"))
    for path in (old, new):
        path.write_bytes(b"part of an entry")
    os.utime(old, (0, 0))
    assert cache.prune() == []
    assert {path.name for path in stored.path.parent.iterdir()} == {stored.path.name, "new.tmp"}


def test_folder_that_cannot_be_written_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = Cache(tmp_path / "file" / "cache")
    cache.put(entry(key(1)))
    cache.put(entry(key(2)))
    assert cache.get(key(1)) is None
    (problem,) = cache.problems
    assert problem.startswith("kernels are not cached in")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_full_disk_leaves_nothing_behind(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.fdopen

    def full(handle: int, mode: str) -> object:
        os.close(handle)
        return opened(os.open("/dev/full", os.O_WRONLY), mode)

    monkeypatch.setattr(os, "fdopen", full)
    cache.put(entry(key(1)))
    assert cache.problems == [
        f"kernels are not cached in '{cache.directory}': No space left on device"
    ]
    assert not [path for path in cache.directory.rglob("*") if path.is_file()]


def test_source_is_read_and_not_written(tmp_path: Path) -> None:
    source = Cache(tmp_path / "shipped")
    source.put(entry(key(1)))
    cache = Cache(tmp_path / "own", [source.directory])
    assert cache.get(key(1)) is not None
    cache.put(entry(key(2)))
    assert [each.key for each in source.entries()] == [key(1)]
    assert [each.key for each in cache.entries()] == [key(2)]
    (stored,) = source.entries()
    stored.path.write_bytes(b"damaged")
    assert cache.get(key(1)) is None
    assert stored.path.exists()


@pytest.mark.slow
def test_many_writers_of_the_same_entries(tmp_path: Path) -> None:
    def write(number: int) -> list[str]:
        cache = Cache(tmp_path, max_bytes=4000)
        for round_ in range(30):
            wanted = key(round_ % 5)
            cache.put(entry(wanted, size=500))
            cache.prune()
            cache.get(wanted)
        return cache.problems

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(write, range(4))) == [[]] * 4
    assert all(each.path.suffix == ".zip" for each in Cache(tmp_path).entries())
    assert not list(tmp_path.rglob("*.tmp"))


GFX942 = Target.parse("gfx942")
FLAGS = ("--iree-opt-level=O3",)


def test_key_depends_on_each_ingredient(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec = tmp_path / "spec.mlir"
    spec.write_text("one")
    with_spec = (*FLAGS, f"--iree-codegen-tuning-spec-path={spec}")
    found = {
        keys.cache_key("graph", GFX942, FLAGS),
        keys.cache_key("graph2", GFX942, FLAGS),
        keys.cache_key("graph", Target.parse("gfx1100"), FLAGS),
        keys.cache_key("graph", Target.parse("cpu"), FLAGS),
        keys.cache_key("graph", GFX942, ("--iree-opt-level=O2",)),
        keys.cache_key("graph", GFX942, (*FLAGS, "--x")),
        keys.cache_key("graph", GFX942, with_spec),
    }
    spec.write_text("two")
    found.add(keys.cache_key("graph", GFX942, with_spec))
    monkeypatch.setattr(keys, "compiler_version", lambda: "3.14.0")
    found.add(keys.cache_key("graph", GFX942, FLAGS))
    monkeypatch.setattr(keys, "generator_version", lambda: "other")
    found.add(keys.cache_key("graph", GFX942, FLAGS))
    found.add(keys.cache_key("graph", Target.parse("cpu"), FLAGS))
    monkeypatch.setattr(keys, "host_identity", lambda: "other")
    found.add(keys.cache_key("graph", Target.parse("cpu"), FLAGS))
    monkeypatch.setenv(CPU_VARIABLE, "x86-64-v3")
    found.add(keys.cache_key("graph", Target.parse("cpu"), FLAGS))
    monkeypatch.setattr(keys, "host_identity", lambda: "a third")
    found.add(keys.cache_key("graph", Target.parse("cpu"), FLAGS))
    assert len(found) == 13


def test_key_does_not_depend_on_a_file_s_name(tmp_path: Path) -> None:
    made: set[str] = set()
    for name in ("a.mlir", "b.mlir"):
        (tmp_path / name).write_text("spec")
        flag = f"--iree-codegen-tuning-spec-path={tmp_path / name}"
        made.add(keys.cache_key("graph", GFX942, (flag,)))
    assert len(made) == 1


def test_generator_version_is_of_its_sources(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "codegen").mkdir()
    source = tmp_path / "codegen" / "lowering.py"
    monkeypatch.setattr(keys, "_PACKAGE", tmp_path)
    versions: set[str] = set()
    for text in ("x = 1", "x = 2"):
        source.write_text(text)
        versions.add(keys.generator_version.__wrapped__())
    assert len(versions) == 2


def test_prefix_must_name_one_entry(cache: Cache) -> None:
    cache.put(entry(key(0xA1)))
    cache.put(entry(key(0xA2)))
    assert cache.find("a1").key == key(0xA1)
    with pytest.raises(HipgraftError, match="2 entries"):
        cache.find("a")
    with pytest.raises(HipgraftError, match="0 entries"):
        cache.find("b")

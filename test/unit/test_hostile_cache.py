"""Malicious cache entries and archives, whose checksums are right."""

from __future__ import annotations

import hashlib
import io
import json
import random
import tarfile
import zipfile
from pathlib import Path

import pytest
from test_service_cache import entry, key

from fuzz.mutations import changed_bytes, changed_document
from hipgraft.codegen.objects.resource_stats import kernel_resources
from hipgraft.codegen.target import Target
from hipgraft.compiler.program import Program, compile
from hipgraft.ir.bindings import asm
from hipgraft.service import Cache, CompileService, Request
from hipgraft.service import entry as entries
from hipgraft.service.entry import DamagedEntryError, Entry
from hipgraft.tools import hipgraft_cache

MODEL = Path(__file__).resolve().parents[1] / "lit" / "tools" / "Inputs" / "conv_relu.mlir"
DIGITS = 64


def files_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sealed(files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Returns an archive with a checksum, as an entry has it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, compression)
        archive.comment = b"0" * DIGITS
    body = buffer.getvalue()[:-DIGITS]
    return body + hashlib.sha256(body).hexdigest().encode()


def archive_of(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def everything_below(path: Path) -> set[Path]:
    return set(path.rglob("*"))


@pytest.mark.parametrize(
    "name",
    [
        "../../outside",
        "/{folder}/outside",
        "ab/../../../outside",
        "A" * 64,
        "a" * 63,
        "a" * 64 + "\n",
    ],
)
def test_archive_with_another_name_writes_nothing(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = name.format(folder=tmp_path)
    data = Entry(bad, entry(key(1)).metadata, entry(key(1)).outcome).to_bytes()
    archive = archive_of(tmp_path / "in.tar", {f"{bad}.zip": data})
    (tmp_path / "deep" / "er").mkdir(parents=True)
    before = everything_below(tmp_path)
    cache = tmp_path / "deep" / "er" / "cache"
    assert hipgraft_cache.main([f"--cache-dir={cache}", "import", str(archive)]) == 1
    assert "expected files called KEY.zip" in capsys.readouterr().err
    assert everything_below(tmp_path) == before


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE]
)
def test_archive_of_other_things_than_files(tmp_path: Path, kind: bytes) -> None:
    with tarfile.open(tmp_path / "in.tar", "w") as archive:
        info = tarfile.TarInfo(f"{key(1)}.zip")
        info.type, info.linkname = kind, "/etc/passwd"
        archive.addfile(info)
    command = [f"--cache-dir={tmp_path / 'cache'}", "import", str(tmp_path / "in.tar")]
    assert hipgraft_cache.main(command) == 1


@pytest.mark.parametrize("name", ["../x", "/elsewhere/x", "a/b", "..", ".", "", "C:x", "x" * 300])
def test_files_of_an_entry_stay_in_the_folder_of_extraction(tmp_path: Path, name: str) -> None:
    files = files_of(entry(key(1)).to_bytes())
    data = sealed({**files, name: b"harm"})
    cache = Cache(tmp_path / "cache")
    cache.put(entry(key(1)))
    (stored,) = cache.entries()
    stored.path.write_bytes(data)
    before = everything_below(tmp_path)
    command = [f"--cache-dir={cache.directory}", "show", key(1), f"--extract={tmp_path / 'o'}"]
    assert hipgraft_cache.main(command) == 1
    assert everything_below(tmp_path) == before
    with pytest.raises(DamagedEntryError):
        Entry.from_bytes(data, key(1))


@pytest.mark.slow
@pytest.mark.parametrize("claim", ["true", "a lie"])
def test_entry_that_inflates(claim: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "MOST_BYTES", 1 << 20)
    files = files_of(entry(key(1)).to_bytes())
    large = bytes(50 << 20)
    data = bytearray(sealed({**files, "input.mlir": large})[:-DIGITS])
    if claim == "a lie":
        size = len(large).to_bytes(4, "little")
        assert size in data
        data = data.replace(size, (100).to_bytes(4, "little"))
    sealed_again = bytes(data) + hashlib.sha256(data).hexdigest().encode()
    with pytest.raises(DamagedEntryError):
        Entry.from_bytes(sealed_again, key(1))


def test_unknown_compression_and_too_many_files() -> None:
    files = files_of(entry(key(1)).to_bytes())
    many = {**files, **{f"f{number}": b"" for number in range(5000)}}
    for data in (sealed(files, zipfile.ZIP_BZIP2), sealed(files, zipfile.ZIP_LZMA), sealed(many)):
        with pytest.raises(DamagedEntryError):
            Entry.from_bytes(data, key(1))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Program]:
    directory = tmp_path_factory.mktemp("cache")
    program = compile(MODEL, "gfx942", service=CompileService(cache=Cache(directory)))
    assert len(Cache(directory).entries()) == 2
    return directory, program


def changed_entry(data: bytes, generator: random.Random) -> bytes:
    files = files_of(data)
    name = generator.choice(sorted(files))
    if name.endswith(".json") and generator.random() < 0.9:
        document = changed_document(json.loads(files[name]), generator)
        files[name] = json.dumps(document, ensure_ascii=generator.random() < 0.5).encode(
            errors="surrogatepass"
        )
    elif generator.random() < 0.1:
        del files[name]
    elif name != "program.mlirbc":
        # Changed bytecode can abort the process: caches are code (docs/trust.md).
        files[name] = changed_bytes(files[name], generator)
    return sealed(files)


@pytest.mark.slow
def test_whatever_is_wrong_with_a_kernel_it_is_no_traceback(
    compiled: tuple[Path, Program],
) -> None:
    request = Request("g", "", "", Target.parse("gfx942"), (), str, buffers=3)
    wholes = {each.key: each.path.read_bytes() for each in Cache(compiled[0]).entries()}
    generator = random.Random(17)
    accepted = 0
    for _ in range(500):
        digits, whole = generator.choice(sorted(wholes.items()))
        try:
            found = Entry.from_bytes(changed_entry(whole, generator), digits)
        except DamagedEntryError:
            continue
        kernel = found.outcome.kernel
        if kernel is not None and not request.misfit(kernel):
            kernel_resources(kernel)
            accepted += 1
    assert accepted > 15


@pytest.mark.slow
@pytest.mark.sampled(16)
@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_entry_is_made_again_and_told_once(
    compiled: tuple[Path, Program], tmp_path: Path, seed: int
) -> None:
    """In each entry, a file is replaced by another of its kind or removed."""
    source, program = compiled
    cache = Cache(tmp_path)
    generator = random.Random(seed)
    for each in Cache(source).entries():
        files = files_of(each.path.read_bytes())
        name = generator.choice([name for name in sorted(files) if name.endswith(".json")])
        files[name] = generator.choice((b"", b"[]", b"{}", b"\xff", b"[" * 10_000, b"1" * 5000))
        path = tmp_path / each.key[:2] / each.path.name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(sealed(files))
    again = compile(MODEL, "gfx942", service=CompileService(cache=cache))
    assert asm(again.module) == asm(program.module)
    assert len(cache.problems) == 2
    warm = Cache(tmp_path)
    compile(MODEL, "gfx942", service=CompileService(cache=warm))
    assert not warm.problems

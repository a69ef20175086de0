"""Malicious bundles with right checksums and wrong contents."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recordings import copying_program, open_null

from fuzz.mutations import changed_document
from fuzz.targets.host_programs import Bounded, bundle_of, run_bundle
from hipgraft.compiler.program import compile
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.runtime import bundle as bundles
from hipgraft.runtime import bundle_sections
from hipgraft.runtime.bundle import Bundle, write_bundle
from hipgraft.runtime.devices.registry import open_device

MODEL = Path(__file__).resolve().parents[1] / "lit" / "tools" / "Inputs" / "conv_relu.mlir"
X = np.ones((2, 3), np.float32)


def header_of(data: bytes) -> Any:
    *_, length = bundles._PREFIX.unpack_from(data)
    return json.loads(data[bundles._PREFIX.size :][:length])


def with_header(data: bytes, header: Any) -> bytes:
    """Returns a bundle of the same data with another header and its checksum."""
    *_, length = bundles._PREFIX.unpack_from(data)
    start = bundle_sections.aligned(bundles._PREFIX.size + length)
    return bundle_of(header if isinstance(header, bytes) else as_json(header), data[start:])


def as_json(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode(errors="surrogatepass")


class Strict(Bounded):
    """Asserts that an access was checked before it reaches the memory."""

    def memory(self, address: int, nbytes: int) -> Any:
        try:
            return super().memory(address, nbytes)
        except HipgraftError as error:
            raise AssertionError(f"not checked before: {error}") from None


def run(path: Path) -> None:
    """Opens and runs a bundle with inputs of its declared types."""
    run_bundle(path, Strict())


@pytest.fixture(scope="module")
def wholes(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """A bundle of each kind: with copies, with kernels, and of dynamic shapes."""
    folder = tmp_path_factory.mktemp("bundles")
    write_bundle(folder / "copies.hgb", [copying_program()])
    compile(MODEL, "gfx942").save_bundle(folder / "kernels.hgb")
    bundles.write_host_bundle(folder / "host.hgb", b"ML\xefR", ["gfx942"], {})
    return [path.read_bytes() for path in sorted(folder.iterdir())]


@pytest.mark.slow
def test_no_changed_header_ends_in_a_traceback(wholes: list[bytes], tmp_path: Path) -> None:
    generator = random.Random(7)
    path = tmp_path / "program.hgb"
    ran = 0
    for _ in range(400):
        whole = generator.choice(wholes)
        header = changed_document(header_of(whole), generator)
        if generator.random() < 0.2:
            header = changed_document(header, generator)
        path.write_bytes(with_header(whole, header))
        with suppress(HipgraftError):
            run(path)
            ran += 1
    assert 5 < ran < 200


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"null", b"{}", b"[" * 100_000, b"9" * 5000, b'"\\ud800"', b"\xff"]
)
def test_headers_that_are_something_else(wholes: list[bytes], tmp_path: Path, text: bytes) -> None:
    (tmp_path / "x.hgb").write_bytes(with_header(wholes[0], text))
    with pytest.raises(HipgraftError, match="malformed bundle"):
        Bundle(tmp_path / "x.hgb")


def command(index: int, **places: Any) -> Callable[[Any], None]:
    def change(program: Any) -> None:
        for place, value in places.items():
            program["variants"][0]["commands"][index][int(place[1:])] = value

    return change


def tensor(kind: str, place: int, value: Any) -> Callable[[Any], None]:
    def change(program: Any) -> None:
        program["variants"][0][kind][0][place] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        command(0, _1=[5, -1]),
        command(0, _1=[-1, 0]),
        command(0, _1=[99, 0]),
        command(0, _2=[0, 1]),
        command(0, _3=2**62),
        command(0, _3=65),
        command(3, _3=6),
        command(3, _2=""),
        command(3, _2="0g"),
        command(3, _2="080808"),
        tensor("inputs", 1, [2**32, 2**32]),
        tensor("inputs", 1, [-1, 3]),
        tensor("inputs", 1, [1]),
        tensor("inputs", 2, "f31"),
        tensor("inputs", 3, [2**60, 1]),
        tensor("inputs", 3, [1]),
        tensor("results", 4, 2**60),
    ],
)
def test_pointers_and_sizes(tmp_path: Path, change: Callable[[Any], None]) -> None:
    path = tmp_path / "program.hgb"
    write_bundle(path, [copying_program()])
    header = header_of(path.read_bytes())
    changed = copy.deepcopy(header)
    change(changed["programs"][0])
    assert changed != header
    path.write_bytes(with_header(path.read_bytes(), changed))
    with pytest.raises(HipgraftError) as caught:
        run(path)
    assert caught.value.location == str(path)


@pytest.mark.parametrize("place", [2, 3])
@pytest.mark.parametrize("extents", [[2**60, 1, 1], [-1, 1, 1], [1, 1], [2**31, 2**31, 1]])
def test_grids_and_blocks(
    wholes: list[bytes], tmp_path: Path, place: int, extents: list[int]
) -> None:
    whole = next(one for one in wholes if b'"launch"' in one)
    header = header_of(whole)
    for one in header["programs"][0]["variants"][0]["commands"]:
        if one[0] == "launch":
            one[place] = extents
    (tmp_path / "x.hgb").write_bytes(with_header(whole, header))
    with pytest.raises(HipgraftError):
        run(tmp_path / "x.hgb")


def test_memory_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "program.hgb"
    write_bundle(path, [copying_program()])
    header = header_of(path.read_bytes())
    header["programs"][0]["buffers"][1]["nbytes"] = 1 << 47
    path.write_bytes(with_header(path.read_bytes(), header))
    with (
        Bundle(path, trust=True) as bundle,
        pytest.raises(HipgraftError, match="more memory than there is"),
    ):
        bundle.run([X], open_null())


def test_a_module_of_other_results(tmp_path: Path) -> None:
    """The results of a native module are checked if it is installed."""
    compile(MODEL, "cpu").save_bundle(tmp_path / "x.hgb")
    whole = (tmp_path / "x.hgb").read_bytes()
    device = open_device("cpu")
    for grow in (1, 3):
        header = header_of(whole)
        (variant,) = header["programs"][0]["variants"]
        variant["results"][0][1][grow] *= 4
        variant["results"][0][-1] *= 4
        for call in variant["commands"]:
            if call[0] == "call":
                call[3][0][2][grow] *= 4
        (tmp_path / "x.hgb").write_bytes(with_header(whole, header))
        with Bundle(tmp_path / "x.hgb", trust=True) as bundle:
            inputs = [np.zeros(one.shape, np.float16) for one in bundle.recording("cpu").inputs]
            with pytest.raises(HipgraftError, match="a module gives"):
                bundle.run(inputs, device)
    device.close()

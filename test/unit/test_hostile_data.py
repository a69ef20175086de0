"""Malicious arrays, parameters, settings, databases and graphs.

Reading a broken file either raises a located error or returns the file's contents.
"""

from __future__ import annotations

import io
import json
import random
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hipdnn_graphs import graph, pointwise, tensor
from test_parameters import parameters

from fuzz.mutations import changed_bytes, changed_document
from hipgraft.hipdnn_io.files import read_module
from hipgraft.integrations.rocmlir.settings import Settings
from hipgraft.ir.bindings import make_context
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.runtime.comparison import compare
from hipgraft.runtime.parameter_files import ParameterFile, write_parameters
from hipgraft.service import read_overrides
from hipgraft.service.flag_tuning import read_candidates
from hipgraft.service.tuning.database import Tuned, read_database
from hipgraft.tools import arrays

MOST_BYTES = 256 << 20
pytestmark = pytest.mark.filterwarnings("ignore::hipgraft.ir.diagnostics.HipgraftWarning")


def npz(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return buffer.getvalue()


def npy(array: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def header(text: str, data: bytes = b"") -> bytes:
    encoded = text.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(encoded).to_bytes(2, "little") + encoded + data


def read_npz(path: Path) -> None:
    for array in arrays.read_arrays(f"@{path}", "in").values():
        compare(array, array, 0.0, 0.0)


def read_parameters(path: Path) -> None:
    file = ParameterFile(path)
    for name in ("weights", "bytes", "half"):
        for nbytes in (4, 5, 24):
            with suppress(HipgraftError):
                assert len(file.read(name, nbytes)) == nbytes


def read_settings(path: Path) -> None:
    Settings.read(environment={"IREE_CONFIG": str(path)})


ENTRY = asdict(Tuned("0" * 64, "gfx942", "3.13.0", "one", "default", "static", {"default": 1.0}))
OVERRIDE = {"graph": "a*", "target": "gfx942", "flags": ["--iree-opt-level=O1"]}

RELU = graph(
    [pointwise("relu_fwd", 1, out=2), pointwise("add", 2, 3, out=4)],
    [tensor(uid, [2, 3], virtual=uid == 2) for uid in (1, 2, 3, 4)],
)
CONTEXT = make_context()


def read_graph(path: Path) -> None:
    module = read_module(path, CONTEXT)
    assert module.operation.verify()


Read = Callable[[Path], Any]
KINDS: dict[str, tuple[str, Read, Any]] = {
    "arrays": ("x.npz", read_npz, npz(in_0=npy(np.ones((2, 3))), in_1=npy(np.ones(4, np.int8)))),
    "array": ("x.npy", read_npz, npy(np.ones((2, 3), np.float32))),
    "safetensors": ("x.safetensors", read_parameters, None),
    "irpa": ("x.irpa", read_parameters, None),
    "database": ("x.json", read_database, {"format": 2, "entries": [ENTRY, ENTRY]}),
    "overrides": ("x.yaml", read_overrides, [OVERRIDE, OVERRIDE]),
    "candidates": ("x.yaml", read_candidates, [{"name": "a", "flags": ["--b"]}]),
    "settings": ("x.yaml", read_settings, ["--iree-opt-level=O1", "--c"]),
    "graph": ("x.json", read_graph, RELU),
}


def written(kind: str, folder: Path) -> tuple[Path, Read, Any]:
    """Returns the file of a kind, well formed, its reader, and its document if it has one."""
    name, read, content = KINDS[kind]
    path = folder / name
    if content is None:
        write_parameters(path, parameters())
    else:
        path.write_bytes(content if isinstance(content, bytes) else as_json(content))
    read(path)
    return path, read, content


def as_json(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode(errors="surrogatepass")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_changed_bytes(kind: str, tmp_path: Path) -> None:
    path, read, _ = written(kind, tmp_path)
    whole = path.read_bytes()
    generator = random.Random(8)
    for _ in range(400):
        path.unlink()  # what is mapped stays as it was
        path.write_bytes(changed_bytes(whole, generator))
        with suppress(HipgraftError):
            read(path)


@pytest.mark.slow
@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "kind", [kind for kind, row in KINDS.items() if isinstance(row[2], dict | list)]
)
def test_changed_documents(kind: str, tmp_path: Path) -> None:
    path, read, document = written(kind, tmp_path)
    generator = random.Random(8)
    for _ in range(400):
        path.write_bytes(as_json(changed_document(document, generator)))
        with suppress(HipgraftError):
            read(path)


SAFETENSORS = [
    {"weights": {}},
    {"weights": 1},
    {"weights": {"data_offsets": [4, 0]}},
    {"weights": {"data_offsets": [-8, 16]}},
    {"weights": {"data_offsets": [0, 2**70]}},
    {"weights": {"data_offsets": ["0", "24"]}},
    {"__metadata__": 1},
    [],
]


@pytest.mark.parametrize("table", SAFETENSORS)
def test_tables_of_safetensors(table: Any, tmp_path: Path) -> None:
    text = json.dumps(table).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(64))
    with pytest.raises(HipgraftError) as caught:
        ParameterFile(path).read("weights", 24)
    assert caught.value.location == str(path)


@pytest.mark.parametrize(
    "data",
    [
        npy(np.array([{}, None], object), allow_pickle=True),
        npy(np.zeros(3, [("a", "f4"), ("b", "i8")])),
        npy(np.array(["text"])),
        npy(np.array(["2020-01-01"], "datetime64[D]")),
        header("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }"),
        header("{'descr': '<f4', 'fortran_order': False, 'shape': (-4,), }", bytes(64)),
        header("{'descr': '<f4', 'fortran_order': False, 'shape': (2**40,), }"),
        header("{'descr': '|V0', 'fortran_order': False, 'shape': (1099511627776,), }"),
        header("[" * 100),
        b"\x93NUMPY\x03\x00",
        b"",
    ],
)
def test_arrays_of_other_things(data: bytes, tmp_path: Path) -> None:
    for name, content in (("x.npz", npz(in_0=data)), ("x.npy", data)):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(HipgraftError) as caught:
            arrays.read_arrays(f"@{tmp_path / name}", "in")
        assert caught.value.location == str(tmp_path / name)


def test_byte_order_and_layout_of_arrays(tmp_path: Path) -> None:
    for array in (
        np.arange(6, dtype=">f4").reshape(2, 3),
        np.asfortranarray(np.eye(3)),
        np.int8(3),
    ):
        (tmp_path / "x.npy").write_bytes(npy(array))
        found = arrays.read_arrays(f"@{tmp_path / 'x.npy'}", "in")["in_0"]
        np.testing.assert_array_equal(found, array)
        assert found.dtype.isnative
        assert found.flags.c_contiguous
        assert found.flags.writeable


BOMB = "\n".join(
    ["- &a0 [x, x, x, x, x, x, x, x, x]"]
    + [f"- &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("read", [read_overrides, read_candidates, read_settings])
@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        "[" * 100_000,
        "9" * 5000,
        '- "\\ud800"',
        "- !!python/object/apply:os.system [echo]",
        "- {a: b}\n- ? [c]\n  : d",
        "\0",
        "- {graph: a, flags: {}}",
        "a: b",
        "- a\n---\n- b",
    ],
)
def test_settings_of_other_things(read: Read, text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(HipgraftError) as caught:
        read(path)
    assert caught.value.location.startswith(str(path))


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_bytes(npz(in_0=header("x", bytes(MOST_BYTES * 2)))),
        lambda path: path.write_bytes(
            npz(
                in_0=header(
                    "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }",
                    bytes(MOST_BYTES * 2),
                )
            )
        ),
    ],
)
def test_what_inflates_takes_no_memory(make: Callable[[Path], Any], tmp_path: Path) -> None:
    make(tmp_path / "x.npz")
    assert (tmp_path / "x.npz").stat().st_size < 4 << 20
    tracemalloc.start()
    with suppress(HipgraftError):
        arrays.read_arrays(f"@{tmp_path / 'x.npz'}", "in")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MOST_BYTES

"""Parameter files, against readers of their formats that are not ours."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path

import iree.runtime as iree_runtime
import numpy as np
import pytest

from hipgraft.diagnostics import HipgraftError
from hipgraft.parameters import Parameter, ParameterFile, write_parameters
from hipgraft.runtime.recording import Tensor

ARRAYS = {
    "weights": np.arange(6, dtype=np.float32).reshape(2, 3),
    "bytes": np.array([1, -2, 3, -4, 5], np.int8),
    "half": np.array([0.5, -2.0], np.float16),
}


def parameters(arrays: Mapping[str, np.ndarray] = ARRAYS) -> dict[str, Parameter]:
    names = {"float32": "f32", "int8": "i8", "float16": "f16", "complex64": "complex<f32>"}
    return {
        name: Parameter(Tensor("", array.shape, names[array.dtype.name]), array.tobytes)
        for name, array in arrays.items()
    }


def by_definition(path: Path) -> dict[str, np.ndarray]:
    """Reads safetensors as the format's page says: length, JSON table, data."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    kinds = {"F32": np.float32, "I8": np.int8, "F16": np.float16}
    found = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        first, end = entry["data_offsets"]
        raw = data[8 + length + first : 8 + length + end]
        found[name] = np.frombuffer(raw, kinds[entry["dtype"]]).reshape(entry["shape"])
    return found


def by_iree(path: Path) -> dict[str, np.ndarray]:
    index = iree_runtime.ParameterIndex()
    index.load(str(path))
    return {
        name: iree_runtime.parameter_index_entry_as_numpy_flat_ndarray(entry)
        .view(ARRAYS[name].dtype)
        .reshape(ARRAYS[name].shape)
        for name, entry in index.items()
    }


def test_safetensors_by_two_readers(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    write_parameters(path, parameters())
    for read in (by_definition, by_iree):
        found = read(path)
        assert found.keys() == ARRAYS.keys()
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(found[name], array)


def test_archive_by_iree(tmp_path: Path) -> None:
    path = tmp_path / "model.irpa"
    write_parameters(path, parameters())
    found = by_iree(path)
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("suffix", [".safetensors", ".irpa"])
def test_mapped(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"model{suffix}"
    write_parameters(path, parameters())
    file = ParameterFile(path)
    for name, array in ARRAYS.items():
        assert bytes(file.read(name, array.nbytes)) == array.tobytes()
    with pytest.raises(HipgraftError, match="no parameter 'bias'"):
        file.read("bias", 4)
    with pytest.raises(HipgraftError, match="parameter 'half' has 4 bytes; expected 8"):
        file.read("half", 8)


def test_files_that_are_refused(tmp_path: Path) -> None:
    with pytest.raises(HipgraftError, match=r"expected a parameter file \(.safetensors, .irpa\)"):
        write_parameters(tmp_path / "model.bin", parameters())
    with pytest.raises(HipgraftError, match="cannot open parameters"):
        ParameterFile(tmp_path / "none.irpa")
    for suffix in (".safetensors", ".irpa"):
        (tmp_path / f"bad{suffix}").write_bytes(b"\xff" * 100)
        with pytest.raises(HipgraftError, match="damaged"):
            ParameterFile(tmp_path / f"bad{suffix}")
    whole = tmp_path / "cut.safetensors"
    write_parameters(whole, parameters())
    whole.write_bytes(whole.read_bytes()[:-2])
    with pytest.raises(HipgraftError, match="parameter 'half' has 2 bytes; expected 4"):
        ParameterFile(whole).read("half", 4)


def test_a_type_that_safetensors_lacks(tmp_path: Path) -> None:
    odd = parameters({"z": np.ones(2, np.complex64)})
    with pytest.raises(HipgraftError, match=r"no type for 'complex<f32>' of 'z'; write an .irpa"):
        write_parameters(tmp_path / "odd.safetensors", odd)
    assert not (tmp_path / "odd.safetensors").exists()
    write_parameters(tmp_path / "odd.irpa", odd)
    expected = np.ones(2, np.complex64).tobytes()
    assert bytes(ParameterFile(tmp_path / "odd.irpa").read("z", 16)) == expected

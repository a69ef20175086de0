"""Parameter files, against independent readers of their formats."""

from __future__ import annotations

import errno
import json
import shutil
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import iree.runtime as iree_runtime
import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper

from hipgraft.compiler.program import compile
from hipgraft.frontends import read
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.io import write_output
from hipgraft.ir.outputs import together
from hipgraft.runtime.host_program.parameters import parameter_arrays
from hipgraft.runtime.irpa import read_irpa
from hipgraft.runtime.parameter_files import Parameter, ParameterFile, write_parameters
from hipgraft.runtime.recording import Tensor
from hipgraft.tools import hipgraft_compile

FLOAT = onnx.TensorProto.FLOAT
ARRAYS = {
    "weights": np.arange(6, dtype=np.float32).reshape(2, 3),
    "bytes": np.array([1, -2, 3, -4, 5], np.int8),
    "half": np.array([0.5, -2.0], np.float16),
}


def parameters(arrays: Mapping[str, np.ndarray] = ARRAYS) -> dict[str, Parameter]:
    names = {
        "float32": "f32",
        "int8": "i8",
        "float16": "f16",
        "complex64": "complex<f32>",
        "float8_e4m3fnuz": "f8E4M3FNUZ",
    }
    return {
        name: Parameter(Tensor("", array.shape, names[array.dtype.name]), array.tobytes)
        for name, array in arrays.items()
    }


def by_definition(path: Path) -> dict[str, np.ndarray]:
    """Reads safetensors as the format's specification says: length, JSON table, data."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    kinds = {"F32": np.float32, "I8": np.int8, "F16": np.float16, "U8": np.uint8}
    found = {}
    table = json.loads(data[8 : 8 + length])
    assert len(table.pop("__metadata__")["hipgraft.digest"]) == 64
    for name, entry in table.items():
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
        if name in ARRAYS
    }


def test_safetensors_by_two_readers(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    write_parameters(path, parameters())
    for reader in (by_definition, by_iree):
        found = reader(path)
        assert found.keys() == ARRAYS.keys()
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(found[name], array)


def test_safetensors_of_a_type_that_they_lack(tmp_path: Path) -> None:
    """The file stores the bytes, and the program has the type."""
    array = np.array([1, -2, 240], ml_dtypes.float8_e4m3fnuz)
    path = tmp_path / "model.safetensors"
    write_parameters(path, parameters({"small": array}))
    np.testing.assert_array_equal(by_definition(path)["small"], array.view(np.uint8))
    assert ParameterFile(path).read("small", 3) == array.tobytes()


def test_archive_by_iree(tmp_path: Path) -> None:
    path = tmp_path / "model.irpa"
    write_parameters(path, parameters())
    found = by_iree(path)
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("place", [0, 4, 16])
def test_archive_of_another_form(tmp_path: Path, place: int) -> None:
    """Another magic number, another version, and an archive that follows."""
    path = tmp_path / "model.irpa"
    write_parameters(path, parameters())
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    with pytest.raises(HipgraftError, match="no archive of version 0, or several of them"):
        read_irpa(memoryview(data))


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
        with pytest.raises(HipgraftError, match="malformed parameter file"):
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


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("inside", [False, True])
def test_weights_stay_in_their_files(tmp_path: Path, inside: bool) -> None:
    """A compilation maps weights, also those inside of a model, and writes one at a time."""
    extents, count, nbytes = (512, 1 << 14), 6, 4 * 512 << 14
    path = external_weights(tmp_path / "model.onnx", extents, count)
    if inside:
        path = one_file(path)
    before = anonymous_bytes()
    peaks: list[int] = []
    program = compile(path, "gfx942", on_stage=lambda *_: peaks.append(anonymous_bytes()))
    program.externalize_constants(tmp_path / "model.irpa")
    peaks.append(anonymous_bytes())
    # The compiler also uses memory.
    assert max(peaks) - before < count * nbytes // 2
    archive = ParameterFile(tmp_path / "model.irpa")
    for number in range(count):
        data = np.frombuffer(archive.read(f"constant_{number}", nbytes), np.float32)
        np.testing.assert_array_equal(data[:8], np.full(8, number + 1))
        assert not data[8:].any()


def external_weights(path: Path, extents: tuple[int, int], count: int) -> Path:
    """Saves a chain of products whose weights are mostly holes of a file."""
    nbytes = 4 * extents[0] * extents[1]
    weights: list[onnx.TensorProto] = []
    with path.with_suffix(".data").open("wb") as file:
        for number in range(count):
            shape = extents if number % 2 == 0 else extents[::-1]
            place = {"location": "model.data", "offset": number * nbytes, "length": nbytes}
            weight = onnx.TensorProto(name=f"w{number}", data_type=FLOAT, dims=shape)
            weight.data_location = onnx.TensorProto.EXTERNAL
            for key, value in place.items():
                weight.external_data.add(key=key, value=str(value))
            weights.append(weight)
            file.seek(number * nbytes)
            file.write(np.full(8, number + 1, np.float32).tobytes())
        file.truncate(count * nbytes)
    nodes = [
        helper.make_node("MatMul", [f"h{number}", f"w{number}"], [f"h{number + 1}"])
        for number in range(count)
    ]
    ends = [
        helper.make_tensor_value_info(name, FLOAT, [24, extents[0]]) for name in ("h0", f"h{count}")
    ]
    graph = helper.make_graph(nodes, "main", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)
    return path


def one_file(path: Path) -> Path:
    """Saves a model again, with its weights inside, and returns a link to it elsewhere."""
    whole = path.with_name("whole.onnx")
    onnx.save(onnx.load(path), whole)
    link = path.parent / "elsewhere" / "linked.onnx"
    link.parent.mkdir()
    link.symlink_to(whole)
    return link


def anonymous_bytes() -> int:
    """Resident memory of this process that is not backed by a file."""
    fields = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["RssAnon"].split()[0]) << 10


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"location": "../model.data"}, "no file below the model's directory"),
        ({"location": "{tmp}/model.data"}, "no file below the model's directory"),
        ({"location": "link.data"}, "no file below the model's directory"),
        ({"location": "."}, "no file below the model's directory"),
        ({"location": "none.data"}, "No such file"),
        ({"offset": "1048576"}, "'w1' has 1048576 bytes in 'model.data', needs 2097152"),
        ({"length": "12"}, "'w1' has 12 bytes in 'model.data', needs 2097152"),
    ],
)
def test_external_data_that_is_refused(
    tmp_path: Path, entry: Mapping[str, str], message: str
) -> None:
    (tmp_path / "sub").mkdir()
    path = external_weights(tmp_path / "sub" / "model.onnx", (16, 1 << 15), 1)
    outside = tmp_path / "model.data"
    shutil.copy(path.with_suffix(".data"), outside)  # what would be read if nothing refused it
    path.with_name("link.data").symlink_to(outside)
    model = onnx.load(path, load_external_data=False)
    weight = model.graph.initializer[0]
    weight.name = model.graph.node[0].input[1] = "w1"
    for place in weight.external_data:
        place.value = entry.get(place.key, place.value).replace("{tmp}", str(tmp_path))
    onnx.save(model, path)
    with pytest.raises(HipgraftError, match=f"external data is missing or invalid: .*{message}"):
        compile(path, "gfx942")


WEIGHTED = """
module {{
  func.func @main(%x: !torch.vtensor<[2,128],f32>) -> !torch.vtensor<[2,128],f32> {{
    %w = torch.vtensor.literal(dense_resource<w> : tensor<128x128xf32>)
      : !torch.vtensor<[128,128],f32>
    %b = torch.vtensor.literal(dense_resource<b> : tensor<128xf32>) : !torch.vtensor<[128],f32>
    %0 = torch.aten.mm %x, %w
      : !torch.vtensor<[2,128],f32>, !torch.vtensor<[128,128],f32> -> !torch.vtensor<[2,128],f32>
    %one = torch.constant.int 1
    %1 = torch.aten.add.Tensor %0, %b, %one
      : !torch.vtensor<[2,128],f32>, !torch.vtensor<[128],f32>, !torch.int
      -> !torch.vtensor<[2,128],f32>
    return %1 : !torch.vtensor<[2,128],f32>
  }}
}}
{{-# dialect_resources: {{ builtin: {{ b: "0x04000000{digits}",
                                           w: "0x04000000{more}" }} }} #-}}
"""


def weighted(path: Path, value: float) -> Path:
    bits = struct.pack("<f", value).hex()
    path.write_text(WEIGHTED.format(digits=bits * 128, more=bits * 128**2))
    return path


@pytest.mark.slow
def test_parameters_of_another_program_are_refused(tmp_path: Path) -> None:
    for name, value in (("one", 1.5), ("two", 2.5)):
        model = weighted(tmp_path / f"{name}-model.mlir", value)
        output = str(tmp_path / f"{name}.mlir")
        assert hipgraft_compile.main([str(model), "--target=gfx942", "-q", f"-o={output}"]) == 0
    one = read(tmp_path / "one.mlir")
    assert parameter_arrays(one, "gfx942", tmp_path)[0].ravel()[0] == 1.5
    (tmp_path / "two.safetensors").replace(tmp_path / "one.safetensors")
    with pytest.raises(HipgraftError, match="not those that the program was written with"):
        parameter_arrays(one, "gfx942", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["../w.safetensors", "/elsewhere/w.safetensors", "a/w.irpa"])
def test_parameters_elsewhere_are_refused(tmp_path: Path, place: str) -> None:
    model = weighted(tmp_path / "model.mlir", 1.0)
    assert hipgraft_compile.main([str(model), "-q", "-o", str(tmp_path / "out.mlir")]) == 0
    module = read(tmp_path / "out.mlir")
    with module.context:
        module.operation.attributes["hipgraft.parameters"] = ir.StringAttr.get(place)
    with pytest.raises(HipgraftError, match="expected the name of a file beside the program"):
        parameter_arrays(module, "gfx942", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "flag"),
    [("net.mlir", "--stats-json={folder}/full"), ("net.mlirbc", "--emit=bytecode")],
)
def test_outputs_appear_together_or_not_at_all(
    tmp_path: Path, name: str, flag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / name
    command = ["-q", "--constants", str(tmp_path / "net.safetensors"), "-o", str(output)]
    assert hipgraft_compile.main([str(weighted(tmp_path / "a.mlir", 1.0)), *command]) == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    model = str(weighted(tmp_path / "b.mlir", 2.0))
    (tmp_path / "b.mlir").rename(tmp_path.parent / "b.mlir")
    model = str(tmp_path.parent / "b.mlir")

    def fail(*arguments: object) -> bytes:
        raise OSError(errno.ENOSPC, "No space left on device")

    # What is written last fails.
    monkeypatch.setattr("hipgraft.tools.stats_json.stats_bytes", fail)
    monkeypatch.setattr("hipgraft.ir.io.ir.Operation.write_bytecode", fail, raising=False)
    flags = [flag.format(folder=tmp_path)]
    with suppress(OSError):
        assert hipgraft_compile.main([model, *flags, *command]) == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.slow
@pytest.mark.parametrize(("emit", "suffix"), [("mlir", ".mlir"), ("object", ".o")])
def test_a_parameter_file_of_others_is_not_replaced(
    tmp_path: Path, emit: str, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model = weighted(tmp_path / "model.mlir", 1.0)
    weights = tmp_path / "net.safetensors"
    whole = b"\x02\0\0\0\0\0\0\0{}"
    for content in (whole, b"mine"):
        weights.write_bytes(content)
        command = [str(model), "-q", f"--emit={emit}", "-o", str(tmp_path / f"net{suffix}")]
        assert hipgraft_compile.main(command) == 1
        assert "was not written by hipgraft" in capsys.readouterr().err
        assert weights.read_bytes() == content
        assert not (tmp_path / f"net{suffix}").exists()
    weights.unlink()
    for _ in range(2):
        assert hipgraft_compile.main(command) == 0
    assert ParameterFile(weights).digest


def test_a_rename_that_fails_takes_back_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("old")
    renamed = Path.replace

    def fail(path: Path, target: Path) -> Path:
        if target.name == "c":
            raise OSError(errno.EIO, "bus error")
        return renamed(path, target)

    monkeypatch.setattr(Path, "replace", fail)

    def write_all() -> None:
        with together():
            for name in "abc":
                write_output(str(tmp_path / name), b"new")

    with pytest.raises(HipgraftError, match="cannot open output file"):
        write_all()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "old"}


def test_a_symbolic_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "file")
    for data in (b"one", b"two"):
        write_output(str(tmp_path / "link"), data)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "folder" / "file").read_bytes() == data

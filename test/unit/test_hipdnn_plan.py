"""Plans of hipgraft's engine: the parts that hipDNN and the engine read, and rejected plans."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
from emulator import open_emulator, requires_emulator
from flatbuffers import number_types as numbers
from flatbuffers.table import Table
from hipdnn_graphs import GRAPHS, graph, node, pointwise, tensor, uids

from hipgraft import hipdnn_io
from hipgraft.compiler.plan import compile_plan
from hipgraft.hipdnn_io.engine_tables import SerializedExecutionPlan
from hipgraft.hipdnn_io.plan_payload import (
    HEADER,
    HEADER_SIZE,
    DamagedPlanError,
    Overridable,
    Payload,
    PlanArchitectureError,
    PlanVersionError,
    decode_payload,
    encode_payload,
    engine_id,
)
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.native.player import PlayerBundle
from hipgraft.runtime.plan import open_payload
from hipgraft.tools import hipgraft_compile

pytestmark = pytest.mark.slow

INPUTS = Path(__file__).resolve().parents[1] / "lit" / "tools" / "Inputs"
ROOT = Path(__file__).resolve().parents[2]

# In the order of the file: neither that of the uids, nor that in which the node takes them.
PRODUCT = graph(
    [
        node("MatmulAttributes", inputs=uids(a=40, b=7), outputs=uids(c=9)),
        pointwise("relu_fwd", 9, out=3),
    ],
    [
        tensor(7, [5, 6], strides=[1, 5]),
        tensor(9, [4, 6], virtual=True),
        tensor(3, [4, 6]),
        tensor(40, [4, 5]),
    ],
)


# By the definition of the 64-bit FNV-1a; the first three are its published test vectors.
@pytest.mark.parametrize(
    ("name", "digest"),
    [("", 0xCBF29CE484222325), ("a", 0xAF63DC4C8601EC8C), ("foobar", 0x85944171F73967E8)],
)
def test_engine_ids(name: str, digest: int):
    assert struct.pack("<q", engine_id(name)) == struct.pack("<Q", digest)


def test_page_has_the_header():
    rows = (ROOT / "docs" / "hipdnn-plans.md").read_text().split("<!-- header -->")[1]
    rows = rows.split("<!-- end -->")[0].strip().splitlines()[2:]
    expected, at = [], 0
    for one in HEADER:
        size = struct.calcsize(f"<{one.code}")
        expected.append(f"| {at} | {size} | `{one.name}` | {one.meaning} |")
        at += size
    assert rows == expected


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plan")
    (path / "product.json").write_text(json.dumps(PRODUCT))
    return path


@pytest.fixture(scope="module")
def data(folder: Path) -> bytes:
    """The plan's file, for two architectures."""
    command = [str(folder / "product.json"), "-q", "--target=gfx942,gfx1100", "--emit=plan"]
    assert hipgraft_compile.main([*command, "-o", str(folder / "product.plan")]) == 0
    return (folder / "product.plan").read_bytes()


@pytest.fixture(scope="module")
def payload(data: bytes) -> bytes:
    return SerializedExecutionPlan.from_bytes(data).plugin_payload


def test_plan_by_generic_access(data: bytes):
    root = flatbuffers.encode.Get(flatbuffers.packer.uoffset, data, 0)
    plan = Table(bytearray(data), root)

    def vector(slot: int, flags: Any) -> list[int]:
        offset = plan.Offset(4 + 2 * slot)
        start, count = plan.Vector(offset), plan.VectorLen(offset)
        return [plan.Get(flags, start + at * flags.bytewidth) for at in range(count)]

    assert plan.GetSlot(4, 0, numbers.Uint32Flags) == 1
    # The hash is by another program: `printf HIPGRAFT_ENGINE`, FNV-1a of 64 bits, as signed.
    assert plan.GetSlot(6, 0, numbers.Int64Flags) == fnv("HIPGRAFT_ENGINE")
    assert plan.GetSlot(8, 0, numbers.Int64Flags) % 256 == 0
    assert vector(3, numbers.Int64Flags) == [7, 40, 3]
    payload = bytes(vector(4, numbers.Uint8Flags))
    assert payload[:8] == b"HIPGPLAN"
    assert struct.unpack_from("<4HI", payload, 8) == (2, 0, 1, 68, 0)
    assert payload[20:52] == hashlib.sha256(payload[52:]).digest()
    assert struct.unpack_from("<QII", payload, 52) == (len(payload) - 68, 0, 0)
    assert payload[68:76] == b"\x93HIPGRFT"


def fnv(text: str) -> int:
    """Computes the hash with NumPy's wrapping integers."""
    digest = np.uint64(14695981039346656037)
    with np.errstate(over="ignore"):
        for byte in text.encode():
            digest = (digest ^ np.uint64(byte)) * np.uint64(1099511628211)
    return int(digest.astype(np.int64))


def test_player_finds_the_program(data: bytes, payload: bytes):
    """libhipgraft reads the body, and needs the workspace size that the plan states."""
    plan = SerializedExecutionPlan.from_bytes(data)
    with PlayerBundle(payload[HEADER_SIZE:]) as bundle:
        programs = bundle.programs()
        assert [one.architecture for one in programs] == ["gfx942", "gfx1100"]
        assert plan.workspace_size == max(one.workspace_size for one in programs)
        metadata = json.loads(bundle.metadata)
        assert metadata == {
            "engine": "HIPGRAFT_ENGINE",
            "inputs": [7, 40],
            "results": [3],
            "by_value": [],
            "targets": ["gfx942", "gfx1100"],
        }
        first, second, result = (programs[0].tensor(at) for at in range(3))
        assert [first.shape, second.shape, result.shape] == [(5, 6), (4, 5), (4, 6)]
        assert first.strides == (1, 5)


def test_workspace_of_several_kernels():
    """Scratch memory between kernels, and 256 bytes for the scale, a scalar in host memory."""
    plan = compile_plan(module_of(GRAPHS["sdpa_ragged"]), "gfx942")
    with PlayerBundle(plan.plugin_payload[HEADER_SIZE:]) as bundle:
        scratch = bundle.find("gfx942").workspace_size
    assert scratch > 0
    assert plan.workspace_size == scratch + 256


def module_of(source: Any) -> Any:
    return hipdnn_io.import_document(hipdnn_io.read_json(json.dumps(source)))


@requires_emulator
def test_plan_computes_the_graph(payload: bytes):
    a = np.random.default_rng(1).uniform(-1, 1, (4, 5)).astype(np.float32)
    b = np.random.default_rng(2).uniform(-1, 1, (5, 6)).astype(np.float32)
    bundle, metadata = open_payload(payload, "gfx942")
    values = {40: a, 7: b}
    with bundle, bundle.load(open_emulator("gfx942")) as session:
        (found,) = session.run([values[uid] for uid in metadata.inputs])
    np.testing.assert_allclose(found, np.maximum(a.astype(np.float64) @ b, 0), atol=1e-5)


def test_plan_does_not_depend_on_names(folder: Path, data: bytes):
    """The same graph again, and from its module, gives the same bytes."""
    assert compile_plan(folder / "product.json", ["gfx942", "gfx1100"]).to_bytes() == data
    # Locations differ, and the names in the kernels with them: uids and workspace do not.
    plan = compile_plan(module_of(PRODUCT), "gfx942")
    assert list(plan.tensor_uids) == [7, 40, 3]


def test_scalars_by_host_pointers():
    source = graph(
        [pointwise("mul", 1, 2, out=5)],
        [tensor(1, [8]), tensor(2, [1], is_runtime_pass_by_value=True), tensor(5, [8])],
    )
    plan = compile_plan(module_of(source), "gfx942")
    bundle, metadata = open_payload(plan.plugin_payload, "gfx942")
    bundle.close()
    assert (metadata.inputs, metadata.by_value) == ([1, 2], [2])


def test_graph_without_kernels():
    """A copy needs no code."""
    source = graph([pointwise("identity", 1, out=2)], [tensor(1, [8]), tensor(2, [8])])
    plan = compile_plan(module_of(source), "gfx942")
    bundle, _ = open_payload(plan.plugin_payload, "gfx942")
    with bundle:
        assert len(bundle.recordings("gfx942")[0].commands) == 1


def put(name: str, value: Any) -> Callable[[bytes], bytes]:
    """Returns a change of a payload: one field of its header."""
    at = struct.calcsize("<" + "".join(one.code for one in HEADER[: position(name)]))
    code = HEADER[position(name)].code

    def change(payload: bytes) -> bytes:
        changed = bytearray(payload)
        struct.pack_into(f"<{code}", changed, at, value)
        return bytes(changed)

    return change


def position(name: str) -> int:
    return [one.name for one in HEADER].index(name)


REFUSED: list[tuple[Callable[[bytes], bytes], type[HipgraftError], str]] = [
    (put("magic", b"HKIP\0\0\0\0"), DamagedPlanError, "payload is none of hipgraft's"),
    (put("major", 1), PlanVersionError, "format has version 1.0; expected 2.0"),
    (put("minor", 1), PlanVersionError, "format has version 2.1; expected 2.0"),
    (put("kind", 2), PlanVersionError, "payload is of kind 2; expected 1"),
    (put("header_size", 67), DamagedPlanError, "the plan's header is damaged"),
    (put("header_size", 65535), DamagedPlanError, "the plan's header is damaged"),
    (put("header_size", 76), DamagedPlanError, "the plan's body is shorter than its parts"),
    (put("reserved", 1), DamagedPlanError, "the plan's header is damaged"),
    (put("sha256", bytes(32)), DamagedPlanError, "the plan's body is damaged"),
    (lambda data: data[:51], DamagedPlanError, "payload has 51 bytes; expected 68 or more"),
    (lambda data: data[:68], DamagedPlanError, "the plan's header is damaged"),
    (lambda data: data[:-1], DamagedPlanError, "the plan's body is damaged"),
    (lambda data: data + b"\0", DamagedPlanError, "the plan's body is damaged"),
    (lambda data: bundle_of(data[69:]), DamagedPlanError, "the file is no bundle"),
    (lambda data: bundle_of(data[68:-4096]), DamagedPlanError, "the bundle is truncated"),
    (
        lambda data: resized(data, len(data), 0, 0),
        DamagedPlanError,
        "the plan's body is shorter than its parts",
    ),
    (
        lambda data: resized(data, 2**64 - 8, 8, 0),
        DamagedPlanError,
        "the plan's body is shorter than its parts",
    ),
    (
        lambda data: resized(data, len(data) - 70, 2, 0),
        DamagedPlanError,
        "the plan has settings for a graph, but no graph",
    ),
    (
        lambda data: resized(data, len(data) - 68, 0, 1),
        DamagedPlanError,
        "the plan has settings for a graph, but no graph",
    ),
    (
        lambda data: resized(data, len(data) - 70, 0, 2),
        DamagedPlanError,
        "the plan's settings are damaged",
    ),
]


def bundle_of(body: bytes) -> bytes:
    return encode_payload(Payload(body))


def resized(payload: bytes, *sizes: int) -> bytes:
    """Returns a payload with other sizes and flags, and the digest that belongs to them."""
    rest = struct.pack("<QII", *sizes) + payload[68:]
    return payload[:20] + hashlib.sha256(rest).digest() + rest


@pytest.mark.parametrize(("change", "kind", "message"), REFUSED, ids=[one[2] for one in REFUSED])
def test_payloads_that_are_refused(
    payload: bytes, change: Any, kind: type[HipgraftError], message: str
):
    with pytest.raises(kind) as caught:
        open_payload(change(payload), "gfx942", "my.plan")
    assert str(caught.value).startswith("my.plan: error: ")
    assert message in str(caught.value)


def test_later_headers_may_be_longer(payload: bytes):
    rest = payload[52:68] + bytes(12) + payload[68:]
    header = payload[:14] + struct.pack("<HI", 80, 0) + hashlib.sha256(rest).digest()
    assert decode_payload(header + rest) == Payload(payload[68:])


def test_payloads_have_a_graph():
    """Its parts by their offsets, and as they were given."""
    given = Payload(b"bundle", Overridable(b"graph", ";search=full"))
    data = encode_payload(given)
    assert struct.unpack_from("<QII", data, 52) == (6, 12, 1)
    assert data[68:] == b"bundle;search=fullgraph"
    assert decode_payload(data) == given
    passive = Payload(b"bundle", Overridable(b"graph", compiles=False))
    assert decode_payload(encode_payload(passive)) == passive


def test_another_architecture(payload: bytes):
    with pytest.raises(PlanArchitectureError) as caught:
        open_payload(payload, "gfx90a", "my.plan")
    expected = "my.plan: error: the plan is for gfx942, gfx1100, not for 'gfx90a'"
    assert str(caught.value) == expected


def replaced(payload: bytes, **fields: Any) -> bytes:
    """A payload with other metadata in a bundle that is otherwise in order."""
    from hipgraft.runtime.bundle import Bundle, bundle_bytes

    with Bundle("x", data=payload[HEADER_SIZE:]) as bundle:
        recordings = [one for name in bundle.architectures for one in bundle.recordings(name)]
        return bundle_of(bundle_bytes(recordings, bundle.metadata | fields))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"engine": "OTHER"}, "the plan is of engine 'OTHER'; expected 'HIPGRAFT_ENGINE'"),
        ({"inputs": [7]}, "the plan's uids are not those of its bundle"),
        ({"results": []}, "the plan's uids are not those of its bundle"),
        ({"targets": ["gfx942"]}, "the plan's targets are not those of its bundle"),
        ({"inputs": "7"}, "malformed metadata of a plan: "),
        ({"by_value": None}, "malformed metadata of a plan: "),
    ],
)
def test_metadata_that_does_not_fit(payload: bytes, fields: dict[str, Any], message: str):
    with pytest.raises(DamagedPlanError, match=message):
        open_payload(replaced(payload, **fields), "gfx942")


# A byte of the header, of the calls, of the code: a checksum or another check covers each.
def test_any_changed_byte_is_noticed(payload: bytes):
    generator = np.random.default_rng(0)
    places = [*range(HEADER_SIZE), *generator.integers(HEADER_SIZE, len(payload), 60)]
    for at in places:
        changed = bytearray(payload)
        changed[at] ^= 1 << int(generator.integers(8))
        with pytest.raises((DamagedPlanError, PlanVersionError)):
            open_payload(bytes(changed), "gfx942")


def test_tool_refuses_what_is_no_graph(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    def error(*flags: str) -> str:
        assert hipgraft_compile.main([*flags, "-q"]) == 1
        return capfd.readouterr().err

    out = ["-o", str(tmp_path / "x.plan")]
    model = str(ROOT / "examples" / "resnet50_bn_tiny.onnx")
    whole = "a plan is made from one graph of hipDNN's, and nothing besides"
    assert error(model, *out) == f"{model}: error: {whole}\n"
    path = str(INPUTS / "conv_bias_relu.json")
    assert error(path, "--emit=plan") == "error: --emit=plan needs an output file (-o)\n"
    for target in ("cpu", "gfx942,cpu"):
        expected = "error: --emit=plan needs architectures of GPUs, not 'cpu'\n"
        assert error(path, *out, f"--target={target}") == expected
    late = ["--emit=plan", "--compile-to=hipdnn-executables"]
    assert "needs a program of the last stage" in error(path, *out, *late)
    assert not list(tmp_path.iterdir())


NARROW = [
    ("int4", {}),
    ("fp4_e2m1", {}),
    ("unset", {"io_data_type": "int4"}),
]


@pytest.mark.parametrize(("data_type", "fields"), NARROW)
def test_four_bit_inputs_and_results_are_refused(
    data_type: str, fields: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    """Virtual tensors may have these types."""
    path = tmp_path / "narrow.json"
    source = graph(
        [pointwise("identity", 1, out=2)],
        [tensor(uid, [64], data_type) for uid in (1, 2)],
        **fields,
    )
    path.write_text(json.dumps(source))
    command = [str(path), "-q", "--emit=plan", "-o", str(tmp_path / "x.plan")]
    assert hipgraft_compile.main(command) == 1
    named = fields.get("io_data_type", data_type)
    expected = f"{path}: error: tensor 't1' has two elements of type {named} in a byte; "
    assert capfd.readouterr().err.startswith(expected)
    assert not (tmp_path / "x.plan").exists()


def test_virtual_four_bit_tensors_are_taken():
    source = graph(
        [pointwise("identity", 1, out=2), pointwise("identity", 2, out=3)],
        [tensor(1, [64]), tensor(2, [64], "unset", virtual=True), tensor(3, [64])],
        intermediate_data_type="fp4_e2m1",
    )
    plan = compile_plan(module_of(source), "gfx942")
    assert list(plan.tensor_uids) == [1, 3]


def test_plans_for_gpus_that_hipdnn_does_not_know():
    plan = compile_plan(module_of(PRODUCT), "sm_80,gfx942")
    with PlayerBundle(plan.plugin_payload[HEADER_SIZE:]) as bundle:
        assert [one.architecture for one in bundle.programs()] == ["sm_80", "gfx942"]


def test_templates_and_modules_become_plans(tmp_path: Path):
    bundle = INPUTS / "batchnorm_gradient"
    plan = compile_plan(bundle, sweep_case="2_3_4_5_fp32_nchw_rlo0_norhi")
    assert list(plan.tensor_uids) == [0, 1, 2, 3, 4, 6, 8, 9, 10]
    path = tmp_path / "graph.mlir"
    path.write_text(str(module_of(PRODUCT)))
    for _ in range(2):  # also where the program is in the cache
        assert hipgraft_compile.main([str(path), "-q", "-o", str(tmp_path / "x.plan")]) == 0
        data = (tmp_path / "x.plan").read_bytes()
        assert SerializedExecutionPlan.from_bytes(data).tensor_uids == (7, 40, 3)

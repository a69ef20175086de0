"""hipgraft as hipDNN's engine: a host drives the plugin, kernels run on the emulated HIP."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest
from emulator import requires_emulator
from hipdnn_graphs import graph, node, pointwise, scalar, tensor, uids
from hipdnn_host import engine_config, fnv1a
from hipdnn_play import BIN, HOST, Prepared, environment, play
from killed_helpers import build_under_kills
from recordings import copying_program
from served import kill_helpers, user_in
from test_driver_devices import build_driver
from test_hipdnn_io_run import Run, conv_bias_relu, relu_gradient, transposed_product, uniform
from test_hostile_bundle import header_of, with_header

from fuzz.mutations import changed_document
from hipgraft import hipdnn_io, native
from hipgraft.helper import DOES_NOT_COMPILE
from hipgraft.helper.plans import Plan
from hipgraft.hipdnn_io.engine_tables import EngineConfig, EngineDetails, KnobSetting
from hipgraft.hipdnn_io.plan_payload import (
    DIGESTED,
    ENGINE_NAME,
    HEADER_SIZE,
    Overridable,
    Payload,
    encode_payload,
)
from hipgraft.hipdnn_io.wiring import wire
from hipgraft.native import plugin_path
from hipgraft.runtime.bundle import write_bundle

requires_compiler = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """Creates a user's folders with a separate helper, which ends afterwards."""
    with user_in(tmp_path_factory.mktemp("home")) as home:
        yield home


def matmul_gelu() -> Run:
    source = graph(
        [
            node("MatmulAttributes", inputs=uids(a=1, b=2), outputs=uids(c=3)),
            pointwise("gelu_fwd", 3, out=4),
        ],
        [
            tensor(1, [1, 9, 16]),
            tensor(2, [1, 16, 24]),
            tensor(3, [1, 9, 24], virtual=True),
            tensor(4, [1, 9, 24]),
        ],
    )
    from math import erf

    a, b = uniform(1, 9, 16), uniform(1, 16, 24)
    c = a.astype(np.float64) @ b
    return Run("matmul_gelu", source, [a, b], 0.5 * c * (1 + np.vectorize(erf)(c / np.sqrt(2))))


def scaled() -> Run:
    """Scales by a scalar in host memory, which the caller passes at run time."""
    source = graph(
        [pointwise("mul", 1, 2, out=3)],
        [tensor(1, [6, 8]), tensor(2, [1, 1], is_runtime_pass_by_value=True), tensor(3, [6, 8])],
    )
    x, factor = uniform(6, 8), np.full((1, 1), 2.5, np.float32)
    return Run("scaled", source, [x, factor], 2.5 * x.astype(np.float64))


RUNS = [conv_bias_relu, matmul_gelu, relu_gradient, transposed_product, scaled]


@requires_emulator
@pytest.mark.slow
def test_graphs_run_and_plans_are_restored(home: Path, tmp_path: Path) -> None:
    prepared = [Prepared(make(), tmp_path) for make in RUNS]
    saving = [one.request | {"save": str(tmp_path / f"{i}.plan")} for i, one in enumerate(prepared)]
    for answer in play(home, *saving):
        assert answer["applicable"], answer
        assert answer["known_us"] < 5000  # a guard: benchmarks measure it
    for one in prepared:
        one.check()
    # A new process, without the helper, and without anything in a cache.
    restoring = [
        {key: value for key, value in one.items() if key not in ("graph", "save")}
        | {"restore": one["save"]}
        for one in saving
    ]
    play(tmp_path, *restoring, HIPGRAFT_SERVE="off", XDG_RUNTIME_DIR=str(tmp_path))
    for one in prepared:
        one.check()
    # With a filled cache, no helper is needed either.
    play(home, *(one.request for one in prepared), HIPGRAFT_SERVE="off")
    for one in prepared:
        one.check()


@requires_emulator
@pytest.mark.slow
def test_what_does_not_compile_is_told(home: Path, tmp_path: Path) -> None:
    packed = graph([pointwise("identity", 1, out=2)], [tensor(uid, [64], "int4") for uid in (1, 2)])
    unset = graph(
        [pointwise("identity", 1, out=2)],
        [tensor(uid, [64], "unset") for uid in (1, 2)],
        io_data_type="fp4_e2m1",
    )
    anywhere = graph(
        [pointwise("identity", 1, out=2)], [tensor(uid, [64], alignment=4) for uid in (1, 2)]
    )
    files: list[Path] = []
    for name, data in {
        **{
            name: hipdnn_io.write_flatbuffer(hipdnn_io.read_json(json.dumps(source)))
            for name, source in (("packed", packed), ("unset", unset), ("anywhere", anywhere))
        },
        "text": b"no FlatBuffer at all",
        "cut": Prepared(matmul_gelu(), tmp_path).graph.read_bytes()[:-64],
    }.items():
        files.append(tmp_path / name)
        files[-1].write_bytes(data)
    answers = play(home, *({"graph": str(path)} for path in files))
    reasons = [
        "type int4 in a byte",
        "type fp4_e2m1 in a byte",
        "any multiple of 4 bytes",
        "FlatBuffer",
        "FlatBuffer",
    ]
    for answer, reason in zip(answers, reasons, strict=True):
        assert answer["applicable"] is False
        assert any("not applicable" in line and reason in line for line in answer["logged"])


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_no_refusal(home: Path, tmp_path: Path) -> None:
    (tmp_path / "no-folder").touch()
    command = [sys.executable, "-m", "hipgraft.helper"]
    graph = Prepared(matmul_gelu(), tmp_path).graph.read_bytes()
    jobs = [b"plan gfx942 %d\n%s" % (len(one), one) for one in (graph, graph[:-64])]
    given = environment(home, HIPGRAFT_CACHE_DIR=str(tmp_path / "no-folder/cache"))
    done = subprocess.run(command, input=b"".join(jobs), env=given, capture_output=True, check=True)
    full, damaged = done.stdout.decode().splitlines()
    assert full.startswith("1 error: ")
    assert damaged.startswith(f"{DOES_NOT_COMPILE} ")


@requires_emulator
@pytest.mark.slow
def test_damaged_plans_are_told(home: Path, tmp_path: Path) -> None:
    prepared = Prepared(matmul_gelu(), tmp_path)
    plan = tmp_path / "whole.plan"
    play(home, prepared.request | {"save": str(plan)})
    whole = plan.read_bytes()
    cases = {
        "magic": (b"X" + whole[1:], "INVALID_VALUE", "none of this engine"),
        "format": (whole[:8] + b"\1" + whole[9:], "NOT_APPLICABLE", "format 1.0"),
        "kind": (whole[:12] + b"\7" + whole[13:], "NOT_APPLICABLE", "kind 7"),
        "header": (whole[:16] + b"\1" + whole[17:], "INVALID_VALUE", "header is damaged"),
        "body": (whole[:-1] + bytes([whole[-1] ^ 1]), "INVALID_VALUE", "payload is damaged"),
        "cut": (whole[:40], "INVALID_VALUE", "none of this engine"),
    }
    paths = {name: tmp_path / name for name in cases}
    for name, path in paths.items():
        path.write_bytes(cases[name][0])
    answers = play(home, *({"restore": str(path)} for path in paths.values()))
    for answer, (_, status, text) in zip(answers, cases.values(), strict=True):
        assert answer["error"] == status
        assert text in answer["text"]


@pytest.mark.thorough
@requires_emulator
@pytest.mark.slow
def test_killed_helpers_lose_nothing(home: Path, tmp_path: Path) -> None:
    """`python test/unit/killed_helpers.py` kills more of them."""
    built = build_under_kills(home, tmp_path, kills=6, seed=0)
    assert built.kills == 6
    assert built.plans >= 8


@pytest.mark.thorough
@requires_emulator
@pytest.mark.slow
def test_compilations_have_a_time_limit(tmp_path: Path) -> None:
    with user_in(tmp_path / "user") as home:
        prepared = Prepared(matmul_gelu(), tmp_path)
        (answer,) = play(home, prepared.request, HIPGRAFT_SERVE_SECONDS="0.05")
        assert answer["error"] == "NOT_APPLICABLE"
        reason = "the compiler did not end in 0.05 s; HIPGRAFT_SERVE_SECONDS sets this limit"
        assert answer["text"] == reason
        # The helper does not claim it again; the next helper tries it.
        (answer,) = play(home, prepared.request)
        assert answer["applicable"] is False
        assert answer["logged"][-1].endswith(reason)
        kill_helpers(home)
        (answer,) = play(home, prepared.request)
        assert answer["applicable"] is True
        prepared.check()


@pytest.mark.slow
@pytest.mark.sampled(6)
@pytest.mark.parametrize("given", ["x", "-1", "nan"])
def test_wrong_time_limits_are_errors(given: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [BIN / "hipgraft-serve", "--background"],
        env=environment(tmp_path, HIPGRAFT_SERVE_SECONDS=given),
        capture_output=True,
        text=True,
        check=False,
    )
    expected = f"error: HIPGRAFT_SERVE_SECONDS is '{given}': expected a number of seconds\n"
    assert (done.returncode, done.stderr) == (1, expected)


CALLS = """
import sys
sys.path.insert(0, sys.argv[2])
from hipdnn_host import *
from ctypes import byref, c_void_p, c_size_t, c_uint32, c_int64
plugin = Plugin(sys.argv[1])
library = plugin.library
null, size, count = c_void_p(), c_size_t(), c_uint32()
for name in BASE + ["GetApiVersion"]:
    getattr(library, "hipdnnPlugin" + name)(None)
for name in ENGINE + OPTIONAL:
    if name not in ("GetAllEngineIds", "GetEngineName"):
        assert getattr(library, "hipdnnEnginePlugin" + name)(*[None] * 10) in (1, 2), name
assert library.hipdnnEnginePluginGetAllEngineIds(None, 0, None) == 1
assert library.hipdnnEnginePluginGetEngineName(c_int64(5), byref(null)) == 5
handle = Handle(plugin)
data = Data.of(b"x" * 8)
for config in (b"", b"x", b"x" * 40, engine_config(5), bytes(64), b"\\xff" * 64):
    given = Data.of(config)
    for name in ("CreateExecutionContext", "GetWorkspaceSize"):
        status = getattr(library, "hipdnnEnginePlugin" + name)(
            handle.pointer, byref(given), byref(data), byref(size))
        assert status in (1, 2), (name, config, status)
assert library.hipdnnEnginePluginGetEngineDetails(
    handle.pointer, c_int64(5), byref(data), byref(given)) == 1
hip = Hip()
stream = hip.stream()
handle.set_stream(stream)
hip.call("hipStreamDestroy", stream)
for wrong in (stream, c_void_p(4096)):
    assert library.hipdnnEnginePluginSetStream(handle.pointer, wrong) == 1
handle.set_stream(c_void_p(2))  # hipStreamPerThread
handle.destroy()
print(plugin.name, plugin.api, len(plugin.engines))
"""


@requires_emulator
def test_wrong_calls_are_told(home: Path) -> None:
    done = subprocess.run(
        [BIN / "hipgraft-emulate", "--", sys.executable, "-c", CALLS, plugin_path(), HOST.parent],
        env=environment(home, HIPGRAFT_SERVE="off"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "hipgraft 1.4.0 1\n"), done.stderr


STREAMS = """
import sys
sys.path.insert(0, sys.argv[2])
from hipdnn_host import *
driver = ctypes.CDLL(sys.argv[3])
is_hip = hasattr(driver, "hipSetDevice")
create, destroy = (("hipStreamCreateWithFlags", "hipStreamDestroy") if is_hip
                   else ("cuStreamCreate", "cuStreamDestroy_v2"))
def stream_on(device):
    stream = c_void_p()
    if is_hip:
        assert driver.hipSetDevice(device) == 0
    else:
        assert driver.cuCtxSetCurrent(c_void_p(10 + device)) == 0
    assert getattr(driver, create)(byref(stream), 1) == 0
    return stream
handle = Handle(Plugin(sys.argv[1]))
own, other = stream_on(0), stream_on(1)
def tell(stream):
    before = driver.fake_device()
    try:
        handle.set_stream(stream)
        print("SUCCESS")
    except PluginError as error:
        print(error.status, error.text)
    assert driver.fake_device() == before
for stream in (own, None, other, c_void_p(4096)):
    tell(stream)
getattr(driver, destroy)(other)
tell(other)
handle.destroy()
"""


@pytest.mark.slow
@requires_compiler
@pytest.mark.parametrize("kind", ["hip", "cuda"])
def test_streams_of_others_are_refused(kind: str, tmp_path: Path) -> None:
    """Runs on a fake driver with two devices."""
    built = build_driver(kind, tmp_path)
    (tmp_path / "libcuda.so.1").symlink_to(built.path)
    done = subprocess.run(
        [sys.executable, "-c", STREAMS, plugin_path(), HOST.parent, built.path],
        env=environment(
            tmp_path,
            HIPGRAFT_PLUGIN_DEVICE=f"{kind}:0",
            HIPGRAFT_LIBAMDHIP64=built.path,
            LD_LIBRARY_PATH=str(tmp_path),
        ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *accepted, other, invalid, destroyed = done.stdout.splitlines()
    assert accepted == ["SUCCESS", "SUCCESS"]
    function = {"hip": "hipStreamGetDevice", "cuda": "cuStreamGetCtx"}[kind]
    unknown = f"BAD_PARAM the stream is invalid: '{function}' failed: invalid argument"
    assert [invalid, destroyed] == [unknown, unknown]
    assert other.startswith("BAD_PARAM the stream is ")
    assert {"hip": "on HIP device 1; expected device 0", "cuda": "of CUDA device"}[kind] in other


@requires_emulator
@pytest.mark.slow
def test_overrides_never_run_the_wrong_kernel(home: Path, tmp_path: Path) -> None:
    prepared = Prepared(matmul_gelu(), tmp_path)
    script = """
import sys, json
sys.path.insert(0, sys.argv[2])
from hipdnn_host import *
plugin, hip = Plugin(sys.argv[1]), Hip()
handle = Handle(plugin)
graph = open(sys.argv[3], "rb").read()
context = handle.build(engine_config(plugin.engines[0]), graph)
inputs = np.load(sys.argv[4])
pointers = {int(uid): hip.upload(inputs[uid]) for uid in inputs} | {4: hip.allocate(9 * 24 * 4)}
workspace = hip.allocate(context.workspace_size)
handle.set_stream(hip.stream())
def status(call, *arguments):
    try:
        call(*arguments)
    except PluginError as error:
        return error.status
    return "SUCCESS"
same, other = ([1, 9, 16], [144, 16, 1]), ([1, 8, 16], [128, 16, 1])
print(status(context.execute_with, workspace, pointers, {1: same}))
print(status(context.execute_with, workspace, pointers, {1: other}))
print(status(context.execute_with, workspace, pointers, {7: same}))
print(status(context.execute, workspace, {1: pointers[1]}))
print(status(context.execute, workspace, pointers | {2: pointers[2] + 4}))
print(status(context.execute, workspace, pointers | {4: 0}))
context.destroy()
handle.destroy()
"""
    command = [BIN / "hipgraft-emulate", "--", sys.executable, "-c", script, plugin_path()]
    done = subprocess.run(
        [*command, HOST.parent, prepared.graph, prepared.inputs],
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = "SUCCESS NOT_APPLICABLE BAD_PARAM BAD_PARAM BAD_PARAM BAD_PARAM"
    assert done.stdout.split() == expected.split()


KNOBS = """
import sys, json
sys.path.insert(0, sys.argv[2])
from hipdnn_host import *
plugin = Plugin(sys.argv[1])
handle = Handle(plugin)
graph = open(sys.argv[3], "rb").read()
for config in sys.argv[4:]:
    try:
        context = handle.build(bytes.fromhex(config), graph)
        print("SUCCESS", context.workspace_size)
        context.destroy()
    except PluginError as error:
        print(error.status, error.text)
print(*plugin.logged, sep="\\n")
handle.destroy()
"""


@requires_emulator
@pytest.mark.slow
def test_knobs_are_obeyed_or_refused(home: Path, tmp_path: Path) -> None:
    prepared = Prepared(matmul_gelu(), tmp_path)
    flags = "flags=materialized-padding"
    cases: list[tuple[str, int | float | str, str]] = [
        ("global.deterministic", 1, "SUCCESS"),
        ("global.workspace_size_limit", 1 << 40, "SUCCESS"),
        ("unheard.of", 1, "SUCCESS"),
        ("hipgraft.compile.search", "none", "SUCCESS"),
        ("hipgraft.compile.plan", "flags=whole-reductions", "SUCCESS"),
        ("hipgraft.compile.plan", flags, f"NOT_APPLICABLE error: the graph has no plan '{flags}'"),
        ("hipgraft.compile.search", "wide", "NOT_APPLICABLE error: setting 'search' is 'wide'"),
        ("hipgraft.compile.search", "a b", "BAD_PARAM knob 'hipgraft.compile.search' cannot"),
        ("hipgraft.compile.search", 1, "BAD_PARAM knob 'hipgraft.compile.search' takes a text"),
        ("hipgraft.overrides.compile", 2, "BAD_PARAM knob 'hipgraft.overrides.compile' cannot"),
        ("global.deterministic", 2, "BAD_PARAM knob 'global.deterministic' cannot be 2"),
        ("global.deterministic", 0.5, "BAD_PARAM knob 'global.deterministic' takes an integer"),
    ]
    configs = [
        EngineConfig(fnv1a("HIPGRAFT_ENGINE"), [KnobSetting(name, value)]).to_bytes().hex()
        for name, value, _ in cases
    ]
    command = [BIN / "hipgraft-emulate", "--", sys.executable, "-c", KNOBS, plugin_path()]
    done = subprocess.run(
        [*command, HOST.parent, prepared.graph, *configs],
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for line, (name, value, expected) in zip(lines, cases, strict=False):
        assert line.startswith(expected), (name, value, line)
    assert "hipgraft: unknown knob 'unheard.of'" in lines
    # Each setting of the compilation has a separate file in the cache.
    settings = ["", ";search=none", ";plan=flags=whole-reductions"]
    graph = prepared.graph.read_bytes()
    keys = [Plan(graph, f"gfx942{one}").key for one in settings]
    made = {path.stem for path in (home / "cache" / "hipdnn").rglob("*.hgb")}
    assert set(keys) <= made
    assert len(set(keys)) == 3


@requires_emulator
@pytest.mark.slow
def test_workspaces_over_the_limit_are_refused(home: Path, tmp_path: Path) -> None:
    """A scalar in host memory takes 256 bytes of the workspace."""
    prepared = Prepared(scaled(), tmp_path)
    configs = [
        EngineConfig(fnv1a("HIPGRAFT_ENGINE"), [KnobSetting(name, limit)]).to_bytes().hex()
        for name, limit in zip(["global.workspace_size_limit"] * 4, [-1, 256, 255, 0], strict=True)
    ]
    command = [BIN / "hipgraft-emulate", "--", sys.executable, "-c", KNOBS, plugin_path()]
    done = subprocess.run(
        [*command, HOST.parent, prepared.graph, *configs],
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    refusal = "NOT_APPLICABLE the graph needs a workspace of 256 bytes; the limit is "
    expected = ["SUCCESS 256", "SUCCESS 256", f"{refusal}255", f"{refusal}0"]
    assert done.stdout.splitlines()[:4] == expected


def test_what_is_told_of_the_engine() -> None:
    """hipDNN's schema reads the engine's generated details, and the host's configuration."""
    from hipgraft.tools.dev import gen_engine_details

    assert gen_engine_details.TARGET.read_text() == gen_engine_details.text()
    text = gen_engine_details.TARGET.read_text()
    numbers = text[text.index("{") + 1 : text.index("};")].split(",")
    details = EngineDetails.from_bytes(bytes(int(number, 16) for number in numbers))
    assert details.engine_id == fnv1a("HIPGRAFT_ENGINE")
    assert details.behavior_notes == (0, 2, 4)
    defaults = {knob.knob_id: knob.default_value for knob in details.knobs}
    assert defaults == {
        "hipgraft.compile.search": "default",
        "hipgraft.compile.plan": "searched",
        "hipgraft.compile.cost_model": "static",
        "global.workspace_size_limit": -1,
        "hipgraft.overrides.compile": 1,
        "global.deterministic": 0,
    }
    assert EngineConfig.from_bytes(engine_config(7)).engine_id == 7


def test_a_scalar_of_the_graph_is_no_buffer() -> None:
    """Compile-time scalars are in the kernel, so that hosts do not pass them."""
    source = graph(
        [pointwise("mul", 1, 2, out=3)], [tensor(1, [8]), scalar(2, 3.0), tensor(3, [8])]
    )
    wiring = wire(hipdnn_io.read_json(json.dumps(source)))
    assert [one.uid for one in wiring.arguments] == [1]


@requires_compiler
@pytest.mark.thorough
def test_hostile_bytes_under_sanitizers(tmp_path: Path) -> None:
    """Damaged payloads and bundles, also with corrected digests, cause no undefined behaviour."""
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    source = native.include_directory().parent
    folders = [source / one for one in ("include", "core", "client", "plugin")]
    files = [path for folder in folders for path in sorted(folder.glob("*.cpp"))]
    command = ["c++", "-std=c++17", *flags, *(f"-I{folder}" for folder in folders)]
    command += ['-DHIPGRAFT_RELEASE="0"', str(HOST.with_name("plugin_fuzz.cpp")), *map(str, files)]
    built = subprocess.run(
        [*command, "-ldl", "-o", tmp_path / "fuzz"], capture_output=True, check=False
    )
    if built.returncode:
        pytest.skip("the compiler has no sanitizers")
    library = build_null_hip(tmp_path)
    write_bundle(
        tmp_path / "x.hgb",
        [copying_program()],
        {
            "engine": ENGINE_NAME,
            "inputs": [1],
            "results": [2, 3, 4],
            "by_value": [],
            "targets": ["gfx942"],
        },
    )
    whole, draw = (tmp_path / "x.hgb").read_bytes(), random.Random(1)
    payloads = [encode_payload(Payload(whole))]
    payloads += [
        encode_payload(Payload(with_header(whole, changed_document(header_of(whole), draw))))
        for _ in range(60)
    ]
    document = matmul_gelu().source | {"is_override_shape_enabled": True}
    graph = hipdnn_io.write_flatbuffer(hipdnn_io.read_json(json.dumps(document)))
    payloads += [damaged_parts(whole, graph, draw) for _ in range(60)]
    for number, payload in enumerate(payloads):
        (tmp_path / f"{number}.plan").write_bytes(payload)
    done = subprocess.run(
        [tmp_path / "fuzz", "1", "800", *tmp_path.glob("*.plan")],
        env=environment(tmp_path, HIPGRAFT_SERVE="off", HIPGRAFT_LIBAMDHIP64=str(library)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10


def damaged_parts(bundle: bytes, graph: bytes, draw: random.Random) -> bytes:
    """Returns a payload with a graph and settings, of which some parts or sizes are wrong.

    Its digest is right.
    """

    def changed(data: bytes) -> bytes:
        found = bytearray(data)
        for _ in range(draw.randrange(3)):
            found[draw.randrange(len(found))] = draw.randrange(256)
        return bytes(found)

    settings = changed(b";search=full;plan=hipdnn.sdpa=padded").decode("latin1")
    settings = "".join(one for one in settings if one.isascii())
    whole = encode_payload(Payload(bundle, Overridable(changed(graph), settings)))
    fields = list(struct.unpack_from("<QII", whole, DIGESTED))
    if draw.randrange(2):
        fields[draw.randrange(3)] = draw.choice([0, 1, len(bundle) - 1, len(whole), 2**32 - 1])
    rest = struct.pack("<QII", *fields) + whole[HEADER_SIZE:]
    return whole[: DIGESTED - 32] + hashlib.sha256(rest).digest() + rest


def build_null_hip(folder: Path) -> Path:
    library = folder / "libnull_hip.so"
    source = HOST.with_name("null_hip.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", source, "-o", library], check=True)
    return library

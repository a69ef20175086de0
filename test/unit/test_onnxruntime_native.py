"""hipgraft as a provider of onnxruntime: claims, computes, compiled models, function tables."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import onnxruntime_host
import pytest
from emulator import requires_emulator

ROOT = Path(__file__).resolve().parents[2]
UNIT = Path(__file__).parent
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's folders, with a helper that ends on its own."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "run").mkdir(mode=0o700)
    command = folder / "serve"
    server = UNIT / "onnxruntime_server.py"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} {server} "$@"\n')
    command.chmod(0o700)
    return folder


def play(home: Path, code: str, *, emulated: bool = False, **others: str) -> str:
    """Runs a host with the stand-in for the helper; returns what it wrote."""
    given = {"HIPGRAFT_SERVE": str(home / "serve"), "SERVED_SECONDS": "20"}
    emulator = [str(BIN / "hipgraft-emulate"), "--"] if emulated else []
    return onnxruntime_host.play(home, code, under=emulator, **{**given, **others})


RUNS = """
register()
model, inputs = small_model()
expected = reference(model, inputs)
made = session_on(model, {architecture!r}, report="report.txt")
for _ in range(3):
    (found,) = made.run(None, inputs)
    check(found, expected)
(again,) = session_on(model, {architecture!r}, serve="off").run(None, inputs)
np.testing.assert_array_equal(again, found)
print(open("report.txt").read())
assert made.get_providers()[0] == PROVIDER
"""


@pytest.mark.slow
def test_cpu_sessions_give_what_onnxruntime_gives(home: Path) -> None:
    said = play(home, RUNS.format(architecture="cpu"))
    # One warning a session, and the report.
    assert said.count("takes 4 of 5 nodes in 2 groups") == 3


@pytest.mark.thorough
@requires_emulator
@pytest.mark.slow
def test_gpu_sessions_give_what_onnxruntime_gives(home: Path) -> None:
    said = play(home, RUNS.format(architecture="gfx942"), emulated=True)
    assert "takes 4 of 5 nodes in 2 groups" in said


BOUND = """
register()
model, inputs = small_model()
expected = reference(model, inputs)
vendor = 0x1002
made = [session_on(model, "gfx942", serve="off") for _ in range(2)]
# In the GPU's memory from end to end, with copies to the host and back for the node in the middle.
given = ort.OrtValue.ortvalue_from_numpy(inputs["x"], "gpu", 0, vendor)
assert given.data_ptr() % 64 == 0
np.testing.assert_array_equal(given.numpy(), inputs["x"])
def run(number):
    one = made[number % 2]
    binding = one.io_binding()
    binding.bind_ortvalue_input("x", given)
    result = ort.OrtValue.ortvalue_from_shape_and_type(expected.shape, np.float32, "gpu", 0, vendor)
    binding.bind_ortvalue_output("y", result)
    one.run_with_iobinding(binding)
    check(result.numpy(), expected)
for number in range(3):
    run(number)
with ThreadPoolExecutor(4) as pool:
    list(pool.map(run, range(16)))
# Between host and GPU as onnxruntime likes.
(found,) = made[0].run(None, inputs)
check(found, expected)
# Values outlive the session, and with it the stream, that made them.
binding = made[0].io_binding()
binding.bind_ortvalue_input("x", given)
gpu = ort.OrtDevice.make("gpu", 0, vendor)._get_c_device()
binding._iobinding.bind_output("y", gpu)
made[0].run_with_iobinding(binding)
(value,) = binding.get_outputs()
assert value.device_name() == "hip", value.device_name()
del binding, made
check(value.numpy(), expected)
"""


@pytest.mark.thorough
@requires_emulator
@pytest.mark.slow
def test_tensors_stay_on_the_gpu(home: Path) -> None:
    play(home, RUNS.format(architecture="gfx942"), emulated=True)  # compiles
    play(home, BOUND, emulated=True)


@pytest.mark.slow
def test_the_graph_is_the_model(home: Path, tmp_path: Path) -> None:
    """The graph that the helper gets computes the same, with all kinds of attributes."""
    (tmp_path / "run").mkdir(mode=0o700)
    play(
        home,
        """
register()
model, inputs = model_of_all_kinds()
expected = reference(model, inputs)
np.testing.assert_array_equal(session_on(model, "cpu").run(None, inputs)[0], expected)
written = onnx.load("kept.onnx")
onnx.checker.check_model(written, full_check=True)
np.testing.assert_array_equal(reference(written.SerializeToString(), inputs), expected)
wanted = onnx.load_from_string(model)
have = {node.output[0]: node for node in written.graph.node}
for node in wanted.graph.node:
    other = have[node.output[0]]
    assert list(other.input) == list(node.input)
    assert attributes(other) == attributes(other) | attributes(node)
(dim, *_) = written.graph.input[0].type.tensor_type.shape.dim
assert dim.dim_param == "rows"
""",
        KEEP_MODEL="kept.onnx",
        TAKEN="none",
        XDG_RUNTIME_DIR=str(tmp_path / "run"),
    )


@pytest.mark.slow
def test_options_and_shapes_are_errors_with_their_names(home: Path) -> None:
    play(
        home,
        """
register()
model, inputs = small_model()
with pytest.raises(Exception, match="there is no option 'colour'"):
    session_on(model, "cpu", colour="red")
with pytest.raises(Exception, match="'serve' is one of auto, off, not 'on'"):
    session_on(model, "cpu", serve="on")
with pytest.raises(Exception, match="takes 4 of 5.*'fallback' is 'error'"):
    session_on(model, "cpu", fallback="error")
# Without a helper the nodes stay with onnxruntime, and a warning says why.
other, _ = small_model(rows=5)
session_on(other, "cpu", serve="off").run(None, reference_inputs(other))
with pytest.raises(Exception, match="not in the cache"):
    session_on(other, "cpu", serve="off", fallback="error")
ctypes.CDLL(str(onnxruntime_path())).hipgraft_ort_set_cpu(None)  # as in a host without Python
with pytest.raises(Exception, match="hipgraft.onnxruntime.register"):
    session_on(model, "cpu")
""",
    )


@pytest.mark.slow
def test_virtual_gpus_compile_and_do_not_run(home: Path) -> None:
    play(
        home,
        """
register("hipgraft.virtual")
model, inputs = small_model()
made = session_on(model, "gfx942")
with pytest.raises(Exception, match="compiled for gfx942, a virtual device"):
    made.run(None, inputs)
""",
    )


@pytest.mark.slow
def test_threads_share_a_session_and_the_exit_is_clean(home: Path) -> None:
    play(
        home,
        """
register()
model, inputs = small_model()
expected = reference(model, inputs)
sessions = [session_on(model, "cpu") for _ in range(2)]
def run(number):
    (found,) = sessions[number % 2].run(None, inputs)
    check(found, expected)
with ThreadPoolExecutor(8) as pool:
    list(pool.map(run, range(100)))
""",
    )


@pytest.mark.slow
@pytest.mark.parametrize("embed", ["0", "1"])
def test_compiled_models_need_no_helper(home: Path, tmp_path: Path, embed: str) -> None:
    code = f"""
register()
model, inputs = small_model()
expected = reference(model, inputs)
entries = {{"ep.context_enable": "1", "ep.context_file_path": {str(tmp_path / "c.onnx")!r},
           "ep.context_embed_mode": {embed!r}}}
session_on(model, "cpu", entries)
"""
    play(home, code)
    compiled = str(tmp_path / "c.onnx")
    play(
        home,
        f"""
from onnxruntime.capi._pybind_state import get_model_compatibility_for_ep_devices as compatibility
register("hipgraft.virtual")
model, inputs = small_model()
written = onnx.load({compiled!r})
found = [node for node in written.graph.node if node.op_type == "EPContext"]
assert len(found) == 2
(text,) = (one.value for one in written.metadata_props)
assert text.startswith("hipgraft ") and text.endswith(" cpu")
made = session_on({compiled!r}, "cpu")
expected = reference(model, inputs)
check(made.run(None, inputs)[0], expected)
with pytest.raises(Exception, match="compiled for cpu, and the device is gfx942"):
    session_on({compiled!r}, "gfx942")
for device in ort.get_ep_devices():
    if device.ep_name == PROVIDER:
        judged = compatibility([device], text)
        is_cpu = device.ep_metadata["architecture"] == "cpu"
        assert judged.name == ("EP_SUPPORTED_OPTIMAL" if is_cpu else "EP_UNSUPPORTED"), judged
""",
        HIPGRAFT_SERVE="off",
    )
    assert len(list(tmp_path.glob("*.hgb"))) == (0 if embed == "1" else 2)


def test_the_tables_of_the_installed_release() -> None:
    """Functions that check for null say so by name or position: each index is the right one."""
    code = UNIT / "onnxruntime_tables.py"
    done = subprocess.run([sys.executable, code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_damaged_answers_are_errors(tmp_path: Path) -> None:
    flags = ["-g", "-O0", "-fno-rtti", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    empty = tmp_path / "empty.cpp"
    empty.write_text("int main() {}")
    probe = subprocess.run(["c++", *flags, empty, "-o", tmp_path / "empty"], check=False)
    if probe.returncode:
        pytest.skip("the compiler has no sanitizers")
    source = ROOT / "src/hipgraft/native"
    folders = [source / one for one in ("include", "core", "client", "onnxruntime")]
    names = ["answers", "files", "ort", "helper", "json", "digests", "known_code"]
    files = [path for one in folders for path in one.glob("*.cpp") if path.stem in names]
    command = ["c++", "-std=c++17", *flags, *(f"-I{folder}" for folder in folders)]
    command += ['-DHIPGRAFT_RELEASE="0"', UNIT / "onnxruntime_fuzz.cpp", *files]
    subprocess.run([*command, "-ldl", "-o", tmp_path / "fuzz"], check=True)
    group = {"inputs": ["x"], "outputs": ["y"], "bundle": "/a.hgb"}
    answer = {
        "version": 1,
        "groups": [group | {"nodes": [0, 1, 2]}, group | {"nodes": [4]}],
        "left": [{"node": 3, "op": "NonZero", "name": "nz", "reason": "no \\u00e9"}],
        "summary": "takes 4 of 5",
        "report": "",
    }
    (tmp_path / "answer.json").write_text(json.dumps(answer))
    done = subprocess.run(
        [tmp_path / "fuzz", "1", "20000", "5", tmp_path / "answer.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    sound, refused = map(int, done.stdout.split())
    assert sound > 1000
    assert refused > 1000


def test_indices_are_named_once() -> None:
    text = (ROOT / "src/hipgraft/native/onnxruntime/abi.h").read_text()
    for table in ("API", "EP_API", "EDITOR_API"):
        start = text.index(f"#define HIPGRAFT_ORT_{table}(F)")
        body = text[start : text.index("\n\n", start)]
        indices = re.findall(r"F\((\d+),", body)
        assert indices
        assert len(indices) == len(set(indices))

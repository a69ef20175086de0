"""hipgraft as a provider of onnxruntime: claims, computes, compiled models, function tables."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from emulator import requires_emulator

ROOT = Path(__file__).resolve().parents[2]
UNIT = Path(__file__).parent
BIN = Path(sys.executable).parent

PRELUDE = """
import sys
sys.path.insert(0, {unit!r})
from onnxruntime_host import *
from onnxruntime_models import *
"""


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
    """Runs a host in a process of its own; returns what it wrote."""
    given = {
        "XDG_RUNTIME_DIR": str(home / "run"),
        "HIPGRAFT_CACHE_DIR": str(home / "cache"),
        "HIPGRAFT_SERVE": str(home / "serve"),
        "SERVED_SECONDS": "20",
    }
    emulator = [str(BIN / "hipgraft-emulate"), "--"] if emulated else []
    done = subprocess.run(
        [*emulator, sys.executable, "-c", PRELUDE.format(unit=str(UNIT)) + code],
        env={**os.environ, **given, **others},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


RUNS = """
kept = register()
model, inputs = small_model()
expected = reference(model, inputs)
made = session(model, {architecture!r}, report="report.txt")
for _ in range(3):
    (found,) = made.run(None, inputs)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
(again,) = session(model, {architecture!r}, serve="off").run(None, inputs)
np.testing.assert_array_equal(again, found)
print(open("report.txt").read())
assert made.get_providers()[0] == NAME
"""


@pytest.mark.slow
def test_cpu_sessions_give_what_onnxruntime_gives(home: Path) -> None:
    said = play(home, RUNS.format(architecture="cpu"))
    # One warning a session, and the report.
    assert said.count("takes 4 of 5 nodes in 2 groups") == 3


@requires_emulator
@pytest.mark.slow
def test_gpu_sessions_give_what_onnxruntime_gives(home: Path) -> None:
    said = play(home, RUNS.format(architecture="gfx942"), emulated=True)
    assert "takes 4 of 5 nodes in 2 groups" in said


@pytest.mark.slow
def test_the_graph_is_the_model(home: Path, tmp_path: Path) -> None:
    """What the helper gets computes the same, with all kinds of attributes."""
    (tmp_path / "run").mkdir(mode=0o700)
    play(
        home,
        """
kept = register()
model, inputs = model_of_all_kinds()
expected = reference(model, inputs)
np.testing.assert_array_equal(session(model, "cpu").run(None, inputs)[0], expected)
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
import pytest
kept = register()
model, inputs = small_model()
with pytest.raises(Exception, match="there is no option 'colour'"):
    session(model, "cpu", colour="red")
with pytest.raises(Exception, match="'serve' is one of auto, off, not 'on'"):
    session(model, "cpu", serve="on")
with pytest.raises(Exception, match="takes 4 of 5.*'fallback' is 'error'"):
    session(model, "cpu", fallback="error")
# Without a helper the nodes stay with onnxruntime, and a warning says why.
other, _ = small_model(rows=5)
session(other, "cpu", serve="off").run(None, reference_inputs(other))
with pytest.raises(Exception, match="not in the cache"):
    session(other, "cpu", serve="off", fallback="error")
ctypes.CDLL(str(onnxruntime_path())).hipgraft_ort_set_cpu(None)
with pytest.raises(Exception, match="hipgraft.onnxruntime.register"):
    session(model, "cpu")
""",
    )


@pytest.mark.slow
def test_virtual_gpus_compile_and_do_not_run(home: Path) -> None:
    play(
        home,
        """
import pytest
kept = register("hipgraft.virtual")
model, inputs = small_model()
made = session(model, "gfx942")
with pytest.raises(Exception, match="compiled for gfx942, a virtual device"):
    made.run(None, inputs)
""",
    )


@pytest.mark.slow
def test_threads_share_a_session_and_the_exit_is_clean(home: Path) -> None:
    play(
        home,
        """
from concurrent.futures import ThreadPoolExecutor
kept = register()
model, inputs = small_model()
expected = reference(model, inputs)
sessions = [session(model, "cpu") for _ in range(2)]
def run(number):
    (found,) = sessions[number % 2].run(None, inputs)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
with ThreadPoolExecutor(8) as pool:
    list(pool.map(run, range(100)))
ctypes.CDLL(str(onnxruntime_path())).hipgraft_ort_set_cpu(None)
""",
    )


@pytest.mark.slow
@pytest.mark.parametrize("embed", ["0", "1"])
def test_compiled_models_need_no_helper(home: Path, tmp_path: Path, embed: str) -> None:
    code = f"""
kept = register()
model, inputs = small_model()
expected = reference(model, inputs)
entries = {{"ep.context_enable": "1", "ep.context_file_path": {str(tmp_path / "c.onnx")!r},
           "ep.context_embed_mode": {embed!r}}}
session(model, "cpu", entries)
"""
    play(home, code)
    compiled = str(tmp_path / "c.onnx")
    play(
        home,
        f"""
import pytest
from onnxruntime.capi._pybind_state import get_model_compatibility_for_ep_devices as compatibility
kept = register("hipgraft.virtual")
model, inputs = small_model()
written = onnx.load({compiled!r})
found = [node for node in written.graph.node if node.op_type == "EPContext"]
assert len(found) == 2
(text,) = (one.value for one in written.metadata_props)
assert text.startswith("hipgraft ") and text.endswith(" cpu")
made = session({compiled!r}, "cpu")
expected = reference(model, inputs)
np.testing.assert_allclose(made.run(None, inputs)[0], expected, rtol=1e-4, atol=1e-4)
with pytest.raises(Exception, match="compiled for cpu, and the device is gfx942"):
    session({compiled!r}, "gfx942")
for device in ort.get_ep_devices():
    if device.ep_name == NAME:
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


def test_indices_are_named_once() -> None:
    text = (ROOT / "src/hipgraft/native/onnxruntime/abi.h").read_text()
    for table in ("API", "EP_API", "EDITOR_API"):
        start = text.index(f"#define HIPGRAFT_ORT_{table}(F)")
        body = text[start : text.index("\n\n", start)]
        indices = re.findall(r"F\((\d+),", body)
        assert indices
        assert len(indices) == len(set(indices))

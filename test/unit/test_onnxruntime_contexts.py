"""Compiled models of another device or release, and those in memory."""

from __future__ import annotations

import sys
from pathlib import Path

import onnxruntime_host
import pytest
from emulator import requires_emulator

UNIT = Path(__file__).parent
BIN = Path(sys.executable).parent

WRITE = """
register()
model, inputs = small_model()
expected = reference(model, inputs)
def write(architecture, folder, **options):
    os.mkdir(folder)
    entries = {"ep.context_enable": "1", "ep.context_file_path": folder + "/c.onnx"}
    session_on(model, architecture, entries, **options)
    return folder + "/c.onnx"
def age(path):
    "Says that another release wrote a model."
    written = onnx.load(path)
    for node in written.graph.node:
        for one in node.attribute:
            if one.name == "ep_sdk_version":
                one.s = b"0.0.1"
    onnx.save(written, path)
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


def play(home: Path, code: str, *, under: tuple[str, ...] = (), **others: str) -> str:
    given = {"HIPGRAFT_SERVE": str(home / "serve"), "SERVED_SECONDS": "20"}
    return onnxruntime_host.play(home, "import os\n" + WRITE + code, under=under, **given, **others)


@pytest.mark.thorough
@pytest.mark.slow
def test_another_release(home: Path) -> None:
    play(
        home,
        """
path = write("cpu", "plain")
age(path)
check(session_on(path, "cpu").run(None, inputs)[0], expected)
with pytest.raises(Exception, match="compiled by hipgraft 0.0.1, and this is .*context=recompile"):
    session_on(path, "cpu", context="refuse")
with pytest.raises(Exception, match="the model has no sources"):
    session_on(path, "cpu", context="recompile")
path = write("cpu", "sources", context="recompile")
age(path)
for name in os.listdir("sources"):
    if name.endswith(".hgb"):
        os.remove("sources/" + name)
check(session_on(path, "cpu", context="recompile").run(None, inputs)[0], expected)
""",
    )


@pytest.mark.thorough
@requires_emulator
@pytest.mark.slow
def test_another_architecture(home: Path) -> None:
    emulate = (str(BIN / "hipgraft-emulate"), "--")
    play(
        home,
        """
path = write("cpu", "moved", context="recompile")
with pytest.raises(Exception, match="compiled for cpu, and the device is gfx942"):
    session_on(path, "gfx942")
check(session_on(path, "gfx942", context="recompile").run(None, inputs)[0], expected)
check(session_on(path, "cpu").run(None, inputs)[0], expected)
""",
        under=emulate,
    )


@pytest.mark.slow
def test_a_model_in_memory_names_its_folder(home: Path) -> None:
    play(
        home,
        """
path = write("cpu", "files")
data = open(path, "rb").read()
with pytest.raises(Exception, match="the model is in memory, .* ep.context_file_path says where"):
    session_on(data, "cpu")
made = session_on(data, "cpu", {"ep.context_file_path": path})
check(made.run(None, inputs)[0], expected)
""",
    )

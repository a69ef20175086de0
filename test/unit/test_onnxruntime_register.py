"""Sessions of onnxruntime as a user makes them: `register`, and the helper that really compiles."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from served import helpers, kill_helpers

UNIT = Path(__file__).parent
PRELUDE = f"""
import sys
sys.path.insert(0, {str(UNIT)!r})
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import onnxruntime as ort
import hipgraft.onnxruntime
from onnxruntime_models import *

def session(model, **options):
    provider = (hipgraft.onnxruntime.PROVIDER, options)
    return ort.InferenceSession(model, providers=[provider, "CPUExecutionProvider"])

def check(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    folder = tmp_path_factory.mktemp("home")
    (folder / "run").mkdir(mode=0o700)
    yield folder
    kill_helpers(folder)


def play(home: Path, code: str, **others: str) -> str:
    """Runs a user's script in a process of its own; returns what it wrote."""
    given = {
        "XDG_RUNTIME_DIR": str(home / "run"),
        "HIPGRAFT_CACHE_DIR": str(home / "cache"),
        # Found by `register`, not by name.
        "PATH": os.defpath,
    }
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code],
        env={**os.environ, **given, **others},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_threads_share_a_session_that_the_helper_compiled(home: Path) -> None:
    said = play(
        home,
        """
hipgraft.onnxruntime.register()
hipgraft.onnxruntime.register()
model, inputs = small_model()
made = session(model, report="report.txt")
expected = reference(model, inputs)
with ThreadPoolExecutor(8) as pool:
    for found in pool.map(lambda _: made.run(None, inputs)[0], range(64)):
        check(found, expected)
print(open("report.txt").read())
""",
    )
    assert "takes no node" not in said
    assert "5 of 5" in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_the_provider_can_leave_and_return(home: Path) -> None:
    play(
        home,
        """
hipgraft.onnxruntime.unregister()
model, inputs = small_model()
for _ in range(2):
    hipgraft.onnxruntime.register()
    made = session(model)
    check(made.run(None, inputs)[0], reference(model, inputs))
    del made
    hipgraft.onnxruntime.unregister()
    assert hipgraft.onnxruntime.PROVIDER not in {one.ep_name for one in ort.get_ep_devices()}
""",
    )


@pytest.mark.slow
def test_without_a_helper_onnxruntime_computes(home: Path) -> None:
    said = play(
        home,
        """
hipgraft.onnxruntime.register()
model, inputs = small_model(rows=4)
check(session(model).run(None, inputs)[0], reference(model, inputs))
""",
        HIPGRAFT_SERVE="/nowhere/hipgraft-serve",
        XDG_RUNTIME_DIR=str(home),
    )
    assert "takes no node of 5: cannot start the helper '/nowhere/hipgraft-serve'" in said


@pytest.mark.slow
def test_a_killed_helper_is_started_again(home: Path) -> None:
    code = """
hipgraft.onnxruntime.register()
model, inputs = small_model(rows={rows})
check(session(model).run(None, inputs)[0], reference(model, inputs))
"""
    play(home, code.format(rows=5))
    assert helpers(home)
    kill_helpers(home)
    assert "takes no node" not in play(home, code.format(rows=6))
    assert helpers(home)

"""Hosts of the provider: scripts in separate processes, and functions that make sessions."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnxruntime as ort

from hipgraft.onnxruntime import PROVIDER

_PRELUDE = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import ctypes
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from hipgraft.native import onnxruntime_path
from hipgraft.onnxruntime import PROVIDER, register, unregister
from onnxruntime_host import *
from onnxruntime_models import *

def check(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
"""


def play(home: Path, code: str, *, under: Sequence[str] = (), **others: str) -> str:
    """Runs a host whose user's folders are in `home`; returns what it wrote.

    Args:
        home: a folder with a folder `run`.
        code: code of the host.
        under: a command that runs the host.
        others: more environment variables.
    """
    given = {"XDG_RUNTIME_DIR": str(home / "run"), "HIPGRAFT_CACHE_DIR": str(home / "cache")}
    done = subprocess.run(
        [*under, sys.executable, "-c", _PRELUDE + code],
        env={**os.environ, **given, **others},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def session_on(model: Any, architecture: str, entries: Any = None, **options: str) -> Any:
    """A session on the device of an architecture."""
    settings = ort.SessionOptions()
    for key, value in (entries or {}).items():
        settings.add_session_config_entry(key, value)
    (device,) = (
        one
        for one in ort.get_ep_devices()
        if one.ep_name == PROVIDER and one.ep_metadata["architecture"] == architecture
    )
    settings.add_provider_for_devices([device], options)
    return ort.InferenceSession(model, settings)


def session(model: Any, **options: str) -> Any:
    """A session as most users make it."""
    return ort.InferenceSession(model, providers=[(PROVIDER, options), "CPUExecutionProvider"])

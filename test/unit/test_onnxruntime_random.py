"""Random settings of sessions, options of the provider, and threads, against onnxruntime."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from onnxruntime_host import play
from served import user_in


@pytest.mark.thorough
@pytest.mark.slow
def test_random_sessions(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    rounds = request.config.getoption("--random-rounds")
    with user_in(tmp_path / "home") as home:
        play(home, f"from random_sessions import main\nmain({rounds}, 0)", PATH=os.defpath)

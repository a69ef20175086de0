"""When the helper ends."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import pytest

from hipgraft.helper import server
from hipgraft.helper.server import Server, socket_path


@pytest.mark.slow
def test_the_helper_ends_when_no_request_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that takes longer than the helper idles is waited for, and answered."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("HIPGRAFT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(server, "_warm", lambda: None)
    made = Server(idle=0.2, log=lambda _: None)
    assert made.bind()
    serving = threading.Thread(target=made.run, daemon=True)
    serving.start()
    for _ in range(2):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(socket_path()))
            time.sleep(0.5)
            assert serving.is_alive()
            connection.sendall(b"nonsense\n")
            with connection.makefile("rb") as stream:
                assert stream.readline() == b"error the request is malformed\n"
    serving.join(timeout=30)
    assert not serving.is_alive()

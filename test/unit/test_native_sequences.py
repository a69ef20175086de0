"""Sequences of libhipgraft: calls on memory of the caller, in host memory and on built drivers."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recordings import ARCHITECTURE, WEIGHTS, copying_program

from hipgraft.native.functions import PlayerError, call, function, made
from hipgraft.native.player import PlayerDevice
from hipgraft.runtime.recording_json import variant_to_json

X = np.arange(6, dtype=np.float32).reshape(2, 3)
SIZES = (24, 24, 8, 5, 8, 64)  # x, its copy, weights, eights; constant, scratch


@contextmanager
def sequence(device: PlayerDevice, variant: Any) -> Generator[ctypes.c_void_p]:
    text = json.dumps(variant).encode()
    buffers = (ctypes.c_size_t * 2)(8, 64)
    handle = made(
        "sequence_create", device.handle, text, len(text), None, 0, buffers, len(buffers), 0
    )
    yield handle
    function("sequence_destroy")(handle)


@pytest.fixture
def device() -> Generator[PlayerDevice]:
    with PlayerDevice(ARCHITECTURE) as opened:
        yield opened


@pytest.fixture
def memory(device: PlayerDevice) -> Generator[Any]:
    addresses = [device.allocate(size) for size in SIZES]
    device.upload(addresses[4], WEIGHTS)
    yield (ctypes.c_uint64 * len(SIZES))(*addresses)
    for address in addresses:
        device.free(address)


def test_copies_what_is_on_the_host(device: PlayerDevice, memory: Any) -> None:
    y, eights = np.empty_like(X), np.empty(5, np.int8)
    host = (ctypes.c_void_p * 4)(X.ctypes.data, y.ctypes.data, None, eights.ctypes.data)
    with sequence(device, variant_to_json(copying_program())) as handle:
        call("sequence_run", handle, None, memory, len(SIZES), host)
    np.testing.assert_array_equal(y, X)
    np.testing.assert_array_equal(eights, np.full(5, 8))
    weights = np.empty(4, np.float16)
    device.download(weights, memory[2])
    np.testing.assert_array_equal(weights, WEIGHTS)


def test_makes_single_calls(device: PlayerDevice, memory: Any) -> None:
    device.upload(memory[0], X)
    device.upload(memory[1], np.zeros_like(X))
    y = np.empty_like(X)
    with sequence(device, variant_to_json(copying_program())) as handle:
        for number, expected in ((0, 0 * X), (1, X)):  # to the scratch memory, to the result
            call("sequence_call", handle, number, None, memory, len(SIZES))
            device.download(y, memory[1])
            np.testing.assert_array_equal(y, expected)
        with pytest.raises(PlayerError, match="there is no call 4 of 4"):
            call("sequence_call", handle, 4, None, memory, len(SIZES))


def test_wrong_runs_are_told(device: PlayerDevice, memory: Any) -> None:
    with sequence(device, variant_to_json(copying_program())) as handle:
        with pytest.raises(PlayerError, match="expected 6 addresses, found 5") as error:
            call("sequence_run", handle, None, memory, 5, None)
        assert error.value.status == "INVALID_ARGUMENT"
        with pytest.raises(PlayerError, match="null among the arguments addresses"):
            call("sequence_run", handle, None, None, len(SIZES), None)
    with pytest.raises(PlayerError, match="null among the arguments sequence"):
        call("sequence_run", None, None, memory, len(SIZES), None)


def test_calls_that_leave_their_memory_are_refused(device: PlayerDevice) -> None:
    good = variant_to_json(copying_program())
    wrong: dict[str, list[Any]] = {
        "24 bytes from 44 of buffer 5": ["copy", (5, 44), (0, 0), 24],
        "there is no buffer 6": ["copy", (6, 0), (0, 0), 8],
        "there is no kernel 0": ["launch", 0, (1, 1, 1), (1, 1, 1), 0, "", []],
        "a pattern of 3 bytes": ["fill", (1, 0), "010203", 3],
    }
    for text, command in wrong.items():
        with (
            pytest.raises(PlayerError, match=text) as error,
            sequence(device, {**good, "commands": [*good["commands"], command]}),
        ):
            pass
        assert error.value.status == "DAMAGED"
    with pytest.raises(PlayerError) as error, sequence(device, []):
        pass
    assert error.value.status == "DAMAGED"


def test_calls_of_a_device_check_their_arguments(device: PlayerDevice) -> None:
    address = device.allocate(64)
    wrong: list[tuple[tuple[Any, ...], str]] = [
        (
            ("start_fill", device.handle, address, b"abc", 3, 3, None),
            "a pattern of 3 bytes",
        ),
        (("start_fill", device.handle, address, b"ab", 2, 3, None), "2 bytes fills 3"),
        (("start_copy", device.handle, None, address, 8, None), "null among the arguments target"),
        (("start_upload", None, address, address, 8, None), "null among the arguments device"),
        (("capture_begin", device.handle, ctypes.byref(ctypes.c_void_p())), "has no graphs"),
        (("code_load", device.handle, b"", 0, ctypes.byref(ctypes.c_void_p())), "runs no kernels"),
    ]
    for arguments, text in wrong:
        with pytest.raises(PlayerError, match=text):
            call(*arguments)
    device.free(address)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_header_is_c(tmp_path: Path) -> None:
    config = Path(sys.executable).with_name("hipgraft-config")
    include = subprocess.run([config, "--include"], capture_output=True, text=True, check=True)
    source = tmp_path / "main.c"
    source.write_text("#include <hipgraft_device.h>\nint main(void) { return 0; }\n")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]
    subprocess.run(["cc", *flags, f"-I{include.stdout.strip()}", source], check=True)

"""A program for `hipgraft-emulate --check`: launches right and wrong kernels by its arguments."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial

import hip_library as lib
from assembled import assemble
from hip_library import Hip

BEGIN = """
  .file 1 "/kernels" "swap.cpp"
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v1, 2, v0
"""
# Each wave writes its part of LDS, and reads the part of the other wave.
EXCHANGE = """
  .loc 1 7 0
  ds_write_b32 v1, v0
{barrier}
  .loc 1 9 0
  v_xor_b32 v2, 0x100, v1
  ds_read_b32 v3, v2
  s_waitcnt lgkmcnt(0)
  .loc 1 12 0
  global_store_dword v1, v3, s[4:5]
"""
ENDLESS = """
  .loc 1 3 0
  ds_read_b32 v3, v1
  s_waitcnt lgkmcnt(0)
  .loc 1 4 0
  global_store_dword v1, v3, s[4:5]
.Lagain:
  s_branch .Lagain
"""
COPY = """
  s_load_dwordx2 s[6:7], s[0:1], 0x8
  s_waitcnt lgkmcnt(0)
  .loc 1 21 0
  global_load_dword v2, v1, s[4:5]
  s_waitcnt vmcnt(0)
  .loc 1 22 0
  global_store_dword v1, v2, s[6:7]
"""
TEXTS = {
    "right": EXCHANGE.format(barrier="  s_waitcnt lgkmcnt(0)\n  s_barrier"),
    "wrong": EXCHANGE.format(barrier=""),
    "endless": ENDLESS,
}


def launch(hip: Hip, name: str, offset: int = 0, size: int = 512) -> None:
    """Runs a kernel on the first 512 bytes of an allocation."""
    code = assemble(BEGIN + TEXTS[name], "gfx942", pointers=1, lds=512)
    parameters = lib.parameters_of(hip.make("hipMalloc", size) + offset)
    shape = (1, 1, 1, 128, 1, 1)
    hip.call("hipModuleLaunchKernel", hip.function(code.data), *shape, 0, 0, parameters, None)
    assert hip.status("hipDeviceSynchronize") == (700 if offset else 0)


def copy(hip: Hip, before: str) -> None:
    """Initialises the source in the way of `before`, and runs a kernel that copies it."""
    code = assemble(BEGIN + COPY, "gfx942", pointers=2)
    function = hip.function(code.data)
    source, target, other = (hip.make("hipMalloc", 512) for _ in range(3))

    def run(one: int, two: int) -> None:
        shape = (1, 1, 1, 128, 1, 1)
        parameters = lib.parameters_of(one, two)
        hip.call("hipModuleLaunchKernel", function, *shape, 0, 0, parameters, None)
        hip.call("hipDeviceSynchronize")

    if before == "fill":
        hip.call("hipMemset", source, 1, 512)
    elif before == "part":
        hip.call("hipMemset", source, 1, 256)
    elif before == "host":
        hip.call("hipMemcpy", source, bytes(512), 512, lib.HOST_TO_DEVICE)
    elif before == "device":
        hip.call("hipMemcpy", source, other, 512, lib.DEVICE_TO_DEVICE)
    elif before == "kernel":
        hip.call("hipMemset", other, 1, 512)
        run(other, source)
    run(source, target)


def launch_again(hip: Hip) -> None:
    """Runs one kernel three times."""
    code = assemble(BEGIN + TEXTS["wrong"], "gfx942", pointers=1, lds=512)
    function, parameters = hip.function(code.data), lib.parameters_of(hip.make("hipMalloc", 512))
    for _ in range(3):
        shape = (1, 1, 1, 128, 1, 1)
        hip.call("hipModuleLaunchKernel", function, *shape, 0, 0, parameters, None)
    hip.call("hipDeviceSynchronize")


def launch_until_killed(hip: Hip) -> None:
    """Ends this process while a kernel runs."""

    def kill() -> None:
        folder = os.environ["HIPGRAFT_EMULATE"]
        while not any(name.startswith("launch-") for name in os.listdir(folder)):
            time.sleep(0.01)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=kill).start()
    launch(hip, "endless")


def start_children(hip: Hip) -> None:
    """Runs this program twice at once and a third one that is killed; exits with status 0."""
    del hip
    modes = ("wrong", "wrong", "killed")
    started = [subprocess.Popen([sys.executable, __file__, mode]) for mode in modes]
    assert [child.wait() for child in started] == [0, 0, -signal.SIGKILL]


MODES: dict[str, Callable[[Hip], None]] = {
    "right": partial(launch, name="right"),
    "wrong": partial(launch, name="wrong"),
    "large": partial(launch, name="wrong", size=4 << 30),
    "again": launch_again,
    "fault": partial(launch, name="right", offset=4),
    "killed": launch_until_killed,
    "children": start_children,
    **{
        f"copy-{before}": partial(copy, before=before)
        for before in ("nothing", "part", "device", "fill", "host", "kernel")
    },
    "exit": lambda _: sys.exit(7),
}

if __name__ == "__main__":
    for mode in sys.argv[1:]:
        MODES[mode](Hip(ctypes.CDLL("libamdhip64.so")))

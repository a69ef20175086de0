"""The tracing device: its output, and the calls that it rejects."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from programs import compiled

from hipgraft.codegen.objects.formats import read_object
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.runtime.devices import open_device
from hipgraft.runtime.devices.host_memory import NullDevice
from hipgraft.runtime.devices.trace import TraceDevice

ABS = """
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = math.absf %x : tensor<64xf32>
  return %r : tensor<64xf32>
}"""
BLOCK = (64, 1, 1)


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def device(told: list[str]) -> TraceDevice:
    return TraceDevice(NullDevice("gfx942"), told.append)


def launch(
    device: TraceDevice,
    *,
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] | None = None,
    shared: int = 0,
    change: Callable[[bytes], bytes] = bytes,
) -> None:
    """Launches a compiled kernel on two allocations; arguments override its configuration."""
    data = compiled(ABS, "gfx942").objects[0]
    (info,) = read_object(data).kernels.values()
    kernel = device.get_kernel(device.load_code_object(data), info.name)
    pointers = [device.allocate(256), device.allocate(256)]
    kernarg = b"".join(pointer.to_bytes(8, "little") for pointer in pointers)
    kernarg = kernarg.ljust(info.kernarg_size, b"\0")
    device.launch(kernel, grid, block or info.workgroup_size or BLOCK, shared, change(kernarg))


def test_a_launch_is_told(device: TraceDevice, told: list[str]) -> None:
    launch(device)
    assert told[0].startswith("load ")
    assert told[1:3] == ["allocate #0 256 bytes", "allocate #1 256 bytes"]
    assert told[3].startswith("launch main")
    assert told[3].endswith("shared 0 args(#0+0, #1+0)")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"grid": (0, 1, 1)}, "is launched on an empty grid or block"),
        ({"block": (7, 1, 1)}, r"requires workgroups of \d+x1x1, found 7x1x1"),
        ({"shared": 65537}, "needs 65537 bytes of LDS; 'gfx942' has 65536"),
        ({"change": lambda kernarg: kernarg[:-1]}, r"takes \d+ bytes of arguments, found"),
        (
            {"change": lambda kernarg: bytes(8) + kernarg[8:]},
            "gets pointer 0x0 at byte 0 of its arguments, which is outside every allocation",
        ),
    ],
)
def test_wrong_launches(device: TraceDevice, wrong: dict[str, object], message: str) -> None:
    with pytest.raises(HipgraftError, match=message):
        launch(device, **wrong)


def test_wrong_memory(device: TraceDevice, told: list[str]) -> None:
    address = device.allocate(16)
    with pytest.raises(HipgraftError, match="access of 17 bytes"):
        device.copy_to_device(address, bytes(17))
    with pytest.raises(HipgraftError, match="access of 9 bytes"):
        device.copy_to_host(bytearray(9), address + 8)
    with pytest.raises(HipgraftError, match="fill of 6 bytes by a pattern of 4"):
        device.fill(address, bytes(4), 6)
    with pytest.raises(HipgraftError, match="which is no allocation"):
        device.free(address + 8)
    device.copy(address + 8, address, 8)
    assert told[-1] == "copy #0+8 8 bytes from #0+0 8 bytes"
    device.close()
    assert told[-1] == "leaked #0 16 bytes"


def test_names_of_tracing_devices() -> None:
    assert open_device("trace:gfx1100").architecture == "gfx1100"
    assert open_device("trace:cpu").architecture == "cpu"
    with pytest.raises(HipgraftError, match="expected 'trace:ARCHITECTURE' or 'trace:DEVICE'"):
        open_device("trace")

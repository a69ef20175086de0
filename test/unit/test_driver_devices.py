"""CUDA and HIP devices on a fake driver that the tests build, and sessions on these devices."""

from __future__ import annotations

import ctypes
import resource
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.runtime.boundary import DeviceArray
from hipgraft.runtime.devices.driver import CudaDevice, DriverDevice, HipDevice
from hipgraft.runtime.recording import Buffer, Copy, Fill, Launch, Pointer, Recording, Tensor
from hipgraft.runtime.session import Session
from hipgraft.tools.device_failures import tell_failures

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

OPEN: dict[str, Callable[..., DriverDevice]] = {"cuda": CudaDevice, "hip": HipDevice}
ARCHITECTURES = {"cuda": ("sm_80", "sm_90"), "hip": ("gfx942", "gfx942")}
COUNT = 5


@dataclass
class FakeDriver:
    """A built driver: its library, and how a device of it is opened."""

    kind: str
    path: str
    library: Any

    def open(self, index: int = 0) -> DriverDevice:
        return OPEN[self.kind](index, self.path)

    @property
    def live(self) -> int:
        """Returns the number of objects that have not been freed."""
        return self.library.fake_live()

    def fail(self, name: str, nth: int) -> None:
        self.library.fake_fail(name.encode(), nth)


@pytest.fixture(params=["cuda", "hip"], scope="module")
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> FakeDriver:
    return build_driver(request.param, tmp_path_factory.mktemp(request.param))


def build_driver(kind: str, directory: Path, *flags: str) -> FakeDriver:
    path = str(directory / f"libfake_{kind}.so")
    source = Path(__file__).with_name("fake_driver.c")
    options = ["-shared", "-fPIC", "-O1", f"-DFAKE_{kind.upper()}", *flags]
    subprocess.run(["cc", *options, source, "-o", path], check=True)
    return FakeDriver(kind, path, ctypes.CDLL(path))


@pytest.fixture
def driver(built: FakeDriver) -> FakeDriver:
    built.fail("", 0)
    assert built.live == 0
    return built


def double(source: Pointer, target: Pointer) -> Launch:
    kernarg = bytes(16) + COUNT.to_bytes(4, "little")
    return Launch(0, (1, 1, 1), (64, 1, 1), 0, kernarg, ((0, source), (8, target)))


def program(kind: str, kernel: str = "double_it", scratch: int = 256) -> Recording:
    """Returns a program that computes y = 2 (2 x) and z = 2 weights."""
    tensor = Tensor("x", (COUNT,), "f32")
    weights = np.arange(COUNT, dtype=np.float32)
    x, y, z, constant, arena = (Pointer(number, 0) for number in range(5))
    return Recording(
        architecture=ARCHITECTURES[kind][0],
        inputs=(tensor,),
        results=(tensor, tensor),
        buffers=(Buffer(4 * COUNT, "weights", lambda: weights.view(np.uint8)), Buffer(scratch)),
        objects=(b"a code object with double_it",),
        kernels=((0, kernel),),
        commands=(double(x, arena), double(arena, y), double(constant, z)),
    )


X = np.array([1, -2, 3.5, 0, 7], np.float32)


def test_runs_by_launches_and_by_graph(driver: FakeDriver) -> None:
    device = driver.open()
    assert device.architecture == ARCHITECTURES[driver.kind][1]
    with Session(program(driver.kind), device) as session:
        for scale in range(4):  # launched, captured, replayed
            y, z = session.run([scale * X])
            np.testing.assert_array_equal(y, 4 * scale * X)
            np.testing.assert_array_equal(z, 2 * np.arange(COUNT))
    device.close()
    assert driver.live == 0


def test_profile(driver: FakeDriver) -> None:
    """Each launch takes a millisecond by the driver's events: in a graph, or on HIP without one."""
    device = driver.open()
    with Session(program(driver.kind), device) as session:
        profile = session.profile([X], iterations=2)
        assert [(row.name, row.grid, row.calls) for row in profile.rows] == [
            ("double_it", (1, 1, 1), 3)
        ]
        assert profile.microseconds == 3000
        *_, row, total = str(profile).splitlines()
        assert row.split() == ["3000.0", "100.0%", "3", "1000.0", "double_it", "[1", "1", "1]"]
        assert total.split() == ["3000.0", "100.0%", "3"]
        for name in ("create_event", "record_event", "elapsed"):
            driver.fail(name, 2)
            with pytest.raises(HipgraftError, match="failed: invalid argument"):
                session.profile([X])
        np.testing.assert_array_equal(session.run([X])[0], 4 * X)
    device.close()
    assert driver.live == 0


def test_chosen_device(driver: FakeDriver) -> None:
    """The caller's device stays current."""
    before = driver.library.fake_device()
    device = driver.open(1)
    device.free(device.allocate(1))
    assert driver.library.fake_device() == before
    assert device.architecture == {"cuda": "sm_80", "hip": "gfx1100"}[driver.kind]
    device.close()
    with pytest.raises(HipgraftError, match="device 2; there are 2"):
        driver.open(2)


def test_arrays_stay_on_the_device(driver: FakeDriver) -> None:
    device = driver.open()
    with Session(program(driver.kind), device) as session:
        x = session.upload(X)
        y, z = session.run_on_device([x])
        again, _ = session.run([y])
        np.testing.assert_array_equal(again, 16 * X)
        np.testing.assert_array_equal(session.run([x], [y, z])[0].numpy(), 4 * X)
        for array in (x, y, z):
            array.close()
    device.close()
    assert driver.live == 0


def test_dlpack_of_the_device(driver: FakeDriver) -> None:
    """Arrays of another library are used in place, and exported arrays keep their memory alive."""
    device = driver.open()

    class Foreign:
        def __init__(self, inner: DeviceArray):
            self.__dlpack__, self.__dlpack_device__ = inner.__dlpack__, inner.__dlpack_device__

    with Session(program(driver.kind), device) as session:
        y, _ = session.run([Foreign(session.upload(X))])
        np.testing.assert_array_equal(y, 4 * X)
        assert session.upload(X).__dlpack_device__() == ({"cuda": 2, "hip": 10}[driver.kind], 0)
    device.close()
    assert driver.live == 0


def test_fills_and_copies(driver: FakeDriver) -> None:
    device = driver.open()
    tensor = Tensor("", (12,), "i8")
    y = Pointer(0, 0)
    commands = (
        Fill(y, b"\x07", 12),
        Fill(Pointer(0, 2), b"\x01\x02", 4),
        Fill(Pointer(0, 8), b"\x01\x02\x03\x04", 4),
        Copy(y, Pointer(0, 8), 2),
    )
    recording = Recording(device.architecture, (), (tensor,), (), (), (), commands)
    with Session(recording, device, replay=False) as session:
        (found,) = session.run([])
    np.testing.assert_array_equal(found, [1, 2, 1, 2, 1, 2, 7, 7, 1, 2, 3, 4])
    device.close()


def test_failures_of_the_whole_run_are_told(driver: FakeDriver) -> None:
    """The tool reports a device's exceptions, also from a sequence's calls."""
    device: Any = driver.open()
    make = device.sequence

    def failing(*arguments: Any, **named: Any) -> Any:
        sequence = make(*arguments, **named)
        sequence.run = lambda *_: {}["no such key"]
        return sequence

    tell_failures(device)
    with Session(program(driver.kind), device) as session:
        np.testing.assert_array_equal(session.run([X])[0], 4 * X)
    device.sequence = failing
    tell_failures(device)
    with (
        Session(program(driver.kind), device) as session,
        pytest.raises(HipgraftError, match="the device failed in 'run': KeyError: 'no such key'"),
    ):
        session.run([X])
    device.close()
    assert driver.live == 0


FAULTS = [
    ("malloc", 1),
    ("malloc", 4),
    ("to_device", 1),
    ("to_device", 2),
    ("load", 1),
    ("get_kernel", 1),
    ("launch", 1),
    ("launch", 3),
    ("launch", 5),
    ("wait", 1),
    ("wait", 3),
    ("to_host", 2),
    ("begin_capture", 1),
    ("instantiate", 1),
    ("launch_graph", 1),
    ("launch_graph", 2),
]


@pytest.mark.parametrize(("name", "nth"), FAULTS)
def test_failing_calls(driver: FakeDriver, name: str, nth: int) -> None:
    """The driver's message is reported, nothing stays allocated, and the device still works."""
    device = driver.open()
    clean = driver.live
    driver.fail(name, nth)

    def use() -> None:
        with Session(program(driver.kind), device) as session:
            for _ in range(3):
                session.run([X])

    with pytest.raises(HipgraftError, match=r"' failed.*: invalid argument"):
        use()
    assert driver.live == clean
    use()
    device.close()
    assert driver.live == 0


def test_out_of_memory(driver: FakeDriver) -> None:
    device = driver.open()
    clean = driver.live
    with pytest.raises(HipgraftError, match="the device has no 8589934592 bytes of memory left"):
        Session(program(driver.kind, scratch=1 << 33), device)
    assert driver.live == clean
    device.close()


def test_missing_kernel(driver: FakeDriver) -> None:
    device = driver.open()
    clean = driver.live
    with pytest.raises(HipgraftError, match="for kernel 'triple_it': named symbol not found"):
        Session(program(driver.kind, kernel="triple_it"), device)
    assert driver.live == clean
    device.close()


@pytest.mark.slow
def test_many_runs_do_not_grow(driver: FakeDriver) -> None:
    device = driver.open()
    with Session(program(driver.kind), device) as session:
        for _ in range(100):
            session.run([X])
            session.run([session.upload(X)])
        live, before = driver.live, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(10_000):
            session.run([X])
        for _ in range(1000):
            session.run([session.upload(X)])
        assert driver.live <= live + 16  # a graph for each of the latest addresses
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2048  # KiB
    device.close()
    assert driver.live == 0


def test_dynamic_shared_memory_is_asked_for(driver: FakeDriver) -> None:
    device = driver.open()
    kernel = device.get_kernel(device.load_code_object(b"double_it"), "double_it")
    device.launch(kernel, (1, 1, 1), (1, 1, 1), 65536, bytes(20))
    device.close()


def test_no_driver() -> None:
    for kind, open_device in OPEN.items():
        with pytest.raises(HipgraftError, match=f"no {kind} driver: .*nowhere.so"):
            open_device(0, "nowhere.so")

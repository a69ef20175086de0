"""Sessions: inputs and results, faults of a device, several programs at once."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from recordings import WEIGHTS, FailingDevice, copying_program, open_null

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.runtime.boundary import DeviceArray
from hipgraft.runtime.devices.host_memory import NullDevice
from hipgraft.runtime.recording import Copy, Pointer, Recording, Tensor
from hipgraft.runtime.runnable import Runnable
from hipgraft.runtime.session import Session

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def check(results: list[Any], x: np.ndarray = X) -> None:
    y, w, eights = results
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(w, WEIGHTS)
    np.testing.assert_array_equal(eights, np.full(5, 8, np.int8))


def test_constants_are_uploaded_once() -> None:
    device = open_null()
    reads = []
    recording = copying_program()
    weights = recording.buffers[0]
    counted = type(weights)(8, "weights", lambda: reads.append(1) or weights.read())
    recording = Recording(
        **{**vars(recording), "buffers": (counted, *recording.buffers[1:])}  # frozen
    )
    with Session(recording, device) as session:
        check(session.run([X]))
        check(session.run([X + 1]), X + 1)
    assert len(reads) == 1
    assert not device._allocations


def test_any_strides_go_in() -> None:
    with Session(copying_program(), open_null()) as session:
        check(session.run([np.asfortranarray(X)]))
        check(session.run([np.repeat(X, 2, axis=1)[:, ::2]]))
        check(session.run([np.broadcast_to(X[:1], (2, 3))]), np.broadcast_to(X[:1], (2, 3)))


def test_outputs_of_the_caller() -> None:
    outputs = [np.empty((2, 3), np.float32), np.empty(4, np.float16), np.empty(5, np.int8)]
    with Session(copying_program(), open_null()) as session:
        assert session.run([X], outputs)[0] is outputs[0]
    check(outputs)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], "the program has 1 inputs, but 0 were given"),
        ([X.astype(np.float64)], r"input #0 has shape \[2, 3\] and dtype float64; expected .*32"),
        ([X.T], r"input #0 has shape \[3, 2\]"),
        ([[1, 2]], "input #0 is a 'list'; expected an array"),
    ],
)
def test_inputs_that_do_not_fit(inputs: list[Any], message: str) -> None:
    with Session(copying_program(), open_null()) as session:
        with pytest.raises(HipgraftError, match=message):
            session.run(inputs)
        check(session.run([X]))


def test_outputs_that_do_not_fit() -> None:
    frozen, strided = np.empty((2, 3), np.float32), np.empty((3, 2), np.float32).T
    frozen.flags.writeable = False
    rest = [np.empty(4, np.float16), np.empty(5, np.int8)]
    with Session(copying_program(), open_null()) as session:
        with pytest.raises(HipgraftError, match="output #0 is read-only"):
            session.run([X], [frozen, *rest])
        with pytest.raises(HipgraftError, match=r"output #0 has strides \[4, 8\] in bytes"):
            session.run([X], [strided, *rest])
        with pytest.raises(HipgraftError, match="the program has 3 outputs, but 2 were given"):
            session.run([X], rest)


class Copies(Runnable):
    """A program that copies."""

    def recordings(self, architecture: str) -> tuple[Recording, ...]:
        return (copying_program(architecture),)


def test_each_device_has_its_session() -> None:
    program = Copies()
    first, second = open_null(), open_null()
    assert program.load(first) is program.load(first)
    assert program.load(second) is not program.load(first)


def test_array_of_another_device() -> None:
    elsewhere = DeviceArray.upload(open_null(), X)
    with (
        Session(copying_program(), open_null()) as session,
        pytest.raises(HipgraftError, match="input #0 is on another device"),
    ):
        session.run([elsewhere])


def test_program_for_another_device() -> None:
    with pytest.raises(HipgraftError, match="is for 'gfx1100', but the device is 'gfx942'"):
        Session(copying_program("gfx1100"), open_null())


@pytest.mark.parametrize("dtype", [np.float16, np.int64, np.bool_, ml_dtypes.bfloat16])
def test_dlpack_in_and_out(dtype: Any) -> None:
    """NumPy reads no bfloat16 from DLPack: our own reader takes what our writer gives."""
    device = open_null()
    values = np.array([[1, 0, 2], [3, 5, 0]]).astype(dtype)
    tensor = Tensor(
        "",
        (2, 3),
        {"bool": "i1", "int64": "i64", "float16": "f16"}.get(np.dtype(dtype).name, "bf16"),
    )
    commands = (Copy(Pointer(1, 0), Pointer(0, 0), values.nbytes),)
    recording = Recording(device.architecture, (tensor,), (tensor,), (), (), (), commands)

    class Foreign:
        """An array of a library that is not NumPy."""

        def __init__(self, inner: Any):
            self.__dlpack__, self.__dlpack_device__ = inner.__dlpack__, inner.__dlpack_device__

    with Session(recording, device) as session:
        resident = session.upload(values)
        (found,) = session.run([Foreign(resident)])
        np.testing.assert_array_equal(found, values)
        if dtype in (np.float16, np.int64):
            np.testing.assert_array_equal(np.from_dlpack(resident), values)
            (found,) = session.run([Foreign(np.asfortranarray(values))])
            np.testing.assert_array_equal(found, values)
        resident.close()
    assert not device._allocations


def test_an_exported_array_keeps_its_memory() -> None:
    device = open_null()
    view = np.from_dlpack(DeviceArray.upload(device, X))
    assert len(device._allocations) == 1
    np.testing.assert_array_equal(view, X)
    del view
    assert not device._allocations


@pytest.mark.parametrize(
    ("kind", "nth"),
    [
        ("allocate", 1),
        ("allocate", 3),
        ("copy_to_device", 1),
        ("copy_to_device", 2),
        ("fill", 1),
        ("copy_to_host", 1),
        ("copy_to_host", 4),
        ("synchronize", 1),
        ("synchronize", 3),
    ],
)
def test_failing_device(kind: str, nth: int) -> None:
    device = FailingDevice(kind, nth)

    def use() -> None:
        with Session(copying_program(), device) as session:
            check(session.run([X]))

    with pytest.raises(OSError, match="bus error"):
        use()
    assert not device._allocations
    use()


def test_a_run_waits_for_its_end() -> None:
    class BusyDevice(NullDevice):
        is_busy = False

        def fill(self, address: int, pattern: bytes, nbytes: int) -> None:
            self.is_busy = True
            super().fill(address, pattern, nbytes)

        def synchronize(self) -> None:
            self.is_busy = False

    device = BusyDevice("gfx942")
    with Session(copying_program(), device) as session:
        check(session.run([X]))
        assert not device.is_busy
        session.run_on_device([session.upload(X)])
        assert not device.is_busy


def test_programs_side_by_side() -> None:
    device = open_null()
    with Session(copying_program(), device) as one, Session(copying_program(), device) as other:
        check(one.run([X]))
        check(other.run([-X]), -X)
        check(one.run([2 * X]), 2 * X)
    assert not device._allocations


def test_benchmark_frees_its_inputs() -> None:
    device = open_null()
    with Session(copying_program(), device) as session:
        live = len(device._allocations)
        timing = session.benchmark([X], iterations=7)
        assert len(timing.microseconds) == 7
        assert 0 < timing.minimum <= timing.median
        assert len(device._allocations) == live


def test_channels_last_at_the_border() -> None:
    """Arrays keep their logical shape; the program's types define their layout in memory."""
    device = open_null()
    last = Tensor("x", (2, 3), "i16", strides=(1, 2))
    packed = Tensor("", (3, 2), "i16")
    commands = (
        Copy(Pointer(1, 0), Pointer(0, 0), 12),
        Copy(Pointer(2, 0), Pointer(0, 0), 12),
    )
    recording = Recording(device.architecture, (last,), (last, packed), (), (), (), commands)
    x = np.arange(6, dtype=np.int16).reshape(2, 3)
    with Session(recording, device) as session:
        y, memory = session.run([x])
        np.testing.assert_array_equal(y, x)
        np.testing.assert_array_equal(memory, x.T)
        resident = session.upload(x, recording.inputs[0])
        np.testing.assert_array_equal(resident.numpy(), x)
        np.testing.assert_array_equal(np.from_dlpack(resident), x)
        np.testing.assert_array_equal(session.run([resident])[1], x.T)
        with pytest.raises(
            HipgraftError, match=r"input #0 has strides \[3, 1\] and offset 0 on the device"
        ):
            session.run([session.upload(x)])


def test_arrays_on_the_device_start_where_the_program_reads() -> None:
    device = open_null()
    inner = Tensor("x", (2,), "i16", offset=3)
    result = Tensor("", (2,), "i16")
    commands = (Copy(Pointer(1, 0), Pointer(0, 6), 4),)
    recording = Recording(device.architecture, (inner,), (result,), (), (), (), commands)
    x = np.array([7, 8], np.int16)
    with Session(recording, device) as session:
        np.testing.assert_array_equal(session.run([session.upload(x, inner)])[0], x)
        with pytest.raises(
            HipgraftError,
            match=r"input #0 has strides \[1\] and offset 0 on the device; expected .* offset 3",
        ):
            session.run([session.upload(x)])

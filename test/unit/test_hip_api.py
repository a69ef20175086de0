"""The emulated HIP runtime follows HIP's documentation, function by function."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from ctypes import c_char_p, c_float, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path

import hip_library as lib
import numpy as np
import pytest
from assembled import assemble, requires_assembler
from emulator import requires_emulator
from hip_library import COUNT, NBYTES, Hip

from hipgraft.emulator import MissingEmulatorError, hip_module

pytestmark = [requires_emulator, requires_assembler]

NON_BLOCKING = 1  # hipStreamNonBlocking


@pytest.fixture(scope="module")
def library() -> Generator[Hip]:
    with lib.loaded(devices=2) as hip:
        yield hip


@pytest.fixture
def hip(library: Hip) -> Generator[Hip]:
    library.call("hipSetDevice", 0)
    library.status("hipGetLastError")
    yield library
    assert library.status("hipDeviceSynchronize") == 0


@pytest.fixture(scope="module")
def double(library: Hip) -> int:
    return library.function(lib.double_code())


@pytest.fixture(scope="module")
def numbers() -> np.ndarray:
    return np.random.default_rng(0).standard_normal(COUNT, np.float32)


class Gate:
    """A host function that holds a stream until it is opened."""

    def __init__(self, hip: Hip, stream: int):
        self._event = threading.Event()
        self._function = lib.HOST_FUNCTION(lambda _: self._event.wait(120))
        hip.call("hipLaunchHostFunc", stream, self._function, None)

    def open(self) -> None:
        self._event.set()


@contextmanager
def gate(hip: Hip, stream: int) -> Generator[Gate]:
    made = Gate(hip, stream)
    try:
        yield made
    finally:
        made.open()
        hip.call("hipDeviceSynchronize")


def append(hip: Hip, stream: int, order: list[str], name: str) -> Callable[..., None]:
    """Queues a host function that notes its turn; keep what is returned."""
    function = lib.HOST_FUNCTION(lambda _: order.append(name))
    hip.call("hipLaunchHostFunc", stream, function, None)
    return function


def test_errors_are_kept_until_they_are_read(hip: Hip):
    assert hip.status("hipMalloc", None, 16) == lib.INVALID_VALUE
    assert hip.status("hipGetDevice", ctypes.byref(c_int())) == 0
    assert hip.status("hipPeekAtLastError") == lib.INVALID_VALUE
    assert hip.status("hipGetLastError") == lib.INVALID_VALUE
    assert hip.status("hipGetLastError") == 0
    for function, text in (("Name", b"hipErrorOutOfMemory"), ("String", b"out of memory")):
        told = getattr(hip.library, f"hipGetError{function}")
        told.restype = c_char_p
        assert told(2) == text
    assert hip.library.hipGetErrorName(12345) == b"hipErrorUnknown"


def test_allocations(hip: Hip):
    address = hip.make("hipMalloc", 1000)
    assert address % 256 == 0
    base, size = c_void_p(), c_size_t()
    hip.call("hipMemGetAddressRange", ctypes.byref(base), ctypes.byref(size), address + 999)
    assert (base.value, size.value) == (address, 1000)
    past = hip.status("hipMemGetAddressRange", None, None, address + 1000)
    assert past == lib.NOT_FOUND
    assert hip.status("hipFree", address + 1) == lib.INVALID_VALUE
    assert hip.status("hipHostFree", address) == lib.INVALID_VALUE
    hip.call("hipFree", address)
    assert hip.status("hipFree", address) == lib.INVALID_VALUE
    hip.call("hipFree", None)
    assert hip.status("hipMalloc", ctypes.byref(c_void_p()), 1 << 60) == 2
    assert hip.make("hipMalloc", 0) == 0


def test_new_memory_holds_garbage(hip: Hip):
    assert set(hip.download(hip.make("hipMalloc", 100), 100, np.uint8)) == {0xA5}


def test_kinds_of_pointers(hip: Hip):
    kinds: list[tuple[int, int]] = []
    host = np.zeros(16, np.uint8)
    made = [hip.make("hipMalloc", 16), hip.make("hipHostMalloc", 16, 0)]
    made += [hip.make("hipMallocManaged", 16, 1), host.ctypes.data]
    for address in made:
        attributes = (c_int * 12)()
        hip.call("hipPointerGetAttributes", attributes, address)
        kinds.append((attributes[0], attributes[1]))
    assert kinds == [(2, 0), (1, 0), (3, 0), (0, -2)]
    assert hip.make("hipHostGetDevicePointer", made[1], 0) == made[1]
    assert hip.status("hipHostGetDevicePointer", ctypes.byref(c_void_p()), made[0], 0) == 1


def test_registered_host_memory(hip: Hip, double: int, numbers: np.ndarray):
    x, y = numbers.copy(), np.zeros_like(numbers)
    for array in (x, y):
        hip.call("hipHostRegister", array.ctypes.data, array.nbytes, 0)
        assert hip.status("hipHostRegister", array.ctypes.data + 8, 8, 0) == 712
    hip.launch(double, x.ctypes.data, y.ctypes.data)
    hip.call("hipStreamSynchronize", None)
    np.testing.assert_array_equal(y, 2 * x)
    for array in (x, y):
        hip.call("hipHostUnregister", array.ctypes.data)
        assert hip.status("hipHostUnregister", array.ctypes.data) == 713


def test_copies_check_directions_and_ranges(hip: Hip, numbers: np.ndarray):
    device, host = hip.upload(numbers), numbers.copy()
    other = hip.make("hipMalloc", NBYTES)
    hip.call("hipMemcpy", other, device, NBYTES, lib.DEVICE_TO_DEVICE)
    np.testing.assert_array_equal(hip.download(other), numbers)
    copy = ("hipMemcpy", device, host.ctypes.data)
    assert hip.status(*copy, NBYTES + 1, lib.HOST_TO_DEVICE) == lib.INVALID_VALUE
    assert hip.status(*copy, NBYTES, lib.DEVICE_TO_DEVICE) == lib.INVALID_VALUE
    assert hip.status(*copy, NBYTES, 5) == 21
    hip.call(*copy, NBYTES, 4)  # the addresses determine the direction
    hip.call("hipMemcpy", None, None, 0, 1)


def test_pitched_copies(hip: Hip):
    rows = np.arange(40, dtype=np.uint8).reshape(4, 10)
    pitch = c_size_t()
    device = hip.make("hipMallocPitch", ctypes.byref(pitch), 6, 4)
    assert pitch.value == 256
    place = (device, 256, rows.ctypes.data + 2, 10)
    hip.call("hipMemcpy2D", *place, 6, 4, lib.HOST_TO_DEVICE)
    back = np.zeros((4, 8), np.uint8)
    hip.call("hipMemcpy2D", back.ctypes.data, 8, device, 256, 6, 4, lib.DEVICE_TO_HOST)
    np.testing.assert_array_equal(back[:, :6], rows[:, 2:8])
    assert not back[:, 6:].any()
    assert hip.status("hipMemcpy2D", *place[:3], 5, 6, 4, lib.HOST_TO_DEVICE) == 12
    hip.call("hipMemset2D", device, 256, 7, 3, 2)
    hip.call("hipMemcpy2D", back.ctypes.data, 8, device, 256, 6, 4, lib.DEVICE_TO_HOST)
    rows[:2, 2:5] = 7
    np.testing.assert_array_equal(back[:, :6], rows[:, 2:8])


def test_copies_of_boxes(hip: Hip):
    box = np.arange(4 * 5 * 6, dtype=np.uint8).reshape(4, 5, 6)
    device, back = hip.make("hipMalloc", box.size), np.zeros((2, 3, 4), np.uint8)
    hip.call("hipMemset", device, 0, box.size)

    def words(*values: int) -> ctypes.Array[c_size_t]:
        return (c_size_t * len(values))(*values)

    # hipMemcpy3DParms: array, position, pointer with pitch, row and rows, of the source and then of
    # the target; extent and direction. Two slices of three rows of four bytes, at (1, 1, 1).
    source = (0, 1, 1, 1, box.ctypes.data, 6, 6, 5)
    given = words(*source, 0, 1, 1, 1, device, 6, 6, 5, 4, 3, 2, lib.HOST_TO_DEVICE)
    hip.call("hipMemcpy3D", given)
    expected = np.zeros_like(box)
    part = (slice(1, 3), slice(1, 4), slice(1, 5))
    expected[part] = box[part]
    np.testing.assert_array_equal(hip.download(device, box.size, np.uint8), expected.ravel())
    # HIP_MEMCPY3D: x, y, z, level, kind of memory, host, device, array, pitch, height; twice.
    source = (1, 1, 1, 0, 2, 0, device, 0, 6, 5)
    given = words(*source, 0, 0, 0, 0, 1, back.ctypes.data, 0, 0, 4, 3, 4, 3, 2)
    hip.call("hipDrvMemcpy3D", given)
    np.testing.assert_array_equal(back, box[part])
    # hip_Memcpy2D: x, y, kind of memory, host, device, array, pitch; twice.
    plane = np.zeros((3, 4), np.uint8)
    given = words(1, 6, 2, 0, device, 0, 6, 0, 0, 1, plane.ctypes.data, 0, 0, 4, 4, 3)
    hip.call("hipMemcpyParam2D", given)
    np.testing.assert_array_equal(plane, box[1, 1:4, 1:5])
    given[5] = 1
    assert hip.status("hipMemcpyParam2D", given) == lib.NOT_SUPPORTED


@pytest.mark.parametrize(("bits", "dtype"), [(8, np.uint8), (16, np.uint16), (32, np.uint32)])
def test_fills(hip: Hip, bits: int, dtype: type):
    device = hip.make("hipMalloc", 32)
    value = 0x12345678 & (1 << bits) - 1
    hip.call("hipMemset", device, 0, 32)
    hip.call(f"hipMemsetD{bits}Async", device, value, 3, None)
    expected = np.zeros(256 // bits, dtype)
    expected[:3] = value
    np.testing.assert_array_equal(hip.download(device, expected.size, dtype), expected)
    assert hip.status(f"hipMemsetD{bits}", device, 0, 257) == lib.INVALID_VALUE


def test_pageable_memory_may_change_after_the_call_and_pinned_may_not(hip: Hip):
    pinned = hip.make("hipHostMalloc", 4, 0)
    device, stream = hip.make("hipMalloc", 8), hip.make("hipStreamCreate")
    value = np.array([5], np.int32)
    ctypes.memmove(pinned, value.ctypes.data, 4)
    with gate(hip, stream):
        for target, source in ((device, value.ctypes.data), (device + 4, pinned)):
            hip.call("hipMemcpyAsync", target, source, 4, lib.HOST_TO_DEVICE, stream)
        value[0] = 6
        ctypes.memmove(pinned, value.ctypes.data, 4)
    np.testing.assert_array_equal(hip.download(device, 2, np.int32), [5, 6])


def test_launches_with_both_forms_of_arguments(hip: Hip, double: int, numbers: np.ndarray):
    x, y = hip.upload(numbers), hip.make("hipMalloc", NBYTES)
    hip.launch(double, x, y)
    np.testing.assert_array_equal(hip.download(y), 2 * numbers)
    packed, size = (c_void_p * 2)(y, x), c_size_t(16)
    extra = (c_void_p * 5)(1, ctypes.addressof(packed), 2, ctypes.addressof(size), 3)
    shape = (4, 1, 1, 64, 1, 1, 0)
    hip.call("hipModuleLaunchKernel", double, *shape, None, None, extra)
    np.testing.assert_array_equal(hip.download(x), 4 * numbers)
    both = hip.status("hipModuleLaunchKernel", double, *shape, None, lib.parameters_of(x, y), extra)
    assert both == lib.INVALID_VALUE


def test_launches_that_cannot_be(hip: Hip, double: int, capfd: pytest.CaptureFixture[str]):
    parameters = lib.parameters_of(0, 0)

    def status(*shape: int, lds: int = 0) -> int:
        rest = (lds, None, parameters, None)
        return hip.status("hipModuleLaunchKernel", double, *shape, *rest)

    assert status(0, 1, 1, 64, 1, 1) == lib.INVALID_CONFIGURATION
    assert status(1, 1, 1, 1025, 1, 1) == lib.INVALID_CONFIGURATION
    assert status(1, 1, 1, 64, 1, 1, lds=65537) == lib.INVALID_VALUE
    assert hip.status("hipModuleLaunchCooperativeKernel") == lib.NOT_SUPPORTED
    assert "no 'hipModuleLaunchCooperativeKernel'" in capfd.readouterr().err


def test_modules(hip: Hip):
    code = lib.double_code()
    module = hip.make("hipModuleLoadData", code)
    assert hip.number("hipModuleGetFunctionCount", module) == 1
    found = ctypes.byref(c_void_p())
    assert hip.status("hipModuleGetFunction", found, module, b"g") == lib.NOT_FOUND
    hip.call("hipModuleUnload", module)
    assert hip.status("hipModuleUnload", module) == lib.INVALID_HANDLE
    assert hip.status("hipModuleLoadData", found, bytes(100)) == 200
    assert hip.status("hipModuleLoad", found, b"absent.hsaco") == 301


def test_code_objects_for_other_gpus(hip: Hip, capfd: pytest.CaptureFixture[str]):
    found = ctypes.byref(c_void_p())
    assert hip.status("hipModuleLoadData", found, lib.double_code("gfx90a")) == 209
    assert "is not for the emulated gfx942" in capfd.readouterr().err


COUNTING = """
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, counter@rel32@lo+4
  s_addc_u32 s5, s5, counter@rel32@hi+12
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1
  global_atomic_add v1, v2, s[4:5]
"""
COUNTER = """
.data
.protected counter
.globl counter
.type counter,@object
.p2align 2
counter:
  .long 40
.size counter, 4
"""


def counting_code(architecture: str = "gfx942") -> bytes:
    """Each work item of the kernel `f` adds 1 to the variable `counter`, which starts at 40."""
    return assemble(COUNTING, architecture, pointers=0, data=COUNTER).data


def test_variables_of_modules(hip: Hip):
    module = hip.make("hipModuleLoadData", counting_code())
    size = c_size_t()
    address = hip.make("hipModuleGetGlobal", ctypes.byref(size), module, b"counter")
    assert size.value == 4
    assert hip.download(address, 1, np.int32)[0] == 40
    hip.launch(hip.make("hipModuleGetFunction", module, b"f"), grid=3)
    assert hip.download(address, 1, np.int32)[0] == 40 + 3 * 64
    hip.call("hipMemsetD32", address, 7, 1)
    hip.launch(hip.make("hipModuleGetFunction", module, b"f"), grid=1)
    assert hip.download(address, 1, np.int32)[0] == 7 + 64
    assert hip.status("hipModuleGetGlobal", None, ctypes.byref(size), module, b"f.kd") == 500


@contextmanager
def registered(hip: Hip, code: Callable[[str], bytes]) -> Generator[c_void_p]:
    """Registers a bundle of code objects, as a program compiled as HIP does when it starts."""
    objects = [(b"host-x86_64-unknown-linux--", b"")]
    for architecture in ("gfx90a", "gfx942"):
        objects.append((f"hipv4-amdgcn-amd-amdhsa--{architecture}".encode(), code(architecture)))
    place = 32 + sum(24 + len(name) for name, _ in objects)
    table, content = b"", b""
    for name, data in objects:
        entry = (place + len(content), len(data), len(name))
        table += b"".join(one.to_bytes(8, "little") for one in entry) + name
        content += data
    bundle = b"__CLANG_OFFLOAD_BUNDLE__" + len(objects).to_bytes(8, "little") + table + content
    kept = ctypes.create_string_buffer(bundle, len(bundle))
    wrapper = (c_void_p * 3)(0x148495046, ctypes.addressof(kept), None)
    hip.library.__hipRegisterFatBinary.restype = c_void_p
    binary = c_void_p(hip.library.__hipRegisterFatBinary(wrapper))
    yield binary
    hip.library.__hipUnregisterFatBinary(binary)


def test_kernels_of_programs_compiled_as_hip(hip: Hip, numbers: np.ndarray):
    with registered(hip, lib.double_code) as binary:
        host = numbers.ctypes.data  # any address of the host names a kernel
        rest = (c_int(-1), *[None] * 5)
        hip.library.__hipRegisterFunction(binary, c_void_p(host), b"f", b"f", *rest)
        x, y = hip.upload(numbers), hip.make("hipMalloc", NBYTES)
        shape = (lib.Dim3(4, 1, 1), lib.Dim3(64, 1, 1))
        hip.call("hipLaunchKernel", host, *shape, lib.parameters_of(x, y), 0, None)
        np.testing.assert_array_equal(hip.download(y), 2 * numbers)
        assert hip.number("hipFuncGetAttribute", 0, host) == 1024


def test_variables_of_programs_compiled_as_hip(hip: Hip):
    value = np.zeros(1, np.int32)
    host, address = value.ctypes.data, value.ctypes.data
    with registered(hip, counting_code) as binary:
        rest = (c_int(0), c_size_t(4), c_int(0), c_int(0))
        hip.library.__hipRegisterVar(binary, c_void_p(host), b"counter", b"counter", *rest)
        hip.call("hipMemcpyFromSymbol", address, host, 4, 0, lib.DEVICE_TO_HOST)
        assert value[0] == 40
        value[0] = 0x01020304
        hip.call("hipMemcpyToSymbol", host, address + 2, 2, 1, lib.HOST_TO_DEVICE)
        hip.call("hipMemcpyFromSymbolAsync", address, host, 4, 0, lib.DEVICE_TO_HOST, None)
        assert value.tobytes() == bytes([40, 2, 1, 0])
        size = c_size_t()
        hip.call("hipGetSymbolSize", ctypes.byref(size), host)
        assert size.value == 4
        outside = ("hipMemcpyToSymbol", host, address, 4, 1, lib.HOST_TO_DEVICE)
        assert hip.status(*outside) == lib.INVALID_VALUE
    assert hip.status("hipGetSymbolSize", ctypes.byref(size), host + 1) == 13


def test_files_that_are_no_code_objects(
    hip: Hip, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    code, found = lib.double_code(), ctypes.byref(c_void_p())
    bundle = b"__CLANG_OFFLOAD_BUNDLE__" + (1).to_bytes(8, "little")
    entry = b"".join(one.to_bytes(8, "little") for one in (40, 1 << 40, 3))
    contents = (b"", b"\x7fEL", code[:40], code[:100], code[:-1], bundle, bundle + entry)
    path = tmp_path / "broken.hsaco"
    for content in contents:
        path.write_bytes(content)
        assert hip.status("hipModuleLoad", found, bytes(path)) == 200
    assert "error" not in capfd.readouterr().err
    size = b".kernarg_segment_size\x10"
    assert size in code
    path.write_bytes(code.replace(size, size[:-1] + b"\x0f"))
    assert hip.status("hipModuleLoad", found, bytes(path)) == 200
    assert "kernel 'f' has arguments outside of their segment" in capfd.readouterr().err
    draw = np.random.default_rng(0)
    for _ in range(3):
        data = bytearray(code)
        for place in draw.integers(64, len(data), 40):
            data[place] = int(draw.integers(256))
        path.write_bytes(data)
        hip.status("hipModuleLoad", found, bytes(path))
        assert "Traceback" not in capfd.readouterr().err


def test_streams_run_in_order_and_apart(hip: Hip):
    first, second = (hip.make("hipStreamCreateWithFlags", NON_BLOCKING) for _ in range(2))
    order: list[str] = []
    with gate(hip, first):
        kept = [append(hip, first, order, "first")]
        kept += [append(hip, second, order, "second")]
        hip.call("hipStreamSynchronize", second)
        assert hip.status("hipStreamQuery", first) == lib.NOT_READY
        assert order == ["second"]
    hip.call("hipStreamQuery", first)
    assert order == ["second", "first"]
    for stream in (first, second):
        hip.call("hipStreamDestroy", stream)
    assert hip.status("hipStreamSynchronize", first) == 709


def test_streams_wait_for_events(hip: Hip):
    first, second = (hip.make("hipStreamCreateWithFlags", NON_BLOCKING) for _ in range(2))
    event, order = hip.make("hipEventCreate"), list[str]()
    hip.call("hipStreamWaitEvent", second, event, 0)  # never recorded: nothing to wait for
    with gate(hip, first):
        kept = [append(hip, first, order, "before")]
        hip.call("hipEventRecord", event, first)
        kept += [append(hip, first, order, "after")]
        hip.call("hipStreamWaitEvent", second, event, 0)
        hip.call("hipEventRecord", event, first)  # the wait is for the record before
        kept += [append(hip, second, order, "waited")]
        time.sleep(0.02)
        assert order == []
        assert hip.status("hipEventQuery", event) == lib.NOT_READY
    assert order.index("before") < order.index("waited")
    hip.call("hipEventQuery", event)


def test_the_null_stream_and_blocking_streams_wait_for_each_other(hip: Hip):
    blocking, other = hip.make("hipStreamCreate"), hip.make("hipStreamCreate")
    free = hip.make("hipStreamCreateWithFlags", NON_BLOCKING)
    order: list[str] = []
    with gate(hip, blocking):
        kept = [append(hip, blocking, order, "blocking"), append(hip, 0, order, "null")]
        kept += [append(hip, other, order, "other"), append(hip, free, order, "free")]
        hip.call("hipStreamSynchronize", free)
        time.sleep(0.02)
        assert order == ["free"]
    assert order == ["free", "blocking", "null", "other"]


def test_a_destroyed_stream_still_runs(hip: Hip):
    stream, order = hip.make("hipStreamCreate"), list[str]()
    with gate(hip, stream):
        kept = append(hip, stream, order, "stream")
        hip.call("hipStreamDestroy", stream)
        also = append(hip, 0, order, "null")
    assert order == ["stream", "null"]
    del kept, also


def test_events_tell_time(hip: Hip):
    start, end, silent = (hip.make("hipEventCreateWithFlags", flags) for flags in (0, 0, 2))
    stream, told = hip.make("hipStreamCreate"), c_float()
    elapsed = ("hipEventElapsedTime", ctypes.byref(told), start)
    assert hip.status(*elapsed, end) == lib.INVALID_HANDLE
    hip.call("hipEventQuery", end)
    hip.call("hipEventRecord", start, stream)
    hip.call("hipEventSynchronize", start)
    with gate(hip, stream):
        hip.call("hipEventRecord", end, stream)
        hip.call("hipEventRecord", silent, stream)
        assert hip.status(*elapsed, end) == lib.NOT_READY
        time.sleep(0.05)
    hip.call("hipEventSynchronize", end)
    hip.call(*elapsed, end)
    assert 50 <= told.value < 5000
    assert hip.status(*elapsed, silent) == lib.INVALID_HANDLE
    hip.call("hipEventDestroy", end)
    assert hip.status("hipEventQuery", end) == lib.INVALID_HANDLE


def test_callbacks_get_their_stream_and_data(hip: Hip):
    stream, seen = hip.make("hipStreamCreate"), list[tuple[int | None, int, int | None]]()
    callback = lib.CALLBACK(lambda *given: seen.append(given))
    hip.call("hipStreamAddCallback", stream, callback, 99, 0)
    hip.call("hipStreamSynchronize", stream)
    assert seen == [(stream, 0, 99)]


def test_pools(hip: Hip):
    pool, used = hip.make("hipDeviceGetDefaultMemPool", 0), c_uint64()
    current = ("hipMemPoolGetAttribute", pool, 7, ctypes.byref(used))
    stream = hip.make("hipStreamCreate")
    address = hip.make("hipMallocAsync", 1000, stream)
    with gate(hip, stream):
        hip.call("hipMemsetAsync", address, 1, 1000, stream)
        hip.call("hipFreeAsync", address, stream)
        hip.call(*current)
        assert used.value == 1000
    hip.call(*current)
    assert used.value == 0
    hip.call("hipMemPoolGetAttribute", pool, 8, ctypes.byref(used))
    assert used.value >= 1000
    own = hip.make("hipMemPoolCreate", (c_int * 22)(1, 0, 1, 0))
    assert hip.status("hipMemPoolDestroy", pool) == lib.INVALID_VALUE
    hip.call("hipFree", hip.make("hipMallocFromPoolAsync", 64, own, stream))
    hip.call("hipMemPoolTrimTo", own, 0)
    hip.call("hipMemPoolDestroy", own)


@pytest.mark.parametrize(
    ("lds", "items", "blocks"),
    # The kernel takes all 512 registers of a lane: one wave on each of the four SIMDs.
    [(0, 64, 4), (0, 65, 2), (0, 128, 2), (0, 256, 1), (0, 320, 0), (40000, 64, 1), (16384, 64, 4)],
)
def test_occupancy(hip: Hip, lds: int, items: int, blocks: int):
    function = hip.function(lib.double_code(lds=lds))
    name = "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"
    assert hip.number(name, function, items, 0) == blocks
    if lds == 16384:
        assert hip.number(name, function, items, 49152) == 1
        assert hip.number(name, function, items, 49153) == 0


def test_sizes_of_blocks_that_fill_a_gpu(hip: Hip, double: int):
    grid, block = c_int(), c_int()
    name = "hipModuleOccupancyMaxPotentialBlockSize"
    hip.call(name, ctypes.byref(grid), ctypes.byref(block), double, 0, 0)
    assert (grid.value, block.value) == (304, 256)
    hip.call(name, ctypes.byref(grid), ctypes.byref(block), double, 0, 100)
    assert (grid.value, block.value) == (4 * 304, 64)
    attributes = [hip.number("hipFuncGetAttribute", which, double) for which in range(5)]
    assert attributes == [1024, 0, 0, 0, 512]


def test_each_thread_has_its_device(hip: Hip, numbers: np.ndarray):
    assert hip.number("hipGetDeviceCount") == 2
    hip.call("hipSetDevice", 1)
    assert hip.status("hipSetDevice", 2) == 101
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(hip.number("hipGetDevice")))
    thread.start()
    thread.join()
    assert seen == [0]
    assert hip.number("hipGetDevice") == 1
    stream = hip.make("hipStreamCreate")
    device = c_int()
    hip.call("hipStreamGetDevice", stream, ctypes.byref(device))
    assert device.value == 1
    y, function = hip.make("hipMalloc", NBYTES), hip.function(lib.double_code())
    hip.call("hipDeviceEnablePeerAccess", 0, 0)
    assert hip.status("hipDeviceEnablePeerAccess", 0, 0) == 704
    hip.call("hipSetDevice", 0)
    x = hip.upload(numbers)
    event = hip.make("hipEventCreate")
    assert hip.status("hipEventRecord", event, stream) == lib.INVALID_HANDLE
    hip.launch(function, x, y, stream=stream)
    hip.call("hipStreamSynchronize", stream)
    np.testing.assert_array_equal(hip.download(y), 2 * numbers)
    wrong = ("hipModuleLaunchKernel", function, 4, 1, 1, 64, 1, 1, 0)
    assert hip.status(*wrong, None, lib.parameters_of(x, y), None) == lib.INVALID_HANDLE
    hip.call("hipSetDevice", 1)
    hip.call("hipDeviceDisablePeerAccess", 0)
    assert hip.status("hipDeviceDisablePeerAccess", 0) == 705


def test_contexts_are_devices(hip: Hip):
    contexts = [hip.make("hipDevicePrimaryCtxRetain", number) for number in range(2)]
    hip.call("hipCtxPushCurrent", contexts[1])
    assert hip.number("hipGetDevice") == 1
    assert hip.make("hipCtxGetCurrent") == contexts[1]
    assert hip.make("hipCtxPopCurrent") == contexts[1]
    assert hip.number("hipGetDevice") == 0
    assert hip.status("hipCtxSetCurrent", 12345) == 201


def test_properties_and_attributes_agree(hip: Hip):
    properties = ctypes.create_string_buffer(1472)
    hip.call("hipGetDevicePropertiesR0600", properties, 1)
    old = ctypes.create_string_buffer(792)
    hip.call("hipGetDeviceProperties", old, 1)
    assert properties.raw[:256] == old.raw[:256]
    assert properties.raw[1160:1166] == old.raw[396:402] == b"gfx942"
    # Offsets of warpSize, multiProcessorCount, maxThreadsPerBlock and major in the structure.
    for offset, attribute, expected in (
        (308, 87, 64),
        (388, 63, 304),
        (320, 56, 1024),
        (360, 23, 9),
    ):
        told = int.from_bytes(properties.raw[offset : offset + 4], "little")
        assert told == hip.number("hipDeviceGetAttribute", attribute, 1) == expected


def test_a_missing_core_is_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure caused by this machine, not by the kernel, is not cached."""

    def launch_structure(*_: object) -> None:
        raise MissingEmulatorError("the core is not built")

    source, target = tmp_path / "code", tmp_path / "decoded"
    source.write_bytes(lib.double_code())
    arguments = [str(source), str(target), "gfx942"]
    with monkeypatch.context() as context:
        context.setattr(hip_module, "launch_structure", launch_structure)
        assert hip_module.main(arguments) == 1
        assert not target.exists()
    assert hip_module.main(arguments) == 0
    assert target.exists()

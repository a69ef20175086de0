"""Memory nodes in graphs of the emulated HIP runtime."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Generator
from ctypes import c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import hip_library as lib
import numpy as np
import pytest
from assembled import requires_assembler
from emulator import requires_emulator
from hip_library import COUNT, NBYTES, Hip
from test_emulate_tool import BIN, run

pytestmark = [requires_emulator, requires_assembler]

RELAXED, AUTO_FREE = 2, 1
ALLOCATE, FREE = 10, 11
USED, MOST_USED, RESERVED, MOST_RESERVED = range(4)


class AllocationNode(ctypes.Structure):
    """`hipMemAllocNodeParams`."""

    _fields_ = (
        ("kind", c_int),
        ("handles", c_int),
        ("location", c_int * 2),
        ("security", c_void_p),
        ("most", c_size_t),
        ("reserved", ctypes.c_byte * 56),
        ("access", c_void_p),
        ("access_count", c_size_t),
        ("size", c_size_t),
        ("address", c_void_p),
    )


@pytest.fixture(scope="module")
def library() -> Generator[Hip]:
    with lib.loaded(devices=2) as hip:
        yield hip


@pytest.fixture
def hip(library: Hip) -> Generator[Hip]:
    library.call("hipSetDevice", 0)
    yield library
    assert library.status("hipDeviceSynchronize") == 0


@pytest.fixture(scope="module")
def double(library: Hip) -> int:
    return library.function(lib.double_code())


@pytest.fixture
def stream(hip: Hip) -> int:
    return hip.make("hipStreamCreate")


@pytest.fixture(scope="module")
def numbers() -> np.ndarray:
    return np.random.default_rng(0).standard_normal(COUNT, np.float32)


def given(size: int = NBYTES, device: int = 0) -> AllocationNode:
    return AllocationNode(kind=1, location=(1, device), size=size)


def add(hip: Hip, kind: str, graph: int, after: list[int], *more: object) -> int:
    before = (c_void_p * len(after))(*after)
    return hip.make(f"hipGraphAdd{kind}", graph, before, len(after), *more)


def allocate(hip: Hip, graph: int, after: list[int], node: AllocationNode | None = None):
    """Adds a node and returns it, and the address."""
    node = node or given()
    added = add(hip, "MemAllocNode", graph, after, ctypes.byref(node))
    assert node.address
    return added, node.address


def launch_node(hip: Hip, graph: int, after: list[int], function: int, *pointers: int) -> int:
    parameters = lib.parameters_of(*pointers)
    shape = (lib.Dim3(64, 1, 1), None, function, lib.Dim3(4, 1, 1))
    kernel = lib.KernelNode(*shape, ctypes.addressof(parameters))
    return add(hip, "KernelNode", graph, after, ctypes.byref(kernel))


def instantiate(hip: Hip, graph: int, flags: int = 0) -> int:
    return hip.make("hipGraphInstantiateWithFlags", graph, flags)


def usage(hip: Hip, device: int = 0) -> list[int]:
    found = [c_uint64() for _ in range(4)]
    for number, one in enumerate(found):
        hip.call("hipDeviceGetGraphMemAttribute", device, number, ctypes.byref(one))
    return [one.value for one in found]


def types(hip: Hip, graph: int) -> list[int]:
    count = hip.size("hipGraphGetNodes", graph, None)
    nodes, room, told = (c_void_p * count)(), c_size_t(count), c_int()
    hip.call("hipGraphGetNodes", graph, nodes, ctypes.byref(room))
    found: list[int] = []
    for node in nodes:
        hip.call("hipGraphNodeGetType", node, ctypes.byref(told))
        found.append(told.value)
    return found


def test_memory_between_its_nodes(hip: Hip, double: int, stream: int, numbers: np.ndarray):
    x, y = hip.upload(numbers), hip.make("hipMalloc", NBYTES)
    graph, zero = hip.make("hipGraphCreate", 0), c_uint64()
    for attribute in (MOST_USED, MOST_RESERVED):
        hip.call("hipDeviceSetGraphMemAttribute", 0, attribute, ctypes.byref(zero))
    free = hip.size("hipMemGetInfo", None)
    first, memory = allocate(hip, graph, [])
    second = launch_node(hip, graph, [first], double, x, memory)
    third = launch_node(hip, graph, [second], double, memory, y)
    last = add(hip, "MemFreeNode", graph, [third], memory)
    read, address = AllocationNode(), c_void_p()
    hip.call("hipGraphMemAllocNodeGetParams", first, ctypes.byref(read))
    assert (read.address, read.size, list(read.location)) == (memory, NBYTES, [1, 0])
    hip.call("hipGraphMemFreeNodeGetParams", last, ctypes.byref(address))
    assert address.value == memory
    wrong = ("hipGraphMemFreeNodeGetParams", first, ctypes.byref(address))
    assert hip.status(*wrong) == lib.INVALID_VALUE
    executable = instantiate(hip, graph)
    hip.call("hipGraphDestroy", graph)
    before = usage(hip)
    for _ in range(2):
        hip.call("hipGraphLaunch", executable, stream)
    hip.call("hipStreamSynchronize", stream)
    np.testing.assert_array_equal(hip.download(y), 4 * numbers)
    after = usage(hip)
    assert after[USED] == before[USED]
    assert after[MOST_USED] == before[USED] + NBYTES
    assert after[RESERVED] >= after[USED] + NBYTES
    assert after[MOST_RESERVED] >= after[RESERVED]
    hip.call("hipDeviceGraphMemTrim", 0)
    assert usage(hip)[RESERVED] == after[USED]
    assert hip.size("hipMemGetInfo", None) == free
    hip.call("hipGraphExecDestroy", executable)


def test_memory_that_a_launch_leaves(hip: Hip, double: int, stream: int, numbers: np.ndarray):
    x = hip.upload(numbers)
    graph, other = (hip.make("hipGraphCreate", 0) for _ in "ab")
    first, memory = allocate(hip, graph, [])
    launch_node(hip, graph, [first], double, x, memory)
    add(hip, "MemFreeNode", other, [], memory)
    executable, freeing = instantiate(hip, graph), instantiate(hip, other)
    launch = ("hipGraphLaunch", executable, stream)
    free = ("hipGraphLaunch", freeing, stream)
    free_later, free_now = ("hipFreeAsync", memory, stream), ("hipFree", memory)
    calls: list[tuple[int, tuple[Any, ...]]] = [
        (lib.INVALID_VALUE, free),
        (lib.INVALID_VALUE, free_now),
        (0, launch),
        (lib.INVALID_VALUE, launch),
        (0, free),
        (lib.INVALID_VALUE, free),
        (0, launch),
        (0, free_later),
        (lib.INVALID_VALUE, free_later),
        (0, launch),
        (0, free_now),
        (0, launch),
    ]
    for status, call in calls:
        assert hip.status(*call) == status, call
    hip.call("hipStreamSynchronize", stream)
    np.testing.assert_array_equal(hip.download(memory), 2 * numbers)
    # What is allocated outlives the graphs.
    for name, handle in (("hipGraphDestroy", graph), ("hipGraphDestroy", other)):
        hip.call(name, handle)
    for handle in (executable, freeing):
        hip.call("hipGraphExecDestroy", handle)
    np.testing.assert_array_equal(hip.download(memory), 2 * numbers)
    hip.call("hipFree", memory)
    assert hip.status("hipFree", memory) == lib.INVALID_VALUE


def test_a_graph_may_free_what_its_last_launch_left(hip: Hip, double: int, stream: int):
    x = hip.upload(np.ones(COUNT, np.float32))
    graph, told = hip.make("hipGraphCreate", 0), c_uint64()
    first, memory = allocate(hip, graph, [])
    launch_node(hip, graph, [first], double, x, memory)
    executable = instantiate(hip, graph, AUTO_FREE)
    hip.call("hipGraphExecGetFlags", executable, ctypes.byref(told))
    assert told.value == AUTO_FREE
    before = usage(hip)[USED]
    for _ in range(3):
        hip.call("hipGraphLaunch", executable, stream)
        assert (hip.download(memory) == 2).all()
        hip.call("hipStreamSynchronize", stream)
        assert usage(hip)[USED] == before + NBYTES
    hip.call("hipFreeAsync", memory, stream)
    hip.call("hipStreamSynchronize", stream)
    assert usage(hip)[USED] == before


def test_captured_allocations(hip: Hip, double: int, stream: int, numbers: np.ndarray):
    x, y = hip.upload(numbers), hip.make("hipMalloc", NBYTES)
    hip.call("hipStreamBeginCapture", stream, RELAXED)
    memory = hip.make("hipMallocAsync", NBYTES, stream)
    pool = hip.make("hipDeviceGetDefaultMemPool", 0)
    kept = hip.make("hipMallocFromPoolAsync", NBYTES, pool, stream)
    hip.launch(double, x, memory, stream=stream)
    hip.launch(double, memory, kept, stream=stream)
    hip.call("hipMemcpyDtoDAsync", y, kept, NBYTES, stream)
    hip.call("hipFreeAsync", memory, stream)
    assert hip.status("hipFreeAsync", memory, stream) == lib.INVALID_VALUE
    assert hip.status("hipFreeAsync", x, stream) == lib.INVALID_VALUE
    graph = c_void_p()
    hip.call("hipStreamEndCapture", stream, ctypes.byref(graph))
    assert types(hip, graph.value or 0) == [ALLOCATE, ALLOCATE, 0, 0, 1, FREE]
    executable = instantiate(hip, graph.value or 0)
    hip.call("hipGraphLaunch", executable, stream)
    hip.call("hipStreamSynchronize", stream)
    np.testing.assert_array_equal(hip.download(y), 4 * numbers)
    np.testing.assert_array_equal(hip.download(kept), 4 * numbers)
    hip.call("hipFreeAsync", kept, stream)
    hip.call("hipGraphLaunch", executable, stream)
    hip.call("hipFreeAsync", kept, stream)


def test_wrong_memory_nodes(hip: Hip):
    graph, made = hip.make("hipGraphCreate", 0), c_void_p()
    start = ("hipGraphAddMemAllocNode", ctypes.byref(made), graph, None, 0)
    for node in (
        AllocationNode(kind=0, location=(1, 0), size=8),
        AllocationNode(kind=1, location=(0, 0), size=8),
        given(device=2),
        given(size=0),
        AllocationNode(kind=1, location=(1, 0), size=8, access_count=1),
    ):
        assert hip.status(*start, ctypes.byref(node)) == lib.INVALID_VALUE
    assert hip.status(*start, None) == lib.INVALID_VALUE
    assert hip.status(*start, ctypes.byref(given(size=1 << 60))) == 2
    first, memory = allocate(hip, graph, [], given(device=1))
    free = ("hipGraphAddMemFreeNode", ctypes.byref(made), graph, None, 0)
    for address in (0, memory + 4, hip.make("hipMalloc", 8)):
        assert hip.status(*free, address) == lib.INVALID_VALUE
    hip.call(*free, memory)
    assert hip.status(*free, memory) == lib.INVALID_VALUE
    one = c_uint64(1)
    attribute = ("hipDeviceSetGraphMemAttribute", 0)
    assert hip.status(*attribute, MOST_USED, ctypes.byref(one)) == lib.INVALID_VALUE
    assert hip.status(*attribute, USED, ctypes.byref(c_uint64())) == lib.INVALID_VALUE
    executable = instantiate(hip, graph)
    again = ("hipGraphInstantiate", ctypes.byref(made), graph, None, None, 0)
    assert hip.status(*again) == lib.NOT_SUPPORTED
    hip.call("hipGraphExecDestroy", executable)
    hip.call(*again)
    assert hip.status("hipGraphClone", ctypes.byref(made), graph) == lib.NOT_SUPPORTED
    assert hip.status("hipGraphDestroyNode", first) == lib.NOT_SUPPORTED


LATE = """
import ctypes, sys
sys.path.append({tests!r})
import numpy as np
import hip_library as lib
import test_hip_graph_memory as nodes
hip = lib.Hip(ctypes.CDLL("libamdhip64.so"))
x, graph = hip.upload(np.ones(256, np.float32)), hip.make("hipGraphCreate", 0)
first, memory = nodes.allocate(hip, graph, [])
freed = nodes.add(hip, "MemFreeNode", graph, [first], memory)
{late}
hip.call("hipGraphLaunch", nodes.instantiate(hip, graph), 0)
assert hip.status("hipDeviceSynchronize") == 700
"""


@pytest.mark.parametrize(
    ("late", "message"),
    [
        (
            "nodes.launch_node(hip, graph, [freed], hip.function(lib.double_code()), memory, x)",
            "error: kernel 'f': load out of bounds",
        ),
        (
            "hip.make('hipGraphAddMemcpyNode1D', graph, (ctypes.c_void_p * 1)(freed), 1, x, memory,"
            " 16, 3)",
            "error: a copy or fill of memory of a graph, which is not allocated then",
        ),
    ],
    ids=["kernel", "copy"],
)
def test_memory_is_gone_after_its_free_node(late: str, message: str, tmp_path: Path):
    text = LATE.format(tests=str(Path(__file__).parent), late=late)
    tool = (BIN / "hipgraft-emulate", "--")
    done = run(*tool, sys.executable, "-c", text, cwd=tmp_path, status=1)
    assert done.stderr.startswith(message)

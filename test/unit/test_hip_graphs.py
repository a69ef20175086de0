"""Graphs of the emulated HIP runtime: by capture, and node by node."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Generator
from ctypes import c_int, c_size_t, c_void_p
from typing import Any

import hip_library as lib
import numpy as np
import pytest
from assembled import requires_assembler
from emulator import requires_emulator
from hip_library import COUNT, NBYTES, Hip

pytestmark = [requires_emulator, requires_assembler]

GLOBAL, THREAD_LOCAL, RELAXED = range(3)
KERNEL, COPY, FILL, HOST, GRAPH, EMPTY = range(6)
(
    UNSUPPORTED,
    INVALIDATED,
    MERGE,
    UNMATCHED,
    UNJOINED,
    ISOLATION,
    IMPLICIT,
    CAPTURED,
    WRONG_THREAD,
) = range(900, 909)


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


def end_capture(hip: Hip, stream: int) -> int:
    graph = c_void_p()
    hip.call("hipStreamEndCapture", stream, ctypes.byref(graph))
    assert graph.value
    return graph.value


def capture_status(hip: Hip, stream: int) -> int:
    told = c_int()
    hip.call("hipStreamIsCapturing", stream, ctypes.byref(told))
    return told.value


def in_a_thread(hip: Hip, *call: Any) -> int:
    """Returns the error of a call by another thread."""
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(hip.status(*call)))
    thread.start()
    thread.join()
    return found[0]


def instantiate(hip: Hip, graph: int) -> int:
    return hip.make("hipGraphInstantiate", graph, None, None, 0)


def nodes(hip: Hip, what: str, of: int) -> list[int]:
    count = hip.size(what, of, None)
    found, room = (c_void_p * count)(), c_size_t(count)
    hip.call(what, of, found, ctypes.byref(room))
    return [one or 0 for one in found]


def kinds(hip: Hip, graph: int) -> list[int]:
    told = c_int()
    found: list[int] = []
    for node in nodes(hip, "hipGraphGetNodes", graph):
        hip.call("hipGraphNodeGetType", node, ctypes.byref(told))
        found.append(told.value)
    return found


def test_a_captured_stream_does_nothing_until_its_graph_is_launched(
    hip: Hip, double: int, stream: int, numbers: np.ndarray
):
    x, y = hip.upload(numbers), hip.upload(np.zeros_like(numbers))
    hip.call("hipStreamBeginCapture", stream, THREAD_LOCAL)
    assert capture_status(hip, stream) == 1
    hip.launch(double, x, y, stream=stream)
    hip.launch(double, y, y, stream=stream)
    hip.call("hipMemcpyDtoDAsync", x, y, NBYTES, stream)
    graph = end_capture(hip, stream)
    assert capture_status(hip, stream) == 0
    assert not hip.download(y).any()
    assert kinds(hip, graph) == [KERNEL, KERNEL, COPY]
    executable = instantiate(hip, graph)
    hip.call("hipGraphDestroy", graph)
    for launches in (1, 2):
        hip.call("hipGraphLaunch", executable, stream)
        hip.call("hipStreamSynchronize", stream)
        np.testing.assert_array_equal(hip.download(x), 4.0**launches * numbers)
    hip.call("hipGraphExecDestroy", executable)
    assert hip.status("hipGraphLaunch", executable, stream) == lib.INVALID_VALUE


def test_events_fork_and_join_a_capture(hip: Hip, stream: int):
    other, memory = hip.make("hipStreamCreate"), hip.make("hipMalloc", 3)
    fork, joined = hip.make("hipEventCreate"), hip.make("hipEventCreate")
    hip.call("hipStreamBeginCapture", stream, GLOBAL)
    hip.call("hipMemsetAsync", memory, 1, 3, stream)
    hip.call("hipEventRecord", fork, stream)
    assert hip.status("hipEventQuery", fork) == CAPTURED
    hip.call("hipStreamWaitEvent", other, fork, 0)
    hip.call("hipMemsetAsync", memory, 2, 1, other)
    hip.call("hipMemsetAsync", memory + 1, 3, 1, stream)
    assert capture_status(hip, other) == 1
    hip.call("hipEventRecord", joined, other)
    hip.call("hipStreamWaitEvent", stream, joined, 0)
    hip.call("hipMemsetAsync", memory + 2, 4, 1, stream)
    graph = end_capture(hip, stream)
    assert capture_status(hip, other) == 0
    first, left, right, last = nodes(hip, "hipGraphGetNodes", graph)
    assert nodes(hip, "hipGraphGetRootNodes", graph) == [first]
    assert set(nodes(hip, "hipGraphNodeGetDependencies", last)) == {left, right}
    assert set(nodes(hip, "hipGraphNodeGetDependentNodes", first)) == {left, right}
    hip.call("hipGraphLaunch", instantiate(hip, graph), stream)
    hip.call("hipStreamSynchronize", stream)
    np.testing.assert_array_equal(hip.download(memory, 3, np.uint8), [2, 3, 4])


def test_captures_that_cannot_end(hip: Hip, stream: int):
    other, memory = hip.make("hipStreamCreate"), hip.make("hipMalloc", 4)
    event, graph = hip.make("hipEventCreate"), c_void_p(1)
    end = ("hipStreamEndCapture", stream, ctypes.byref(graph))
    assert hip.status("hipStreamBeginCapture", None, GLOBAL) == UNSUPPORTED
    assert hip.status(*end) == 401
    hip.call("hipStreamBeginCapture", stream, GLOBAL)
    hip.call("hipEventRecord", event, stream)
    hip.call("hipStreamWaitEvent", other, event, 0)
    hip.call("hipMemsetAsync", memory, 0, 4, other)
    assert hip.status("hipStreamEndCapture", other, ctypes.byref(graph)) == UNMATCHED
    assert in_a_thread(hip, *end) == WRONG_THREAD
    assert hip.status(*end) == UNJOINED
    assert graph.value is None


def test_calls_that_a_capture_forbids(hip: Hip, stream: int):
    address, graph = c_void_p(), c_void_p()
    allocate = ("hipMalloc", ctypes.byref(address), 4)
    end = ("hipStreamEndCapture", stream, ctypes.byref(graph))
    memory = hip.make("hipMalloc", 4)
    forbidden = (allocate, ("hipStreamSynchronize", stream), ("hipDeviceSynchronize",))
    for call in (*forbidden, ("hipMemset", memory, 0, 4)):
        hip.call("hipStreamBeginCapture", stream, GLOBAL)
        assert hip.status(*call) == UNSUPPORTED
        assert capture_status(hip, stream) == 2
        assert hip.status("hipMemsetAsync", memory, 0, 4, stream) == INVALIDATED
        assert hip.status(*end) == INVALIDATED
    for mode in (THREAD_LOCAL, RELAXED):
        hip.call("hipStreamBeginCapture", stream, mode)
        assert in_a_thread(hip, *allocate) == 0
        assert hip.status(*allocate) == (0 if mode == RELAXED else UNSUPPORTED)
        assert hip.status(*end) == (0 if mode == RELAXED else INVALIDATED)
    hip.call("hipStreamBeginCapture", stream, GLOBAL)
    assert hip.status("hipMemsetAsync", memory, 0, 4, None) == IMPLICIT
    other, event = hip.make("hipStreamCreate"), hip.make("hipEventCreate")
    hip.call("hipEventRecord", event, other)
    assert hip.status("hipStreamWaitEvent", stream, event, 0) == ISOLATION
    hip.call(*end)


def test_a_thread_may_leave_the_rules_of_captures(hip: Hip, stream: int):
    mode = c_int(RELAXED)
    hip.call("hipThreadExchangeStreamCaptureMode", ctypes.byref(mode))
    hip.call("hipStreamBeginCapture", stream, GLOBAL)
    hip.make("hipMalloc", 4)
    hip.call("hipThreadExchangeStreamCaptureMode", ctypes.byref(mode))
    assert mode.value == RELAXED
    hip.call("hipGraphDestroy", end_capture(hip, stream))


def test_graphs_node_by_node(hip: Hip, double: int, stream: int, numbers: np.ndarray):
    x, y = hip.upload(numbers), hip.make("hipMalloc", NBYTES)
    back, order = np.zeros_like(numbers), list[str]()
    graph = hip.make("hipGraphCreate", 0)

    def add(kind: str, after: list[int], *given: object) -> int:
        before = (c_void_p * len(after))(*after)
        return hip.make(f"hipGraphAdd{kind}Node", graph, before, len(after), *given)

    note = lib.HOST_FUNCTION(lambda _: order.append("host"))
    host = lib.HostNode(ctypes.cast(note, c_void_p), None)
    kernel = lib.KernelNode(lib.Dim3(64, 1, 1), None, double, lib.Dim3(4, 1, 1))
    parameters = lib.parameters_of(x, y)
    kernel.parameters = ctypes.addressof(parameters)
    fill = lib.MemsetNode(y, 4, 1, 0, 0x3F800000, 3)
    # The order in which nodes are added is not that of their dependencies.
    last = add("Host", [], ctypes.byref(host))
    copied = (c_void_p * 0)()
    copy = hip.make(
        "hipGraphAddMemcpyNode1D", graph, copied, 0, back.ctypes.data, y, NBYTES, lib.DEVICE_TO_HOST
    )
    filled = add("Memset", [], ctypes.byref(fill))
    launched = add("Kernel", [], ctypes.byref(kernel))
    empty = add("Empty", [copy])
    pairs = ((launched, filled), (filled, copy), (empty, last))
    starts, ends = ((c_void_p * 3)(*column) for column in zip(*pairs, strict=True))
    hip.call("hipGraphAddDependencies", graph, starts, ends, 3)
    assert hip.status("hipGraphAddDependencies", graph, starts, ends, 1) == lib.INVALID_VALUE
    assert kinds(hip, graph) == [HOST, COPY, FILL, KERNEL, EMPTY]
    parameters.values[0].value = 0  # the node has its own copy
    executable = instantiate(hip, graph)
    hip.call("hipGraphLaunch", executable, stream)
    hip.call("hipStreamSynchronize", stream)
    expected = 2 * numbers
    expected[:3] = 1
    np.testing.assert_array_equal(back, expected)
    assert order == ["host"]

    read = lib.KernelNode()
    hip.call("hipGraphKernelNodeGetParams", launched, ctypes.byref(read))
    assert (read.function, read.grid.x, read.block.x) == (double, 4, 64)
    parameters.values[0].value = y
    again = ("hipGraphExecKernelNodeSetParams", executable, launched, ctypes.byref(kernel))
    hip.call(*again)
    hip.call("hipGraphLaunch", executable, stream)
    hip.call("hipStreamSynchronize", stream)
    expected = 2 * expected
    expected[:3] = 1
    np.testing.assert_array_equal(back, expected)
    assert hip.status(again[0], executable, filled, again[3]) == lib.INVALID_VALUE


def test_circles_have_no_order(hip: Hip):
    graph = hip.make("hipGraphCreate", 0)
    first = hip.make("hipGraphAddEmptyNode", graph, None, 0)
    second = hip.make("hipGraphAddEmptyNode", graph, (c_void_p * 1)(first), 1)
    back = ((c_void_p * 1)(second), (c_void_p * 1)(first))
    hip.call("hipGraphAddDependencies", graph, *back, 1)
    made = ctypes.byref(c_void_p())
    assert hip.status("hipGraphInstantiate", made, graph, None, None, 0) == lib.INVALID_VALUE
    hip.call("hipGraphDestroyNode", second)
    instantiate(hip, graph)


def test_children_clones_and_updates(hip: Hip, stream: int):
    memory = hip.make("hipMalloc", 4)

    def filling(value: int) -> int:
        hip.call("hipStreamBeginCapture", stream, RELAXED)
        hip.call("hipMemsetAsync", memory, value, 4, stream)
        return end_capture(hip, stream)

    def content() -> int:
        hip.call("hipStreamSynchronize", stream)
        return int(hip.download(memory, 1, np.uint8)[0])

    child, graph = filling(1), hip.make("hipGraphCreate", 0)
    node = hip.make("hipGraphAddChildGraphNode", graph, None, 0, child)
    hip.call("hipGraphDestroy", child)  # the node has a clone
    clone = hip.make("hipGraphClone", graph)
    hip.make("hipGraphNodeFindInClone", node, clone)
    hip.call("hipGraphDestroy", graph)
    assert kinds(hip, clone) == [GRAPH]
    executable = instantiate(hip, clone)
    hip.call("hipGraphLaunch", executable, stream)
    assert content() == 1

    result, wrong = c_int(), c_void_p()
    update = ("hipGraphExecUpdate", executable)
    hip.call(*update, filling(2), ctypes.byref(wrong), ctypes.byref(result))
    hip.call("hipGraphLaunch", executable, stream)
    assert content() == 2
    empty = hip.make("hipGraphCreate", 0)
    assert hip.status(*update, empty, ctypes.byref(wrong), ctypes.byref(result)) == 910
    assert result.value == 2
    hip.make("hipGraphAddEmptyNode", empty, None, 0)
    assert hip.status(*update, empty, ctypes.byref(wrong), ctypes.byref(result)) == 910
    assert result.value == 3


def test_a_graph_can_be_captured(hip: Hip, stream: int):
    memory = hip.make("hipMalloc", 4)
    hip.call("hipStreamBeginCapture", stream, RELAXED)
    hip.call("hipMemsetAsync", memory, 9, 4, stream)
    inner = instantiate(hip, end_capture(hip, stream))
    hip.call("hipStreamBeginCapture", stream, RELAXED)
    hip.call("hipGraphLaunch", inner, stream)
    outer = instantiate(hip, end_capture(hip, stream))
    hip.call("hipGraphLaunch", outer, stream)
    hip.call("hipStreamSynchronize", stream)
    assert (hip.download(memory, 4, np.uint8) == 9).all()


def test_events_in_graphs_order_other_streams(hip: Hip, stream: int):
    other, event = hip.make("hipStreamCreateWithFlags", 1), hip.make("hipEventCreate")
    hold, order = threading.Event(), list[str]()
    graph = hip.make("hipGraphCreate", 0)
    functions = [lib.HOST_FUNCTION(lambda _: hold.wait(120) and order.append("graph"))]
    functions += [lib.HOST_FUNCTION(lambda _: order.append("other"))]
    host = lib.HostNode(ctypes.cast(functions[0], c_void_p), None)
    first = hip.make("hipGraphAddHostNode", graph, None, 0, ctypes.byref(host))
    hip.make("hipGraphAddEventRecordNode", graph, (c_void_p * 1)(first), 1, event)
    hip.call("hipGraphLaunch", instantiate(hip, graph), stream)
    hip.call("hipStreamWaitEvent", other, event, 0)
    hip.call("hipLaunchHostFunc", other, functions[1], None)
    assert hip.status("hipEventQuery", event) == lib.NOT_READY
    hold.set()
    hip.call("hipStreamSynchronize", other)
    assert order == ["graph", "other"]

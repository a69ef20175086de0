"""A host of engine plugins, which makes the calls of hipDNN's backend in the same order.

As a script it executes a request in JSON from standard input, and answers in JSON: it runs
under hipgraft-emulate, with HIP's runtime emulated.
"""

from __future__ import annotations

import ctypes
import json
import struct
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_void_p
from typing import Any

import numpy as np

STATUSES = [
    "SUCCESS",
    "BAD_PARAM",
    "INVALID_VALUE",
    "INTERNAL_ERROR",
    "ALLOC_FAILED",
    "NOT_APPLICABLE",
    "NOT_INITIALIZED",
]
BASE = ["GetName", "GetVersion", "GetType", "GetLastErrorString"]
ENGINE = [
    "GetAllEngineIds",
    "Create",
    "Destroy",
    "SetStream",
    "GetApplicableEngineIds",
    "GetEngineDetails",
    "DestroyEngineDetails",
    "GetWorkspaceSize",
    "CreateExecutionContext",
    "DestroyExecutionContext",
    "GetWorkspaceSizeFromExecutionContext",
    "ExecuteOpGraph",
]
OPTIONAL = [
    "ExecuteOpGraphWithOverrides",
    "SerializeExecutionContext",
    "SerializeExecutionContextWithEngineId",
    "DestroySerializedExecutionContext",
    "CreateExecutionContextFromSerialized",
    "GetEngineName",
]
ALIGNMENT = 16
"""Bytes to which hipDNN aligns tensors that ask for nothing else."""
LOG = ctypes.CFUNCTYPE(None, c_int, c_char_p)


class Data(ctypes.Structure):
    _fields_ = (("ptr", c_void_p), ("size", c_size_t))

    @classmethod
    def of(cls, data: bytes) -> Data:
        made = cls(ctypes.cast(ctypes.c_char_p(data), c_void_p), len(data))
        made.kept = data
        return made

    def bytes(self) -> bytes:
        return ctypes.string_at(self.ptr, self.size)


class Buffer(ctypes.Structure):
    _fields_ = (("uid", c_int64), ("ptr", c_void_p))


class PluginError(Exception):
    def __init__(self, function: str, status: int, text: str):
        super().__init__(f"{function}: {STATUSES[status]}: {text}")
        self.status, self.text = STATUSES[status], text


class Plugin:
    """A loaded plugin, after all calls that hipDNN makes when it loads a plugin."""

    def __init__(self, path: str):
        self.library = ctypes.CDLL(path, mode=2)  # RTLD_NOW
        for names, prefix in ((BASE, "hipdnnPlugin"), (ENGINE + OPTIONAL, "hipdnnEnginePlugin")):
            for name in names:
                getattr(self.library, prefix + name).restype = c_int
        self.logged: list[str] = []
        self._log = LOG(self._keep)
        self.name, self.version, self.api = map(self._text, ("Name", "Version", "ApiVersion"))
        kind = c_int()
        self.base("GetType", byref(kind))
        assert kind.value == 1
        self.base("SetLoggingCallback", self._log)
        self.base("SetLogLevel", 0)
        assert self.api.split(".")[0] == "1"
        count = c_uint32()
        self.call("GetAllEngineIds", None, 0, byref(count))
        ids = (c_int64 * count.value)()
        again = c_uint32()
        self.call("GetAllEngineIds", ids, count, byref(again))
        assert count.value == again.value == len(set(ids)) > 0
        self.engines = list(ids)
        for engine in self.engines:
            name = c_char_p()
            self.call("GetEngineName", c_int64(engine), byref(name))
            assert engine == fnv1a((name.value or b"").decode())

    def _keep(self, _: int, text: bytes) -> None:
        self.logged.append(text.decode())

    def _text(self, what: str) -> str:
        text = c_char_p()
        self.base(f"Get{what}", byref(text))
        assert text.value
        return text.value.decode()

    def base(self, name: str, *arguments: Any) -> None:
        self._checked(f"hipdnnPlugin{name}", *arguments)

    def call(self, name: str, *arguments: Any) -> None:
        self._checked(f"hipdnnEnginePlugin{name}", *arguments)

    def _checked(self, function: str, *arguments: Any) -> None:
        status = getattr(self.library, function)(*arguments)
        if status:
            text = c_char_p()
            self.library.hipdnnPluginGetLastErrorString(byref(text))
            raise PluginError(function, status, (text.value or b"").decode(errors="replace"))


class Handle:
    """The plugin's state for one handle of hipDNN."""

    def __init__(self, plugin: Plugin):
        self.plugin, self.pointer = plugin, c_void_p()
        plugin.call("Create", byref(self.pointer))
        assert self.pointer.value

    def set_stream(self, stream: c_void_p) -> None:
        self.plugin.call("SetStream", self.pointer, stream)

    def applicable(self, graph: bytes) -> list[int]:
        most = len(self.plugin.engines)
        ids, count = (c_int64 * most)(), c_uint32()
        data = Data.of(graph)
        self.plugin.call(
            "GetApplicableEngineIds", self.pointer, byref(data), ids, most, byref(count)
        )
        found = list(ids)[: count.value]
        assert len(set(found)) == len(found) <= most
        assert set(found) <= set(self.plugin.engines)
        return found

    def details(self, engine: int, graph: bytes) -> bytes:
        found, data = Data(), Data.of(graph)
        self.plugin.call(
            "GetEngineDetails", self.pointer, c_int64(engine), byref(data), byref(found)
        )
        copied = found.bytes()
        self.plugin.call("DestroyEngineDetails", self.pointer, byref(found))
        assert not found.ptr
        assert not found.size
        return copied

    def workspace_size(self, config: bytes, graph: bytes) -> int:
        size = c_size_t()
        given = Data.of(config), Data.of(graph)
        self.plugin.call("GetWorkspaceSize", self.pointer, *map(byref, given), byref(size))
        return size.value

    def build(self, config: bytes, graph: bytes) -> Context:
        context = c_void_p()
        given = Data.of(config), Data.of(graph)
        self.plugin.call("CreateExecutionContext", self.pointer, *map(byref, given), byref(context))
        return Context(self, context)

    def restore(self, payload: bytes) -> Context:
        context, data = c_void_p(), Data.of(payload)
        self.plugin.call(
            "CreateExecutionContextFromSerialized", self.pointer, byref(data), byref(context)
        )
        return Context(self, context)

    def destroy(self) -> None:
        self.plugin.call("Destroy", self.pointer)


class Context:
    """An execution context."""

    def __init__(self, handle: Handle, pointer: c_void_p):
        self.handle, self.plugin, self.pointer = handle, handle.plugin, pointer
        size = c_size_t()
        self.plugin.call(
            "GetWorkspaceSizeFromExecutionContext", handle.pointer, pointer, byref(size)
        )
        self.workspace_size = size.value

    def execute(self, workspace: int, pointers: Mapping[int, int]) -> None:
        buffers = (Buffer * len(pointers))(*pointers.items())
        self.plugin.call(
            *("ExecuteOpGraph", self.handle.pointer, self.pointer),
            *(c_void_p(workspace), buffers, len(pointers)),
        )

    def execute_with(
        self,
        workspace: int,
        pointers: Mapping[int, int],
        overrides: Mapping[int, tuple[list[int], list[int]]],
    ) -> None:
        """Executes with other shapes and strides, by uid."""
        buffers = (Buffer * len(pointers))(*pointers.items())
        count = len(overrides)
        uids, lengths = (c_int64 * count)(*overrides), (c_uint32 * count)()
        arrays: list[Any] = []
        tables = [(POINTER(c_int64) * count)() for _ in range(2)]
        for i, given in enumerate(overrides.values()):
            lengths[i] = len(given[0])
            for table, numbers in zip(tables, given, strict=True):
                arrays.append((c_int64 * len(numbers))(*numbers))
                table[i] = ctypes.cast(arrays[-1], POINTER(c_int64))
        self.plugin.call(
            *("ExecuteOpGraphWithOverrides", self.handle.pointer, self.pointer),
            *(c_void_p(workspace), buffers, len(pointers), count, uids, lengths, *tables),
        )

    def serialize(self, engine: int | None = None) -> bytes:
        found = Data()
        name = "SerializeExecutionContext" + ("" if engine is None else "WithEngineId")
        given = [] if engine is None else [c_int64(engine)]
        self.plugin.call(name, self.handle.pointer, *given, self.pointer, byref(found))
        copied = found.bytes()
        self.plugin.call("DestroySerializedExecutionContext", self.handle.pointer, byref(found))
        assert copied
        return copied

    def destroy(self) -> None:
        self.plugin.call("DestroyExecutionContext", self.handle.pointer, self.pointer)


def fnv1a(name: str) -> int:
    found = 0xCBF29CE484222325
    for byte in name.encode():
        found = (found ^ byte) * 0x100000001B3 % (1 << 64)
    return found - (found >> 63 << 64)


def engine_config(engine: int) -> bytes:
    """A FlatBuffer `EngineConfig` without knobs: root, vtable of one field, table."""
    return struct.pack("<IHHHHiq", 12, 6, 12, 4, 0, 8, engine)


def span(dims: Sequence[int], strides: Sequence[int]) -> int:
    """Number of elements in memory from the first to the last element of a tensor."""
    return 1 + sum((size - 1) * step for size, step in zip(dims, strides, strict=True))


def in_memory(values: Any, strides: Sequence[int]) -> Any:
    """Returns the bytes of an array that is stored with certain strides, in elements."""
    memory = np.zeros(span(values.shape, strides), values.dtype)
    steps = [step * values.dtype.itemsize for step in strides]
    np.ndarray(values.shape, values.dtype, memory, 0, steps)[...] = values
    return memory.view(np.uint8)


class Hip:
    """HIP's runtime, as an application uses it."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libamdhip64.so")

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.library, name)(*arguments)
        assert status == 0, (name, status)

    def stream(self) -> c_void_p:
        stream = c_void_p()
        self.call("hipStreamCreate", byref(stream))
        return stream

    def allocate(self, size: int) -> int:
        """Returns memory with the minimum alignment that hipDNN guarantees."""
        memory = c_void_p()
        self.call("hipMalloc", byref(memory), c_size_t(size + ALIGNMENT))
        return (memory.value or 0) + ALIGNMENT

    def copy(self, target: int, source: int, size: int, kind: int) -> None:
        self.call("hipMemcpy", c_void_p(target), c_void_p(source), c_size_t(size), kind)

    def upload(self, data: np.ndarray[Any, Any]) -> int:
        memory = self.allocate(data.nbytes)
        self.copy(memory, data.ctypes.data, data.nbytes, 1)
        return memory

    def download(self, memory: int, size: int) -> np.ndarray[Any, Any]:
        data = np.zeros(size, np.uint8)
        self.copy(data.ctypes.data, memory, size, 2)
        return data


def run(hip: Hip, plugin: Plugin, request: Mapping[str, Any]) -> dict[str, Any]:
    """Executes a request.

    Args:
        hip: the runtime.
        plugin: the plugin.
        request: `graph`: file with the FlatBuffer, `restore`: file with a payload instead,
            `inputs`: npz file of raw bytes by uid, `by_value`: uids of those that stay on the
            host, `outputs`: npz file to write, `sizes`: bytes of each result by uid, `save`: file
            to write the payload to.
    """
    answer: dict[str, Any] = {}
    start = time.perf_counter()
    handle, stream = Handle(plugin), hip.stream()
    handle.set_stream(stream)
    if "restore" in request:
        with open(request["restore"], "rb") as file:
            context = handle.restore(file.read())
    else:
        with open(request["graph"], "rb") as file:
            graph = file.read()
        engines = handle.applicable(graph)
        answer["applicable"] = bool(engines)
        if not engines:
            return answer | {"logged": plugin.logged}
        answer["details"] = len(handle.details(engines[0], graph))
        config = engine_config(engines[0])
        handle.workspace_size(config, graph)
        context = handle.build(config, graph)
        assert handle.workspace_size(config, graph) == context.workspace_size
        start_known = time.perf_counter()
        handle.applicable(graph)
        answer["known_us"] = 1e6 * (time.perf_counter() - start_known)
    answer["ready_ms"] = 1e3 * (time.perf_counter() - start)
    if "inputs" in request:
        pointers: dict[int, int] = {}
        kept: list[np.ndarray[Any, Any]] = []
        with np.load(request["inputs"]) as inputs:
            for uid in inputs:
                kept.append(inputs[uid])
                by_value = int(uid) in request.get("by_value", ())
                pointers[int(uid)] = kept[-1].ctypes.data if by_value else hip.upload(kept[-1])
        sizes = {int(uid): size for uid, size in request["sizes"].items()}
        for uid, size in sizes.items():
            pointers[uid] = hip.allocate(size)
        workspace = hip.allocate(context.workspace_size)
        context.execute(workspace, pointers)
        for uid in request.get("by_value", ()):  # the plugin must have read them
            ctypes.memset(pointers[uid], 255, 4)
        hip.call("hipStreamSynchronize", stream)
        found = {str(uid): hip.download(pointers[uid], size) for uid, size in sizes.items()}
        np.savez(request["outputs"], allow_pickle=False, **found)
    if "save" in request:
        payload = context.serialize(plugin.engines[0])
        assert payload == context.serialize()
        with open(request["save"], "wb") as file:
            file.write(payload)
    context.destroy()
    handle.destroy()
    return answer


def main() -> None:
    job = json.load(sys.stdin)
    plugin, hip = Plugin(job["plugin"]), Hip()
    answers: list[Any] = [None] * len(job["requests"])
    errors: list[str] = []

    def work(index: int) -> None:
        try:
            answers[index] = run(hip, plugin, job["requests"][index])
        except PluginError as error:
            answers[index] = {"error": error.status, "text": error.text}
        except BaseException as error:
            errors.append(repr(error))

    with ThreadPoolExecutor(job.get("threads", 1)) as pool:
        list(pool.map(work, range(len(answers))))
    print(json.dumps({"answers": answers, "errors": errors}))


if __name__ == "__main__":
    main()

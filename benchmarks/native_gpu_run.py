"""Runs what `native_gpu.py` prepared, on a GPU, and compares with the results of the CPU.

    python3 run.py [--device=cuda:0] [--costs] [--batches=200]

Each graph runs through libhipgraft, by launches and by a captured graph, and through hipDNN's
plugin from a restored plan. `--costs` measures the host's time per call. Needs NumPy.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
from collections.abc import Callable, Sequence
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parent
TRUST = REPLAY = 1
POISON = 0x7B
DRIVERS = {
    "cuda": ("libcuda.so.1", "cuLaunchKernel", "cuGraphLaunch", None),
    "hip": (
        os.environ.get("HIPGRAFT_LIBAMDHIP64", "libamdhip64.so"),
        "hipModuleLaunchKernel",
        "hipGraphLaunch",
        3,
    ),
}


class Launch(ctypes.Structure):
    """A launch, as `native_gpu.c` has it."""

    _fields_ = (
        ("kernel", c_void_p),
        ("grid", c_uint * 3),
        ("block", c_uint * 3),
        ("shared", c_uint),
        ("arguments", c_char_p),
        ("size", c_size_t),
    )


class Span(ctypes.Structure):
    """`hipdnnPluginConstData_t`."""

    _fields_ = (("data", c_char_p), ("size", c_size_t))


class Buffer(ctypes.Structure):
    """`hipdnnPluginDeviceBuffer_t`."""

    _fields_ = (("uid", ctypes.c_int64), ("memory", c_void_p))


class Player:
    """libhipgraft with its functions."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(FOLDER / "libhipgraft.so"))
        self.library.hipgraft_error.restype = c_char_p

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function that returns a status."""
        function = getattr(self.library, f"hipgraft_{name}")
        if function(*map(as_pointer, arguments)):
            raise RuntimeError(f"{name}: {self.library.hipgraft_error().decode()}")

    def made(self, name: str, *arguments: Any) -> int:
        """Calls a function whose last argument receives a pointer, and returns that pointer."""
        found = c_void_p()
        self.call(name, *arguments, byref(found))
        return found.value or 0


class Plugin:
    """hipDNN's plugin."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(FOLDER / "libhipgraft_plugin.so"))

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function of the engine."""
        function = getattr(self.library, f"hipdnnEnginePlugin{name}")
        status = function(*map(as_pointer, arguments))
        if status:
            text = c_char_p()
            self.library.hipdnnPluginGetLastErrorString(byref(text))
            raise RuntimeError(f"{name}: status {status}: {(text.value or b'').decode()}")


def as_pointer(value: Any) -> Any:
    """Converts integers to pointers, because ctypes would truncate them to 32 bits."""
    return c_void_p(value) if type(value) is int else value


class Memory:
    """Device memory of a case: tensors by uid, and a workspace."""

    def __init__(self, player: Player, device: int, case: Any, workspace: int):
        self.player, self.device = player, device
        with np.load(FOLDER / f"{case['name']}.npz") as arrays:
            self.arrays = {name: arrays[name] for name in arrays}
        self.addresses: dict[int, int] = {}
        for uid in case["inputs"]:
            data = np.ascontiguousarray(self.arrays[f"in.{uid}"])
            self.addresses[uid] = player.made("device_allocate", device, data.nbytes)
            player.call("device_upload", device, self.addresses[uid], data.ctypes.data, data.nbytes)
        self.results = dict(case["results"])
        for uid, one in self.results.items():
            self.addresses[uid] = player.made("device_allocate", device, one["nbytes"])
        self.workspace = player.made("device_allocate", device, workspace)
        self.pointers = (c_void_p * len(self.addresses))(*self.addresses.values())

    def poison(self) -> None:
        """Fills the results with a pattern that no run writes."""
        for uid, one in self.results.items():
            data = np.full(one["nbytes"], POISON, np.uint8)
            self.player.call(
                "device_upload", self.device, self.addresses[uid], data.ctypes.data, data.nbytes
            )

    def error(self) -> float:
        """Returns the largest error relative to the tolerance."""
        worst = 0.0
        for uid, one in self.results.items():
            data = np.empty(one["nbytes"], np.uint8)
            self.player.call(
                "device_download", self.device, data.ctypes.data, self.addresses[uid], data.nbytes
            )
            dtype = np.dtype(one["dtype"])
            steps = [step * dtype.itemsize for step in one["strides"]]
            found = np.ndarray(one["dims"], dtype, data, 0, steps).astype(np.float64)
            expected = self.arrays[f"out.{uid}"].astype(np.float64)
            least = one.get("absolute", one["tolerance"])
            allowed = one["tolerance"] * np.abs(expected) + least
            with np.errstate(invalid="ignore"):
                ratio = np.abs(found - expected) / np.maximum(allowed, 1e-300)
            is_equal = (found == expected) | (np.isnan(found) & np.isnan(expected))
            ratio = np.where(is_equal, 0, np.where(np.isnan(ratio), np.inf, ratio))
            worst = max(worst, float(ratio.max(initial=0.0)))
        return worst

    def close(self) -> None:
        """Frees the memory."""
        for memory in (*self.addresses.values(), self.workspace):
            self.player.call("device_free", self.device, memory)


class Case:
    """A case that is loaded by libhipgraft."""

    def __init__(self, player: Player, device: int, architecture: str, case: Any):
        self.player, self.device, self.case = player, device, case
        path = str(FOLDER / f"{case['name']}.hgb").encode()
        self.bundle = player.made("bundle_open", c_char_p(path), TRUST)
        name = c_char_p(architecture.encode())
        program = player.made("bundle_find", self.bundle, name)
        size = player.library.hipgraft_program_workspace_size
        size.restype = c_size_t
        self.workspace = size(c_void_p(program))
        self.executables = [
            player.made("executable_create", program, device, flags) for flags in (0, REPLAY)
        ]
        self.memory = Memory(player, device, case, self.workspace)
        self.stream = player.made("stream_create", device)

    def arguments(self, replay: int) -> tuple[Any, ...]:
        """Returns the arguments of `hipgraft_enqueue`."""
        pointers = self.memory.pointers
        return (
            *(self.executables[replay], 0, self.stream, ctypes.addressof(pointers)),
            *(len(pointers), self.memory.workspace if self.workspace else 0),
        )

    def run(self, replay: int) -> float:
        """Runs the case; returns its error."""
        self.memory.poison()
        self.player.call("enqueue", *self.arguments(replay))
        self.wait()
        return self.memory.error()

    def wait(self) -> None:
        """Waits for the case's stream."""
        self.player.call("device_synchronize", self.device, self.stream)

    def close(self) -> None:
        """Frees all."""
        self.player.call("stream_destroy", self.device, self.stream)
        self.memory.close()
        for executable in self.executables:
            self.player.library.hipgraft_executable_destroy(c_void_p(executable))
        self.player.library.hipgraft_bundle_close(c_void_p(self.bundle))


class Restored:
    """A case that the plugin restored from its plan."""

    def __init__(self, plugin: Plugin, handle: c_void_p, loaded: Case):
        self.plugin, self.handle, self.loaded = plugin, handle, loaded
        data = (FOLDER / f"{loaded.case['name']}.plan").read_bytes()
        self.context = c_void_p()
        plugin.call("SetStream", handle, loaded.stream)
        plugin.call(
            "CreateExecutionContextFromSerialized",
            *(handle, byref(Span(data, len(data))), byref(self.context)),
        )
        size = c_size_t()
        plugin.call("GetWorkspaceSizeFromExecutionContext", handle, self.context, byref(size))
        assert size.value == loaded.workspace, (size.value, loaded.workspace)
        pairs = loaded.memory.addresses.items()
        self.buffers = (Buffer * len(pairs))(*(Buffer(uid, memory) for uid, memory in pairs))

    def arguments(self) -> tuple[Any, ...]:
        """Returns the arguments of `ExecuteOpGraph`."""
        return (
            *(self.handle.value, self.context.value, self.loaded.memory.workspace),
            *(ctypes.addressof(self.buffers), len(self.buffers)),
        )

    def run(self) -> float:
        """Runs the case; returns its error."""
        self.loaded.memory.poison()
        self.plugin.call("ExecuteOpGraph", *self.arguments())
        self.loaded.wait()
        return self.loaded.memory.error()

    def close(self) -> None:
        """Frees the context."""
        self.plugin.call("DestroyExecutionContext", self.handle, self.context)


class Costs:
    """Times the host's cost of calls."""

    def __init__(self, player: Player, kind: str, device: int, batches: int):
        self.batches = batches
        name, self.launch, self.launch_graph, self.list_end = DRIVERS[kind]
        self.player, self.device, self.driver = player, device, ctypes.CDLL(name)
        self.loops = ctypes.CDLL(str(FOLDER / "loops.so"))
        self.loops.timed.restype = ctypes.c_double
        if kind == "cuda":  # libhipgraft leaves no context current
            context = c_void_p()
            assert not self.driver.cuDevicePrimaryCtxRetain(byref(context), 0)
            assert not self.driver.cuCtxSetCurrent(context)

    def of(self, call: Any, arguments: Sequence[Any], loaded: Case) -> float:
        """Returns the microseconds of a call: the minimum over many batches."""
        given = (c_void_p * 6)(*arguments, *[0] * (6 - len(arguments)))
        found = self.loops.timed(
            *(call, given, self.batches, 50, self._wait(loaded), c_void_p(self.device)),
        )
        assert found >= 0, "a call failed"
        return found

    def _wait(self, loaded: Case) -> Any:
        kind = ctypes.CFUNCTYPE(c_int, *[c_void_p] * 6)
        self.kept = kind(lambda *_: loaded.wait() or 0)
        return self.kept

    def launches(self, loaded: Case) -> Any:
        """Returns the launches of a case on its memory, for `launch_all`."""
        player, case = self.player, loaded.case
        modules: list[int] = []
        for number in range(case["objects"]):
            code = (FOLDER / f"{case['name']}.{number}.code").read_bytes()
            modules.append(player.made("code_load", self.device, code, len(code)))
        kernels = [
            player.made("code_kernel", self.device, modules[index], c_char_p(name.encode()))
            for index, name in case["kernels"]
        ]
        # The program's own memory may have any content here.
        own = [player.made("device_allocate", self.device, size) for size in case["buffers"]]
        addresses = [*loaded.memory.addresses.values(), *own]
        made: list[Launch] = []
        for one in case["launches"]:
            segment = bytearray.fromhex(one["kernarg"])
            for at, buffer, offset in one["pointers"]:
                segment[at : at + 8] = (addresses[buffer] + offset).to_bytes(8, "little")
            shape = ((c_uint * 3)(*one["grid"]), (c_uint * 3)(*one["block"]), one["shared"])
            # The library runs it once, which enables the kernel's shared memory.
            player.call(
                "launch",
                *(self.device, kernels[one["kernel"]], byref(shape[0]), byref(shape[1])),
                *(shape[2], bytes(segment), len(segment), loaded.stream),
            )
            made.append(Launch(kernels[one["kernel"]], *shape, bytes(segment), len(segment)))
        loaded.wait()
        return (Launch * len(made))(*made)

    def graph(self, loaded: Case) -> int:
        """Returns a captured graph of a case."""
        stream = self.player.made("capture_begin", self.device)
        executable, variant, _, *rest = loaded.arguments(0)
        self.player.call("enqueue", executable, variant, stream, *rest)
        return self.player.made("capture_end", self.device, stream)

    def row(self, loaded: Case, restored: Restored | None) -> str:
        """Returns the measurements of a case as text."""
        launches = self.launches(loaded)
        launch = ctypes.cast(getattr(self.driver, self.launch), c_void_p).value
        listed = (launch, ctypes.addressof(launches), len(launches), loaded.stream)
        bare = self.of(self.loops.launch_all, (*listed, self.list_end or 0), loaded)
        enqueue = self.player.library.hipgraft_enqueue
        own = self.of(enqueue, loaded.arguments(0), loaded)
        graph = self.graph(loaded)
        bare_graph = self.of(
            getattr(self.driver, self.launch_graph), (graph, loaded.stream), loaded
        )
        own_graph = self.of(enqueue, loaded.arguments(1), loaded)
        calls = f"{len(launches)}/{loaded.case['calls']}"
        text = f"{loaded.case['name']:22}{calls:>9}"
        text += f"{bare:10.2f}{own:10.2f}{bare_graph:12.2f}{own_graph:10.2f}"
        if restored is None:
            text += f"{'':10}"
        else:
            execute = restored.plugin.library.hipdnnEnginePluginExecuteOpGraph
            text += f"{self.of(execute, restored.arguments(), loaded):10.2f}"
        return text + f"{self.gpu_time(loaded):12.2f}"

    def gpu_time(self, loaded: Case) -> float:
        """Returns the microseconds of a run on the GPU, in a graph."""
        events = [self.player.made("event_create", self.device) for _ in range(2)]
        least = float("inf")
        for _ in range(20):
            self.player.call("event_record", self.device, events[0], loaded.stream, 0)
            for _ in range(10):
                self.player.call("enqueue", *loaded.arguments(1))
            self.player.call("event_record", self.device, events[1], loaded.stream, 0)
            loaded.wait()
            found = ctypes.c_double()
            self.player.call("event_elapsed", self.device, *events, byref(found))
            least = min(least, found.value / 10)
        return least


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--costs", action="store_true")
    parser.add_argument("--batches", type=int, default=200, help="batches of 50 calls")
    flags = parser.parse_args()
    os.environ |= {"HIPGRAFT_PLUGIN_DEVICE": flags.device, "HIPGRAFT_SERVE": "off"}
    player, plugin, handle = Player(), Plugin(), c_void_p()
    device = player.made("device_open", c_char_p(flags.device.encode()), None)
    plugin.call("Create", byref(handle))
    name = player.library.hipgraft_device_architecture
    name.restype = c_char_p
    architecture = name(c_void_p(device)).decode()
    print(f"{flags.device} is {architecture}; errors in units of what is allowed")
    print(f"{'case':22}{'launched':>12}{'captured':>12}{'replayed':>12}{'plugin':>12}")
    failures = 0
    loaded: list[tuple[Case, Restored | None]] = []
    for case in json.loads((FOLDER / "cases.json").read_text()):
        errors: list[float] = []
        text = ""
        try:
            one = Case(player, device, architecture, case)
            runs: list[Callable[[], float]] = [lambda one=one: one.run(0)]
            one.run(1)  # the second run is captured
            runs += [lambda one=one: one.run(1)] * 2
            restored = None
            if case.get("plan"):
                restored = Restored(plugin, handle, one)
                runs.append(restored.run)
            errors = [run() for run in runs]
            loaded.append((one, restored))
        except RuntimeError as error:
            text = str(error)
        is_right = not text and max(errors) <= 1
        failures += not is_right
        columns = "".join(f"{error:12.2g}" for error in errors)
        print(f"{case['name']:22}{columns}  {'' if is_right else 'WRONG '}{text}", flush=True)
    if flags.costs:
        costs = Costs(player, flags.device.partition(":")[0], device, flags.batches)
        print("\nmicroseconds of the host for a run, and of the GPU; bare: the launches only")
        heads = ("launches", "bare", "enqueue", "bare graph", "replay", "plugin", "GPU")
        widths = (9, 10, 10, 12, 10, 10, 12)
        pairs = zip(heads, widths, strict=True)
        print(f"{'case':22}" + "".join(f"{head:>{width}}" for head, width in pairs))
        for one, restored in loaded:
            print(costs.row(one, restored), flush=True)
    for one, restored in loaded:
        if restored is not None:
            restored.close()
        one.close()
    plugin.call("Destroy", handle)
    player.library.hipgraft_device_close(c_void_p(device))
    print(f"{failures} wrong" if failures else "all right")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())

"""Runs every tool while signals come, writes fail, clocks jump and the cache is lost.

    python benchmarks/tool_faults.py [--faults 200] [--seed 0] [--jobs 2]

Each command first runs without faults, which gives the expected output. Then it runs under one
fault after the other. It must end in time, with its status or that of the signal, without a
traceback; with status 0 its output must be right, otherwise the old output or none must be there;
no process and no temporary file may be left, and no damaged entry in the cache. `hipgraft-serve` is
asked for a graph; if a fault made it fail, it must compile the graph later.
"""

from __future__ import annotations

import argparse
import errno
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from hipgraft.helper.server import socket_name
from hipgraft.service.entry import DamagedEntryError, Entry

ROOT = Path(__file__).resolve().parents[1]
INPUTS = ROOT / "test" / "lit" / "tools" / "Inputs"
_MODEL = str(INPUTS / "conv_relu.mlir")
_GRAPH = str(INPUTS / "conv_bias_relu.json")
_TOOLS = Path(sys.executable).parent
_SECONDS = 120.0
_OLD = b"what was there before"
_ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT)
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)

# Commands by name; OUT is the output, CACHE the cache. Each uses what those before it cached.
COMMANDS: dict[str, list[str]] = {
    "opt": ["hipgraft-opt", _MODEL, "--convert-torch-to-hipdnn", "--hipdnn-outline", "-o", "OUT"],
    "compile": ["hipgraft-compile", _MODEL, "--target=gfx942", "-q", "-o", "OUT.mlir"],
    "bundle": ["hipgraft-compile", _MODEL, "-q", "--emit=bundle", "-j1", "-o", "OUT.hgb"],
    "run": ["hipgraft-run", _MODEL, "--device=cpu", "-q", "--output=@OUT.npz"],
    "translate": [
        *("hipgraft-translate", "--import-hipdnn-json", _GRAPH),
        *("-o", "OUT.mlir"),
    ],
    "tune": ["hipgraft-tune", _MODEL, "-q", "--cost-models=static", "-j1", "-o", "OUT.yaml"],
    "reduce": ["hipgraft-reduce", _MODEL, "--test=grep -q aten.relu", "-q", "-o", "OUT.mlir"],
    "emulate": [
        *("hipgraft-emulate", "--", str(_TOOLS / "hipgraft-run"), _MODEL, "--device=hip", "-q"),
        "--output=@OUT.npz",
    ],
    "serve": ["hipgraft-serve", "--idle=2"],
    "cache": ["hipgraft-cache", "--cache-dir", "CACHE", "export", "OUT.tar"],
}
# A search keeps the smallest module at any time.
_PARTIAL = frozenset({"reduce"})


@dataclass(frozen=True)
class Fault:
    """The fault of one run.

    Attributes:
        name: name of the kind.
        environment: environment variables for the shim.
        number: number of a signal to send, 0 for none.
        after: share of an undisturbed run's time after which it is sent.
        vanishes: whether the cache is removed repeatedly.
    """

    name: str
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    number: int = 0
    after: float = 0.0
    vanishes: bool = False


def make_fault(generator: random.Random) -> Fault:
    """Returns a fault; `CACHE` in its environment stands for the cache."""
    kind = generator.choice(("signal", "signal", "write", "write", "clock", "read-only", "vanish"))
    if kind == "signal":
        number = generator.choice(_SIGNALS)
        return Fault(number.name, number=number, after=generator.uniform(0.0, 1.1))
    if kind == "write":
        error = generator.choice(_ERRORS)
        at = generator.choice((*range(1, 9), 15, 30))
        faults = {"FAULT_WRITE": str(at), "FAULT_ERRNO": str(error)}
        return Fault(errno.errorcode[error], faults)
    if kind == "clock":
        jump = generator.choice((-(10**8), -100, 100, 10**8))
        return Fault("clock", {"FAULT_CLOCK": str(jump)})
    if kind == "read-only":
        return Fault("read-only", {"FAULT_READ_ONLY": "CACHE"})
    return Fault("vanish", vanishes=True)


def build_shim(folder: Path) -> Path | None:
    """Returns the library that is preloaded; None without a compiler."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        return None
    path = folder / "shim.so"
    source = Path(__file__).with_name("fault_shim.cpp")
    command = [compiler, "-std=c++17", "-O1", "-shared", "-fPIC", str(source), "-o", str(path)]
    subprocess.run([*command, "-ldl"], check=True)
    return path


@dataclass
class Bench:
    """The environment in which commands run.

    Attributes:
        folder: folder for outputs, caches and temporary files.
        shim: preloaded library.
        right: expected outputs by command.
        seconds: undisturbed run time of each command.
    """

    folder: Path
    shim: Path
    right: dict[str, bytes] = field(default_factory=dict[str, bytes])
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    def run(self, name: str, fault: Fault, number: int, cache: Path) -> _Run:
        """Returns a run of a command that has not started."""
        return (_ServerRun if name == "serve" else _Run)(self, name, fault, number, cache)

    def prepare(self, names: Sequence[str]) -> None:
        """Runs commands without faults, which must succeed, and fills the cache."""
        for name in names:
            run = self.run(name, Fault("peace"), 0, self.folder / "warm")
            start = time.monotonic()
            run.start()
            found = run.finish()
            self.seconds[name] = time.monotonic() - start
            if found or run.status:
                raise SystemExit(f"{name} fails in peace: {run.said}{found}")
            self.right[name] = run.output.read_bytes()

    def faults(self, name: str, fault: Fault, number: int) -> list[str]:
        """Runs a command under a fault; returns the violations."""
        cache = self.folder / f"cache{number}"
        if number % 2 and (self.folder / "warm").exists():
            shutil.copytree(self.folder / "warm", cache)
        run = self.run(name, fault, number, cache)
        if number % 3 == 0:
            run.output.write_bytes(_OLD)
        found = run.under_fault()
        shutil.rmtree(cache, ignore_errors=True)
        shutil.rmtree(run.folder, ignore_errors=True)
        return [f"{name} under {fault}: {each}" for each in found]


class _Run:
    def __init__(self, bench: Bench, name: str, fault: Fault, number: int, cache: Path):
        self.bench, self.name, self.fault, self.cache = bench, name, fault, cache
        self.number = number
        self.mark = f"{os.getpid()}-{name}-{number}"
        self.folder = bench.folder / self.mark
        self.temporary = self.folder / "temporary"
        self.temporary.mkdir(parents=True)
        words = [word.replace("CACHE", str(cache)) for word in COMMANDS[name]]
        self.command = [word.replace("OUT", str(self.folder / "out")) for word in words]
        self.output = Path(self.command[-1].rpartition("@")[2])
        self.status = 0
        self.said = ""

    def start(self) -> None:
        faults = {
            key: value.replace("CACHE", str(self.cache))
            for key, value in self.fault.environment.items()
        }
        environment = {
            **os.environ,
            **faults,
            "HIPGRAFT_CACHE_DIR": str(self.cache),
            "XDG_RUNTIME_DIR": str(self.folder),
            "TMPDIR": str(self.temporary),
            "FAULT_MARK": self.mark,
            "LD_PRELOAD": str(self.bench.shim),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        tool, *rest = self.command
        self.process = subprocess.Popen(
            [str(_TOOLS / tool), *rest],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )

    def under_fault(self) -> list[str]:
        over = threading.Event()
        thief = threading.Thread(target=self._steal, args=(over,))
        self.start()
        try:
            if self.fault.vanishes:
                thief.start()
            if self.fault.number:
                time.sleep(self.fault.after * self.bench.seconds[self.name])
                with suppress(ProcessLookupError):
                    self.process.send_signal(self.fault.number)
            return self.finish()
        finally:
            over.set()
            if self.fault.vanishes:
                thief.join()

    def _steal(self, over: threading.Event) -> None:
        while not over.wait(0.05):
            shutil.rmtree(self.cache, ignore_errors=True)

    def finish(self) -> list[str]:
        try:
            self.said, _ = self.process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.said, _ = self.process.communicate()
            return ["hangs"]
        self.status = self.process.returncode
        is_killed = self.fault.number == signal.SIGKILL
        found = self._status() + self._output() + self._processes()
        return found if is_killed else found + self._left() + self._entries()

    def _status(self) -> list[str]:
        number = self.fault.number
        allowed = {0, 1, 128 + number, -number} if number else {0, 1}
        found = [] if self.status in allowed else [f"status {self.status}: {self.said[-500:]}"]
        if re.search("Traceback|internal error|Fatal Python error", self.said):
            found += [] if _is_before_start(self.said) else [self.said[-2000:]]
        if self.status == 1 and not self.said:
            found.append("fails without a word")
        return found

    def _output(self) -> list[str]:
        right = self.bench.right.get(self.name)
        if right is None or (self.name in _PARTIAL and self.status):
            return []
        data = self.output.read_bytes() if self.output.exists() else None
        if self.status == 0 and data != right:
            return ["a wrong success"]
        return [] if data in (None, _OLD, right) else ["half an output"]

    def _processes(self) -> list[str]:
        """Returns the remaining processes; workers get a moment to end after their tool."""
        until = time.monotonic() + 10
        while left := _marked(self.mark):
            if time.monotonic() > until:
                for process in left:
                    with suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)
                return [f"{len(left)} processes are left"]
            time.sleep(0.05)
        return []

    def _left(self) -> list[str]:
        # Reports name the inputs of failures, which therefore stay.
        temporary = (path for path in self.temporary.iterdir() if path.name not in self.said)
        found = [f"left {path.name}" for path in temporary]
        beside = (path for path in self.folder.iterdir() if path != self.temporary)
        outputs = {self.output.name, f"{self.output.stem}.safetensors", "hipgraft"}
        return found + [f"left {path.name}" for path in beside if path.name not in outputs]

    def _entries(self) -> list[str]:
        found: list[str] = []
        for path in self.cache.glob("??/*"):
            with suppress(FileNotFoundError):
                if path.suffix != ".zip":
                    found.append(f"left {path.name} in the cache")
                    continue
                try:
                    Entry.from_bytes(path.read_bytes(), path.stem)
                except DamagedEntryError as error:
                    found.append(f"the cache holds a damaged entry: {error}")
        return found


class _ServerRun(_Run):
    """A run of `hipgraft-serve`, which is asked for a graph: the compiled one is the output."""

    def __init__(self, bench: Bench, name: str, fault: Fault, number: int, cache: Path):
        super().__init__(bench, name, fault, number, cache)
        self.output, self.answer = self.folder / "out.hgb", b""

    def start(self) -> None:
        super().start()
        self.client = threading.Thread(target=self._ask)
        self.client.start()

    def under_fault(self) -> list[str]:
        found = super().under_fault()
        later = _ServerRun(self.bench, self.name, Fault("none"), -self.number, self.cache)
        later.start()
        found += later.finish()
        if later.output.read_bytes() != self.bench.right[self.name]:
            found.append(f"without a fault it then says {later.answer}")
        shutil.rmtree(later.folder)
        return found

    def _ask(self) -> None:
        """Asks until there is an answer or the server has ended."""
        graph = _flatbuffer()
        while not self.answer and self.process.poll() is None:
            with suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
                path = self.folder / "hipgraft" / socket_name(self.cache)
                connection.connect(str(path))
                connection.sendall(b"hipgraft 1 compile gfx942 %d\n" % len(graph) + graph)
                with connection.makefile("rb") as stream:
                    self.answer = stream.readline()
            time.sleep(0.05)
        word, _, bundle = self.answer.decode().rstrip("\n").partition(" ")
        if word == "yes":
            with suppress(FileNotFoundError):  # the cache may be gone
                self.output.write_bytes(Path(bundle).read_bytes())

    def _output(self) -> list[str]:
        self.client.join()
        data = self.output.read_bytes() if self.output.exists() else None
        right = self.bench.right.get(self.name, data)
        return [] if data in (None, _OLD, right) else ["a wrong success"]


def _marked(mark: str) -> list[int]:
    """Returns the processes that a run started."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # processes end meanwhile
            if f"FAULT_MARK={mark}\0".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


def search(
    folder: Path, count: int, seed: int, jobs: int, names: Sequence[str] = tuple(COMMANDS)
) -> tuple[Counter[str], list[str]]:
    """Runs commands under faults; returns the number of faults per kind, and the violations."""
    shim = build_shim(folder)
    if shim is None:
        raise SystemExit("a C++ compiler is needed for the library that is preloaded")
    bench = Bench(folder, shim)
    bench.prepare(names)
    generator = random.Random(seed)
    numbers = range(count)
    commands = [names[number % len(names)] for number in numbers]
    faults = [make_fault(generator) for _ in numbers]
    with ThreadPoolExecutor(jobs) as threads:
        results = threads.map(bench.faults, commands, faults, range(1, count + 1))
        found = [each for wrong in results for each in wrong]
    return Counter(fault.name for fault in faults), found


@cache
def _flatbuffer() -> bytes:
    """Returns the graph that `hipgraft-serve` must compile."""
    translate = str(_TOOLS / "hipgraft-translate")
    module = subprocess.check_output([translate, "--import-hipdnn-json", _GRAPH])
    return subprocess.check_output([translate, "--export-hipdnn-fb"], input=module)


def _is_before_start(said: str) -> bool:
    """Whether Python was interrupted while it started, before a tool could handle an interrupt."""
    frames = re.findall(r'File ".*/hipgraft/([\w/]+)\.py", line \d+, in (.+)', said)
    first = {(file, "<module>") for file in ("__init__", "tools/__init__", "tools/entry")}
    return said.rstrip().endswith("KeyboardInterrupt") and first.issuperset(frames)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the script and returns the exit status: 1 if there is a violation."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--tools", nargs="*", default=list(COMMANDS), choices=list(COMMANDS))
    flags = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="hipgraft-faults-") as name:
        counts, found = search(Path(name), flags.faults, flags.seed, flags.jobs, flags.tools)
    print("faults:", ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items())))
    for each in found:
        print(f"WRONG: {each}")
    if not found:
        print("no result lost, no half output, no process or folder left")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

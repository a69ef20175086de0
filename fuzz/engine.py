"""Runs inputs in forked processes: each ends well, with a located error, or as a finding.

A process that has imported everything forks a child, which builds and runs one input after the
other and records in shared memory which one it runs. A child that is lost costs one input: the next
child continues after it.
"""

from __future__ import annotations

import faulthandler
import hashlib
import itertools
import json
import mmap
import os
import random
import re
import resource
import select
import shutil
import signal
import struct
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hipgraft.dialects import source
from hipgraft.ir import activity
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import HipgraftError, HipgraftWarning
from hipgraft.reduction import Reducer

MOST_SECONDS = 10.0
MOST_BYTES = 2 << 30
_BATCH = 100  # inputs per child: memory that MLIR's contexts keep is freed with it
_FRAMES = 3
_NOTE = struct.Struct("<qd")
_OUTSIDE = "nothing may be written here"
_QUOTED_PATH = re.compile(r"'/[^']*'")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Target:
    """A subject of the search.

    Attributes:
        name: name of the target and of its folder of regressions.
        suffix: suffix of input files.
        seeds: well-formed inputs.
        change: returns a changed copy of the first seed; may take parts of the others.
        run: reads an input, which may raise `HipgraftError` and nothing else.
        cost: time of one input in terms of other inputs.
        is_native: whether MLIR handles the input in this process, where it may crash: the
            process that watches a tool reports that to the user, and it cannot be fixed here.
    """

    name: str
    suffix: str
    seeds: Callable[[], Sequence[bytes]]
    change: Callable[[bytes, Sequence[bytes], random.Random], bytes]
    run: Callable[[Path], object]
    is_native: bool = False
    cost: int = 1

    def fresh(self, seed: int, number: int) -> bytes:
        """Returns input `number` of a search, which is reproducible."""
        generator = random.Random(f"{seed} {self.name} {number}")
        seeds = self.seeds()
        data = self.change(generator.choice(seeds), seeds, generator)
        while generator.random() < 0.25:
            data = self.change(data, seeds, generator)
        return data


@dataclass(frozen=True)
class Finding:
    """A harmful input.

    Attributes:
        target: name of the target.
        data: the input.
        key: kind and place of the harm; equal for the same defect.
        text: traceback, or the last activity of the process.
        is_native: whether MLIR crashed where a tool would report it.
    """

    target: str
    data: bytes
    key: str
    text: str
    is_native: bool = False

    @property
    def name(self) -> str:
        """The name of the regression file, without its suffix."""
        return hashlib.sha256(self.key.encode()).hexdigest()[:12]


class Search:
    """Runs inputs in order until a time on the monotonic clock; iterate for the findings.

    Attributes:
        ran: number of inputs that were run.
    """

    def __init__(self, target: Target, inputs: Iterable[bytes], until: float = float("inf")):
        self.target = target
        self.until = until
        self.ran = 0
        self._inputs = iter(inputs)

    def __iter__(self) -> Iterator[Finding]:
        while batch := self._take():
            done = 0
            while done < len(batch) and time.monotonic() < self.until:
                ran, findings = _run_child(self.target, batch[done:])
                done += ran
                self.ran += ran
                yield from findings
            if time.monotonic() >= self.until:
                return

    def _take(self) -> list[Callable[[], bytes] | bytes]:
        return list(itertools.islice(self._inputs, _BATCH))


def minimised(finding: Finding, target: Target, seconds: float = 20.0) -> Finding:
    """Returns the smallest input found with the same effect.

    Modules are first reduced by ops, as in `hipgraft-reduce`. Then all inputs are reduced by bytes.
    """
    until = time.monotonic() + seconds
    best = _reduced(finding, target, until) if target.suffix == ".mlir" else finding
    size = len(best.data)
    while size > 0 and time.monotonic() < until:
        place = 0
        while place < len(best.data) and time.monotonic() < until:
            fewer = best.data[:place] + best.data[place + size :]
            found = list(Search(target, [fewer]))
            if found and found[0].key == best.key:
                best = found[0]
            else:
                place += size
        size //= 2
    return best


def _reduced(finding: Finding, target: Target, until: float) -> Finding:
    """Returns the smallest module with the same effect; the finding if it is not a module."""
    comment, newline, text = finding.data.decode(errors="replace").partition("\n")
    if not comment.startswith("//"):
        comment, newline, text = "", "", finding.data.decode(errors="replace")
    best = finding

    def is_interesting(text: str) -> bool:
        nonlocal best
        data = f"{comment}{newline}{text}".encode()
        found = list(Search(target, [data], until))
        if not found or found[0].key != finding.key:
            return False
        best = found[0]
        return True

    with suppress(HipgraftError, ir.MLIRError):
        module = source.parse_chunk(text, 1, "found.mlir", make_context())
        Reducer(module, is_interesting, any_stage=True).run()
    return best


def _run_child(target: Target, inputs: Sequence[bytes]) -> tuple[int, list[Finding]]:
    """Runs inputs in one child; returns how many it ran, and its findings."""
    note, doing = mmap.mmap(-1, _PAGE), activity.share()
    folder = Path(tempfile.mkdtemp(prefix="hipgraft-fuzz-"))
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(reader)
        _child(target, inputs, note, writer, folder)
    os.close(writer)
    try:
        told, lost = _watch(child, reader, note)
    finally:
        os.close(reader)
        stack = _text_of(folder / "stack")
        shutil.rmtree(folder, ignore_errors=True)
    findings = [Finding(target.name, inputs[row["at"]], row["key"], row["text"]) for row in told]
    at = _NOTE.unpack_from(note)[0]
    if lost:
        where = _QUOTED_PATH.sub("'...'", activity.noted(doing))
        crashed = lost.startswith("SIG")
        key = f"{lost} {where}" if crashed else f"{lost} {_last_frame(stack)}"
        text = f"{lost} {where}\n{stack}"
        is_native = crashed and target.is_native
        findings.append(Finding(target.name, inputs[at], key, text, is_native))
        return at + 1, findings
    return at, findings


def _child(
    target: Target, inputs: Sequence[bytes], note: mmap.mmap, writer: int, folder: Path
) -> None:
    """Runs all inputs and ends the process."""
    status = 1
    try:
        inside = _prepare(folder)
        base = _peak()
        for number, data in enumerate(inputs):
            _NOTE.pack_into(note, 0, number, time.monotonic())
            failure = _failure(target, data, inside)
            if failure is None and _peak() > base + MOST_BYTES:
                failure = "memory", f"{_peak() - base} bytes"
            if failure is not None:
                row = {"at": number, "key": failure[0], "text": failure[1][-8000:]}
                os.write(writer, json.dumps(row).encode() + b"\n")
            if _peak() > base + MOST_BYTES // 2:
                inputs = inputs[: number + 1]  # its peak memory remains, so another child continues
                break
        _NOTE.pack_into(note, 0, len(inputs), time.monotonic())
        status = 0
    finally:
        os._exit(status)


def _prepare(folder: Path) -> Path:
    """Creates the folder from which inputs are read, and silences the process."""
    inside = folder / "a" / "b"
    inside.mkdir(parents=True)
    os.chdir(inside)
    (folder / "temporary").mkdir()
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder / "temporary")
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore", HipgraftWarning)
    faulthandler.enable(file=(folder / "crash").open("w"))
    faulthandler.dump_traceback_later(MOST_SECONDS * 0.9, file=(folder / "stack").open("w"))
    return inside


def _failure(target: Target, data: bytes, inside: Path) -> tuple[str, str] | None:
    """Runs one input; returns the key and the text of a finding, if any."""
    path = inside / f"input{target.suffix}"
    path.write_bytes(data)
    stack = (inside.parents[1] / "stack").open("w")
    faulthandler.dump_traceback_later(MOST_SECONDS * 0.9, file=stack)
    try:
        target.run(path)
    except HipgraftError as error:
        if error.message.startswith("internal error"):
            return " ".join([error.message, *error.notes])[:500], str(error)
    except BaseException as error:
        return _key(error), "".join(traceback.format_exception(error))
    finally:
        faulthandler.cancel_dump_traceback_later()
        stack.close()
        with suppress(OSError):
            path.unlink()
    outside = {*inside.parents[1].iterdir(), *inside.parent.iterdir(), *inside.iterdir()}
    known = {
        inside.parent,
        inside,
        *(inside.parents[1] / n for n in ("temporary", "stack", "crash")),
    }
    written = sorted(each.name for each in outside - known)
    return (f"wrote {written}", _OUTSIDE) if written else None


def _key(error: BaseException) -> str:
    frames = [
        f"{Path(frame.filename).name}:{frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
        if "hipgraft" in frame.filename and "/fuzz/" not in frame.filename
    ]
    return " ".join([type(error).__name__, *frames[-_FRAMES:]])


def _watch(child: int, reader: int, note: mmap.mmap) -> tuple[list[dict[str, object]], str]:
    """Reads a child's reports until it ends; returns them, and why it was lost if it was."""
    said, lost = b"", ""
    while True:
        if select.select([reader], [], [], 0.2)[0]:
            more = os.read(reader, 1 << 16)
            if not more:
                break
            said += more
        started = _NOTE.unpack_from(note)[1]
        if started and time.monotonic() - started > MOST_SECONDS:
            lost = "hang"
        elif _resident(child) > 2 * MOST_BYTES:
            lost = "memory"
        if lost:
            os.kill(child, signal.SIGKILL)
            break
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0 and not lost:
        lost = signal.Signals(-code).name
    elif code > 0:
        lost = "exit"
    return [json.loads(line) for line in said.splitlines()], lost


def _resident(process: int) -> int:
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
    return 0


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _text_of(path: Path) -> str:
    with suppress(OSError):
        return path.read_text()
    return ""


def _last_frame(stack: str) -> str:
    frames = [line for line in stack.splitlines() if "hipgraft" in line and "fuzz" not in line]
    return frames[0].strip().rpartition("/")[2] if frames else ""

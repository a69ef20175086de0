"""Malicious modules: neither this process nor a tool crashes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from fuzz.mutations import changed_bytes
from hipgraft import frontends
from hipgraft.dialects import source
from hipgraft.ir import contained, foreign_modules
from hipgraft.ir.bindings import asm, ir, make_context
from hipgraft.ir.bytecode import to_bytecode
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.foreign_modules import DEEPEST, check_nesting
from hipgraft.ir.io import walk
from hipgraft.passmanager.verification import dialect_errors
from hipgraft.runtime.host_program.bytecode import parse_host

BIN = Path(sys.executable).parent
TEXT = """
module attributes {x.y = "abc", x.z = {first = 1 : i64, second = [2 : i64, "x"]}} {
  func.func @main(%a: tensor<2x3xf32> loc("given.py":4:5)) -> tensor<2x3xf32> {
    %c = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
    %0 = "hipdnn.pointwise"(%a, %c) {mode = "add", operandSegmentSizes = array<i32: 1, 1, 0>}
      : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> loc("model.py":1:2)
    return %0 : tensor<2x3xf32> loc(callsite("n"("g.py":2:3) at "h.py":3:4))
  }
}
"""


@pytest.fixture(scope="module")
def bytecode() -> bytes:
    return to_bytecode(ir.Module.parse(TEXT, make_context()))


def read(path: Path) -> ir.Module:
    return frontends.read(path)


def read_all(path: Path) -> None:
    """Reads as passes do: names, attributes, locations."""
    module = read(path)
    for op in walk(module.operation):
        str(op.name)
        for number in range(len(op.attributes)):
            str(op.attributes[number].name)
    asm(module, debug_info=True)


@pytest.mark.parametrize(
    "word", [b"model.py", b"given.py", b"first", b"abc", b"pointwise", b"main"]
)
def test_strings_of_bytecode_that_are_not_utf8(word: bytes, bytecode: bytes, tmp_path: Path):
    assert word in bytecode
    path = tmp_path / "x.mlirbc"
    path.write_bytes(bytecode.replace(word, b"\xff" + word[1:]))
    with pytest.raises(HipgraftError) as caught:
        read_all(path)
    assert caught.value.location.startswith(str(path))


@pytest.mark.slow
def test_changed_bytecode(bytecode: bytes, tmp_path: Path):
    generator = random.Random(8)
    for number in range(60):
        path = tmp_path / f"{number}.mlirbc"
        path.write_bytes(b"ML\xefR" + changed_bytes(bytecode[4:], generator))
        with suppress(HipgraftError):
            read_all(path)


@pytest.mark.slow
def test_changed_host_programs(bytecode: bytes):
    """Without the check in another process, seeds 256 and 278 would abort this one."""
    for seed in range(250, 280):
        changed = b"ML\xefR" + changed_bytes(bytecode[4:], random.Random(seed))
        with suppress(HipgraftError, ir.MLIRError):
            parse_host(changed)


ODD_TEXTS = [
    'func.func private @f() loc("\\FF.py":1:1)',
    'func.func private @f() loc("\\FF"("x.py":1:1))',
    'func.func private @f() attributes {x.y = {"\\FF" = 1}}',
    'func.func private @f() attributes {"x.\\FF" = 1}',
    'func.func private @f() attributes {x.y = ["\\FF"]}',
    'func.func private @f() attributes {x.y = @"\\FF"}',
    'func.func private @"\\FF"()',
    '"\\FF.x"() : () -> ()',
    '"arith.addi"() : () -> () loc("\\FF":1:1)',
    'func.func private @"\\FF"()\nfunc.func private @"\\FF"()',
]


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_strings_of_text_that_are_not_utf8(text: str, tmp_path: Path):
    path = tmp_path / "x.mlir"
    path.write_text(text)
    with pytest.raises(HipgraftError) as caught:
        read_all(path)
    assert caught.value.location.startswith(str(path))


def test_binary_objects_are_no_text(tmp_path: Path):
    path = tmp_path / "x.mlir"
    path.write_text(
        '"hipdnn.executable"() {sym_name = "é\\C3\\A9", binaries = [{objects = ["\\7FELF\\FF"]}]}'
        " : () -> ()"
    )
    read_all(path)


def nested(opening: str, closing: str, levels: int, inside: str = "") -> str:
    return opening * levels + inside + closing * levels


LEVELS = 100_000
DEEP_TEXTS: dict[str, Callable[[], str]] = {
    "modules": lambda: nested("module {\n", "}\n", 3000),
    "arrays": lambda: "module attributes {x.y = " + nested("[", "]", LEVELS) + "} {}",
    "dictionaries": lambda: (
        "module attributes {x.y = " + nested("{a = ", "}", LEVELS, "1") + "} {}"
    ),
    "types": lambda: f"func.func private @f({nested('tuple<', '>', LEVELS, 'i1')})",
    "unfinished": lambda: "module attributes {x.y = " + "[" * LEVELS,
    "mixed": lambda: "module attributes {x.y = " + nested("[{a = ", "}]", LEVELS, "1") + "} {}",
    "aliases": lambda: (
        "#a0 = [1]\n"
        + "".join(f"#a{n} = [#a{n - 1}]\n" for n in range(1, LEVELS))
        + f"module attributes {{x.y = #a{LEVELS - 1}}} {{}}"
    ),
    "doubled": lambda: (
        "#a0 = [1]\n"
        + "".join(f"#a{n} = [#a{n - 1}, #a{n - 1}]\n" for n in range(1, 40))
        + "module attributes {x.y = #a39} {}"
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", DEEP_TEXTS)
def test_deep_nesting(kind: str, tmp_path: Path):
    path = tmp_path / "x.mlir"
    path.write_text(DEEP_TEXTS[kind]())
    with pytest.raises(HipgraftError, match="nested") as caught:
        read(path)
    assert caught.value.location == str(path)


def test_deep_nesting_in_bytecode(tmp_path: Path):
    context = make_context()
    with context, ir.Location.unknown():
        value: ir.Attribute = ir.UnitAttr.get()
        for _ in range(DEEPEST + 100):
            value = ir.ArrayAttr.get([value])
        module = ir.Module.create()
        module.operation.attributes["x.y"] = value
    path = tmp_path / "x.mlirbc"
    path.write_bytes(to_bytecode(module))
    with pytest.raises(HipgraftError, match="nested more than") as caught:
        read(path)
    assert caught.value.location == str(path)


@pytest.mark.parametrize(
    "text",
    [
        "[]" * 5000,
        '"' + "[" * 5000 + '"',
        "// " + "(" * 5000,
        "affine_set<(d0) : (d0 - 1 >= 0)>" * 5000,
        "(d0) -> (d0) " * 5000,
        "".join(f"#a{n} = [1]\n" for n in range(5000)),
        nested("[", "]", DEEPEST - 10),
    ],
)
def test_ordinary_text_is_not_nested(text: str):
    check_nesting(text.encode(), "")


def test_text_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Only bytecode and rare escapes need a separate process."""
    monkeypatch.setattr(os, "fork", None)
    path = tmp_path / "x.mlir"
    path.write_text(TEXT)
    read_all(path)


@pytest.mark.slow
def test_a_lost_process_says_why():
    assert contained.why_lost(lambda: os.kill(os.getpid(), signal.SIGSEGV)) == (
        "the reader was ended by SIGSEGV"
    )
    assert contained.why_lost(lambda: None) == ""
    assert contained.why_lost(lambda: 1 // 0) == "integer division or modulo by zero"
    assert "0.1 seconds" in contained.why_lost(lambda: time.sleep(60), 0.1)
    assert contained.why_lost(_spin, busy_seconds=1) == "reading takes more than 1 seconds"


def _spin() -> None:
    while True:
        pass


SITE = """
import os, signal
from hipgraft.dialects import source
def parse_file(*_):
    {action}
source.parse_file = parse_file
"""


def start(action: str, folder: Path) -> subprocess.Popen[str]:
    """Starts hipgraft-opt with a reader of files that misbehaves."""
    (folder / "x.mlir").write_text(TEXT)
    script = SITE.format(action=action) + "from hipgraft.tools import entry\nexit(entry.opt())\n"
    command = [sys.executable, "-c", script, str(folder / "x.mlir"), "--cse"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL"])
def test_a_crash_of_a_tool_is_an_error(name: str, tmp_path: Path):
    process = start(f"os.kill(os.getpid(), signal.{name})", tmp_path)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (1, "")
    assert f"error: hipgraft-opt was ended by {name}" in errors


@pytest.mark.slow
def test_a_crash_names_the_pass(tmp_path: Path):
    script = (
        "import os\nfrom hipgraft.passmanager import runner\n"
        "runner.native_manager = lambda *_: os.abort()\n"
        "from hipgraft.tools import entry\nexit(entry.opt())\n"
    )
    (tmp_path / "x.mlir").write_text(TEXT)
    command = [sys.executable, "-c", script, str(tmp_path / "x.mlir"), "--cse"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "was ended by SIGABRT in pass 'cse'" in done.stderr
    assert "--mlir-pass-pipeline-crash-reproducer=FILE" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_reach_the_process_that_works(number: signal.Signals, tmp_path: Path):
    process = start("print('here', flush=True); signal.pause()", tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (128 + number, "")


@pytest.mark.slow
def test_the_process_that_works_ends_with_its_watcher(tmp_path: Path):
    process = start("print(os.getpid(), flush=True); signal.pause()", tmp_path)
    assert process.stdout is not None
    worker = int(process.stdout.readline())
    process.kill()
    process.communicate(timeout=60)
    until = time.monotonic() + 20
    while Path(f"/proc/{worker}/cmdline").exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not Path(f"/proc/{worker}/cmdline").exists()


def test_interrupted_imports_end_without_traceback(tmp_path: Path):
    """The signal arrives before the tool has handlers, while it imports its modules."""
    (tmp_path / "hipgraft_slow.py").write_text(
        "import time\nprint('here', flush=True)\ntime.sleep(60)"
    )
    script = (
        "import sys\nimport hipgraft.tools\nfrom hipgraft.tools import entry\n"
        f"hipgraft.tools.__path__.append({str(tmp_path)!r})\nexit(entry.watched('hipgraft_slow'))"
    )
    command = [sys.executable, "-c", script]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (128 + signal.SIGINT, "")


def test_interrupts_before_a_tool_begins_end_it_without_traceback():
    script = (
        "import os, signal, sys\nsys.argv[0] = 'bin/hipgraft-opt'\n"
        "from hipgraft.tools import entry\nos.kill(os.getpid(), signal.SIGINT)\nentry.opt()"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (128 + signal.SIGINT, "")


def test_chunks_may_be_empty():
    assert len(source.parse_chunk("", 1, "x.mlir", make_context()).body.operations) == 0


def test_attributes_of_unsigned_bytes_are_errors(tmp_path: Path) -> None:
    """The bindings have no Python type for `array<ui8>`, and raise a TypeError."""
    path = tmp_path / "x.mlir"
    path.write_text(TEXT.replace('mode = "add"', 'mode = "add", compute_type = array<ui8: 1, 2>'))
    (error,) = dialect_errors(read(path))
    assert error.message == (
        "'hipdnn.pointwise' op has attribute 'compute_type' of a kind that cannot be read"
    )


def test_the_time_to_read_a_file_grows_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[int] = []

    def lost(_: Callable[[], None], *, busy_seconds: int) -> str:
        limits.append(busy_seconds)
        return ""

    monkeypatch.setattr(foreign_modules, "why_lost", lost)
    for mebibytes in (0, 10, 100):
        foreign_modules.check_reader(mebibytes << 20, "m.mlir", lambda: ir.Module.parse(TEXT))
    assert limits == [limits[0], limits[0] + 10, limits[0] + 100]
    assert 0 < limits[0] < 10

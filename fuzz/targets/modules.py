"""Defines the targets that read MLIR modules and pipelines of passes."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from fuzz.engine import Target
from fuzz.mlir_text import changed_module
from fuzz.mutations import changed_bytes
from hipgraft import frontends
from hipgraft.dialects import source
from hipgraft.ir.bindings import asm, ir, make_context
from hipgraft.ir.bytecode import to_bytecode
from hipgraft.ir.diagnostics import HipgraftError, diagnostics_to
from hipgraft.ir.io import decode, walk
from hipgraft.passmanager import registry
from hipgraft.passmanager.pipeline import resolve, to_text
from hipgraft.passmanager.reproducer import read_pipeline
from hipgraft.passmanager.runner import Runner
from hipgraft.service import CompileService, ProcessWorkers, use_service

LIT = Path(__file__).resolve().parents[2] / "test" / "lit"

_CHUNK = re.compile(r"^// -----[^\n]*\n", re.MULTILINE)


_EXPECTED = re.compile(r"^ *//[^\n]*\n", re.MULTILINE)


# These run IREE in separate processes, for seconds.
_COMPILING = {"hipdnn-compile", "migraphx-iree-gen", "hipgraft-compile-dynamic"}


_MOST_SEED = 20_000  # characters


@cache
def _context_of(process: int) -> ir.Context:
    return make_context()


def context() -> ir.Context:
    """Returns this process's context."""
    return _context_of(os.getpid())


@cache
def chunks(folder: str) -> tuple[str, ...]:
    """Returns the modules of the tests of a folder that parse, in generic form."""
    found: list[str] = []
    for path in sorted((LIT / folder).rglob("*.mlir")):
        for chunk in _CHUNK.split(path.read_text()):
            module = _parsed(chunk)
            text = "" if module is None else _generic(module)
            if 0 < len(text) < _MOST_SEED:
                found.append(text)
    return tuple(dict.fromkeys(found))


def _parsed(chunk: str) -> ir.Module | None:
    with suppress(HipgraftError, ir.MLIRError), diagnostics_to(context(), lambda _: None):
        module = source.parse_chunk(chunk, 1, "seed.mlir", context())
        return module if len(module.body.operations) else None
    return None


def _generic(module: ir.Module) -> str:
    return module.operation.get_asm(print_generic_op_form=True, large_resource_limit=10_000)


def _passes() -> list[str]:
    found = [entry for entry in registry.entries().values() if entry.kind == "pass"]
    return [entry.name for entry in found if not entry.testing and entry.name not in _COMPILING]


@cache
def _modules_with_pass() -> tuple[bytes, ...]:
    """Returns the modules of all tests of passes; the first line names the pass to run."""
    found: list[bytes] = []
    names = _passes()
    texts = chunks("passes") + chunks("dialects/hipdnn")
    for number, text in enumerate(texts):
        found.append(_with_pass(text, names[number % len(names)]))
    return tuple(found)


def _with_pass(text: str, name: str) -> bytes:
    return f"// RUN: hipgraft-opt %s --pass-pipeline='builtin.module({name})'\n{text}".encode()


def _change_with_pass(data: bytes, seeds: Sequence[bytes], generator: random.Random) -> bytes:
    _, _, text = data.partition(b"\n")
    name = generator.choice(_passes())
    return changed_module(_with_pass(text.decode(errors="replace"), name), seeds, generator)


def run_pass(path: Path) -> None:
    """Reads a module and runs the passes that its first line names."""
    data = path.read_bytes()
    pipeline = read_pipeline(decode(data, str(path)))
    module = frontends.read(path, context())
    Runner(keep_reproducer=False).run(module, pipeline)
    text = asm(module)
    with suppress(ir.MLIRError), diagnostics_to(context(), lambda _: None):
        ir.Module.parse(text, context())


def run_module_text(path: Path) -> None:
    """Reads a module, and walks over it as passes do."""
    module = frontends.read(path, context())
    for op in walk(module.operation):
        str(op.name)
        for number in range(len(op.attributes)):
            str(op.attributes[number].name)
    asm(module, debug_info=True)


def run_migraphx(path: Path) -> None:
    """Reads a module of MIGraphX and converts it."""
    module = frontends.read(path, context())
    Runner(keep_reproducer=False).run(module, "convert-migraphx-to-hipdnn")


@cache
def _migraphx() -> tuple[bytes, ...]:
    found: list[bytes] = []
    for path in sorted((*LIT.glob("dialects/migraphx/*"), *LIT.glob("passes/*migraphx*.mlir"))):
        for chunk in _CHUNK.split(path.read_text()):
            text = _EXPECTED.sub("", chunk)
            if "migraphx." in text and len(text) < _MOST_SEED:
                found.append(b"\n" + text.encode())
    return tuple(found)


@cache
def _containers() -> tuple[bytes, ...]:
    """Returns functions with graphs; the first line is a comment, which is not changed."""
    texts = [text for text in chunks("passes") if '"hipdnn.graph"' in text]
    return tuple(f"//\n{text}".encode() for text in texts)


@cache
def _service_of(process: int) -> CompileService:
    return CompileService(ProcessWorkers(1, timeout=2.0, memory_limit=4 << 30))


def run_compile(path: Path) -> None:
    """Compiles graphs in a worker; IREE may crash there, which this process must report."""
    module = frontends.read(path, context())
    with use_service(_service_of(os.getpid())):
        Runner(keep_reproducer=False).run(module, "builtin.module(hipdnn-compile{target=gfx942})")


def run_pipeline(path: Path) -> None:
    """Parses the text of a pipeline, prints it, and parses that again."""
    text = decode(path.read_bytes(), str(path))
    printed = to_text(resolve(text))
    assert to_text(resolve(printed)) == printed


_WORDS = (
    *("(", ")", "{", "}", ",", "=", '"', "'", " ", "builtin.module(", "func.func(", "any(", "cse"),
    *("canonicalize", "hipdnn-outline", "convert-torch-to-hipdnn", "policy=", "max-iterations=3"),
    *("{a=b}", "=1", "-1", "9" * 40, "true", "[1,2]", "é", "\0", "²", "\\", "hipgraft-torch"),
)


def _change_pipeline(data: bytes, seeds: Sequence[bytes], generator: random.Random) -> bytes:
    if generator.random() < 0.1:
        return changed_bytes(data, generator)
    text = data.decode(errors="replace")
    place = generator.randrange(len(text) + 1)
    cut = generator.choice((0, 0, 1, 5))
    word = generator.choice(_WORDS) * generator.choice((1, 1, 1, 2, 3000 if len(text) < 200 else 1))
    return (text[:place] + word + text[place + cut :]).encode()


@cache
def _pipelines() -> tuple[bytes, ...]:
    names = [entry.name for entry in registry.entries().values()]
    nested = "builtin.module(cse,func.func(canonicalize{max-iterations=3},cse),hipdnn-outline)"
    return tuple(
        each.encode() for each in (nested, *names, *(f"builtin.module({n})" for n in names))
    )


@cache
def _bytecode() -> tuple[bytes, ...]:
    texts = chunks("passes")[::7]
    with diagnostics_to(context(), lambda _: None):
        return tuple(to_bytecode(ir.Module.parse(text, context())) for text in texts)


def _change_bytecode(data: bytes, seeds: Sequence[bytes], generator: random.Random) -> bytes:
    return data[:4] + changed_bytes(data[4:], generator)


def _torch() -> tuple[bytes, ...]:
    return tuple(each for each in _modules_with_pass() if b"torch." in each)


def _others() -> tuple[bytes, ...]:
    return tuple(each for each in _modules_with_pass() if b"torch." not in each)


TARGETS = (
    Target("pipeline", ".txt", _pipelines, _change_pipeline, run_pipeline),
    Target("migraphx", ".mlir", _migraphx, changed_module, run_migraphx, is_native=True),
    Target("torch", ".mlir", _torch, _change_with_pass, run_pass, is_native=True),
    Target("hipdnn", ".mlir", _others, _change_with_pass, run_pass, is_native=True),
    Target("compile", ".mlir", _containers, changed_module, run_compile, True, cost=20),
    Target("bytecode", ".mlirbc", _bytecode, _change_bytecode, run_module_text),
)

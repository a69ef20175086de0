"""Defines the targets: all readers of data from outside."""

from __future__ import annotations

import io
import json
import math
import os
import random
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from fuzz.engine import Target
from fuzz.mlir_text import changed_module
from fuzz.mutations import changed_bytes, changed_document
from hipgraft import frontends, hipdnn_io
from hipgraft.dialects import source
from hipgraft.hipdnn_io.files import read_module
from hipgraft.hipdnn_io.json_format import document_of, parse
from hipgraft.integrations.rocmlir.settings import Settings
from hipgraft.ir.bindings import asm, ir, make_context
from hipgraft.ir.bytecode import to_bytecode
from hipgraft.ir.diagnostics import HipgraftError, diagnostics_to
from hipgraft.ir.entry_points import result_count
from hipgraft.ir.io import decode, walk
from hipgraft.passmanager import registry
from hipgraft.passmanager.pipeline import resolve, to_text
from hipgraft.passmanager.reproducer import read_pipeline
from hipgraft.passmanager.runner import Runner
from hipgraft.runtime import bundle as bundles
from hipgraft.runtime import bundle_sections
from hipgraft.runtime.bundle import Bundle, write_bundle
from hipgraft.runtime.comparison import compare
from hipgraft.runtime.devices.host_memory import HostMemory
from hipgraft.runtime.host_program.dynamic import input_tensors
from hipgraft.runtime.host_program.interpreter import Executor
from hipgraft.runtime.host_program.memref import tensor_of
from hipgraft.runtime.parameter_files import ParameterFile
from hipgraft.runtime.recorder import open_session
from hipgraft.service import CompileService, ProcessWorkers, read_overrides, use_service
from hipgraft.service.entry import DamagedEntryError, Entry
from hipgraft.service.flag_tuning import read_candidates
from hipgraft.service.tuning.database import Tuned, read_database
from hipgraft.tools import arrays

ROOT = Path(__file__).resolve().parents[1]
LIT = ROOT / "test" / "lit"
sys.path.append(str(ROOT / "test" / "unit"))

import hipdnn_graphs  # noqa: E402
import test_hostile_cache  # noqa: E402
import test_hostile_data  # noqa: E402
from recordings import copying_program  # noqa: E402

_CHUNK = re.compile(r"^// -----[^\n]*\n", re.MULTILINE)
_EXPECTED = re.compile(r"^ *//[^\n]*\n", re.MULTILINE)
# These run IREE in separate processes, for seconds.
_COMPILING = {"hipdnn-compile", "migraphx-iree-gen", "hipgraft-compile-dynamic"}
_LARGEST_INPUT = 1 << 20
_LARGEST_ALLOCATION = 64 << 20
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
def _host() -> tuple[bytes, ...]:
    words = ("gpu.memcpy", "gpu.launch_func", "memref.alloc", "gpu.wait")
    texts = [*chunks("passes"), *chunks("tools")]
    return tuple(f"\n{text}".encode() for text in texts if any(word in text for word in words))


class Bounded(HostMemory):
    """Raises at each access outside of the memory that it allocated, and launches nothing."""

    architecture = "gfx942"

    def allocate(self, nbytes: int) -> int:
        if nbytes > _LARGEST_ALLOCATION:
            raise HipgraftError(f"there are no {nbytes} bytes")
        return super().allocate(nbytes)

    def load_code_object(self, data: bytes) -> bytes:
        return data

    def get_kernel(self, code_object: bytes, name: str) -> str:
        return name

    def launch(self, kernel: str, grid: Any, block: Any, shared: int, kernarg: bytes) -> None:
        for place in range(0, len(kernarg) - 7, 8):
            address = int.from_bytes(kernarg[place : place + 8], "little")
            if address > 1 << 32:  # it is an address, not a size or count
                self.base_of(address - 1)


def run_host(path: Path) -> None:
    """Interprets a host program."""
    module = frontends.read(path, context())
    with Executor(module, Bounded()) as executor:
        for function in executor.functions:
            tensors = [tensor_of(one) for one in function.regions[0].blocks[0].arguments]
            given = tensors[: len(tensors) - result_count(function, len(tensors))]
            shapes = [[abs(extent) % 99 for extent in one.shape] for one in given]
            if sum(map(math.prod, shapes)) < _LARGEST_INPUT:
                executor.run([np.zeros(shape, np.float32) for shape in shapes])


def run_session(path: Path) -> None:
    """Records a host program and replays the recording."""
    module = frontends.read(path, context())
    device = Bounded()
    for tensors in input_tensors(module, device.architecture).values():
        shapes = [[abs(extent) % 99 for extent in one.shape] for one in tensors]
        if sum(map(math.prod, shapes)) < _LARGEST_INPUT:
            with open_session(module, device, path.parent) as session:
                session.run([np.zeros(shape, np.float32) for shape in shapes])


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
def _graphs() -> tuple[bytes, ...]:
    graphs = [test_hostile_data.RELU, *hipdnn_graphs.GRAPHS.values()]
    return tuple(json.dumps(each).encode() for each in graphs)


@cache
def _templates() -> tuple[bytes, ...]:
    pairs = map(hipdnn_graphs.templated, hipdnn_graphs.GRAPHS.values())
    return tuple(json.dumps(each).encode() for each in pairs)


def run_template(path: Path) -> None:
    """Imports each case of a template; the file holds the template and its sweep."""
    match parse(path.read_text(errors="replace"), str(path)):
        case [template, sweep]:
            for each in hipdnn_io.sweep_cases(sweep, "sweep.json").values():
                graph = hipdnn_io.expand_template(template, each, "graph.template.json")
                hipdnn_io.import_document(document_of(graph, "graph.json"), context())
        case _:
            pass


@cache
def _flatbuffers() -> tuple[bytes, ...]:
    documents = [hipdnn_io.read_json(each.decode(), "seed.json") for each in _graphs()]
    return tuple(map(hipdnn_io.write_flatbuffer, documents))


def run_graph(path: Path) -> None:
    """Imports hipDNN's graph; the text of the module parses again."""
    module = read_module(path, context())
    assert module.operation.verify()
    again = path.with_suffix(".mlir")
    again.write_text(asm(module))
    try:
        frontends.read(again, context())
    except HipgraftError as error:
        raise AssertionError(f"does not parse again: {error}") from None
    finally:
        again.unlink()


def change_json(data: bytes, seeds: Sequence[bytes], generator: random.Random) -> bytes:
    """Changes a document, or rarely its bytes."""
    if generator.random() < 0.1:
        return changed_bytes(data, generator)
    with suppress(ValueError):
        document = json.loads(data)
        changed = changed_document(document, generator)
        return json.dumps(changed, ensure_ascii=False).encode(errors="surrogatepass")
    return data


def change_any(data: bytes, seeds: Sequence[bytes], generator: random.Random) -> bytes:
    """Changes bytes."""
    return changed_bytes(data, generator) if data else b"\0"


@cache
def _onnx() -> tuple[bytes, ...]:
    from onnx import TensorProto, helper, numpy_helper

    def model(nodes: list[Any], **shapes: list[int | str]) -> bytes:
        infos = [helper.make_tensor_value_info(n, 1, s) for n, s in shapes.items()]
        weights = [
            numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w"),
            numpy_helper.from_array(np.array([1, -1]), "s"),
            numpy_helper.from_array(np.array([2.0], np.float32), "c"),
        ]
        result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph(nodes, "g", infos, [result], weights)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
        return made.SerializeToString()

    node = helper.make_node
    image: list[int | str] = [1, 3, 8, 8]
    branch = helper.make_graph(
        [node("Relu", ["x"], ["b"])], "b", [], [helper.make_tensor_value_info("b", 1, None)]
    )
    return (
        model(
            [node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]), node("Relu", ["a"], ["y"])],
            x=image,
        ),
        model(
            [node("Reshape", ["x", "s"], ["a"]), node("Softmax", ["a"], ["y"], axis=-1)], x=["n", 4]
        ),
        model(
            [node("Add", ["x", "c"], ["a"]), node("Transpose", ["a"], ["y"], perm=[1, 0])], x=[2, 3]
        ),
        model([node("Expand", ["c", "s"], ["a"]), node("Tile", ["a", "s"], ["y"])], x=[2]),
        model([node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2])], x=image),
        model(
            [node("LSTM", ["x", "q", "r"], ["y"], hidden_size=4)],
            x=[3, 2, 5],
            q=[1, 16, 5],
            r=[1, 16, 4],
        ),
        model(
            [
                node("ReduceSum", ["x", "s"], ["p"]),
                node("Greater", ["p", "c"], ["t"]),
                node("If", ["t"], ["y"], then_branch=branch, else_branch=branch),
            ],
            x=[2, 3],
        ),
        model(
            [
                node("Split", ["x"], ["a", "b"], num_outputs=2),
                node("Concat", ["a", "b"], ["y"], axis=1),
            ],
            x=[2, 4],
        ),
        *((ROOT / "test/models" / name).read_bytes() for name in ("experts_tiny.onnx",)),
    )


_NUMBERS = (0, 1, -1, 2, 3, 7, 8, 11, 16, 64, 2**31 - 1, 2**40, 2**63 - 1, -(2**63))
_TEXTS = ("", "x", "y", "ai.onnx.ml", "Relu", "Loop", "é" * 9, "../../x", "\0", "then_branch")


def change_message(data: bytes, seeds: Sequence[bytes], generator: random.Random) -> bytes:
    """Changes one field of an ONNX model, anywhere in it."""
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception:
        return changed_bytes(data, generator)
    messages = list(_messages(model))
    message = generator.choice(messages)
    field = generator.choice(list(message.DESCRIPTOR.fields))
    with suppress(ValueError, TypeError):
        _change_field(message, field, messages, generator)
    return model.SerializeToString()


def _messages(message: Message) -> list[Message]:
    found = [message]
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for each in value if isinstance(value, Sequence) or hasattr(value, "add") else [value]:
                found += _messages(each)
    return found


def _change_field(
    message: Any, field: FieldDescriptor, messages: Sequence[Message], generator: random.Random
) -> None:
    repeated = not isinstance(getattr(message, field.name), Message) and hasattr(
        getattr(message, field.name), "extend"
    )
    held = getattr(message, field.name)
    kind = generator.randrange(4)
    if kind == 0:
        message.ClearField(field.name)
    elif field.type == FieldDescriptor.TYPE_MESSAGE:
        same = [each for each in messages if each.DESCRIPTOR is field.message_type]
        other = generator.choice(same) if same else None
        if repeated and kind == 1 and len(held):
            del held[generator.randrange(len(held))]
        elif other is not None and not repeated:
            held.ParseFromString(other.SerializeToString())
        elif other is not None:
            held.add().ParseFromString(other.SerializeToString())
    else:
        value = _value(field, generator)
        if not repeated:
            setattr(message, field.name, value)
        elif len(held) and kind == 1:
            held[generator.randrange(len(held))] = value
        else:
            held.append(value)


def _value(field: FieldDescriptor, generator: random.Random) -> Any:
    if field.type == FieldDescriptor.TYPE_STRING:
        return generator.choice(_TEXTS)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return generator.choice((b"", b"x", b"\xff" * 8, bytes(64)))
    if field.type in (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE):
        return generator.choice((0.0, -1.0, float("nan"), float("inf"), 1e30))
    if field.type == FieldDescriptor.TYPE_ENUM:
        return generator.randrange(30)
    return generator.choice(_NUMBERS)


def run_onnx(path: Path) -> None:
    """Reads a model and normalizes it."""
    frontends.load(path, context())


@cache
def _bytecode() -> tuple[bytes, ...]:
    texts = chunks("passes")[::7]
    with diagnostics_to(context(), lambda _: None):
        return tuple(to_bytecode(ir.Module.parse(text, context())) for text in texts)


def _change_bytecode(data: bytes, seeds: Sequence[bytes], generator: random.Random) -> bytes:
    return data[:4] + changed_bytes(data[4:], generator)


@cache
def _bundles() -> tuple[bytes, ...]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        write_bundle(path / "copies.hgb", [copying_program()])
        host = _host_bytecode()
        bundles.write_host_bundle(path / "host.hgb", host, ["gfx942"], {})
        return tuple(each.read_bytes() for each in sorted(path.glob("*.hgb")))


def _host_bytecode() -> bytes:
    with diagnostics_to(context(), lambda _: None):
        return to_bytecode(ir.Module.parse(_host()[0].decode(), context()))


def _change_bundle(data: bytes, seeds: Sequence[bytes], generator: random.Random) -> bytes:
    """Changes the header or the data, and computes the checksums again."""
    if generator.random() < 0.05:
        return changed_bytes(data, generator)
    prefix = bundles._PREFIX
    try:
        *_, length = prefix.unpack_from(data)
        header = json.loads(data[prefix.size :][:length])
        start = bundle_sections.aligned(prefix.size + length)
        body = bytearray(data[start:])
        if generator.random() < 0.4:
            place, nbytes = generator.choice(header["sections"])
            piece = changed_bytes(bytes(body[place : place + nbytes]), generator)[:nbytes]
            body[place : place + len(piece)] = piece
            body[header["data_size"] :] = b"".join(
                bundle_sections.CHECKSUM.pack(zlib.crc32(body[at : at + size]))
                for at, size in header["sections"]
            )
        else:
            header = changed_document(header, generator)
    except Exception:  # a changed bundle may not parse: change it again
        return changed_bytes(data, generator)
    text = json.dumps(header, ensure_ascii=False).encode(errors="surrogatepass")
    whole = prefix.pack(bundles.MAGIC, bundles._VERSION, zlib.crc32(text), len(text)) + text
    return whole.ljust(bundle_sections.aligned(len(whole)), b"\0") + bytes(body)


def run_bundle(path: Path) -> None:
    """Opens and runs a bundle with inputs of its declared types."""
    with Bundle(path, trust=True) as bundle:
        for tensors in bundle.inputs("gfx942").values():
            small = [one for one in tensors if one.nbytes < _LARGEST_INPUT]
            bundle.run([np.zeros(one.shape, np.float32) for one in small], Bounded())


@cache
def _entries() -> tuple[bytes, ...]:
    from test_service_cache import entry, key

    return (entry(key(1)).to_bytes(),)


def _change_entry(data: bytes, seeds: Sequence[bytes], generator: random.Random) -> bytes:
    try:
        return test_hostile_cache.changed_entry(data, generator)
    except Exception:  # a changed entry may not parse: change it again
        return changed_bytes(data, generator)


def run_entry(path: Path) -> None:
    """Reads an entry of the cache, which may be damaged."""
    from test_service_cache import key

    with suppress(DamagedEntryError):
        Entry.from_bytes(path.read_bytes(), key(1))


def _change_npz(data: bytes, seeds: Sequence[bytes], generator: random.Random) -> bytes:
    """Changes a member, so that the archive's checksums are right, or the archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = generator.choice(sorted(members))
        members[name] = changed_bytes(members[name], generator)
    except Exception:
        return changed_bytes(data, generator)
    if generator.random() < 0.3:
        return changed_bytes(data, generator)
    return test_hostile_data.npz(
        **{name.removesuffix(".npy"): member for name, member in members.items()}
    )


@cache
def _parameters() -> tuple[bytes, ...]:
    import tempfile

    from test_parameters import parameters

    from hipgraft.runtime.parameter_files import write_parameters

    with tempfile.TemporaryDirectory() as folder:
        found: list[bytes] = []
        for name in ("x.safetensors", "x.irpa"):
            write_parameters(Path(folder) / name, parameters())
            found.append((Path(folder) / name).read_bytes())
        return tuple(found)


def run_parameters(path: Path) -> None:
    """Reads a parameter file of either kind."""
    for suffix in (".safetensors", ".irpa"):
        named = path.rename(path.with_suffix(suffix))
        try:
            with suppress(HipgraftError):
                file = ParameterFile(named)
                for name in ("weights", "bytes", "half"):
                    for nbytes in (4, 5, 24):
                        with suppress(HipgraftError):
                            assert len(file.read(name, nbytes)) == nbytes
        finally:
            named.rename(path)


_SETTINGS: tuple[Any, ...] = (
    {
        "format": 1,
        "entries": [
            asdict(
                Tuned("0" * 64, "gfx942", "3.13.0", "one", "default", "static", {"default": 1.0})
            )
        ],
    },
    [{"graph": "a*", "target": "gfx942", "flags": ["--iree-opt-level=O1"]}],
    [{"name": "a", "flags": ["--b"]}],
    ["--iree-opt-level=O1", "--c"],
)


def run_settings(path: Path) -> None:
    """Reads a file as each kind of configuration."""
    readers: tuple[Callable[[Path], Any], ...] = (
        read_database,
        read_overrides,
        read_candidates,
        lambda each: Settings.read(environment={"IREE_CONFIG": str(each)}),
    )
    for read in readers:
        with suppress(HipgraftError):
            read(path)


def run_arrays(path: Path) -> None:
    """Reads arrays and compares them."""
    for array in arrays.read_arrays(f"@{path}", "in").values():
        compare(array, array, 0.0, 0.0)


def _npz() -> tuple[bytes, ...]:
    return (test_hostile_data.KINDS["arrays"][2],)


def _torch() -> tuple[bytes, ...]:
    return tuple(each for each in _modules_with_pass() if b"torch." in each)


def _others() -> tuple[bytes, ...]:
    return tuple(each for each in _modules_with_pass() if b"torch." not in each)


TARGETS = {
    target.name: target
    for target in (
        Target("pipeline", ".txt", _pipelines, _change_pipeline, run_pipeline),
        Target("migraphx", ".mlir", _migraphx, changed_module, run_migraphx, is_native=True),
        Target("hipdnn-json", ".json", _graphs, change_json, run_graph),
        Target("hipdnn-template", ".json", _templates, change_json, run_template),
        Target("hipdnn-flatbuffer", ".fb", _flatbuffers, change_any, run_graph),
        Target("onnx-bytes", ".onnx", _onnx, change_any, run_onnx, is_native=True),
        Target("onnx-fields", ".onnx", _onnx, change_message, run_onnx, is_native=True),
        Target("torch", ".mlir", _torch, _change_with_pass, run_pass, is_native=True),
        Target("hipdnn", ".mlir", _others, _change_with_pass, run_pass, is_native=True),
        Target("host", ".mlir", _host, changed_module, run_host, is_native=True),
        Target("session", ".mlir", _host, changed_module, run_session, is_native=True),
        Target("compile", ".mlir", _containers, changed_module, run_compile, True, cost=20),
        Target("bundle", ".hgb", _bundles, _change_bundle, run_bundle),
        Target("bytecode", ".mlirbc", _bytecode, _change_bytecode, run_module_text),
        Target("cache-entry", ".zip", _entries, _change_entry, run_entry),
        Target("npz", ".npz", _npz, _change_npz, run_arrays),
        Target("parameters", ".bin", _parameters, change_any, run_parameters),
        Target(
            "settings",
            ".yaml",
            lambda: tuple(json.dumps(each).encode() for each in _SETTINGS),
            change_json,
            run_settings,
        ),
    )
}

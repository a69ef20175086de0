"""A stand-in for `hipgraft-serve` that knows sessions only; for tests of the native provider.

It takes runs of neighbouring nodes whose ops are in the variable TAKEN, compiles each with
`hipgraft.compile`, and answers by the protocol.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import onnx

import hipgraft
from hipgraft.helper.server import socket_path

TAKEN = set(os.environ.get("TAKEN", "Conv,Relu,Gemm,MatMul,Add,Mul").split(","))


def listen() -> socket.socket | None:
    path = socket_path()
    path.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(path))
    made.listen(8)
    return made


def submodel(model: onnx.ModelProto, nodes: Sequence[onnx.NodeProto]) -> onnx.ModelProto:
    """Returns some nodes of a model with the initializers that they read."""
    graph = model.graph
    made = {name for node in nodes for name in node.output}
    taken = list(dict.fromkeys(name for node in nodes for name in node.input if name not in made))
    outside = {name for node in graph.node if node not in nodes for name in node.input}
    outside |= {one.name for one in graph.output}
    constants = {one.name for one in graph.initializer}
    values = {one.name: one for one in (*graph.input, *graph.output, *graph.value_info)}
    return onnx.helper.make_model(
        onnx.helper.make_graph(
            list(nodes),
            "group",
            [values[name] for name in taken if name and name not in constants],
            [values[name] for node in nodes for name in node.output if name in outside],
            [one for one in graph.initializer if one.name in taken],
        ),
        opset_imports=model.opset_import,
        ir_version=model.ir_version,
    )


def answer(request: Path) -> Path:
    fields = json.loads(request.read_text())
    assert fields["version"] == 1
    model = onnx.load(str(request.parent / fields["model"]))
    (architecture,) = fields["architectures"]
    cache = Path(os.environ["HIPGRAFT_CACHE_DIR"], "onnxruntime", fields["key"][:2])
    cache.mkdir(parents=True, exist_ok=True)
    if os.environ.get("KEEP_MODEL"):
        onnx.save(model, os.environ["KEEP_MODEL"])
    groups: list[dict[str, Any]] = []
    left: list[dict[str, Any]] = []
    numbered = list(enumerate(model.graph.node))
    dims = dict(one.split("=") for one in fields["options"].get("dims", "").split(";") if one)
    for is_taken, found in groupby(numbered, lambda each: each[1].op_type in TAKEN):
        members = list(found)
        if not is_taken:
            left += [{"node": i, "op": n.op_type, "name": "", "reason": ""} for i, n in members]
            continue
        part = submodel(model, [node for _, node in members])
        options: dict[str, Any] = {}
        if dims:
            options["specialize"] = {
                name: [int(one) for one in extents.split(",")] for name, extents in dims.items()
            }
        program = hipgraft.compile(part, architecture, **options)
        digest = hashlib.sha256(part.SerializeToString() + architecture.encode()).hexdigest()
        bundle = cache / f"{digest}.hgb"
        program.save_bundle(bundle)
        groups.append(
            {
                "nodes": [i for i, _ in members],
                "inputs": [one.name for one in part.graph.input],
                "outputs": [one.name for one in part.graph.output],
                "bundle": str(bundle),
            }
        )
    count = sum(len(one["nodes"]) for one in groups)
    summary = f"takes {count} of {len(numbered)} nodes in {len(groups)} groups"
    if left and fields["options"].get("fallback") == "error":
        raise RuntimeError(f"{summary}, and the option 'fallback' is 'error'")
    path = cache / f"{fields['key']}.json"
    report = cache / f"{fields['key']}.txt"
    report.write_text(summary)
    path.write_text(
        json.dumps(
            {
                "version": 1,
                "groups": groups,
                "left": left,
                "summary": summary,
                "report": str(report),
            }
        )
    )
    return path


def serve(listening: socket.socket) -> None:
    listening.settimeout(float(os.environ.get("SERVED_SECONDS", "120")))
    while True:
        try:
            connection, _ = listening.accept()
        except TimeoutError:
            return
        with connection, connection.makefile("rb") as stream:
            *_, what, _, size = stream.readline().split()
            assert what == b"session"
            try:
                line = f"yes {answer(Path(stream.read(int(size)).decode()))}"
            except Exception as error:
                line = f"error {' '.join(str(error).split())}"
            connection.sendall(f"{line}\n".encode())


if __name__ == "__main__":
    listening = listen()
    if "--background" in sys.argv and os.fork():
        sys.exit()
    serve(listening)

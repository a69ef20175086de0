"""Compiles groups of an answered graph for shapes that occurred at run time."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import NamedTemporaryFile

import onnx

from hipgraft.compiler.program import compile as compile_program
from hipgraft.frontends.onnx.variants import read_each
from hipgraft.ir.bindings import make_context
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.outputs import replacing
from hipgraft.onnxruntime.answer import compiling
from hipgraft.onnxruntime.graph import SessionGraph, make_info
from hipgraft.onnxruntime.request import Request
from hipgraft.runtime.bundle import Bundle, write_bundle


def make_further(request: Request) -> Path:
    """Builds a group's program for certain shapes of its inputs; returns the bundle's file.

    It is compiled if the session has the option `dynamic=compile`. Without that option, or if
    compilation fails, the bundle holds the calls that the group's program for all extents makes.

    Raises:
        HipgraftError: the graph is not in the cache, or nothing computes the group for these
            shapes.
    """
    try:
        answer = json.loads(request.answer.read_bytes())
        group = answer["groups"][request.group]
    except (OSError, ValueError, LookupError) as error:
        raise HipgraftError(f"the graph is not in the cache: {error}") from None
    if request.is_open:
        try:
            _compile(request, group["nodes"])
            return request.bundle
        except HipgraftError:
            if group["variants"]:
                raise
    request.bundle.parent.mkdir(exist_ok=True)
    with Bundle(group["bundle"]) as whole, replacing(str(request.bundle)) as temporary:
        write_bundle(temporary, [whole.record(request.architecture, request.shapes)])
    return request.bundle


def _compile(request: Request, nodes: list[int]) -> None:
    graph = SessionGraph(request.kept)
    boundary = graph.boundary(nodes)
    kinds = graph.kinds({})
    shapes = dict(zip(boundary.inputs, request.shapes, strict=True))
    infos = {
        name: make_info(name, kinds[name].element, shapes.get(name))
        for name in (*boundary.inputs, *boundary.outputs)
    }
    # External data is found beside the file.
    with NamedTemporaryFile(dir=request.kept.parent, suffix=".onnx") as file:
        onnx.save(graph.extract(nodes, infos), file.name)
        module = read_each([(Path(file.name), {})], make_context())
    with compiling(request):
        program = compile_program(module, request.architecture)
    program.save_bundle(request.bundle)

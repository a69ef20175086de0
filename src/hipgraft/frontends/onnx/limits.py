"""Limits the resources that libraries use for a small ONNX file.

A model of 150 bytes can describe a table of gigabytes, which shape inference and the reference
evaluator would build before its size is known.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import onnx
from onnx import shape_inference

from hipgraft.ir.contained import why_lost
from hipgraft.ir.diagnostics import HipgraftError

try:
    import resource
except ImportError:  # not a POSIX system: no limits are available
    resource = None

MOST_MEMORY = 1 << 30
"""The memory limit of inference in bytes; ten times the need of the largest published models."""

_MOST_NODES = 1 << 20  # limit for a graph with inlined functions


class TooMuchMemoryError(Exception):
    """Raised if a library requests more memory than `memory_limit` allows."""


@contextmanager
def memory_limit(nbytes: int = MOST_MEMORY) -> Generator[None, None, None]:
    """Fails if the body needs `nbytes` more memory than the process uses now.

    Raises:
        TooMuchMemoryError: the body needs more.
    """
    now = _address_space()
    if resource is None or not now:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = now + nbytes
    if soft != resource.RLIM_INFINITY:
        wanted = min(wanted, soft)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield
    except MemoryError:
        raise TooMuchMemoryError(f"it takes more than {nbytes >> 20} MiB") from None
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int:
    """Returns the size of this process's address space in bytes; 0 if the system hides it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * 4096
    except (OSError, ValueError, IndexError):
        return 0


def check_functions(model: onnx.ModelProto, path: Path) -> None:
    """Checks the size of the graph after its functions are inlined.

    Raises:
        HipgraftError: the graph is too large, or a function calls itself.
    """
    functions = {(one.domain, one.name): one for one in model.functions}
    sizes: dict[tuple[str, str], int] = {}

    def size_of(nodes: list[onnx.NodeProto], outer: frozenset[tuple[str, str]]) -> int:
        total = 0
        for node in nodes:
            key = (node.domain, node.op_type)
            if key in outer:
                raise HipgraftError(f"function '{node.op_type}' calls itself", location=str(path))
            if key in functions and key not in sizes:
                sizes[key] = size_of(list(functions[key].node), outer | {key})
            total += sizes.get(key, 1)
            total += sum(size_of(list(body.node), outer) for body in _bodies(node))
        return total

    nodes = size_of(list(model.graph.node), frozenset())
    if nodes > _MOST_NODES:
        message = f"the graph has {nodes} nodes with its functions inlined; at most {_MOST_NODES}"
        raise HipgraftError(message, location=str(path))


def check_opset(model: onnx.ModelProto, path: Path) -> None:
    """Checks that the opset version is supported.

    Raises:
        HipgraftError: the version is newer, so that the same names may have other meanings.
    """
    newest = onnx.defs.onnx_opset_version()
    for opset in model.opset_import:
        if opset.domain in ("", "ai.onnx") and not 1 <= opset.version <= newest:
            message = f"unknown opset {opset.version}; the newest known is {newest}"
            raise HipgraftError(message, location=str(path))


def forget_negative_extents(graph: onnx.GraphProto) -> None:
    """Replaces negative extents by unknown ones, in place.

    Some exporters write -1 for an unknown extent. Inference treats it as a number, and may crash.
    """
    for value in [*graph.input, *graph.output, *graph.value_info]:
        for dim in value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ():
            if dim.dim_value < 0:
                dim.ClearField("dim_value")
    for node in graph.node:
        for body in _bodies(node):
            forget_negative_extents(body)


def check_inference(model: onnx.ModelProto) -> None:
    """Checks that ONNX can infer the types of a model.

    Raises:
        InferenceError: inference crashes the process that tries it, or exceeds its memory.
    """
    nodes = [*model.graph.node, *(node for one in model.functions for node in one.node)]
    if not any(map(_is_fragile, nested(nodes))):
        return

    def infer() -> None:
        _check_norm_axes(model)
        with suppress(Exception):  # the caller gets the same exception
            shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)

    lost = why_lost(infer)
    if lost:
        raise shape_inference.InferenceError(f"its types cannot be inferred: {lost}")


def _check_norm_axes(model: onnx.ModelProto) -> None:
    """Checks axes for which ONNX's inference of statistics writes outside of a shape.

    Raises:
        InferenceError: an axis is outside of its operand.
    """
    copied = onnx.ModelProto()
    copied.CopyFrom(model)
    norms = [node for node in nested(copied.graph.node) if node.op_type == "LayerNormalization"]
    for node in norms:
        del node.output[1:]  # the statistics
    inferred = shape_inference.infer_shapes(copied).graph
    values = [*inferred.input, *inferred.value_info, *inferred.output]
    ranks = {
        one.name: len(one.type.tensor_type.shape.dim)
        for one in values
        if one.type.tensor_type.HasField("shape")
    } | {one.name: len(one.dims) for one in inferred.initializer}
    for node in norms:
        rank = ranks.get(node.input[0]) if node.input else None
        for axis in (one.i for one in node.attribute if one.name == "axis"):
            if rank is not None and not -rank <= axis < rank:
                raise shape_inference.InferenceError(
                    f"LayerNormalization '{node.name}': axis {axis} is none of {rank}"
                )


def _is_fragile(node: onnx.NodeProto) -> bool:
    """Whether inference of ONNX 1.23 may end the process at a malformed node.

    These operators were found by modifying operands, attributes and results of the models in
    ONNX's node suite.
    """
    if node.op_type == "Split":
        counts = [one.i for one in node.attribute if one.name == "num_outputs"]
        return any(count != len(node.output) for count in counts)
    return node.op_type == "LayerNormalization" and len(node.output) > 1


def nested(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Yields nodes, and after each one those in its bodies."""
    for node in nodes:
        yield node
        for body in _bodies(node):
            yield from nested(body.node)


def _bodies(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    return [one.g for one in node.attribute if one.HasField("g")]

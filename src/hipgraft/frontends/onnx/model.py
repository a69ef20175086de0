"""Reads an ONNX file and converts it to the importer's form: static shapes, inferred types.

All of this works on protobufs; `onnx_import` converts the result to MLIR.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any, cast

import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto, checker, defs, inliner, shape_inference

from hipgraft.frontends.onnx.attributes import invalid_attribute
from hipgraft.frontends.onnx.checker_errors import node_and_message
from hipgraft.frontends.onnx.external import external_bytes, location_of
from hipgraft.frontends.onnx.folding import (
    MOST_DECISIVE,
    decisive_values,
    fold_constants,
    small_constants,
)
from hipgraft.frontends.onnx.inference import check_structure, infer_strictly, infer_types
from hipgraft.frontends.onnx.inline import surroundings
from hipgraft.frontends.onnx.legalization import (
    CONTRIBUTED,
    CONTRIBUTED_DOMAIN,
    DOMAINS,
    MISPLACED,
    OPTIMIZERS,
    TRAINING_DOMAIN,
    RefusedNode,
    boundary_elements,
    legalize,
)
from hipgraft.frontends.onnx.limits import (
    TooMuchMemoryError,
    check_functions,
    check_opset,
    forget_negative_extents,
    memory_limit,
    nested,
)
from hipgraft.frontends.onnx.order import sort_nodes
from hipgraft.frontends.onnx.reshapes import settle_reshapes
from hipgraft.frontends.onnx.scales import settle_scales
from hipgraft.frontends.onnx.sparse import make_dense
from hipgraft.frontends.onnx.upgrade import UPGRADED_OPSET, oldest_opset, upgrade
from hipgraft.frontends.symbols import Extents, check_complete, check_known, first_occurrences
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.entry_points import ELEMENTS, ROW_COUNTS

_LARGE = 1 << 16  # bytes; larger weights are set aside during shape inference
_MAPPED = 64 << 20  # bytes; weights in a larger file stay in it
_MISTAKEN = {"MeanVarianceNormalization": ("axes", [0, 2, 3]), "STFT": ("onesided", 1)}
"""By operator, an attribute whose default ONNX's shape inference does not know, and its value."""


def read_model(
    path: Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Extents | None = None,
    dynamic: bool = False,
    counted: bool = False,
) -> onnx.ModelProto:
    """Reads, checks and infers an ONNX model; shape computations are folded.

    Args:
        path: the `.onnx` file; external data is looked up beside it.
        shapes: extents of graph inputs by name, for inputs with dynamic dimensions.
        dims: extents of symbolic dimensions by name.
        dynamic: whether dimensions without an extent may stay dynamic.
        counted: whether results may have rows whose number depends on values. They get a row for
            each position, and the numbers of valid rows become further results.

    Returns:
        A model of opset 13 or later, functions inlined, nodes named `FILE:NODE`.

    Raises:
        HipgraftError: the file is not a valid ONNX model, has an unknown operator or an input with
            a dynamic dimension; located at the file and node.
    """
    model = _parse(path)
    check_opset(model, path)
    forget_negative_extents(model.graph)
    sort_nodes(model.graph)
    _place_contributed(model)
    _spell_defaults(model)
    _check_operators(model, path)
    _check_attributes(model, path)  # before inference, which crashes on some of these
    weights = _set_aside_weights(model)
    _load_external_data(model, weights.values(), path)
    try:
        with memory_limit():
            make_dense(model.graph)
            check_structure(model)
        check_functions(model, path)
        _fix_input_shapes(model, path, shapes or {}, dims or {}, dynamic)
        with memory_limit():
            model = inliner.inline_local_functions(model)
        _check_attributes(model, path)  # including the nodes of functions
        model = _upgraded(model, path)
        _name_nodes(model, path)
        _note_elements(model, weights)
        if counted:
            model.metadata_props.add(key=ROW_COUNTS)
        with memory_limit():
            model = _infer_and_fold(model, weights, path)
    except RefusedNode as refused:
        raise HipgraftError(str(refused), location=refused.node.name) from None
    except HipgraftError as error:
        if error.location:
            raise
        raise _at(path, error.message) from None
    except (checker.ValidationError, shape_inference.InferenceError) as error:
        node, message = node_and_message(error)
        node = node.removeprefix(f"{path.name}:")
        raise _at(path, f"invalid ONNX model: {message}", node) from error
    except UnicodeDecodeError:
        # The checker's message contains a name that cannot be decoded.
        raise _at(path, "invalid ONNX model: a name is not UTF-8") from None
    except TooMuchMemoryError as error:
        raise _at(path, f"cannot analyse the model: {error}") from None
    _put_back_weights(model, weights)
    return model


def _at(path: Path, message: str, node: str = "") -> HipgraftError:
    location = f"{path.name}:{node}" if node else str(path)
    return HipgraftError(message, location=location)


def _parse(path: Path) -> onnx.ModelProto:
    try:
        model = _load(path)
    except DecodeError as error:
        raise _at(path, "not an ONNX model, or a truncated one") from error
    except OSError as error:
        raise _at(path, f"cannot read: {error.strerror}") from error
    if not model.HasField("graph") or not model.opset_import:
        raise _at(path, "not an ONNX model: no graph or no opset")
    return model


def _load(path: Path) -> onnx.ModelProto:
    if path.stat().st_size < _MAPPED:
        return onnx.load(path, load_external_data=False)
    return onnx.ModelProto.FromString(surroundings(path))


def _load_external_data(model: onnx.ModelProto, weights: Iterable[TensorProto], path: Path) -> None:
    """Reads data in other files, except weights that the importer maps."""
    try:
        onnx.load_external_data_for_model(model, str(path.parent))
        for tensor in filter(external_bytes, weights):
            location_of(tensor, path)
    except (OSError, ValueError, checker.ValidationError) as error:
        raise _at(
            path, f"external data is missing or invalid: {node_and_message(error)[1]}"
        ) from error


def _check_operators(model: onnx.ModelProto, path: Path) -> None:
    local = {(function.domain, function.name) for function in model.functions}
    for node in model.graph.node:
        # protobuf returns bytes for a field that is not UTF-8.
        if any(
            isinstance(text, bytes) for text in cast(Any, (node.op_type, node.domain, node.name))
        ):
            raise _at(path, "invalid ONNX model: a name is not UTF-8")
        problem = "" if (_domain(node), node.op_type) in local else unsupported_operator(node)
        if problem:
            raise _at(path, problem, _name_of(node))


def _check_attributes(model: onnx.ModelProto, path: Path) -> None:
    for node in nested(model.graph.node):
        fault = invalid_attribute(node) if _domain(node) == "" else ""
        if fault:
            raise _at(path, fault, _name_of(node))


def unsupported_operator(node: onnx.NodeProto) -> str:
    """Returns why an operator that the model does not define is not supported; empty if it is."""
    domain = _domain(node)
    name = f"{f'{domain}.' if domain else ''}{node.op_type}"
    if domain == CONTRIBUTED_DOMAIN:
        return "" if node.op_type in CONTRIBUTED else f"ONNX operator '{name}' is not supported"
    if not defs.has(node.op_type, domain):
        return f"unknown ONNX operator '{name}'"
    if domain not in DOMAINS or (domain == TRAINING_DOMAIN and node.op_type not in OPTIMIZERS):
        return f"ONNX operator '{name}' is not supported, nor are others of its domain"
    return ""


def _domain(node: onnx.NodeProto) -> str:
    return "" if node.domain == "ai.onnx" else node.domain


def _place_contributed(model: onnx.ModelProto) -> None:
    """Moves contributed operators that onnxruntime writes to ONNX's domain to their own domain."""
    opset = _opset(model)
    for node in model.graph.node:
        if node.domain in ("", "ai.onnx") and node.op_type in MISPLACED:
            is_own = defs.has(node.op_type) and (
                opset >= defs.get_schema(node.op_type).since_version
            )
            if not is_own:
                node.domain = CONTRIBUTED_DOMAIN
    is_imported = any(one.domain == CONTRIBUTED_DOMAIN for one in model.opset_import)
    if _has_contributed(model) and not is_imported:
        model.opset_import.add(domain=CONTRIBUTED_DOMAIN, version=1)


def _spell_defaults(model: onnx.ModelProto) -> None:
    """Adds the default attributes that ONNX's shape inference does not know."""
    bodies = [model.graph.node, *(function.node for function in model.functions)]
    for node in (node for body in bodies for node in nested(body)):
        name, value = _MISTAKEN.get(node.op_type, ("", None))
        if name and not node.domain and not any(one.name == name for one in node.attribute):
            node.attribute.append(onnx.helper.make_attribute(name, value))


def _has_contributed(model: onnx.ModelProto) -> bool:
    return any(node.domain == CONTRIBUTED_DOMAIN for node in model.graph.node)


def _opset(model: onnx.ModelProto) -> int:
    """Returns the version of ONNX's own domain; 0 if it is not used."""
    versions = [one.version for one in model.opset_import if one.domain in ("", "ai.onnx")]
    return max(versions, default=0)


def _name_of(node: onnx.NodeProto) -> str:
    return node.name or next(iter(node.output), "") or node.op_type


def _set_aside_weights(model: onnx.ModelProto) -> dict[str, TensorProto]:
    """Empties large initialisers, because inference copies the model and protobuf ends at 2 GiB."""
    inputs = {value.name for value in model.graph.input}
    weights: dict[str, TensorProto] = {}
    decisive = decisive_values(model.graph)
    for tensor in list(model.graph.initializer):
        if max(tensor.ByteSize(), external_bytes(tensor)) <= _LARGE:
            continue
        if tensor.name in decisive and prod(tensor.dims) <= MOST_DECISIVE:
            continue
        weights[tensor.name] = TensorProto()
        weights[tensor.name].CopyFrom(tensor)
        model.graph.initializer.remove(tensor)
        if tensor.name not in inputs:
            value = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            model.graph.input.append(value)
    return weights


def _put_back_weights(model: onnx.ModelProto, weights: Mapping[str, TensorProto]) -> None:
    for value in [value for value in model.graph.input if value.name in weights]:
        model.graph.input.remove(value)
    model.graph.initializer.extend(weights.values())


def _fix_input_shapes(
    model: onnx.ModelProto,
    path: Path,
    shapes: Mapping[str, Sequence[int]],
    dims: Extents,
    dynamic: bool,
) -> None:
    inputs = {value.name: value for value in _true_inputs(model)}
    for name in shapes:
        if name not in inputs:
            raise _at(path, f"no input '{name}'; the inputs are {', '.join(inputs)}")
    for name, value in inputs.items():
        if not value.type.HasField("tensor_type"):
            raise _at(path, f"input '{name}' is no tensor")
    check_known(_occurrences(inputs.values()), dims, str(path))
    for name, shape in shapes.items():
        _set_shape(inputs[name], path, shape)
    if not dynamic:
        check_complete(_occurrences(inputs.values()), dims, str(path))
    for value in inputs.values():
        for index in [index for index, name in _symbols(value).items() if name in dims]:
            symbol = _symbols(value)[index]
            value.type.tensor_type.shape.dim[index].dim_value = dims[symbol]


def input_symbols(model: onnx.ModelProto) -> list[list[str]]:
    """Returns the names of the dynamic dimensions of each input that is not a weight."""
    return [list(_symbols(value).values()) for value in _true_inputs(model)]


def _true_inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    initialised = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in initialised]


def _set_shape(value: onnx.ValueInfoProto, path: Path, shape: Sequence[int]) -> None:
    proto = value.type.tensor_type.shape.dim
    if len(shape) != len(proto):
        raise _at(path, f"input '{value.name}' has {len(proto)} dimensions, got {len(shape)}")
    for dim, extent in zip(proto, shape, strict=True):
        dim.dim_value = extent


def _occurrences(inputs: Iterable[onnx.ValueInfoProto]) -> dict[str, str]:
    """Returns the first occurrence of each symbolic dimension, by name."""
    return first_occurrences(
        (symbol, f"dimension {index} of input '{value.name}'")
        for value in inputs
        for index, symbol in _symbols(value).items()
    )


def _symbols(value: onnx.ValueInfoProto) -> dict[int, str]:
    """Returns the names of dynamic dimensions by number; `INPUT.NUMBER` for unnamed ones."""
    return {
        index: dim.dim_param or f"{value.name}.{index}"
        for index, dim in enumerate(value.type.tensor_type.shape.dim)
        if not dim.HasField("dim_value")
    }


def _upgraded(model: onnx.ModelProto, path: Path) -> onnx.ModelProto:
    opset = _opset(model)
    oldest = UPGRADED_OPSET if _has_contributed(model) else oldest_opset(model)
    if not opset:  # operators of other domains only, which are rewritten to ONNX's own
        model.opset_import.add(domain="", version=UPGRADED_OPSET)
    if not opset or opset >= oldest:
        return model
    try:
        return upgrade(model, opset)
    except RefusedNode as refused:  # nodes have no location yet
        raise _at(path, str(refused), _name_of(refused.node)) from None


def _name_nodes(model: onnx.ModelProto, path: Path) -> None:
    """Names each node for the location that the importer makes of it: file, name and operator."""
    for index, node in enumerate(model.graph.node):
        name = node.name or f"{node.op_type}_{index}"
        operator = "" if node.op_type.lower() in name.lower() else f" ({node.op_type})"
        node.name = f"{path.name}:{name}{operator}"


def _note_elements(model: onnx.ModelProto, weights: Mapping[str, TensorProto]) -> None:
    """Records the narrow types at the model's boundary, which the program stores as other types."""
    names = boundary_elements(model, weights)
    if names:
        model.metadata_props.add(key=ELEMENTS, value=",".join(names))


def _infer_and_fold(
    model: onnx.ModelProto, weights: dict[str, TensorProto], path: Path
) -> onnx.ModelProto:
    """Infers and folds alternately until nothing folds: each fold lets inference continue."""
    while True:
        settle_scales(model, weights.keys(), infer_types)
        _forget_symbolic_shapes(model.graph)
        try:
            model = infer_strictly(model)
        except shape_inference.InferenceError:
            # Branches that are not taken may have results of another rank.
            model = infer_types(model, data_prop=True)
            if not fold_constants(model, opaque=weights.keys()):
                raise
            continue
        folded = fold_constants(model, opaque=weights.keys())
        if settle_reshapes(model.graph) or folded:
            continue
        if not legalize(model, small_constants(model.graph, weights.keys()), weights, path):
            return model


def _forget_symbolic_shapes(graph: onnx.GraphProto) -> None:
    """Removes unknown and symbolic shapes, which inference would keep although folding finds them.

    Shapes of results are declared with the results; inference does not change other shapes.
    """
    results = {value.name for value in graph.output}
    for value in list(graph.value_info):
        kind = value.type.tensor_type
        is_known = all(dim.HasField("dim_value") for dim in kind.shape.dim)
        is_ranked = kind.HasField("shape") or not value.type.HasField("tensor_type")
        if not is_known or not is_ranked or value.name in results:
            graph.value_info.remove(value)

"""Imports an ONNX model into the torch dialect; large weights are resources, small ones inline."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import onnx

# Not in `bindings`, which must not import onnx.
from iree.compiler.extras import onnx_importer  # noqa: TID251
from onnx import numpy_helper

from hipgraft.frontends.onnx.external import Place, external_bytes, location_of
from hipgraft.frontends.onnx.torch_forms import make_torch_ops
from hipgraft.ir import io as ir_io
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.entry_points import (
    ELEMENTS,
    ROW_COUNTS,
    note_elements,
    note_names,
    note_row_counts,
)
from hipgraft.ir.io import RESOURCE_ALIGNMENT

_INLINE_ELEMENTS = 64
"""Constants up to this size are readable in the IR and fold; larger ones are resources."""

_LITERAL_NAME = "torch.onnx.value"
_MOST_COPIED = 1 << 16  # elements; conversions may need the values of smaller constants

Resources: TypeAlias = dict[tuple[str, bytes | Place], ir.Attribute]
"""The large constants of a context by type, and by digest or location of their elements."""


class _Constants(onnx_importer.ContextCache):
    """Decodes every ONNX storage form with numpy; the importer itself supports only some of them.

    Args:
        context: context of the attributes.
        resources: existing resources by type and elements, so that equal constants share one.
        model: file of the model.
    """

    def __init__(self, context: ir.Context, resources: Resources, model: Path):
        super().__init__(context)
        self._resources = resources
        self._model = model

    def tensor_proto_to_attr(self, tp: onnx.TensorProto) -> ir.Attribute:
        if external_bytes(tp):
            location = location_of(tp, self._model)
            return self._resource(tp, location, location.read)
        array = np.ascontiguousarray(numpy_helper.to_array(tp)).reshape(tuple(tp.dims))
        tensor_type = self.tensor_proto_to_builtin_type(tp)
        if array.size == 0:
            return ir.Attribute.parse(f"dense<> : {tensor_type}")
        # Readers of a boolean resource may expect bits or bytes; inline elements are unambiguous.
        if array.size <= _INLINE_ELEMENTS or array.dtype == np.bool_:
            bits = array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array
            return ir.DenseElementsAttr.get(bits, type=tensor_type)
        data = array.reshape(-1).view(np.uint8)
        return self._resource(tp, hashlib.sha256(data.data).digest(), lambda: data)

    def _resource(
        self, tp: onnx.TensorProto, content: bytes | Place, read: Callable[[], np.ndarray]
    ) -> ir.Attribute:
        tensor_type = self.tensor_proto_to_builtin_type(tp)
        key = (str(tensor_type), content)
        if key not in self._resources:
            self._resources[key] = ir.DenseResourceElementsAttr.get_from_buffer(
                read(), self._sanitize_name(tp.name), tensor_type, alignment=RESOURCE_ALIGNMENT
            )
        return self._resources[key]


def import_model(
    model: onnx.ModelProto,
    path: Path,
    context: ir.Context,
    resources: Resources | None = None,
) -> ir.Module:
    """Returns `model` as a module of `torch.operator "onnx.*"` ops in a function `main`.

    Args:
        model: as `onnx_model.read_model` returns it; its node names become the locations.
        path: path of the model, for errors.
        context: context to build in.
        resources: constants that imports into this context share.

    Raises:
        HipgraftError: the importer does not support a type or attribute of the model.
    """
    _drop_unused_domains(model)
    model.graph.name = "main"
    info = onnx_importer.ModelInfo(model)
    module = info.create_module(context=context)
    cache = _Constants(context, {} if resources is None else resources, path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # the importer only warns of a value without a type
            importer: Any = onnx_importer.NodeImporter.define_function(
                info.main_graph, module.operation, context_cache=cache
            )
            importer.import_all()
    except (
        onnx_importer.OnnxImportError,
        UserWarning,
        KeyError,
        ValueError,
        NotImplementedError,
    ) as error:
        reason = str(error).strip().splitlines()[0]
        raise HipgraftError(f"cannot import: {reason}", location=str(path)) from error
    _make_literals(module)
    make_torch_ops(module)
    with context:
        function = module.body.operations[0].operation
        function.location = ir.Location.name(path.name)
        _note_elements(function, model)
        note_names(function, [one.name for one in (*model.graph.input, *model.graph.output)])
    return module


def _note_elements(function: ir.Operation, model: onnx.ModelProto) -> None:
    """Records the element types of narrow values, which the program holds as bits."""
    for noted in model.metadata_props:
        if noted.key == ELEMENTS:
            note_elements(function, noted.value.split(","))
        if noted.key == ROW_COUNTS and noted.value:
            note_row_counts(function, [int(one) for one in noted.value.split()])


def _make_literals(module: ir.Module) -> None:
    """Converts large constants to the torch dialect; torch-mlir would copy their elements."""
    constants = [op for op in ir_io.walk(module.operation) if _LITERAL_NAME in op.attributes]
    for op in constants:
        value = op.attributes[_LITERAL_NAME]
        if math.prod(ir.RankedTensorType(value.type).shape) <= _MOST_COPIED:
            continue
        literal = ir.Operation.create(
            "torch.vtensor.literal",
            results=[op.results[0].type],
            attributes={"value": value},
            loc=op.location,
            ip=ir.InsertionPoint(op),
        )
        op.results[0].replace_all_uses_with(literal.results[0])
        op.erase()


def _drop_unused_domains(model: onnx.ModelProto) -> None:
    """Drops unused domains, which the importer would write into the function's attributes."""
    used = {node.domain for node in model.graph.node} | {"", "ai.onnx"}
    for opset in [opset for opset in model.opset_import if opset.domain not in used]:
        model.opset_import.remove(opset)

"""Imports an ONNX model into the torch dialect, weights as resources and small ones inline."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx

# Here and not in `bindings`, which must not import onnx.
from iree.compiler.extras import onnx_importer  # noqa: TID251
from onnx import numpy_helper

from hipgraft.bindings import ir
from hipgraft.diagnostics import HipgraftError

_INLINE_ELEMENTS = 64
"""Constants up to this size are readable in the IR and fold; larger ones are resources."""

_RESOURCE_ALIGNMENT = 64


class _Constants(onnx_importer.ContextCache):
    """Decodes every ONNX storage form through numpy; the importer's own knows some of them."""

    def tensor_proto_to_attr(self, tp: onnx.TensorProto) -> ir.Attribute:
        array = np.ascontiguousarray(numpy_helper.to_array(tp)).reshape(tuple(tp.dims))
        tensor_type = self.tensor_proto_to_builtin_type(tp)
        if array.size == 0:
            return ir.Attribute.parse(f"dense<> : {tensor_type}")
        # A reader of a resource of booleans may expect bits or bytes; elements are unambiguous.
        if array.size <= _INLINE_ELEMENTS or array.dtype == np.bool_:
            bits = array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array
            return ir.DenseElementsAttr.get(bits, type=tensor_type)
        return ir.DenseResourceElementsAttr.get_from_buffer(
            array.reshape(-1).view(np.uint8),
            self._sanitize_name(tp.name),
            tensor_type,
            alignment=_RESOURCE_ALIGNMENT,
        )


def import_model(model: onnx.ModelProto, path: Path, context: ir.Context) -> ir.Module:
    """Returns `model` as a module of `torch.operator "onnx.*"` ops in a function `main`.

    Args:
        model: as `onnx_model.read_model` returns it; its node names become the locations.
        path: where the model came from, for errors.
        context: context to build in.

    Raises:
        HipgraftError: the importer does not know a type or attribute of the model.
    """
    _drop_unused_domains(model)
    model.graph.name = "main"
    info = onnx_importer.ModelInfo(model)
    module = info.create_module(context=context)
    cache = _Constants(context)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a value without a type: the importer only warns
            importer: Any = onnx_importer.NodeImporter.define_function(
                info.main_graph, module.operation, context_cache=cache
            )
            importer.import_all()
    except (onnx_importer.OnnxImportError, UserWarning, KeyError, NotImplementedError) as error:
        reason = str(error).strip().splitlines()[0]
        raise HipgraftError(f"cannot import: {reason}", location=str(path)) from error
    return module


def _drop_unused_domains(model: onnx.ModelProto) -> None:
    """The importer writes every imported domain into the function's attributes."""
    used = {node.domain for node in model.graph.node} | {"", "ai.onnx"}
    for opset in [opset for opset in model.opset_import if opset.domain not in used]:
        model.opset_import.remove(opset)

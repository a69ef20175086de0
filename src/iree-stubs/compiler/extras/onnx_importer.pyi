# The part of the ONNX importer that hipgraft uses; the module has types, its package no marker.

from collections.abc import Mapping

import onnx

from iree.compiler import ir

class OnnxImportError(Exception): ...

class ModelInfo:
    model_proto: onnx.ModelProto
    main_graph: GraphInfo

    def __init__(self, model_proto: onnx.ModelProto) -> None: ...
    def create_module(self, context: ir.Context | None = None) -> ir.Module: ...

class GraphInfo:
    graph_proto: onnx.GraphProto
    initializer_map: Mapping[str, onnx.TensorProto]
    value_info_map: Mapping[str, onnx.ValueInfoProto]
    input_map: Mapping[str, onnx.ValueInfoProto]
    output_map: Mapping[str, onnx.ValueInfoProto]

class NodeImporter:
    @classmethod
    def define_function(
        cls,
        graph_info: GraphInfo,
        module_op: ir.Operation,
        context_cache: ContextCache | None = None,
        private: bool = False,
    ) -> NodeImporter: ...
    def import_all(self, func: bool = True) -> None: ...
    def import_node(self, node: onnx.NodeProto) -> None: ...

class ContextCache:
    def __init__(self, context: ir.Context) -> None: ...
    def tensor_element_type(self, elem_type: int) -> ir.Type: ...
    def tensor_proto_to_type(self, tp: onnx.TensorProto) -> ir.Type: ...
    def tensor_proto_to_builtin_type(self, tp: onnx.TensorProto) -> ir.Type: ...
    def type_proto_to_type(self, tp: onnx.TypeProto) -> ir.Type: ...
    def tensor_proto_to_attr(self, tp: onnx.TensorProto) -> ir.Attribute: ...
    def _sanitize_name(self, name: str) -> str: ...

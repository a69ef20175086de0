"""Saves a product with a weight of two mebibytes, in a file of its own."""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

weight = np.random.default_rng(0).uniform(-1, 1, (512, 1024)).astype(np.float32)
x, y = (
    helper.make_tensor_value_info(name, TensorProto.FLOAT, [24, extent])
    for name, extent in (("x", 512), ("y", 1024))
)
product = helper.make_node("MatMul", ["x", "w"], ["y"])
graph = helper.make_graph([product], "main", [x], [y], [numpy_helper.from_array(weight, "w")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
onnx.save(model, sys.argv[1], save_as_external_data=True, location="large.data")

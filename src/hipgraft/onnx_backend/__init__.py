"""ONNX's backend interface: `onnx.backend.test.BackendTest(hipgraft.onnx_backend, __name__)`.

    program = hipgraft.onnx_backend.prepare(onnx.load("model.onnx"))
    (y,) = program.run([x])

Models are compiled for the CPU and run there. `python -m hipgraft.onnx_backend` runs ONNX's suites.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, helper
from onnx.backend.base import Backend, BackendRep, Device, DeviceType

from hipgraft.compiler.program import Program
from hipgraft.compiler.program import compile as compile_model

__all__ = [
    "HipgraftBackend",
    "PreparedModel",
    "prepare",
    "run_model",
    "run_node",
    "supports_device",
]


class PreparedModel(BackendRep):
    """A compiled model.

    Attributes:
        program: the program.
    """

    def __init__(self, program: Program):
        self.program = program

    def run(self, inputs: Any, **kwargs: Any) -> tuple[np.ndarray, ...]:
        """Runs the program.

        Args:
            inputs: an array, arrays in the order of the model's inputs, or arrays by name.
            kwargs: must be empty.

        Returns:
            The results in the order of the model's outputs.

        Raises:
            HipgraftError: the inputs do not fit.
            TypeError: there are other arguments.
        """
        _check_none(kwargs)
        given: Any = [inputs] if isinstance(inputs, np.ndarray) else inputs
        return tuple(np.asarray(one) for one in self.program.run(given))


class HipgraftBackend(Backend):
    """Compiles ONNX models for the CPU."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> PreparedModel:
        """Compiles a model.

        Args:
            model: the model.
            device: `CPU`.
            kwargs: must be empty.

        Raises:
            HipgraftError: the model is not supported; located at the node.
            ValueError: the device is not supported.
            TypeError: there are other arguments.
        """
        _check_none(kwargs)
        if not cls.supports_device(device):
            raise ValueError(f"device '{device}' is not supported; 'CPU' is")
        return PreparedModel(compile_model(model, "cpu"))

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[np.ndarray, ...]:
        """Compiles and runs one node.

        Args:
            node: the node.
            inputs: arrays for its inputs that are present, in order.
            device: `CPU`.
            outputs_info: types and shapes of the results; they are inferred otherwise.
            kwargs: `opset_version`, by default the newest.

        Raises:
            HipgraftError: the node is not supported.
        """
        opset = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        names = [name for name in node.input if name]
        arrays = [np.asarray(one) for one in inputs]
        operands = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for name, a in zip(names, arrays, strict=True)
        ]
        results = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        for value, (dtype, shape) in zip(results, outputs_info or (), strict=False):
            element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
            value.CopyFrom(helper.make_tensor_value_info(value.name, element, shape))
        graph = helper.make_graph([node], "node", operands, results)
        imports = [helper.make_opsetid(node.domain, opset)]
        return cls.prepare(helper.make_model(graph, opset_imports=imports), device, **kwargs).run(
            arrays
        )

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models run on a device, named as ONNX names them (`CPU`, `CUDA:1`)."""
        try:
            return Device(device).type == DeviceType.CPU
        except (AttributeError, ValueError):
            return False


def _check_none(kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise TypeError(f"unknown arguments: {', '.join(kwargs)}")


prepare = HipgraftBackend.prepare
run_model = HipgraftBackend.run_model
run_node = HipgraftBackend.run_node
supports_device = HipgraftBackend.supports_device

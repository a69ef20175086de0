"""Defines the targets that read ONNX models."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from onnx import TensorProto, TensorShapeProto, helper, numpy_helper

from fuzz.engine import Target
from fuzz.mutations import change_any, changed_bytes
from fuzz.targets.modules import context
from hipgraft import frontends

EXPERTS = Path(__file__).resolve().parents[2] / "test" / "models" / "experts_tiny.onnx"


@cache
def _onnx() -> tuple[bytes, ...]:
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
        EXPERTS.read_bytes(),
    )


@cache
def _operators() -> tuple[bytes, ...]:
    """Returns the cases of ONNX's node suite; the operands that follow the first are constants."""
    from onnx.backend.test import loader

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        cases = loader.load_model_tests(kind="node")
    models: list[bytes] = []
    for case in cases:
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        values = case.data_sets[0][0]
        for info, value in list(zip(model.graph.input, values, strict=False))[1:]:
            if isinstance(value, np.ndarray) and value.size <= _MOST_ELEMENTS:
                model.graph.initializer.append(numpy_helper.from_array(value, info.name))
        constants = {tensor.name for tensor in model.graph.initializer}
        inputs = [info for info in model.graph.input if info.name not in constants]
        del model.graph.input[:]
        model.graph.input.extend(inputs)
        models.append(model.SerializeToString())
    return tuple(models)


_MOST_ELEMENTS = 256


def change_operands(data: bytes, seeds: Sequence[bytes], generator: random.Random) -> bytes:
    """Changes the shape of an operand, or one field."""
    model = onnx.ModelProto()
    with suppress(Exception):
        model.ParseFromString(data)
    if generator.random() < 0.4:
        return change_message(data, seeds, generator)
    try:
        if model.graph.input and generator.random() < 0.5:
            dims = generator.choice(model.graph.input).type.tensor_type.shape.dim
            extents = _other_shape([dim.dim_value for dim in dims], generator)
            del dims[:]
            dims.extend(TensorShapeProto.Dimension(dim_value=extent) for extent in extents)
        elif model.graph.initializer:
            tensor = generator.choice(model.graph.initializer)
            values = numpy_helper.to_array(tensor)
            array = np.resize(values, _other_shape(list(values.shape), generator))
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    except (ValueError, TypeError, KeyError, AttributeError):  # the tensor is malformed already
        return change_message(data, seeds, generator)
    return model.SerializeToString()


def _other_shape(extents: list[int], generator: random.Random) -> list[int]:
    kind = generator.randrange(4)
    if kind == 0:
        return [] if math.prod(extents) == 1 or generator.random() < 0.5 else [math.prod(extents)]
    at = generator.randint(0, len(extents))
    if kind == 1:
        return [*extents[:at], 1, *extents[at:]]
    return [
        *extents[:at],
        *([generator.choice((0, 1, 2, 7))] if kind == 2 else []),
        *extents[at + 1 :],
    ]


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


TARGETS = (
    Target("onnx-bytes", ".onnx", _onnx, change_any, run_onnx, is_native=True),
    Target("onnx-operators", ".onnx", _operators, change_operands, run_onnx, is_native=True),
    Target("onnx-fields", ".onnx", _onnx, change_message, run_onnx, is_native=True),
)

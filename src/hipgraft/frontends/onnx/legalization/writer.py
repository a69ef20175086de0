"""Reads the metadata of an ONNX node's operands, and writes the nodes that replace it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeAlias

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper
from onnx.external_data_helper import uses_external_data

from hipgraft.frontends.onnx.external import external_bytes, location_of
from hipgraft.frontends.onnx.legalization.graph_info import Array, GraphInfo
from hipgraft.ir.diagnostics import Declined

FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16)
"""The types of floats that are computed as such."""


MALFORMED = (ValueError, IndexError, TypeError, ZeroDivisionError)
"""What rewrites raise for ranks and attributes that inference does not check."""


class Refused(Exception):
    """A node's form has no correct lowering; the message completes its name.

    `ONNX operator 'Mod' MESSAGE`
    """


class RefusedNode(Exception):
    """A node that is refused, and why."""

    def __init__(self, node: NodeProto, reason: str):
        super().__init__(f"ONNX operator '{node.op_type}' {reason}")
        self.node = node


class Writer:
    """Writes the nodes that replace `node`, in order.

    Args:
        node: the node to replace; all new nodes get its name.
        graph: metadata of the graph; new values are added.
    """

    def __init__(self, node: NodeProto, graph: GraphInfo):
        self.node = node
        self.graph = graph
        self.nodes: list[NodeProto] = []
        self.initializers: list[TensorProto] = []
        try:
            self._attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        except ValueError as error:  # an unknown type, or a parameter outside of a function
            reason = str(error).partition(": ")[0].lower()
            raise RefusedNode(node, f"has an invalid attribute: {reason}") from None

    # Known properties of values

    def attribute(self, name: str, default: Any = None) -> Any:
        """Returns an attribute of the node; bytes are decoded."""
        value = self._attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def attributes(self) -> dict[str, Any]:
        """Returns all attributes of the node."""
        return dict(self._attributes)

    def has_input(self, index: int) -> bool:
        """Whether input `index` is given."""
        return index < len(self.node.input) and bool(self.node.input[index])

    def has_output(self, index: int) -> bool:
        """Whether output `index` is wanted."""
        return index < len(self.node.output) and bool(self.node.output[index])

    def shape(self, name: str) -> list[int]:
        """Returns the static shape of a value.

        Raises:
            Declined: it is not known.
        """
        if name not in self.graph.shapes:
            raise Declined("dynamic-shape", f"'{name}' has no static shape")
        return list(self.graph.shapes[name])

    def extents(self, name: str) -> list[int | None]:
        """Returns the known extents of a value, None for others.

        Raises:
            Declined: the rank is not known.
        """
        if name not in self.graph.extents:
            return list(self.shape(name))
        return list(self.graph.extents[name])

    def needed_shape(self, name: str, form: str) -> list[int]:
        """Returns the static shape of a value that `form` of the operator needs.

        Raises:
            Refused: the shape is unknown.
        """
        try:
            return self.shape(name)
        except Declined:
            raise Refused(f"{form} is supported for static shapes only") from None

    def element(self, name: str) -> int:
        """Returns the element type of a value.

        Raises:
            Declined: it is not known.
        """
        if name not in self.graph.elements:
            raise Declined("untyped", f"'{name}' has no type")
        return self.graph.elements[name]

    def constant(self, name: str) -> Array:
        """Returns the elements of a small constant.

        Raises:
            Declined: the value is not a small constant.
        """
        if name not in self.graph.constants:
            raise Declined("not-constant", f"'{name}' is not constant")
        return self.graph.constants[name]

    def data(self, name: str) -> Array | None:
        """Returns the elements of a constant of any size; None for inputs and for data in files."""
        tensor = self.graph.tensors.get(name)
        if tensor is None or uses_external_data(tensor):
            return self.graph.constants.get(name)
        return numpy_helper.to_array(tensor)

    def mapped_data(self, name: str) -> Array | None:
        """Returns the elements of a constant, which may be mapped from a file; else None.

        Raises:
            Declined: the file has become invalid.
        """
        tensor = self.graph.tensors.get(name)
        if tensor is None or self.graph.file is None or not external_bytes(tensor):
            return self.data(name)
        try:
            mapped = location_of(tensor, self.graph.file).read()
        except (OSError, ValueError) as error:
            raise Declined("external-data", str(error)) from None
        dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
        return mapped.view(dtype).reshape(tuple(tensor.dims))

    def ints(self, index: int) -> list[int]:
        """Returns the constant integers of input `index`.

        Raises:
            Declined: the input is not constant.
        """
        return [int(one) for one in self.constant(self.node.input[index]).reshape(-1)]

    # Writing nodes

    def op(self, op_type: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """Writes a node and returns the name of its first result."""
        return self.ops(op_type, *inputs, outputs=outputs, **attributes)[0]

    def ops(self, op_type: str, *inputs: str, outputs: int = 1, **attributes: Any) -> list[str]:
        """Writes a node and returns the names of its results."""
        names = [self.fresh(op_type) for _ in range(outputs)]
        self.nodes.append(
            helper.make_node(op_type, list(inputs), names, name=self.node.name, **attributes)
        )
        return names

    def const(self, values: Any, dtype: Any = None) -> str:
        """Makes a constant."""
        array = np.asarray(values, dtype)
        name = self.fresh("constant")
        self.initializers.append(numpy_helper.from_array(array, name))
        self.graph.constants[name] = array
        self.graph.shapes[name] = list(array.shape)
        self.graph.elements[name] = helper.np_dtype_to_tensor_dtype(array.dtype)
        return name

    def constant_tensor(self, tensor: TensorProto) -> str:
        """Makes a constant from an initialiser, for example of a body."""
        copy = TensorProto()
        copy.CopyFrom(tensor)
        copy.name = self.fresh("constant")
        self.initializers.append(copy)
        self.graph.shapes[copy.name] = list(copy.dims)
        self.graph.elements[copy.name] = copy.data_type
        return copy.name

    def like(self, value: float, element: int) -> str:
        """Makes a scalar of an element type."""
        return self.const(np.array(value).astype(helper.tensor_dtype_to_np_dtype(element)))

    def like_int(self, value: int) -> str:
        """Makes a scalar of 64 bits."""
        return self.const(np.int64(value))

    def result(self, value: str, index: int = 0) -> None:
        """Makes `value` the node's output `index`."""
        if self.has_output(index):
            self.nodes.append(
                helper.make_node(
                    "Identity", [value], [self.node.output[index]], name=self.node.name
                )
            )

    def again(self, inputs: Sequence[str], **attributes: Any) -> None:
        """Writes the node again with other inputs and attributes; None drops one."""
        kept = {k: v for k, v in (self._attributes | attributes).items() if v is not None}
        self.nodes.append(
            helper.make_node(
                self.node.op_type,
                list(inputs),
                list(self.node.output),
                name=self.node.name,
                domain=self.node.domain,
                **kept,
            )
        )

    def zero(self, x: str) -> str:
        """Makes a scalar zero of the type of `x`; for a narrow type, of its storage type."""
        element = self.element(x)
        name = self.fresh("zero")
        dtype = helper.tensor_dtype_to_np_dtype(element)
        tensor = numpy_helper.from_array(np.zeros([], dtype), name)
        self.initializers.append(tensor)
        self.graph.shapes[name], self.graph.elements[name] = [], element
        return name

    # Forms that many rewrites need

    def reshape(self, x: str, shape: Sequence[int]) -> str:
        """Views `x` in another shape.

        Raises:
            Refused: an extent is not a 64-bit number, or `x` has another number of elements.
        """
        if any(not -(1 << 63) <= extent < 1 << 63 for extent in shape):
            raise Refused("of this size is not supported")
        count = size_of(self.graph.shapes.get(x, shape))
        if -1 not in shape and count != size_of(shape):
            raise Refused(f"has an operand of {count} elements instead of shape {list(shape)}")
        # With `allowzero`, 0 is an extent; without it, 0 copies one. Opset 13 lacks the attribute.
        options = {"allowzero": 1} if 0 in shape else {}
        return self.op("Reshape", x, self.const(list(shape), np.int64), **options)

    def transpose(self, x: str, order: Sequence[int]) -> str:
        """Permutes dimensions."""
        return x if list(order) == sorted(order) else self.op("Transpose", x, perm=list(order))

    def cast(self, x: str, element: int) -> str:
        """Converts elements."""
        return self.op("Cast", x, to=element)

    def slice(self, x: str, axis: int, start: int, stop: int, step: int = 1) -> str:
        """Takes a part along one dimension."""
        bounds = [self.const([value], np.int64) for value in (start, stop, axis, step)]
        return self.op("Slice", x, *bounds)

    def take(self, x: str, axis: int, indices: Sequence[int] | Array) -> str:
        """Takes elements along one dimension by constant indices."""
        return self.op("Gather", x, self.const(np.asarray(indices, np.int64)), axis=axis)

    def pad(self, x: str, before: Sequence[int], after: Sequence[int], value: str = "") -> str:
        """Pads with a scalar, zero by default; amounts are not negative."""
        if not any(before) and not any(after):
            return x
        amounts = self.const([*before, *after], np.int64)
        return self.op("Pad", x, amounts, *([value] if value else []))

    def reduce(self, op_type: str, x: str, axes: Sequence[int], *, keepdims: bool = True) -> str:
        """Reduces over dimensions, in the form that the model's opset has."""
        by_input = self.graph.opset >= 18 or op_type == "ReduceSum"
        if by_input:
            return self.op(op_type, x, self.const(list(axes), np.int64), keepdims=int(keepdims))
        return self.op(op_type, x, axes=list(axes), keepdims=int(keepdims))

    def squeeze(self, x: str, axes: Sequence[int]) -> str:
        """Drops dimensions of one element."""
        return self.op("Squeeze", x, self.const(list(axes), np.int64))

    def fresh(self, what: str) -> str:
        """Returns an unused name."""
        base = next((name for name in self.node.output if name), self.node.op_type)
        for number in range(len(self.graph.taken) + 1):
            name = f"{base}_{what}_{number}"
            if name not in self.graph.taken:
                self.graph.taken.add(name)
                return name
        raise AssertionError("one of so many names is free")


Rewrite: TypeAlias = Callable[[Writer], None]
"""Writes the nodes that replace a node, or raises `Declined`."""


def axis_of(writer: Writer, default: int, rank: int, name: str = "axis") -> int:
    """Returns the node's axis, counted from the first dimension."""
    return int(writer.attribute(name, default)) % rank if rank else 0


def size_of(shape: Collection[int]) -> int:
    """Returns the number of elements."""
    return math.prod(shape)


def is_integer(writer: Writer, name: str) -> bool:
    """Whether a value's elements are signed integers."""
    return helper.tensor_dtype_to_np_dtype(writer.element(name)).kind == "i"

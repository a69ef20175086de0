"""Rebuilds a torch function as one on builtin tensors, op by op.

The converter never mutates what it reads: it walks the torch function once and writes a new one
beside it, so no handle can go stale. A value of the new function is a `Tensor`: a window on a
value that owns its storage. View ops only change the window; the `hipdnn.view` op is made when
something reads through it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hipgraft.bindings import arith_d, ir
from hipgraft.dialects import hipdnn
from hipgraft.pass_base import PassState
from hipgraft.torch_builder import aten_name
from hipgraft.torch_to_hipdnn.constants import constant_value, is_constant, literal_attribute
from hipgraft.views import StridedView


class NoMatch(Exception):
    """A conversion declines; `name` is the reason's identifier, the message its sentence."""

    def __init__(self, name: str, message: str):
        super().__init__(message)
        self.name = name


@dataclass(frozen=True)
class Tensor:
    """A window `view` on `base`, a builtin tensor that owns dense row-major storage."""

    base: ir.Value
    view: StridedView

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents seen through the window."""
        return self.view.shape

    @property
    def element_type(self) -> ir.Type:
        """Element type of the storage."""
        return ir.RankedTensorType(self.base.type).element_type

    @property
    def is_float(self) -> bool:
        """Whether the elements are floating-point numbers."""
        return isinstance(self.element_type, ir.FloatType)

    def through(self, view: StridedView | None) -> Tensor:
        """The same storage through another window; declines where strides cannot say it."""
        if view is None:
            raise NoMatch("not-a-view", "the result does not fit strides and needs a copy")
        return Tensor(self.base, view)

    def reshape(self, shape: Sequence[int]) -> Tensor:
        """The elements in row-major order as `shape`."""
        return self.through(self.view.reshape(shape))


class TorchOp:
    """A torch op with its operands read as tensors or Python constants."""

    def __init__(self, converter: Converter, operation: ir.Operation):
        self.converter = converter
        self.operation = operation
        self.location = operation.location

    def __len__(self) -> int:
        return len(self.operation.operands)

    def tensor(self, index: int) -> Tensor:
        """Operand `index` as a tensor."""
        return self.converter.tensor(self.operation.operands[index])

    def optional_tensor(self, index: int) -> Tensor | None:
        """Operand `index` as a tensor, or None if it is `torch.constant.none`."""
        value = self.operation.operands[index]
        return self.converter.tensor(value) if is_tensor(value) else None

    def float_tensor(self, index: int) -> Tensor:
        """Operand `index` as a floating-point tensor."""
        tensor = self.tensor(index)
        if not tensor.is_float:
            raise NoMatch("integer-arithmetic", f"operand {index} has integer elements")
        return tensor

    def constant(self, index: int) -> Any:
        """Operand `index` as a Python constant (int, float, bool, str, None or a list)."""
        value = self.operation.operands[index]
        if not is_constant(value):
            raise NoMatch("not-constant", f"operand {index} is not a constant")
        return constant_value(value)

    def result_shape(self, index: int = 0) -> tuple[int, ...]:
        """Extents of result `index`."""
        return tuple(builtin_tensor_type(self.operation.results[index].type).shape)

    def result_element(self, index: int = 0) -> ir.Type:
        """Element type of result `index`."""
        return builtin_tensor_type(self.operation.results[index].type).element_type

    def is_used(self, index: int) -> bool:
        """Whether anything reads result `index`."""
        return next(iter(self.operation.results[index].uses), None) is not None


Conversion = Callable[["Converter", TorchOp], "Sequence[Tensor | None]"]


def is_tensor(value: ir.Value) -> bool:
    """Whether a torch value is a value-semantics tensor."""
    return str(value.type).startswith("!torch.vtensor")


_BUILTIN_TYPES: dict[ir.Type, ir.RankedTensorType] = {}


def builtin_tensor_type(torch_type: ir.Type) -> ir.RankedTensorType:
    """Returns the signless builtin tensor type of a static `!torch.vtensor`."""
    found = _BUILTIN_TYPES.get(torch_type)
    if found is not None:
        return found
    shape, _, element = str(torch_type)[len("!torch.vtensor<[") : -1].partition("],")
    if "?" in shape:
        raise NoMatch("dynamic-shape", f"{torch_type} has a dynamic dimension")
    extents = "".join(f"{extent}x" for extent in shape.split(",") if extent)
    signless = element[1:] if element.startswith(("si", "ui")) else element
    result = ir.RankedTensorType(ir.Type.parse(f"tensor<{extents}{signless}>", torch_type.context))
    _BUILTIN_TYPES[torch_type] = result
    return result


class Converter:
    """Writes the new function; conversions call its `emit_*` helpers."""

    def __init__(self, conversions: dict[str, Conversion], state: PassState):
        self._conversions = conversions
        self._state = state
        self._tensors: dict[ir.Value, Tensor] = {}
        self._torch_values: dict[ir.Value, ir.Value] = {}
        self._materialized: dict[tuple[ir.Value, StridedView], ir.Value] = {}
        self._splats: dict[ir.Value, ir.Attribute] = {}
        self._kept: set[ir.Value] = set()
        self.location = ir.Location.unknown()

    # The function

    def convert_block(
        self, block: ir.Block, arguments: Sequence[ir.Value], terminator: ir.Operation
    ) -> list[ir.Value]:
        """Writes `block`'s ops at the insertion point; returns the builtin values it returns."""
        for old, new in zip(block.arguments, arguments, strict=True):
            self._tensors[old] = self._whole(new)
        for operation in block.operations:
            if operation.operation != terminator:
                self._convert(operation.operation)
        self.location = terminator.location
        return [self.materialize(self.tensor(value)) for value in terminator.operands]

    def _convert(self, operation: ir.Operation) -> None:
        if operation.name.startswith("torch.constant.") or operation.name in _LAZY_OPS:
            return
        self.location = operation.location
        name = f"torch.{aten_name(operation)}"
        conversion = self._conversions.get(name)
        if conversion is None:
            reason = NoMatch("no-hipdnn-op", "hipDNN has no op for it")
        else:
            reason = self._try(conversion, operation)
        if reason is None:
            self._state.count("converted-ops")
            return
        self._state.count("kept-ops")
        self._state.missed(operation, reason.name, f"'{name}' stays: {reason}")
        self._keep(operation)

    def _try(self, conversion: Conversion, operation: ir.Operation) -> NoMatch | None:
        try:
            results = conversion(self, TorchOp(self, operation))
        except NoMatch as reason:
            return reason
        for old, new in zip(operation.results, results, strict=True):
            if new is not None:
                self._tensors[old] = new
        return None

    def _keep(self, operation: ir.Operation) -> None:
        clone = self._clone(operation)
        for old, new in zip(operation.results, clone.results, strict=True):
            self._torch_values[old] = new

    # Values

    def tensor(self, value: ir.Value) -> Tensor:
        """The new function's tensor for a torch value."""
        found = self._tensors.get(value)
        if found is not None:
            return found
        owner = value.owner
        if isinstance(owner, ir.OpView | ir.Operation) and owner.name == "torch.vtensor.literal":
            made = self._literal(owner.operation, value)
        elif value in self._torch_values:
            made = self._whole(self._cast("to", self._torch_values[value], value.type))
            self._kept.add(made.base)
        else:
            raise NoMatch("not-a-tensor", f"{value.type} is not a tensor")
        self._tensors[value] = made
        return made

    def _literal(self, operation: ir.Operation, value: ir.Value) -> Tensor:
        attribute = literal_attribute(operation, builtin_tensor_type(value.type))
        return self._constant(attribute, operation.location)

    def _constant(self, attribute: ir.Attribute, location: ir.Location) -> Tensor:
        result = arith_d.ConstantOp(attribute.type, attribute, loc=location).result
        if isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat:
            self._splats[result] = attribute.get_splat_value()
        return self._whole(result)

    def _torch_value(self, value: ir.Value) -> ir.Value:
        found = self._torch_values.get(value)
        if found is not None:
            return found
        if is_tensor(value) and self.tensor(value).base not in self._kept:
            made = self._cast("from", self.materialize(self.tensor(value)), value.type)
        else:
            # A constant, a list, or a view of a kept op's result: it stays with its reader.
            operation = ir.OpResult(value).owner.operation
            made = self._clone(operation).results[ir.OpResult(value).result_number]
        self._torch_values[value] = made
        return made

    def _clone(self, operation: ir.Operation) -> ir.Operation:
        """Copies a torch op to the new function, after what it reads."""
        operands = [self._torch_value(operand) for operand in operation.operands]
        clone = operation.clone().operation
        for index, operand in enumerate(operands):
            clone.operands[index] = operand
        return clone

    def _cast(self, direction: str, value: ir.Value, torch_type: ir.Type) -> ir.Value:
        name = f"torch_c.{direction}_builtin_tensor"
        result = builtin_tensor_type(torch_type) if direction == "to" else torch_type
        operation = ir.Operation.create(name, results=[result], operands=[value], loc=self.location)
        return operation.results[0]

    @staticmethod
    def _whole(value: ir.Value) -> Tensor:
        return Tensor(value, StridedView.of_shape(ir.RankedTensorType(value.type).shape))

    def materialize(self, tensor: Tensor) -> ir.Value:
        """Returns an SSA value with the tensor's shape: its base, or a `hipdnn.view` of it."""
        base_shape = tuple(ir.RankedTensorType(tensor.base.type).shape)
        if tensor.shape == base_shape and tensor.view.covers(base_shape):
            return tensor.base
        key = (tensor.base, tensor.view)
        if key not in self._materialized:
            self._materialized[key] = self._window(tensor)
        return self._materialized[key]

    def _window(self, tensor: Tensor) -> ir.Value:
        result_type = ir.RankedTensorType.get(tensor.shape, tensor.element_type)
        splat = self._splats.get(tensor.base)
        if splat is not None:
            return self._splat(splat, result_type)
        return hipdnn.view(
            tensor.base,
            offset=tensor.view.offset,
            strides=list(tensor.view.strides),
            result_type=result_type,
            loc=self.location,
        )

    # Emitting

    def splat(self, value: float, shape: Sequence[int], element: ir.Type) -> ir.Value:
        """A constant tensor with one repeated value."""
        return self._splat(
            ir.FloatAttr.get(element, value), ir.RankedTensorType.get(shape, element)
        )

    def _splat(self, value: ir.Attribute, kind: ir.RankedTensorType) -> ir.Value:
        attribute = ir.DenseElementsAttr.get_splat(kind, value)
        return self._constant(attribute, self.location).base

    def scalar(self, value: float, like: Tensor) -> Tensor:
        """A pass-by-value scalar for an op on `like`: `tensor<1xf32>`, f64 beside f64."""
        f64 = ir.F64Type.get()
        element = f64 if like.element_type == f64 else ir.F32Type.get()
        return self._whole(self.splat(value, (1,), element))

    def whole(self, value: ir.Value) -> Tensor:
        """A freshly computed value as a tensor."""
        return self._whole(value)

    def pointwise(
        self, mode: str, inputs: Sequence[Tensor], element: ir.Type, **attributes: Any
    ) -> Tensor:
        """Emits `hipdnn.pointwise`; operands broadcast, the result has their common shape.

        Where an operand is a plain reshape of a computed tensor, the op is done in that tensor's
        shape and the result is reshaped instead, so that it can join its producer's kernel.
        """
        shape = broadcast_shape([tensor.shape for tensor in inputs])
        computed = shape or (1,)
        operands = [
            tensor.through(tensor.view.expand(shape).reshape(computed)) for tensor in inputs
        ]
        for candidate in inputs:
            sunk = self._in_shape_of(candidate, operands)
            if sunk is not None:
                computed, operands = sunk
                break
        narrow = [narrowed(tensor) for tensor in operands]
        result = hipdnn.pointwise(
            *[self.materialize(tensor) for tensor in narrow],
            mode=mode,
            result_type=ir.RankedTensorType.get(
                broadcast_shape([tensor.shape for tensor in narrow]), element
            ),
            loc=self.location,
            **attributes,
        )
        whole = self._whole(result)
        return whole.through(whole.view.expand(computed)).reshape(shape)

    def copied(self, tensor: Tensor) -> Tensor:
        """A row-major copy of what is seen through the window, by an identity op."""
        copy = hipdnn.pointwise(
            self.materialize(tensor),
            mode="identity",
            result_type=ir.RankedTensorType.get(tensor.shape, tensor.element_type),
            loc=self.location,
        )
        return self._whole(copy)

    def _in_shape_of(
        self, candidate: Tensor, operands: Sequence[Tensor]
    ) -> tuple[tuple[int, ...], list[Tensor]] | None:
        """The operands viewed in the shape of `candidate`'s producer, if all of them can be."""
        shape = producer_shape(candidate)
        if shape is None or candidate.view.elements != operands[0].view.elements:
            return None
        views = [tensor.view.reshape(shape) for tensor in operands]
        if any(view is None for view in views):
            return None
        return shape, [tensor.through(view) for tensor, view in zip(operands, views, strict=True)]


def producer_shape(tensor: Tensor) -> tuple[int, ...] | None:
    """The shape in which a hipDNN op made what `tensor` merely reshapes; None if it does not."""
    owner = tensor.base.owner
    if isinstance(owner, ir.Block) or not owner.name.startswith("hipdnn."):
        return None
    shape = tuple(ir.RankedTensorType(tensor.base.type).shape)
    return shape if shape != tensor.shape and tensor.view.covers(shape) else None


def with_trailing(tensor: Tensor, count: int) -> tuple[Tensor, int]:
    """`tensor` in its producer's shape for an op over the last `count` dimensions.

    Returns the tensor and how many trailing dimensions of it hold the same elements; `tensor` and
    `count` themselves where its producer's shape has no such border.
    """
    shape = producer_shape(tensor)
    wanted = math.prod(tensor.shape[len(tensor.shape) - count :])
    for trailing in range(1, len(shape or ()) + 1):
        if shape is not None and math.prod(shape[-trailing:]) == wanted:
            return tensor.reshape(shape), trailing
    return tensor, count


_LAZY_OPS = frozenset({"torch.prim.ListConstruct", "torch.vtensor.literal"})


def broadcast_shape(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The common shape of right-aligned operands, extents equal or 1."""
    rank = max(len(shape) for shape in shapes)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    result: list[int] = []
    for extents in zip(*padded, strict=True):
        wide = {extent for extent in extents if extent != 1}
        if len(wide) > 1:
            raise NoMatch("bad-broadcast", f"extents {sorted(wide)} do not broadcast")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def narrowed(tensor: Tensor) -> Tensor:
    """Broadcast dimensions (stride 0) shrunk to extent 1; operands broadcast by themselves."""
    shape = tuple(
        1 if stride == 0 else extent
        for extent, stride in zip(tensor.shape, tensor.view.strides, strict=True)
    )
    return Tensor(tensor.base, StridedView(shape, tensor.view.strides, tensor.view.offset))

"""Rebuilds a torch function as one on builtin tensors, op by op.

The converter never mutates its input: it walks the torch function once and writes a new one
beside it, so no handle can go stale. A value of the new function is a `Tensor`: a window on a
value that owns its storage. View ops only change the window; the `hipdnn.view` op is made when
something reads through it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard, cast

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined, PassFailure
from hipgraft.ir.torch_dialect import aten_name
from hipgraft.passmanager.base import PassState
from hipgraft.transforms.tensor_builder import Tensor, TensorBuilder
from hipgraft.transforms.torch_to_hipdnn.constants import (
    constant_value,
    is_constant,
    literal_attribute,
)


class TorchOp:
    """A torch op with its operands read as tensors or Python constants."""

    def __init__(self, converter: Converter, operation: ir.Operation):
        self.converter = converter
        self.operation = operation
        self.location = operation.location

    def __len__(self) -> int:
        return len(self.operation.operands)

    def tensor(self, index: int) -> Tensor:
        """Returns operand `index` as a tensor."""
        return self.converter.tensor(self._operand(index))

    def optional_tensor(self, index: int) -> Tensor | None:
        """Returns operand `index` as a tensor, or None if it is `torch.constant.none`."""
        value = self._operand(index)
        return self.converter.tensor(value) if is_tensor(value) else None

    def float_tensor(self, index: int) -> Tensor:
        """Returns operand `index` as a floating-point tensor."""
        tensor = self.tensor(index)
        if not tensor.is_float:
            raise Declined("integer-arithmetic", f"operand {index} has integer elements")
        return tensor

    def constant(self, index: int) -> Any:
        """Returns operand `index` as a Python constant (int, float, bool, str, None or a list)."""
        value = self._operand(index)
        if not is_constant(value):
            raise Declined("not-constant", f"operand {index} is not a constant")
        return constant_value(value)

    def integers(self, index: int) -> list[int]:
        """Returns operand `index`, a list of constant integers."""
        values = self.constant(index)
        if not _are_integers(values):
            raise Declined("signature", f"operand {index} is not a list of integers")
        return values

    def per_dim(self, index: int, rank: int) -> list[int]:
        """Returns operand `index`, an integer or a list with one per dimension, as `rank` integers.

        An empty list, which means a stride equal to the window's extents, stays empty.
        """
        values = self.integers(index)
        if len(values) not in (0, 1, rank):
            raise Declined("signature", f"operand {index} is not one integer for each dimension")
        return values * rank if len(values) == 1 else values

    def literal(self, index: int) -> list[int]:
        """Returns operand `index`, a literal tensor of integers, as a flat list."""
        owner = self._operand(index).owner
        if isinstance(owner, ir.Block) or owner.name != "torch.vtensor.literal":
            raise Declined("no-hipdnn-op", "hipDNN has no op for it")
        attribute = owner.attributes["value"]
        if not isinstance(attribute, ir.DenseIntElementsAttr) or not len(attribute):
            raise Declined("no-hipdnn-op", "hipDNN has no op for it")
        import numpy as np  # imported here because few conversions need it and it is slow to import

        return np.asarray(attribute).reshape(-1).tolist()

    def result_shape(self, index: int = 0) -> tuple[int, ...]:
        """Returns the extents of result `index`."""
        return tuple(builtin_tensor_type(self._result(index).type).shape)

    def result_element(self, index: int = 0) -> ir.Type:
        """Returns the element type of result `index`."""
        return builtin_tensor_type(self._result(index).type).element_type

    def is_used(self, index: int) -> bool:
        """Whether anything reads result `index`."""
        return next(iter(self._result(index).uses), None) is not None

    # Nothing has checked the signatures of ops in the form of `torch.operator`.

    def _operand(self, index: int) -> ir.Value:
        if index >= len(self.operation.operands):
            raise Declined("signature", f"it has no operand {index}")
        return self.operation.operands[index]

    def _result(self, index: int) -> ir.Value:
        if index >= len(self.operation.results):
            raise Declined("signature", f"it has no result {index}")
        return self.operation.results[index]


def _are_integers(value: Any) -> TypeGuard[list[int]]:
    values = cast("list[object]", value)
    return isinstance(value, list) and all(isinstance(one, int) for one in values)


Conversion = Callable[["Converter", TorchOp], "Sequence[Tensor | None]"]


def _check_results(op: TorchOp, results: Sequence[Tensor | None]) -> None:
    """Checks shapes: the torch dialect does not compare an op's results with its operands."""
    given = len(op.operation.results)
    if given != len(results):
        raise Declined("signature", f"it has {given} results, not {len(results)}")
    for number, result in enumerate(results):
        if result is not None and tuple(result.shape) != op.result_shape(number):
            found, wanted = (
                "x".join(map(str, shape)) for shape in (result.shape, op.result_shape(number))
            )
            raise Declined(
                "result-shape", f"result {number} is {found} by the operands, not {wanted}"
            )


def is_tensor(value: ir.Value) -> bool:
    """Whether a torch value is a value-semantics tensor."""
    return str(value.type).startswith("!torch.vtensor")


def builtin_type(value: ir.Value) -> ir.Type:
    """Returns the type of an op's result outside of the torch dialect.

    Raises:
        PassFailure: the type has no builtin form; see `builtin_tensor_type`.
    """
    if not is_tensor(value):
        return value.type
    try:
        return builtin_tensor_type(value.type)
    except Declined as declined:
        op = ir.OpResult(value).owner
        reason = f"'{op.name}' op computes a value that no launch can write: {declined.reason}"
        raise PassFailure(reason, op) from None


_VALUE_TENSOR = re.compile(r"!torch\.vtensor<\[([\d,?]*)\],(?!unk)([^,]+)>")
_BUILTIN_TYPES: dict[ir.Type, ir.RankedTensorType] = {}


def builtin_tensor_type(torch_type: ir.Type) -> ir.RankedTensorType:
    """Returns the signless builtin tensor type of a static `!torch.vtensor`.

    Raises:
        Declined: the type is another one, or its rank, an extent or its element type is unknown.
    """
    found = _BUILTIN_TYPES.get(torch_type)
    if found is not None:
        return found
    form = _VALUE_TENSOR.fullmatch(str(torch_type))
    if form is None:
        expected = "expected value tensors of known rank and element type"
        raise Declined("not-a-value-tensor", f"{expected}, but found {torch_type}")
    shape, element = form.groups()
    if "?" in shape:
        raise Declined("dynamic-shape", f"{torch_type} has a dynamic dimension")
    extents = "".join(f"{extent}x" for extent in shape.split(",") if extent)
    signless = element[1:] if element.startswith(("si", "ui")) else element
    result = ir.RankedTensorType(ir.Type.parse(f"tensor<{extents}{signless}>", torch_type.context))
    _BUILTIN_TYPES[torch_type] = result
    return result


class Converter(TensorBuilder):
    """Writes the new function; conversions call its `emit_*` helpers."""

    def __init__(self, conversions: Mapping[str, Conversion], state: PassState):
        super().__init__()
        self._conversions = conversions
        self._state = state
        self._tensors: dict[ir.Value, Tensor] = {}
        self._torch_values: dict[ir.Value, ir.Value] = {}
        self._kept: set[ir.Value] = set()
        self._left_to_readers: set[ir.Value] = set()

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

    def converts(self, operation: ir.Operation) -> bool:
        """Whether ops of this name have a conversion."""
        return f"torch.{aten_name(operation)}" in self._conversions

    def convert_body(self, operation: ir.Operation) -> tuple[list[Tensor], list[ir.Operation]]:
        """Converts the ops of an op's body as if they were ops of the function.

        Returns:
            The tensors of the op's results, and the ops that were written.
        """
        body = operation.regions[0].blocks[0]
        *ops, terminator = [op.operation for op in body.operations]
        for argument, operand in zip(body.arguments, operation.operands, strict=True):
            self._define(argument, operand)
        # Written to a separate module, so that the new ops can be listed.
        apart = ir.Operation.create("builtin.module", regions=1, loc=operation.location)
        with ir.InsertionPoint(apart.regions[0].blocks.append()):
            for op in ops:
                self._convert(op)
            for result, value in zip(operation.results, terminator.operands, strict=True):
                self._define(result, value)
        written = [op.operation for op in apart.regions[0].blocks[0].operations]
        for op in written:
            op.move_before(apart)
        apart.erase()
        self.location = operation.location
        return [self._tensors[result] for result in operation.results], written

    def _define(self, value: ir.Value, same: ir.Value) -> None:
        """Makes a torch value an alias of another."""
        self._tensors[value] = self.tensor(same)
        if not self._is_converted(same):
            self._torch_values[value] = self._torch_value(same)

    def _convert(self, operation: ir.Operation) -> None:
        if operation.name.startswith("torch.constant.") or operation.name in _LAZY_OPS:
            return
        self.location = operation.location
        name = f"torch.{aten_name(operation)}"
        conversion = self._conversions.get(name)
        if conversion is None:
            reason = Declined("no-hipdnn-op", "hipDNN has no op for it")
        else:
            reason = self._try(conversion, operation)
        if reason is None:
            self._state.count("converted-ops")
            return
        self._state.count("kept-ops")
        self._state.missed(operation, reason.name, f"'{name}' stays: {reason}")
        self._keep(operation)

    def _try(self, conversion: Conversion, operation: ir.Operation) -> Declined | None:
        try:
            op = TorchOp(self, operation)
            results = conversion(self, op)
            _check_results(op, results)
        except Declined as reason:
            return reason
        for old, new in zip(operation.results, results, strict=True):
            if new is None:
                self._left_to_readers.add(old)
            else:
                self._tensors[old] = new
        return None

    def _keep(self, operation: ir.Operation) -> None:
        clone = self._clone(operation)
        for old, new in zip(operation.results, clone.results, strict=True):
            self._torch_values[old] = new

    # Values

    def tensor(self, value: ir.Value) -> Tensor:
        """Returns the new function's tensor for a torch value."""
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
            raise Declined("not-a-tensor", f"{value.type} is not a tensor")
        self._tensors[value] = made
        return made

    def _literal(self, operation: ir.Operation, value: ir.Value) -> Tensor:
        attribute = literal_attribute(operation, builtin_tensor_type(value.type))
        return self.constant(attribute, operation.location)

    def _torch_value(self, value: ir.Value) -> ir.Value:
        found = self._torch_values.get(value)
        if found is not None:
            return found
        if self._is_converted(value):
            made = self._cast("from", self.materialize(self.tensor(value)), value.type)
        else:
            operation = ir.OpResult(value).owner.operation
            made = self._clone(operation).results[ir.OpResult(value).result_number]
        self._torch_values[value] = made
        return made

    def _is_converted(self, value: ir.Value) -> bool:
        """Whether a torch value is not a constant, a list, or a view of a kept op's result.

        These stay with their readers, as do ops that their readers would have folded.
        """
        if not is_tensor(value) or value in self._left_to_readers:
            return False
        return self.tensor(value).base not in self._kept

    def _clone(self, operation: ir.Operation) -> ir.Operation:
        """Copies a torch op to the new function, after its operands."""
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


_LAZY_OPS = frozenset({"torch.prim.ListConstruct", "torch.vtensor.literal"})

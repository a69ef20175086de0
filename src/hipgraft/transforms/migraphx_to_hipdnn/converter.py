"""Rebuilds a migraphx function as one on builtin tensors, op by op.

Every shaped value becomes a window on a builtin tensor of signless elements. Strides inside of
the function are hints, as in rocMLIR, and are ignored; those of arguments and results define the
memory layout. Operations without a hipDNN op stay, between conversions of operands and results
(`migraphx.mlir.as.underlying.shape` and `.as.logical.shape`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hipgraft.dialects.migraphx import MigraphxOp, ShapedType, ShapedTypeError, is_migraphx, wrap
from hipgraft.dialects.migraphx.types import row_major
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined, PassFailure
from hipgraft.passmanager.base import PassState
from hipgraft.transforms.tensor_builder import Tensor, TensorBuilder

TO_SHAPED = "migraphx.mlir.as.underlying.shape"
FROM_SHAPED = "migraphx.mlir.as.logical.shape"

# Operations whose results stay in the operands' range, or that clamp them.
_STAYS_IN_RANGE = frozenset(
    {
        *("broadcast", "clip", "convert", "constant", "equal", "flatten", "greater"),
        *("greater_or_equal", "literal", "max", "multibroadcast", "pad", "quantizelinear"),
        *("reduce_max", "relu", "reshape", "slice", "transpose", "unpack", "where"),
    }
)

Conversion = Callable[["Converter", Any], Sequence[Tensor]]
"""Converts an op, which is of the class that belongs to the conversion's mnemonic."""


def element_type(kind: ShapedType) -> ir.Type:
    """Returns the element type of builtin tensors that hold the values of `kind`.

    Elements of 4 bits, which memory packs two to a byte, are wider here: they are unpacked when
    they are read and packed when they are written.
    """
    if kind.bits == 4:
        return ir.F32Type.get() if kind.is_float else ir.IntegerType.get_signless(8)
    return ir.Type.parse(kind.signless)


def tensor_type(kind: ShapedType) -> ir.RankedTensorType:
    """Returns the logical tensor type of a shaped one."""
    return ir.RankedTensorType.get(kind.extents, element_type(kind))


class Converter(TensorBuilder):
    """Writes the new function at the insertion point.

    Args:
        conversions: conversions by mnemonic.
        lowered: mnemonics of operations that can stay, because code generation lowers them.
        state: receives a remark for each operation that stays.
    """

    def __init__(
        self, conversions: Mapping[str, Conversion], lowered: frozenset[str], state: PassState
    ):
        super().__init__()
        self._conversions = conversions
        self._lowered = lowered
        self._state = state
        self._tensors: dict[ir.Value, Tensor] = {}

    def define(self, value: ir.Value, tensor: Tensor) -> None:
        """Sets the tensor for a value of the old function."""
        self._tensors[value] = tensor

    def tensor(self, value: ir.Value) -> Tensor:
        """Returns the tensor for a value of the old function."""
        return self._tensors[value]

    def convert_block(self, block: ir.Block) -> list[Tensor]:
        """Converts all ops of a block, and returns the operands of its terminator.

        Raises:
            PassFailure: an op can neither be converted nor compiled as it is; located at the op.
        """
        *operations, terminator = block.operations
        for op in operations:
            self._convert(op.operation)
        self.location = terminator.location
        return [self.tensor(value) for value in terminator.operands]

    def _convert(self, operation: ir.Operation) -> None:
        if not is_migraphx(operation):
            raise PassFailure(f"'{operation.name}' op is not of the migraphx dialect", operation)
        op = wrap(operation)
        self.location = operation.location
        try:
            results = self._results(op)
        except (Declined, ShapedTypeError) as reason:
            raise PassFailure(f"'{operation.name}' op {reason}", operation) from None
        for value, tensor in zip(operation.results, results, strict=True):
            self._tensors[value] = tensor

    def _results(self, op: MigraphxOp) -> Sequence[Tensor]:
        results = self._computed(op)
        if op.mnemonic in _STAYS_IN_RANGE:
            return results
        kinds = [op.type_of(value) for value in op.operation.results]
        return [self._in_range(each, kind) for each, kind in zip(results, kinds, strict=True)]

    def _in_range(self, tensor: Tensor, kind: ShapedType) -> Tensor:
        """Rounds 4-bit floats that were computed in wider elements; truncates integers."""
        if kind.bits != 4:
            return tensor
        integer = "ui8" if kind.is_unsigned else "si8"
        wide = replace(kind, element="f32" if kind.is_float else integer)
        return self.convert_signed(tensor, wide, kind)

    def _computed(self, op: MigraphxOp) -> Sequence[Tensor]:
        conversion = self._conversions.get(op.mnemonic)
        if conversion is None:
            reason = Declined("no-hipdnn-op", "hipDNN has no op for it")
        else:
            try:
                results = conversion(self, op)
                self._state.count("converted-ops")
                return results
            except Declined as error:
                reason = error
        if op.mnemonic not in self._lowered:
            raise reason
        self._state.count("kept-ops")
        name = op.operation.name
        self._state.missed(op.operation, reason.name, f"'{name}' stays: {reason}")
        return self.keep(op)

    # Helpers of conversions

    def cast(self, tensor: Tensor, element: ir.Type) -> Tensor:
        """Returns the tensor with other elements, converted as signed numbers."""
        if tensor.element_type == element:
            return tensor
        return self.pointwise("identity", [tensor], element)

    def keep(self, op: MigraphxOp) -> list[Tensor]:
        """Writes a migraphx op as it is, between conversions of its operands and results."""
        kinds = [op.type_of(value) for value in op.operation.operands]
        operands = [
            self._to_shaped(self.tensor(value), kind)
            for value, kind in zip(op.operation.operands, kinds, strict=True)
        ]
        results = [op.type_of(value) for value in op.operation.results]
        attributes = {name: op.operation.attributes[name] for name in op.operation.attributes}
        made = self.emit(op.operation.name, operands, results, attributes)
        return [self._from_shaped(value, kind) for value, kind in zip(made, results, strict=True)]

    def emit(
        self,
        name: str,
        operands: Sequence[ir.Value],
        results: Sequence[ShapedType],
        attributes: dict[str, ir.Attribute] | None = None,
    ) -> list[ir.Value]:
        """Writes a migraphx op on shaped values."""
        made = ir.Operation.create(
            name,
            results=[ir.Type.parse(str(kind)) for kind in results],
            operands=list(operands),
            attributes=attributes or {},
            loc=self.location,
        )
        return list(made.results)

    def convert_signed(self, tensor: Tensor, source: ShapedType, target: ShapedType) -> Tensor:
        """Converts elements according to the signedness of both types."""
        is_narrower = target.bits == 4 and source.element != target.element
        if not (source.is_unsigned or target.is_unsigned or is_narrower):
            return self.cast(tensor, element_type(target))
        (made,) = self.emit("migraphx.convert", [self._to_shaped(tensor, source)], [target])
        return self._from_shaped(made, target)

    def pad(self, tensor: Tensor, kind: ShapedType, high: Sequence[int]) -> Tensor:
        """Appends `high` zeros to each dimension; `kind` defines the element type."""
        small = _row_major(tensor.shape, kind.element)
        shape = [extent + more for extent, more in zip(tensor.shape, high, strict=True)]
        large = _row_major(shape, kind.element)
        i64 = ir.IntegerType.get_signless(64)
        pads = [ir.IntegerAttr.get(i64, count) for count in (*[0] * len(high), *high)]
        shaped = self._to_shaped(tensor, small)
        (made,) = self.emit("migraphx.pad", [shaped], [large], {"pads": ir.ArrayAttr.get(pads)})
        return self._from_shaped(made, large)

    def unpacked(self, memory: ir.Value, kind: ShapedType) -> Tensor:
        """Unpacks 4-bit elements from bytes that hold two each."""
        (shaped,) = self.emit(TO_SHAPED, [memory], [kind])
        return self._from_shaped(shaped, kind)

    def packed(self, tensor: Tensor, kind: ShapedType, bytes_type: ir.Type) -> ir.Value:
        """Packs two 4-bit elements into each byte, in row-major order."""
        flat = _row_major((tensor.view.elements,), kind.element)
        shaped = self._to_shaped(tensor.reshape(flat.extents), flat)
        return ir.Operation.create(
            FROM_SHAPED, results=[bytes_type], operands=[shaped], loc=self.location
        ).results[0]

    def _to_shaped(self, tensor: Tensor, kind: ShapedType) -> ir.Value:
        return self.emit(TO_SHAPED, [self.materialize(tensor)], [kind])[0]

    def _from_shaped(self, value: ir.Value, kind: ShapedType) -> Tensor:
        made = ir.Operation.create(
            FROM_SHAPED, results=[tensor_type(kind)], operands=[value], loc=self.location
        )
        return self.whole(made.results[0])


def _row_major(shape: Sequence[int], element: str) -> ShapedType:
    return ShapedType(tuple(shape), row_major(shape), element)

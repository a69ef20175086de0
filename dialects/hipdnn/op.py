"""The base of all hipdnn op classes, which infer the types of results and build ops.

A subclass has a docstring and fields, and `infer` and `verify` if the op has rules of its own.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from math import prod
from typing import Any, Self

from hipgraft.dialects.framework.fields import (
    Arity,
    Attribute,
    Form,
    ResultField,
    ValueField,
    optional,
)
from hipgraft.dialects.framework.kinds import TYPE, Kind
from hipgraft.dialects.framework.op import OPERAND_SEGMENTS, RESULT_SEGMENTS, Op, in_order
from hipgraft.dialects.hipdnn.shapes import shape_text
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import VerifyError
from hipgraft.ir.registration import Registry
from hipgraft.ir.tensors import Shape, element_type_of, shape_of

OPS: Registry[type[HipdnnOp]] = Registry("op")
"""All op classes by the full name of the op, e.g. `hipdnn.conv_fprop`."""

ResultTypes = ir.Type | Sequence[ir.Type] | None


class HipdnnOp(Op):
    """A typed view of one hipdnn operation."""

    dialect = "hipdnn"
    registry = OPS

    @classmethod
    def build(
        cls,
        *operands: ir.Value | Sequence[ir.Value] | None,
        results: Mapping[str, ResultTypes] | None = None,
        loc: ir.Location | None = None,
        **attributes: Any,
    ) -> Self:
        """Creates the op at the current insertion point.

        Args:
            operands: one for each operand field, in order: a value, None for an absent
                optional one, a sequence for a variadic one; absent ones at the end can be left
                out.
            results: types by result name. A required result that is not named, or whose type
                is None, gets the inferred type; an optional one exists if it is named.
            loc: location of the op, the current one by default.
            attributes: Python values by attribute name; None leaves the attribute out.

        Returns:
            The view of the new op.

        Raises:
            VerifyError: the operands do not fit, so that no type can be inferred.
            TypeError: an unknown attribute, a missing one, or too many operands.
        """
        groups = _operand_groups(cls, operands)
        encoded = _encode_attributes(cls, attributes)
        encoded |= _segments(cls.operand_fields, OPERAND_SEGMENTS, groups)
        flat = [value for group in groups for value in group]
        where = loc or ir.Location.current
        assert where is not None, "no location is given or entered"
        future = cls._future(flat, encoded, where)
        types = future._result_types(results or {})
        encoded |= _segments(cls.result_fields, RESULT_SEGMENTS, types)
        operation = ir.Operation.create(
            cls.OP_NAME,
            results=[type_ for group in types for type_ in group],
            operands=flat,
            attributes=encoded,
            regions=cls.region_count,
            loc=loc,
        )
        return cls(operation)

    @classmethod
    def _future(
        cls, operands: list[ir.Value], attributes: dict[str, ir.Attribute], location: ir.Location
    ) -> Self:
        self = cls.__new__(cls)
        self.location = location
        self._operands = operands
        self._attributes = attributes
        return self

    def infer(self) -> dict[str, Shape]:
        """Returns the inferred shapes of results by name; other results cannot be inferred.

        Raises:
            VerifyError: the operands do not fit together.
        """
        return {}

    def infer_resized(self) -> dict[str, Shape]:
        """Returns new shapes for results whose types were made for other operands.

        Raises:
            VerifyError: the operands do not fit together.
        """
        return self.infer()

    def infer_element_type(self, result: str) -> ir.Type:
        """Returns the element type that `result` has when the builder is given no type."""
        return element_type_of(self._operands[0])

    def verify_symbol_uses(self, executables: Mapping[str, HipdnnOp]) -> None:
        """Checks the symbols that this op refers to.

        Args:
            executables: the module's executables by symbol name.

        Raises:
            VerifyError: a symbol is missing or does not fit.
        """

    def kind_error(self, field: Attribute[Any], found: ir.Attribute) -> VerifyError:  # noqa: D102
        kind, notes = _kind_text(field.kind, str(found).strip('"'))
        message = f"expected attribute '{field.name}' to be {kind}, but found {found}"
        return self.error(message, notes=notes)

    def check_value(self, field: ValueField, value: ir.Value) -> None:  # noqa: D102
        name, type_ = field.name, value.type
        if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape:
            raise self.error(f"expected '{name}' to be a tensor of static shape, but found {type_}")
        if not isinstance(type_.element_type, ir.IntegerType | ir.FloatType):
            raise self.error(f"expected '{name}' to hold integers or floats, but found {type_}")
        shape = type_.shape
        if 0 in shape:
            raise self.error(f"expected '{name}' to have elements, but found {type_}")
        if field.form is Form.SCALAR and prod(shape) != 1:
            raise self.error(
                f"expected one element in '{name}', but found shape {shape_text(shape)}"
            )

    def check_shape(self, name: str, value: ir.Value | None, expected: Sequence[int]) -> None:
        """Checks the shape of an operand or a result, if it is present.

        Raises:
            VerifyError: the shape differs from `expected`.
        """
        if value is not None and shape_of(value) != tuple(expected):
            raise self.error(
                f"expected shape {shape_text(expected)} of '{name}', "
                f"but found {shape_text(shape_of(value))}"
            )

    def _result_types(self, given: Mapping[str, ResultTypes]) -> list[list[ir.Type]]:
        unknown = given.keys() - {field.name for field in self.result_fields}
        if unknown:
            raise TypeError(f"{self.OP_NAME} has no result '{min(unknown)}'")
        groups: list[list[ir.Type]] = []
        for field in self.result_fields:
            types = given.get(field.name)
            if isinstance(types, ir.Type):
                groups.append([types])
            elif types is not None:
                groups.append(list(types))
            elif field.arity is Arity.ONE or field.name in given:
                groups.append([self._infer_type(field.name)])
            else:
                groups.append([])
        return groups

    def _infer_type(self, result: str) -> ir.Type:
        for field in self.operand_fields:
            for value in self.operand_values(field):
                self.check_value(field, value)
        shapes = self.infer()
        if result not in shapes:
            raise self.error(f"needs the type of '{result}', which cannot be inferred")
        return ir.RankedTensorType.get(
            shapes[result], self.infer_element_type(result), loc=self.location
        )


class ComputeOp(HipdnnOp):
    """An op that is a node of a hipDNN graph."""

    compute_type = optional(
        TYPE, "type of the arithmetic; f64 for f64 data, f32 for other floats if absent"
    )


def wrap(operation: ir.Operation | ir.OpView) -> HipdnnOp:
    """Returns the typed view of a hipdnn operation.

    Raises:
        VerifyError: the dialect has no such op.
    """
    name = operation.name
    if name not in OPS:
        raise VerifyError(f"'{name}' op is not an op of the hipdnn dialect", operation)
    return OPS[name](operation)


def _kind_text(kind: Kind[Any], found: str) -> tuple[str, tuple[str, ...]]:
    """The expected kind of an attribute for a message, and notes if it is long."""
    values = ", ".join(kind.values)
    if not values or len(kind.values) < 10:
        return f"one of {values}" if values else kind.description, ()
    # Listing the 50 pointwise modes would bury the message.
    near = difflib.get_close_matches(found, kind.values, n=1)
    guess = f"did you mean '{near[0]}'? " if near else ""
    return kind.description, (f"{guess}expected one of {values}",)


def required_results(cls: type[HipdnnOp]) -> dict[str, ResultField]:
    """Returns the required results of an op by the builder's parameters of their types."""
    required = [field for field in cls.result_fields if field.arity is not Arity.OPTIONAL]
    return {_type_parameter(field, len(required)): field for field in required}


def _type_parameter(field: ResultField, results: int) -> str:
    if field.arity is Arity.VARIADIC:
        return f"{field.name.removesuffix('s')}_types"
    return "result_type" if results == 1 else f"{field.name}_type"


def build_by_name(cls: type[HipdnnOp], arguments: Mapping[str, Any]) -> Any:
    """Creates an op from the arguments of its builder; returns the required results."""
    required = required_results(cls)
    op = cls.build(
        *(arguments[field.python_name] for field in cls.operand_fields),
        results={field.name: arguments[name] for name, field in required.items()},
        loc=arguments["loc"],
        **{field.name: arguments[field.name] for field in cls.attribute_fields},
    )
    values = [getattr(op, field.name) for field in required.values()]
    return values[0] if len(values) == 1 else tuple(values)


def _operand_groups(
    cls: type[HipdnnOp], operands: Sequence[ir.Value | Sequence[ir.Value] | None]
) -> list[list[ir.Value]]:
    if len(operands) > len(cls.operand_fields):
        raise TypeError(f"{cls.OP_NAME} takes {len(cls.operand_fields)} operands")
    groups: list[list[ir.Value]] = []
    for field, given in zip_longest(cls.operand_fields, operands):
        if given is None and field.arity is Arity.ONE:
            raise TypeError(f"{cls.OP_NAME} needs operand '{field.name}'")
        if given is None:
            groups.append([])
        elif isinstance(given, ir.Value):
            groups.append([given])
        else:
            groups.append(list(given))
    return groups


def _encode_attributes(cls: type[HipdnnOp], given: Mapping[str, Any]) -> dict[str, ir.Attribute]:
    fields = {field.name: field for field in cls.attribute_fields}
    unknown = given.keys() - fields.keys()
    if unknown:
        raise TypeError(f"{cls.OP_NAME} has no attribute '{min(unknown)}'")
    for field in cls.attribute_fields:
        if field.required and given.get(field.name) is None:
            raise TypeError(f"{cls.OP_NAME} needs attribute '{field.name}'")
    return {
        name: fields[name].kind.write(value) for name, value in given.items() if value is not None
    }


def _segments(
    fields: Sequence[ValueField], name: str, groups: Sequence[Sequence[Any]]
) -> dict[str, ir.Attribute]:
    counts = [len(group) for group in groups]
    if counts == in_order(fields, sum(counts)):
        return {}
    return {name: ir.DenseI32ArrayAttr.get(counts)}

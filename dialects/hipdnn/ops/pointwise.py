"""Pointwise ops: one op, whose mode selects the function."""

from __future__ import annotations

from dataclasses import fields

from hipgraft.dialects.framework.fields import Operand, OptionalOperand, Result, optional, required
from hipgraft.dialects.framework.kinds import FLOAT, INT, enum_kind
from hipgraft.dialects.hipdnn.arithmetic import ModeParameters
from hipgraft.dialects.hipdnn.modes import ModeInfo, PointwiseMode
from hipgraft.dialects.hipdnn.op import ComputeOp
from hipgraft.dialects.hipdnn.shapes import broadcast, shape_text
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import Shape, element_type_of, shape_of


class PointwiseOp(ComputeOp, mnemonic="pointwise"):
    """Element by element, `out_0 = mode(in_0, in_1, in_2)`.

    Operands broadcast by numpy's rules. In the backward modes `in_0` is the gradient `dy` and
    `in_1` the forward op's input `x`, as in hipDNN's files and in cuDNN. `binary_select` returns
    elements of `in_1` where the mask `in_0` is nonzero, and of `in_2` elsewhere; in files the mask
    comes last.
    """

    in_0 = Operand("first operand")
    in_1 = OptionalOperand("second operand of a mode with two or three")
    in_2 = OptionalOperand("third operand of `binary_select`")
    out_0 = Result("result, of the common shape; predicates yield `i1` unless a type is given")
    mode = required(enum_kind(PointwiseMode), "the function")
    relu_lower_clip = optional(FLOAT, "below it `relu` is linear with the slope; 0 if absent")
    relu_upper_clip = optional(FLOAT, "most that `relu` yields; unbounded if absent")
    relu_lower_clip_slope = optional(FLOAT, "slope below the lower clip; 0 if absent")
    swish_beta = optional(FLOAT, "factor in `swish`, `x · sigmoid(beta · x)`; 1 if absent")
    elu_alpha = optional(FLOAT, "factor in `elu` below 0, `alpha · (exp(x) - 1)`; 1 if absent")
    softplus_beta = optional(
        FLOAT, "factor in `softplus`, `log(1 + exp(beta · x)) / beta`; 1 if absent"
    )
    axis = optional(INT, "dimension along which `gen_index` counts")

    @property
    def inputs(self) -> list[ir.Value]:
        """The operands that are present, in order."""
        return [value for value in (self.in_0, self.in_1, self.in_2) if value is not None]

    @property
    def info(self) -> ModeInfo:
        """The operands and the formula of the mode."""
        return self.mode.info

    @property
    def parameters(self) -> ModeParameters:
        """The attributes that the mode's expression reads."""
        given = {field.name: getattr(self, field.name) for field in fields(ModeParameters)}
        return ModeParameters(**{name: one for name, one in given.items() if one is not None})

    def operand(self, name: str) -> ir.Value:
        """Returns an operand by its name in this mode, e.g. `dy` or `x` (see `PointwiseMode`)."""
        return self.inputs[self.info.operands.index(name)]

    def infer(self) -> dict[str, Shape]:  # noqa: D102
        shapes = [shape_of(value) for value in self.inputs]
        shape = broadcast(*shapes)
        if shape is None:
            raise self.error(f"operands {', '.join(map(shape_text, shapes))} do not broadcast")
        return {"out_0": shape}

    def infer_element_type(self, result: str) -> ir.Type:  # noqa: D102
        if self.info.predicate:
            return ir.IntegerType.get_signless(1)
        if self.mode is PointwiseMode.BINARY_SELECT and self.in_1 is not None:
            return element_type_of(self.in_1)
        return super().infer_element_type(result)

    def verify(self) -> None:  # noqa: D102
        names = self.info.operands
        if len(self.inputs) != len(names):
            raise self.error(
                f"expected {len(names)} operands in mode '{self.mode}', "
                f"but found {len(self.inputs)}"
            )
        self._check_mode_attributes()
        if self.mode is PointwiseMode.GEN_INDEX:
            self._check_axis()

    def _check_mode_attributes(self) -> None:
        allowed = ("mode", "compute_type", *self.info.attributes)
        for field in self.attribute_fields:
            if field.name not in allowed and self.attribute(field.name) is not None:
                raise self.error(f"attribute '{field.name}' means nothing in mode '{self.mode}'")

    def _check_axis(self) -> None:
        rank = len(shape_of(self.in_0))
        if self.axis is None:
            raise self.error("requires attribute 'axis' in mode 'gen_index'")
        if not 0 <= self.axis < rank:
            raise self.error(f"expected 'axis' in [0, {rank}), but found {self.axis}")

"""Defines the state that lowering functions share, and the table of lowering functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.ragged import Ragged
from hipgraft.codegen.target import Target
from hipgraft.dialects.hipdnn import ComputeOp, GraphOp, HipdnnOp, wrap
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import CodegenError, location_text
from hipgraft.ir.element_types import bit_width, is_float
from hipgraft.ir.registration import Registry
from hipgraft.ir.tensors import element_of

OpT = TypeVar("OpT", bound=HipdnnOp)


@dataclass
class Lowering:
    """The lowering of one container.

    Attributes:
        target: target of the kernel.
        emitter: writes the text of the function.
        tensors: lowered tensors, by value of the container.
        functions: text of the functions that the lowered ops call.
        alternatives: names of the alternatives to use, by full op name.
        ragged: memory layout of the container's ragged operands.
        orders: storage order of the dims of the container's results, by yielded value.
        windows: arguments that show parts of tensors.
    """

    target: Target
    emitter: Emitter = field(init=False)
    tensors: dict[ir.Value, Tensor] = field(default_factory=dict[ir.Value, Tensor])
    functions: list[str] = field(default_factory=list[str])
    alternatives: Mapping[str, str] = field(default_factory=dict[str, str])
    ragged: dict[ir.Value, Ragged] = field(default_factory=dict[ir.Value, Ragged])
    orders: dict[ir.Value, tuple[int, ...]] = field(default_factory=dict[ir.Value, tuple[int, ...]])
    windows: set[ir.Value] = field(default_factory=set[ir.Value])

    def __post_init__(self) -> None:
        self.emitter = Emitter(self.target)

    def tensor(self, value: ir.Value) -> Tensor:
        """Returns the lowered form of a value of the container."""
        return self.tensors[value]

    def in_own_type(self, value: ir.Value) -> Tensor:
        """Returns the lowered form of a value, held in the value's own element type.

        A lowering may leave a result in the wider type that it was computed in, if no rounding is
        pending.
        """
        return self.emitter.cast(self.tensors[value], element_of(value))

    def optional(self, value: ir.Value | None) -> Tensor | None:
        """Returns the lowered form of a value that may be absent."""
        return None if value is None else self.tensors[value]


LoweringFunction = Callable[[Any, Lowering], Sequence[Tensor]]

LOWERINGS: Registry[LoweringFunction] = Registry("lowering")
"""The lowering functions by full op name; each takes the typed op and returns its results."""


def lowers(
    op_class: type[OpT],
) -> Callable[
    [Callable[[OpT, Lowering], Sequence[Tensor]]], Callable[[OpT, Lowering], Sequence[Tensor]]
]:
    """Registers the decorated function as the lowering of an op class."""

    def register(
        function: Callable[[OpT, Lowering], Sequence[Tensor]],
    ) -> Callable[[OpT, Lowering], Sequence[Tensor]]:
        LOWERINGS.add(op_class.OP_NAME, function)
        return function

    return register


@dataclass(frozen=True)
class Alternative:
    """One of several lowerings of an op, all with the same semantics and rounding.

    Attributes:
        name: name, unique among the op's alternatives.
        applies: whether it can lower this op for this target.
        lower: takes the typed op and returns its results.
        flag_set: name of the compiler flags that the alternative needs to pay off, or empty.
    """

    name: str
    applies: Callable[[Any, Target], bool]
    lower: LoweringFunction
    flag_set: str = ""


ALTERNATIVES: dict[str, Registry[Alternative]] = {}
"""The alternatives by full op name and by their own name."""


def alternative(
    op_class: type[OpT],
    name: str,
    applies: Callable[[OpT, Target], bool],
    flag_set: str = "",
) -> Callable[
    [Callable[[OpT, Lowering], Sequence[Tensor]]], Callable[[OpT, Lowering], Sequence[Tensor]]
]:
    """Registers the decorated function as an alternative of an op class's lowering."""

    def register(
        function: Callable[[OpT, Lowering], Sequence[Tensor]],
    ) -> Callable[[OpT, Lowering], Sequence[Tensor]]:
        made = Alternative(name, applies, function, flag_set)
        own = Registry[Alternative](f"alternative of '{op_class.OP_NAME}'")
        ALTERNATIVES.setdefault(op_class.OP_NAME, own).add(name, made)
        return function

    return register


def alternatives_of(op_name: str) -> Mapping[str, Alternative]:
    """Returns the alternatives of an op's lowering by name; empty without any."""
    return ALTERNATIVES.get(op_name) or {}


def lowering_function(op: HipdnnOp, lowering: Lowering) -> LoweringFunction | None:
    """Returns the requested alternative, or the default lowering if that does not apply.

    Raises:
        CodegenError: there is no such alternative.
    """
    known, asked = alternatives_of(op.OP_NAME), lowering.alternatives.get(op.OP_NAME, "")
    if asked and asked not in known:
        where, names = location_text(op.operation.location), ", ".join(known) or "none"
        message = f"'{op.OP_NAME}' op has no alternative '{asked}': expected {names}"
        raise CodegenError(message, location=where)
    chosen = known.get(asked)
    if chosen is not None and chosen.applies(op, lowering.target):
        return chosen.lower
    return LOWERINGS.get(op.OP_NAME)


def unsupported(op: HipdnnOp, what: str) -> CodegenError:
    """Returns the error for a form of `op` without a lowering; `what` names it ("with a mask")."""
    where = location_text(op.operation.location)
    return CodegenError(f"'{op.OP_NAME}' op {what} has no lowering", location=where)


def is_ragged(value: ir.Value) -> bool:
    """Whether a value is a ragged argument of a graph, whose batches start at given offsets."""
    if not isinstance(value, ir.BlockArgument):
        return False
    container = wrap(value.owner.owner)
    if not isinstance(container, GraphOp) or container.arg_ragged is None:
        return False
    return container.arg_ragged[value.arg_number] >= 0


def float_compute_type(op: ComputeOp, *elements: str) -> str:
    """Returns the floating-point type in which `op` computes on `elements`.

    This is the op's own compute type if that is a float type; otherwise f64 for f64 data, else f32.
    """
    declared = "" if op.compute_type is None else str(op.compute_type)
    if declared and is_float(declared):
        return declared
    return "f64" if "f64" in elements else "f32"


def accumulator_type(op: ComputeOp, *elements: str) -> str:
    """Returns the type in which a contraction of `elements` accumulates.

    Integers accumulate in i32, or in the operands' type if that is wider.
    """
    if any(is_float(element) for element in elements):
        return float_compute_type(op, *elements)
    return f"i{max(32, *(bit_width(element) for element in elements))}"

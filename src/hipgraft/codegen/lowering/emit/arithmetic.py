"""Emits arithmetic in one type, for the formulas of pointwise modes."""

from __future__ import annotations

from dataclasses import dataclass

from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.ir.element_types import is_float


@dataclass(frozen=True)
class Arithmetic:
    """Emits arithmetic on scalars of type `type`, floating-point or integer.

    Attributes:
        scalars: emitter that receives the ops.
        type: type of all operands and results.
    """

    scalars: ScalarEmitter
    type: str

    def constant(self, value: float) -> Scalar:
        """Returns a constant."""
        return self.scalars.constant(value, self.type)

    def add(self, a: Scalar, b: Scalar) -> Scalar:
        """Emits a + b."""
        return self._either("arith.addf", "arith.addi", a, b)

    def sub(self, a: Scalar, b: Scalar) -> Scalar:
        """Emits a - b."""
        return self._either("arith.subf", "arith.subi", a, b)

    def mul(self, *factors: Scalar) -> Scalar:
        """Emits the product of two or more factors, from the left."""
        product = factors[0]
        for factor in factors[1:]:
            product = self._either("arith.mulf", "arith.muli", product, factor)
        return product

    def div(self, a: Scalar, b: Scalar) -> Scalar:
        """Emits a / b; integers round towards zero."""
        return self._either("arith.divf", "arith.divsi", a, b)

    def quotient(self, a: Scalar, b: Scalar) -> Scalar:
        """Emits a / b with an error of at most 2 ulp, for b not close to 0."""
        return self.scalars.op("arith.divf", a, b, flags=self._hardware)

    def over(self, x: Scalar, count: int) -> Scalar:
        """Emits x / count as a product, with an error of at most 1 ulp."""
        return self.mul(x, self.constant(1 / count))

    def mod(self, a: Scalar, b: Scalar) -> Scalar:
        """Emits the remainder of a / b with the sign of a, as C does."""
        return self._either("arith.remf", "arith.remsi", a, b)

    def maximum(self, a: Scalar, b: Scalar) -> Scalar:
        """Emits the maximum; with one NaN, it is NaN on the CPU and the other operand on AMDGPU."""
        return self._either("arith.maximumf", "arith.maxsi", a, b)

    def minimum(self, a: Scalar, b: Scalar) -> Scalar:
        """Emits the minimum, with `maximum`'s treatment of NaN."""
        return self._either("arith.minimumf", "arith.minsi", a, b)

    def pick(self, predicate: str, a: Scalar, b: Scalar) -> Scalar:
        """Emits `a <predicate> b ? a : b`, and NaN on every target if either operand is NaN."""
        picked = self.scalars.select(self.scalars.compare(predicate, a, b), a, b)
        if not is_float(self.type):
            return picked
        return self.scalars.select(self.scalars.compare("ne", a, a), a, picked)

    def power(self, a: Scalar, b: Scalar) -> Scalar:
        """Emits a to the b."""
        return self._either("math.powf", "math.ipowi", a, b)

    def absolute(self, x: Scalar) -> Scalar:
        """Emits |x|."""
        return self._either("math.absf", "math.absi", x)

    def negate(self, x: Scalar) -> Scalar:
        """Emits -x."""
        if is_float(self.type):
            return self.scalars.op("arith.negf", x)
        return self.sub(self.constant(0), x)

    def math(self, name: str, x: Scalar) -> Scalar:
        """Emits the op `math.<name>`, which exists for floats only."""
        return self.scalars.op(f"math.{name}", x)

    def exponential(self, x: Scalar) -> Scalar:
        """Emits exp(x) with an error of at most |x| + 2 ulp."""
        return self.scalars.op("math.exp", x, flags=self._hardware)

    def reciprocal(self, x: Scalar) -> Scalar:
        """Emits 1 / x."""
        return self.div(self.constant(1), x)

    def affine(self, scale: float, x: Scalar, shift: float) -> Scalar:
        """Emits scale · x + shift."""
        return self.add(self.mul(self.constant(scale), x), self.constant(shift))

    def sigmoid(self, x: Scalar) -> Scalar:
        """Emits 1 / (1 + exp(-x))."""
        decay = self.exponential(self.negate(x))
        return self.quotient(self.constant(1), self.add(self.constant(1), decay))

    def select(self, predicate: str, x: Scalar, bound: float, yes: Scalar, no: Scalar) -> Scalar:
        """Emits `x <predicate> bound ? yes : no`."""
        condition = self.scalars.compare(predicate, x, self.constant(bound))
        return self.scalars.select(condition, yes, no)

    def compare(self, predicate: str, a: Scalar, b: Scalar) -> Scalar:
        """Emits a comparison; see `ScalarBuilder.compare`."""
        return self.scalars.compare(predicate, a, b)

    def both(self, a: Scalar, b: Scalar) -> Scalar:
        """Emits the bitwise and of integers: of two i1, whether both are true."""
        return self.scalars.op("arith.andi", a, b)

    def either(self, a: Scalar, b: Scalar) -> Scalar:
        """Emits the bitwise or of integers: of two i1, whether one is true."""
        return self.scalars.op("arith.ori", a, b)

    @property
    def _hardware(self) -> str:
        """Flags that select a GPU's native f32 instruction without correction steps."""
        return "fastmath<afn,arcp>" if self.type == "f32" else ""

    def _either(self, float_op: str, integer_op: str, *operands: Scalar) -> Scalar:
        return self.scalars.op(float_op if is_float(self.type) else integer_op, *operands)

"""Steps of optimizers, written as their formulas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from onnx import defs

from hipgraft.frontends.onnx.legalization.writer import Rewrite, Writer

TRAINING_DOMAIN = "ai.onnx.preview.training"


@dataclass(frozen=True)
class _Step:
    """A step for one tensor, as scalars of its type.

    Attributes:
        writer: writer of the node.
        element: type of the tensor.
        rate: the learning rate.
        count: the number of steps so far.
    """

    writer: Writer
    element: int
    rate: str
    count: str

    def setting(self, name: str) -> float:
        """An attribute, or its default."""
        schema = defs.get_schema(self.writer.node.op_type, 1, TRAINING_DOMAIN)
        given = self.writer.attribute(name)
        return float(schema.attributes[name].default_value.f if given is None else given)

    def scalar(self, value: float) -> str:
        return self.writer.like(value, self.element)

    def op(self, name: str, *operands: str) -> str:
        return self.writer.op(name, *operands)

    def sum(self, a: float, x: str, b: float, y: str) -> str:
        """Writes a · x + b · y."""
        parts = [self.op("Mul", self.scalar(factor), one) for factor, one in ((a, x), (b, y))]
        return self.op("Add", *parts)

    def regularized(self, x: str, gradient: str) -> str:
        """Writes the gradient of the loss and of the norm."""
        return self.sum(self.setting("norm_coefficient"), x, 1, gradient)

    def once_begun(self, later: str, first: str) -> str:
        """Selects another value in the first step."""
        has_begun = self.op("Greater", self.count, self.scalar(0))
        return self.op("Where", has_begun, later, first)


def _adagrad(step: _Step, x: str, gradient: str, squares: str) -> Sequence[str]:
    decay = step.op("Mul", step.count, step.scalar(step.setting("decay_factor")))
    rate = step.op("Div", step.rate, step.op("Add", decay, step.scalar(1)))
    slope = step.regularized(x, gradient)
    squares = step.op("Add", squares, step.op("Mul", slope, slope))
    root = step.op("Add", step.op("Sqrt", squares), step.scalar(step.setting("epsilon")))
    moved = step.op("Div", step.op("Mul", rate, slope), root)
    return step.op("Sub", x, moved), squares


def _adam(step: _Step, x: str, gradient: str, mean: str, squares: str) -> Sequence[str]:
    alpha, beta = step.setting("alpha"), step.setting("beta")
    slope = step.regularized(x, gradient)
    mean = step.sum(alpha, mean, 1 - alpha, slope)
    squares = step.sum(beta, squares, 1 - beta, step.op("Mul", slope, slope))
    root = step.op("Add", step.op("Sqrt", squares), step.scalar(step.setting("epsilon")))
    rests = [
        step.op("Sub", step.scalar(1), step.op("Pow", step.scalar(one), step.count))
        for one in (beta, alpha)
    ]
    factor = step.op("Div", step.op("Sqrt", rests[0]), rests[1])
    rate = step.once_begun(step.op("Mul", step.rate, factor), step.rate)
    x = step.op("Sub", x, step.op("Div", step.op("Mul", rate, mean), root))
    kept = step.scalar(1 - step.setting("norm_coefficient_post"))
    return step.op("Mul", kept, x), mean, squares


def _momentum(step: _Step, x: str, gradient: str, momentum: str) -> Sequence[str]:
    alpha = step.setting("alpha")
    slope = step.regularized(x, gradient)
    weight = step.once_begun(step.scalar(step.setting("beta")), step.scalar(1))
    old = step.op("Mul", step.scalar(alpha), momentum)
    momentum = step.op("Add", old, step.op("Mul", weight, slope))
    ahead = momentum
    if step.writer.attribute("mode") == "nesterov":
        ahead = step.sum(1, slope, alpha, momentum)
    return step.op("Sub", x, step.op("Mul", step.rate, ahead)), momentum


_Formula: TypeAlias = Callable[..., Sequence[str]]


def _rewrite(formula: _Formula, kinds: int) -> Rewrite:
    """Returns the rewrite of an operator.

    Args:
        formula: makes the results for one tensor from its operands.
        kinds: how many operands there are for each tensor.
    """

    def rewrite(writer: Writer) -> None:
        rate, count, *rest = writer.node.input
        tensors = len(rest) // kinds
        for index in range(tensors):
            operands = rest[index::tensors]
            element = writer.element(operands[0])
            narrow = [writer.cast(one, element) for one in (rate, count)]
            results = formula(_Step(writer, element, *narrow), *operands)
            for kind, result in enumerate(results):
                writer.result(result, kind * tensors + index)

    return rewrite


OPTIMIZERS: dict[str, Rewrite] = {
    "Adagrad": _rewrite(_adagrad, 3),
    "Adam": _rewrite(_adam, 4),
    "Momentum": _rewrite(_momentum, 3),
}
"""Rewrites by operator of the domain of training."""

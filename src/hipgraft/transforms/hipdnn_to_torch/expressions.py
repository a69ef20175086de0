"""Writes tensor expressions, the parts of torch forms. Operands broadcast as in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from hipgraft.dialects.hipdnn.shapes import broadcast
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import Shape
from hipgraft.ir.torch_dialect import shape_and_element, vtensor_type
from hipgraft.transforms.hipdnn_to_torch.writer import Constant, Writer, scalar_of

Number = ir.Value | float


class Torch(Writer):
    """Writes expressions over torch tensors of the arithmetic's type."""

    def shape(self, value: ir.Value) -> list[int]:
        """Returns the extents of a torch tensor."""
        return self._read_type(value)[0]

    def number(self, value: ir.Value | None, default: float = 0.0) -> Number:
        """Reads a pass-by-value scalar: a number, or a tensor if it is only known at run time."""
        if value is None:
            return default
        known = scalar_of(value)
        return self.view(self.read(value), []) if known is None else known

    # Elementwise

    def unary(self, name: str, x: ir.Value, *rest: Constant) -> ir.Value:
        """Writes `aten.NAME(x, rest...)` with the shape and type of x."""
        shape, element = self._read_type(x)
        return self.op(f"aten.{name}", [x, *rest], shape, element)

    def binary(self, name: str, a: ir.Value, b: Number, *rest: Constant) -> ir.Value:
        """Writes `aten.NAME.Tensor` or, with a number, `aten.NAME.Scalar`."""
        suffix = "Tensor" if isinstance(b, ir.Value) else "Scalar"
        return self.op(f"aten.{name}.{suffix}", [a, b, *rest], self._together(a, b))

    def add(self, a: Number, b: Number) -> ir.Value:
        """Writes the sum of a and b, one of which is a tensor."""
        a, b = (a, b) if isinstance(a, ir.Value) else (b, a)
        return self.binary("add", tensor(a), b, 1)

    def sub(self, a: Number, b: Number) -> ir.Value:
        """Writes the difference of a and b, one of which is a tensor."""
        if isinstance(a, ir.Value):
            return self.binary("sub", a, b, 1)
        return self.unary("rsub.Scalar", tensor(b), a, 1)

    def mul(self, a: Number, b: Number) -> ir.Value:
        """Writes the product of a and b, one of which is a tensor."""
        a, b = (a, b) if isinstance(a, ir.Value) else (b, a)
        return self.binary("mul", tensor(a), b)

    def product(self, x: ir.Value, factors: Sequence[Number | None]) -> ir.Value:
        """Writes the product of x and those factors that are present and not 1."""
        for factor in factors:
            if isinstance(factor, ir.Value) or factor not in (None, 1.0):
                x = self.mul(x, factor)
        return x

    def joined(self, name: str, a: ir.Value, b: ir.Value, *rest: Constant) -> ir.Value:
        """Writes `aten.NAME(a, b, rest...)`; a and b broadcast."""
        return self.op(f"aten.{name}", [a, b, *rest], self._together(a, b))

    def maximum(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Writes the larger of a and b."""
        return self.joined("maximum", a, b)

    def sigmoid(self, x: ir.Value, beta: float | None = None) -> ir.Value:
        """Writes the sigmoid of `beta · x`."""
        return self.unary("sigmoid", self.product(x, [beta]))

    def inverse_root(self, x: ir.Value, epsilon: Number) -> ir.Value:
        """Writes `1 / sqrt(x + epsilon)`."""
        return self.unary("rsqrt", self.add(x, epsilon))

    def test(self, name: str, a: ir.Value, b: Number) -> ir.Value:
        """Writes a comparison (`lt`, `eq`, ...), whose result is boolean."""
        suffix = "Tensor" if isinstance(b, ir.Value) else "Scalar"
        return self.op(f"aten.{name}.{suffix}", [a, b], self._together(a, b), "i1")

    def both(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Writes the logical and of two booleans."""
        return self.op("aten.logical_and", [a, b], self._together(a, b), "i1")

    def either(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Writes the logical or of two booleans."""
        return self.op("aten.logical_or", [a, b], self._together(a, b), "i1")

    def where(self, test: ir.Value, a: Number, b: Number) -> ir.Value:
        """Writes `test ? a : b`; one of a and b is a tensor."""
        first, second = isinstance(a, ir.Value), isinstance(b, ir.Value)
        suffix = "self" if first and second else "ScalarOther" if first else "ScalarSelf"
        element = self._read_type(tensor(a if first else b))[1]
        shape = self._together(test, *(value for value in (a, b)))
        return self.op(f"aten.where.{suffix}", [test, a, b], shape, element)

    # Reductions along dimensions, which keep extent 1

    def sum(self, x: ir.Value, dims: Sequence[int]) -> ir.Value:
        """Writes the sum over `dims`."""
        return self.op("aten.sum.dim_IntList", [x, list(dims), True, None], self.rows(x, dims))

    def mean(self, x: ir.Value, dims: Sequence[int]) -> ir.Value:
        """Writes the mean over `dims`."""
        return self.op("aten.mean.dim", [x, list(dims), True, None], self.rows(x, dims))

    def largest(self, x: ir.Value, dims: Sequence[int]) -> ir.Value:
        """Writes the maximum over `dims`."""
        return self.op("aten.amax", [x, list(dims), True], self.rows(x, dims))

    def rows(self, x: ir.Value, dims: Sequence[int]) -> list[int]:
        """Returns the shape of x with extent 1 in `dims`."""
        return [1 if dim in dims else extent for dim, extent in enumerate(self.shape(x))]

    def summed_to(self, x: ir.Value, shape: Sequence[int]) -> ir.Value:
        """Writes the sum over the dimensions that broadcast from `shape` to x, in that shape."""
        extents = self.shape(x)
        aligned = [1] * (len(extents) - len(shape)) + list(shape)
        dims = [d for d, extent in enumerate(extents) if aligned[d] == 1 < extent]
        return self.view(self.sum(x, dims) if dims else x, shape)

    def matmul(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Writes products over the last two dimensions; the others broadcast."""
        left, right = self.shape(a), self.shape(b)
        batch = broadcast(left[:-2], right[:-2]) or []
        shape = [*batch, left[-2], right[-1]]
        return self.op("aten.matmul", [a, b], shape)

    # Positions of elements

    def view(self, x: ir.Value, shape: Sequence[int]) -> ir.Value:
        """Views the same elements in another shape."""
        if self.shape(x) == list(shape):
            return x
        return self._moved("aten.view", x, [list(shape)], shape)

    def expand(self, x: ir.Value, shape: Sequence[int]) -> ir.Value:
        """Broadcasts a tensor to `shape`."""
        return self._moved("aten.expand", x, [list(shape), False], shape)

    def permute(self, x: ir.Value, order: Sequence[int]) -> ir.Value:
        """Permutes the dimensions of a tensor."""
        shape = self.shape(x)
        return self._moved("aten.permute", x, [list(order)], [shape[dim] for dim in order])

    def transpose(self, x: ir.Value, a: int, b: int) -> ir.Value:
        """Swaps two dimensions of a tensor."""
        shape = self.shape(x)
        shape[a], shape[b] = shape[b], shape[a]
        return self._moved("aten.transpose.int", x, [a, b], shape)

    def slice(self, x: ir.Value, dim: int, start: int, count: int, step: int = 1) -> ir.Value:
        """Takes `count` elements of dimension `dim` from `start` on, `step` apart."""
        shape = self.shape(x)
        if count == shape[dim] and step == 1:
            return x
        shape[dim] = count
        end = start + (count - 1) * step + 1
        return self._moved("aten.slice.Tensor", x, [dim, start, end, step], shape)

    def padded(
        self, x: ir.Value, before: Sequence[int], after: Sequence[int], value: Number = 0.0
    ) -> ir.Value:
        """Pads the last dimensions of a tensor with `value`; negative pads crop."""
        first = len(self.shape(x)) - len(before)
        for dim, (low, high) in enumerate(zip(before, after, strict=True), first):
            count = self.shape(x)[dim] - max(-low, 0) - max(-high, 0)
            x = self.slice(x, dim, max(-low, 0), count)
        pads = [max(pad, 0) for pair in zip(before, after, strict=True) for pad in pair]
        if not any(pads):
            return x
        shape = self.shape(x)
        for dim in range(len(before)):
            shape[first + dim] += pads[2 * dim] + pads[2 * dim + 1]
        innermost_first = [pad for dim in reversed(range(len(before)))
                           for pad in pads[2 * dim : 2 * dim + 2]]  # fmt: skip
        return self._moved("aten.constant_pad_nd", x, [innermost_first, value], shape)

    def taken(self, x: ir.Value, dim: int, indices: ir.Value) -> ir.Value:
        """Gathers the elements of dimension `dim` at `indices` [R]."""
        shape = self.shape(x)
        shape[dim] = self.shape(indices)[0]
        return self._moved("aten.index_select", x, [dim, indices], shape)

    def repeated(self, x: ir.Value, dim: int, times: int) -> ir.Value:
        """Repeats each element of dimension `dim`."""
        shape = self.shape(x)
        if times == 1:
            return x
        split = self.view(x, [*shape[: dim + 1], 1, *shape[dim + 1 :]])
        wide = self.expand(split, [*shape[: dim + 1], times, *shape[dim + 1 :]])
        return self.view(wide, [*shape[:dim], shape[dim] * times, *shape[dim + 1 :]])

    # Tensors of known values

    def positions(self, shape: Sequence[int], axis: int) -> ir.Value:
        """Writes the index along `axis` as 64-bit integers, with extent 1 in other dimensions."""
        count = shape[axis]
        operands: list[Constant] = [0, count, 1, None, None, None, None]
        line = self.op("aten.arange.start_step", operands, [count], "si64")
        return self.view(line, [count if dim == axis else 1 for dim in range(len(shape))])

    def literal(
        self, values: Sequence[float], shape: Sequence[int], element: str | None = None
    ) -> ir.Value:
        """Writes a tensor of numbers in row-major order."""
        element = element or self.wide
        text = ", ".join(str(value) if element[0] == "s" else f"{value:.17e}" for value in values)
        attribute = ir.Attribute.parse(f"dense<[{text}]> : tensor<{prod(shape)}x{element}>")
        line = vtensor_type([prod(shape)], element)
        made = ir.Operation.create(
            "torch.vtensor.literal", results=[line], attributes={"value": attribute}
        )
        return self.view(made.result, shape)

    def as_type(self, x: ir.Value, element: str) -> ir.Value:
        """Converts a tensor to another element type."""
        return self.to(x, self.shape(x), element)

    def _moved(
        self, name: str, x: ir.Value, rest: Sequence[ir.Value | Constant], shape: Sequence[int]
    ) -> ir.Value:
        return self.op(name, [x, *rest], shape, self._read_type(x)[1])

    def _together(self, *values: Number) -> Shape:
        shape: Shape = ()
        for value in values:
            if isinstance(value, ir.Value):
                shape = broadcast(shape, self.shape(value)) or shape
        return shape

    def _read_type(self, value: ir.Value) -> tuple[list[int], str]:
        read = shape_and_element(value.type)
        assert read is not None, value.type
        return read


def tensor(value: Number) -> ir.Value:
    """Returns a number that must be an SSA value, not a Python number."""
    assert isinstance(value, ir.Value)
    return value

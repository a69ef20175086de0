"""Block scaling: low-precision elements that share a scale per block."""

from __future__ import annotations

from hipgraft.dialects.framework.fields import Operand, Result, defaulted, optional, required
from hipgraft.dialects.framework.kinds import BOOL, INT, INTS
from hipgraft.dialects.hipdnn.op import ComputeOp
from hipgraft.dialects.hipdnn.shapes import shape_text
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import Shape, shape_of


class BlockScaleDequantizeOp(ComputeOp, mnemonic="block_scale_dequantize"):
    """Multiplies each element by the scale of its block: `y = x · scale`.

    The dimensions in which `scale` is smaller than `x` are blocked; `block_size` has a value for
    each of them in order, or for each dimension. With `is_negative_scale`, the scale is the
    negative of an exponent: `y = x · 2^-scale`. hipDNN wants `y` to be virtual.
    """

    x = Operand("low-precision elements")
    scale = Operand("scale of each block, of the rank of `x`")
    y = Result("scaled elements, shaped like `x`")
    block_size = required(INTS, "elements of a block, per blocked dimension")
    is_negative_scale = defaulted(BOOL, False, "whether scales are negated exponents")

    @property
    def blocks(self) -> list[int]:
        """The extent of a block in each dimension of `x`; 1 where it is not blocked."""
        x, scale = shape_of(self.x), shape_of(self.scale)
        if len(self.block_size) == len(x):
            return self.block_size
        sizes = iter(self.block_size)
        return [1 if x[dim] == scale[dim] else next(sizes, 1) for dim in range(len(x))]

    def infer(self) -> dict[str, Shape]:  # noqa: D102
        return {"y": shape_of(self.x)}

    def infer_element_type(self, result: str) -> ir.Type:  # noqa: D102
        return ir.F32Type.get()

    def verify(self) -> None:  # noqa: D102
        x, scale = shape_of(self.x), shape_of(self.scale)
        if len(scale) != len(x):
            raise self.error(
                f"expected 'scale' of rank {len(x)} like 'x', but found rank {len(scale)}"
            )
        if not self.block_size or len(self.block_size) > len(x):
            raise self.error(
                f"expected 1 to {len(x)} values in 'block_size', but found {len(self.block_size)}"
            )
        if any(size < 1 for size in self.block_size):
            raise self.error("expected values of 1 or more in 'block_size'")
        expected = [-(-extent // size) for extent, size in zip(x, self.blocks, strict=True)]
        self.check_shape("scale", self.scale, expected)


class BlockScaleQuantizeOp(ComputeOp, mnemonic="block_scale_quantize"):
    """Divides each element by the scale of its block, and yields the scales.

    `scale` is the largest magnitude of the block over the largest value of the type of `y`,
    rounded up; `y = x / scale`, rounded to nearest even and clamped, 0 where the scale is 0.
    """

    x = Operand("elements")
    y = Result("low-precision elements, shaped like `x`")
    scale = Result("scale of each block")
    block_size = optional(INT, "elements of a block; required by hipDNN's frontend")
    axis = optional(INT, "blocked dimension, the last if absent")
    transpose = defaulted(BOOL, False, "whether results are packed along the axis in memory")

    @property
    def blocked_axis(self) -> int:
        """The blocked dimension."""
        return len(shape_of(self.x)) - 1 if self.axis is None else self.axis

    def infer(self) -> dict[str, Shape]:  # noqa: D102
        x = shape_of(self.x)
        self._check_block(x)
        scale = list(x)
        scale[self.blocked_axis] //= self.block_size or 1
        return {"y": x, "scale": tuple(scale)}

    def infer_element_type(self, result: str) -> ir.Type:  # noqa: D102
        # The MX formats' choice.
        return ir.Float8E4M3FNType.get() if result == "y" else ir.Float8E8M0FNUType.get()

    def _check_block(self, x: Shape) -> None:
        if self.block_size is None or self.block_size < 1:
            raise self.error("expected 'block_size' of 1 or more")
        if not 0 <= self.blocked_axis < len(x):
            raise self.error(f"expected 'axis' in [0, {len(x)}), but found {self.axis}")
        if x[self.blocked_axis] % self.block_size:
            raise self.error(
                f"extent {x[self.blocked_axis]} in dimension {self.blocked_axis} of 'x' "
                f"({shape_text(x)}) is not a multiple of the block size {self.block_size}"
            )

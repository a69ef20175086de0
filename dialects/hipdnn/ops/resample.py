"""Resampling: pooling and interpolation."""

from __future__ import annotations

from hipgraft.dialects.framework.fields import (
    Operand,
    OptionalOperand,
    OptionalResult,
    Result,
    defaulted,
    optional,
    required,
)
from hipgraft.dialects.framework.kinds import BOOL, INTS, enum_kind
from hipgraft.dialects.hipdnn.enums import PaddingMode, ResampleMode
from hipgraft.dialects.hipdnn.ops.window import WindowOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import Shape, shape_of


class ResampleOp(WindowOp):
    """Common base of resampling and its gradient."""

    window = required(INTS, "extent of the window, per spatial dimension")
    resample_mode = required(enum_kind(ResampleMode), "the function")
    padding_mode = required(enum_kind(PaddingMode), "the value of elements outside `x`")

    def resampled_shape(self, name: str, x: Shape) -> Shape:
        """Returns the shape that resampling gives for the shape `x` of the value `name`.

        Raises:
            VerifyError: the shape or the attributes do not fit together.
        """
        if len(x) < 3:
            raise self.error(f"expected '{name}' of rank 3 or more, but found rank {len(x)}")
        self.check_values("window", self.window, len(x) - 2, 1)
        return (*x[:2], *self.window_positions(x[2:], self.window))


class ResampleFwdOp(ResampleOp, mnemonic="resample_fwd"):
    """Combines the elements of a sliding window, per channel.

    Interpolation takes the element at the centre of the window. If the extent is even and the
    centre is between two elements, `NEAREST` takes the first and `BILINEAR` the mean of both.
    Averages that include padding include its values. An index counts the spatial positions of `x`
    in row-major order, per channel. It is the first of equal maxima, and -1 if only padding has
    the maximum.
    """

    x = Operand("activations `[N, C, spatial...]`")
    y = Result("resampled activations `[N, C, spatial...]`")
    index = OptionalResult("positions of the maxima, shaped like `y`")
    generate_index = defaulted(BOOL, False, "whether `index` is a result")

    @property
    def only_pads(self) -> bool:
        """Whether the result is `x` with zeros around its spatial dims."""
        is_unit = set((*self.window, *self.stride)) == {1}
        is_counted = self.resample_mode is ResampleMode.AVGPOOL_INCLUDE_PADDING
        return is_unit and is_counted and self.padding_mode is PaddingMode.ZERO_PAD

    def infer(self) -> dict[str, Shape]:  # noqa: D102
        y = self.resampled_shape("x", shape_of(self.x))
        return {"y": y, "index": y}

    def infer_element_type(self, result: str) -> ir.Type:  # noqa: D102
        i32 = ir.IntegerType.get_signless(32)
        return i32 if result == "index" else super().infer_element_type(result)

    def verify(self) -> None:  # noqa: D102
        if self.generate_index != (self.index is not None):
            raise self.error("expected result 'index' exactly with 'generate_index = true'")
        if self.generate_index and self.resample_mode != ResampleMode.MAXPOOL:
            raise self.error(f"yields no index in mode '{self.resample_mode}'")


class ResampleBwdOp(ResampleOp, mnemonic="resample_bwd"):
    """Gradient of `resample_fwd` with respect to its activations.

    Each element of `dy` goes to the elements of its window as the forward op weighed them; that
    of a maximum to the one that `index` names. The type of `dx` must be given: several input
    extents lead to one output extent.
    """

    dy = Operand("gradient of the output `[N, C, spatial...]`")
    index = OptionalOperand("positions of the maxima, shaped like `dy`; for `MAXPOOL`")
    dx = Result("gradient of the activations `[N, C, spatial...]`")
    generate_index = optional(BOOL, "whether the forward op yielded `index`")

    def verify(self) -> None:  # noqa: D102
        dy = self.resampled_shape("dx", shape_of(self.dx))
        self.check_shape("dy", self.dy, dy)
        self.check_shape("index", self.index, dy)
        if (self.index is not None) != (self.resample_mode is ResampleMode.MAXPOOL):
            raise self.error("expected operand 'index' exactly in mode 'MAXPOOL'")

"""Convolutions: forward, by data, by filter.

Groups are not an attribute: their number is the ratio of the channels of `x` and of `w`.
"""

from __future__ import annotations

from hipgraft.dialects.framework.fields import Operand, Result, defaulted, required
from hipgraft.dialects.framework.kinds import INTS, enum_kind
from hipgraft.dialects.hipdnn.enums import ConvMode
from hipgraft.dialects.hipdnn.ops.window import WindowOp
from hipgraft.ir.tensors import Shape, shape_of


class ConvolutionOp(WindowOp):
    """Common base of the three convolutions."""

    dilation = required(INTS, "step between the filter's elements, per spatial dimension")
    conv_mode = defaulted(
        enum_kind(ConvMode), ConvMode.CROSS_CORRELATION, "whether the filter is flipped"
    )

    def output_shape(self, x: Shape, w: Shape) -> Shape:
        """Returns the shape `[N, K, spatial...]` of a forward convolution of `x` with `w`.

        Raises:
            VerifyError: the shapes or the attributes do not fit together.
        """
        if len(x) < 3 or len(x) != len(w):
            raise self.error(
                f"expected activations and filters of one rank, 3 or more, "
                f"but found ranks {len(x)} and {len(w)}"
            )
        self._check_channels(x, w)
        self.check_values("dilation", self.dilation, len(x) - 2, 1)
        window = [
            (extent - 1) * step + 1 for extent, step in zip(w[2:], self.dilation, strict=True)
        ]
        return (x[0], w[0], *self.window_positions(x[2:], window))

    def _check_channels(self, x: Shape, w: Shape) -> None:
        if x[1] % w[1]:
            raise self.error(
                f"channels of 'x' ({x[1]}) are not a multiple of channels of 'w' ({w[1]})"
            )
        groups = x[1] // w[1]
        if w[0] % groups:
            raise self.error(f"filters of 'w' ({w[0]}) are not a multiple of the {groups} groups")


class ConvFpropOp(ConvolutionOp, mnemonic="conv_fprop"):
    """Convolution of activations with filters.

    `y[n, k, p] = Σ x[n, c, p·stride + r·dilation - pre_padding] · w[k, c, r]`. Channels of `x`
    are a multiple of channels of `w`; their ratio is the number of groups.
    """

    x = Operand("activations `[N, C, spatial...]`")
    w = Operand("filters `[K, C / groups, window...]`")
    y = Result("convolved activations `[N, K, spatial...]`")

    def infer(self) -> dict[str, Shape]:  # noqa: D102
        return {"y": self.output_shape(shape_of(self.x), shape_of(self.w))}


class ConvDgradOp(ConvolutionOp, mnemonic="conv_dgrad"):
    """Gradient of a convolution with respect to its activations.

    The type of `dx` must be given: several input extents lead to one output extent. A
    transposed convolution is a dgrad.
    """

    dy = Operand("gradient of the output `[N, K, spatial...]`")
    w = Operand("filters `[K, C / groups, window...]`")
    dx = Result("gradient of the activations `[N, C, spatial...]`")

    def verify(self) -> None:  # noqa: D102
        self.check_shape("dy", self.dy, self.output_shape(shape_of(self.dx), shape_of(self.w)))


class ConvWgradOp(ConvolutionOp, mnemonic="conv_wgrad"):
    """Gradient of a convolution with respect to its filters.

    The type of `dw` must be given: it holds the extents of the window.
    """

    x = Operand("activations `[N, C, spatial...]`")
    dy = Operand("gradient of the output `[N, K, spatial...]`")
    dw = Result("gradient of the filters `[K, C / groups, window...]`")

    def verify(self) -> None:  # noqa: D102
        self.check_shape("dy", self.dy, self.output_shape(shape_of(self.x), shape_of(self.dw)))

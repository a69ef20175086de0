"""Convolutions: forward, by data, by filter.

Groups are not an attribute: their number is the ratio of the channels of `x` and of `w`.
"""

from __future__ import annotations

from hipgraft.bindings import ir
from hipgraft.dialects.hipdnn.enums import ConvMode
from hipgraft.dialects.hipdnn.fields import Operand, Result, defaulted, required
from hipgraft.dialects.hipdnn.kinds import INTS, enum_kind
from hipgraft.dialects.hipdnn.op import ComputeOp
from hipgraft.dialects.hipdnn.shapes import shape_of, shape_text


class ConvolutionOp(ComputeOp):
    """What the three convolutions share."""

    pre_padding = required(INTS, "padding before the first element, per spatial dimension")
    post_padding = required(INTS, "padding after the last element, per spatial dimension")
    stride = required(INTS, "step of the window, per spatial dimension")
    dilation = required(INTS, "step between the filter's elements, per spatial dimension")
    conv_mode = defaulted(
        enum_kind(ConvMode), ConvMode.CROSS_CORRELATION, "whether the filter is flipped"
    )

    def output_shape(self, x: list[int], w: list[int]) -> list[int]:
        """Returns the shape `[N, K, spatial...]` of a forward convolution of `x` with `w`.

        Raises:
            VerifyError: the shapes or the attributes do not fit together.
        """
        self._check_ranks(x, w)
        self._check_channels(x, w)
        spatial = [self._extent(dim, x[dim + 2], w[dim + 2]) for dim in range(len(x) - 2)]
        return [x[0], w[0], *spatial]

    def check_output(self, x: ir.Value, w: ir.Value, y: ir.Value, name: str) -> None:
        """Checks that `y`, called `name` in messages, has the shape of a forward convolution."""
        expected = self.output_shape(shape_of(x), shape_of(w))
        if shape_of(y) != expected:
            raise self.error(
                f"expected shape {shape_text(expected)} of '{name}', "
                f"but found {shape_text(shape_of(y))}"
            )

    def _check_ranks(self, x: list[int], w: list[int]) -> None:
        if len(x) < 3 or len(x) != len(w):
            raise self.error(
                f"expected activations and filters of one rank, 3 or more, "
                f"but found ranks {len(x)} and {len(w)}"
            )
        for field, least in (
            (ConvolutionOp.pre_padding, 0),
            (ConvolutionOp.post_padding, 0),
            (ConvolutionOp.stride, 1),
            (ConvolutionOp.dilation, 1),
        ):
            values = field.__get__(self, type(self))
            if len(values) != len(x) - 2:
                raise self.error(
                    f"expected {len(x) - 2} values in '{field.name}', but found {len(values)}"
                )
            if min(values) < least:
                raise self.error(f"expected values of at least {least} in '{field.name}'")

    def _check_channels(self, x: list[int], w: list[int]) -> None:
        if x[1] % w[1]:
            raise self.error(
                f"channels of 'x' ({x[1]}) are not a multiple of channels of 'w' ({w[1]})"
            )
        groups = x[1] // w[1]
        if w[0] % groups:
            raise self.error(f"filters of 'w' ({w[0]}) are not a multiple of the {groups} groups")

    def _extent(self, dim: int, x: int, w: int) -> int:
        padded = x + self.pre_padding[dim] + self.post_padding[dim]
        window = (w - 1) * self.dilation[dim] + 1
        if window > padded:
            raise self.error(
                f"window of {window} in spatial dimension {dim} is larger than "
                f"the padded input of {padded}"
            )
        return (padded - window) // self.stride[dim] + 1


class ConvFpropOp(ConvolutionOp, mnemonic="conv_fprop"):
    """Convolution of activations with filters.

    `y[n, k, p] = Σ x[n, c, p·stride + r·dilation - pre_padding] · w[k, c, r]`. Channels of `x`
    are a multiple of channels of `w`; their ratio is the number of groups.
    """

    x = Operand("activations `[N, C, spatial...]`")
    w = Operand("filters `[K, C / groups, window...]`")
    y = Result("convolved activations `[N, K, spatial...]`")

    def infer(self) -> dict[str, list[int]]:  # noqa: D102
        return {"y": self.output_shape(shape_of(self.x), shape_of(self.w))}


class ConvDgradOp(ConvolutionOp, mnemonic="conv_dgrad"):
    """Gradient of a convolution with respect to its activations.

    The type of `dx` has to be given: several input extents lead to one output extent. A
    transposed convolution is a dgrad.
    """

    dy = Operand("gradient of the output `[N, K, spatial...]`")
    w = Operand("filters `[K, C / groups, window...]`")
    dx = Result("gradient of the activations `[N, C, spatial...]`")

    def verify(self) -> None:  # noqa: D102
        self.check_output(self.dx, self.w, self.dy, "dy")


class ConvWgradOp(ConvolutionOp, mnemonic="conv_wgrad"):
    """Gradient of a convolution with respect to its filters.

    The type of `dw` has to be given: it holds the extents of the window.
    """

    x = Operand("activations `[N, C, spatial...]`")
    dy = Operand("gradient of the output `[N, K, spatial...]`")
    dw = Result("gradient of the filters `[K, C / groups, window...]`")

    def verify(self) -> None:  # noqa: D102
        self.check_output(self.x, self.dw, self.dy, "dy")

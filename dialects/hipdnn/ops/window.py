"""Common base of ops with a sliding window."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.dialects.framework.fields import required
from hipgraft.dialects.framework.kinds import INTS
from hipgraft.dialects.hipdnn.op import ComputeOp


class WindowOp(ComputeOp):
    """An op that slides a window over the spatial dimensions of `[N, C, spatial...]`."""

    pre_padding = required(INTS, "padding before the first element, per spatial dimension")
    post_padding = required(INTS, "padding after the last element, per spatial dimension")
    stride = required(INTS, "step of the window, per spatial dimension")

    def check_values(self, name: str, values: Sequence[int], count: int, least: int) -> None:
        """Checks the number of values of the attribute `name` and that they are `least` or more.

        Raises:
            VerifyError: the number of values differs, or a value is less than `least`.
        """
        if len(values) != count:
            raise self.error(f"expected {count} values in '{name}', but found {len(values)}")
        if any(value < least for value in values):
            raise self.error(f"expected values of {least} or more in '{name}'")

    def window_positions(self, x: Sequence[int], window: Sequence[int]) -> list[int]:
        """Returns the number of positions of a window in each spatial dimension.

        Args:
            x: spatial extents of the input.
            window: extents of the window in elements of the input, dilation included.

        Raises:
            VerifyError: the attributes or the window do not fit the input.
        """
        self.check_values("pre_padding", self.pre_padding, len(x), 0)
        self.check_values("post_padding", self.post_padding, len(x), 0)
        self.check_values("stride", self.stride, len(x), 1)
        return [self._positions(dim, x[dim], window[dim]) for dim in range(len(x))]

    def _positions(self, dim: int, x: int, window: int) -> int:
        padded = x + self.pre_padding[dim] + self.post_padding[dim]
        if window > padded:
            raise self.error(
                f"window of {window} in spatial dimension {dim} is larger than "
                f"the padded input of {padded}"
            )
        return (padded - window) // self.stride[dim] + 1

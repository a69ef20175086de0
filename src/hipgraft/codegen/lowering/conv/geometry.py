"""Reads attributes of convolutions, and tests their shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.dialects.hipdnn import ConvolutionOp


@dataclass(frozen=True)
class ConvParams:
    """The padding and the steps of the window, per spatial dim.

    Attributes:
        before: zeros before the first element.
        after: zeros after the last element.
        stride: step of the window.
        dilation: step between the window's elements.
    """

    before: Sequence[int]
    after: Sequence[int]
    stride: Sequence[int]
    dilation: Sequence[int]

    @classmethod
    def of(cls, op: ConvolutionOp) -> ConvParams:
        """Returns the attributes of `op`."""
        return cls(op.pre_padding, op.post_padding, op.stride, op.dilation)

    def spans(self, window: Sequence[int]) -> list[int]:
        """Returns the elements from the first to the last of a dilated window, per spatial dim."""
        return [(extent - 1) * step + 1 for extent, step in zip(window, self.dilation, strict=True)]

    @property
    def text(self) -> str:
        """The attributes of linalg's named ops, which take padded operands."""

        def vector(values: Sequence[int]) -> str:
            return f"dense<{list(values)}> : vector<{len(values)}xi64>"

        return f"{{dilations = {vector(self.dilation)}, strides = {vector(self.stride)}}}"


def window_loops(params: ConvParams, spatial: int, filters: str) -> tuple[list[str], list[str]]:
    """Returns the indexing maps of a convolution in groups, and the kinds of its loops.

    The operands are padded activations [N, G, C, spatial...] and filters [G, F, C, window...]; the
    result is [N, G, F, spatial...].

    Args:
        params: steps of the window.
        spatial: number of spatial dims.
        filters: the order of the first two dims of the filters, `gf` or `fg`.
    """
    out = [f"o{dim}" for dim in range(spatial)]
    window = [f"r{dim}" for dim in range(spatial)]
    read = [
        f"{o} * {step} + {r} * {spread}"
        for o, r, step, spread in zip(out, window, params.stride, params.dilation, strict=True)
    ]
    loops = ", ".join(["n", "g", "f", *out, "c", *window])
    results = (["n", "g", "c", *read], [*filters, "c", *window], ["n", "g", "f", *out])
    maps = [f"affine_map<({loops}) -> ({', '.join(result)})>" for result in results]
    return maps, ["parallel"] * (3 + spatial) + ["reduction"] * (1 + spatial)


def channels_last(rank: int) -> tuple[int, ...]:
    """Returns the order [N, spatial..., C] of the dims of [N, C, spatial...]."""
    return (0, *range(2, rank), 1)


def image_order(value: Tensor) -> tuple[int, ...]:
    """Returns channels last if [N, C, spatial...] is stored so, else channels first."""
    first, last = tuple(range(value.rank)), channels_last(value.rank)
    return last if value.lies_in(last) and not value.lies_in(first) else first


def is_depthwise(x: Tensor, w: Tensor) -> bool:
    """Returns whether each channel of `x` [N, C, spatial...] has one filter of its own."""
    return x.shape[1] == w.shape[0] > 1 == w.shape[1]


def has_unit_window(w: Sequence[int]) -> bool:
    """Returns whether filters of shape `[K, C / groups, window...]` have one-element windows."""
    return set(w[2:]) == {1}

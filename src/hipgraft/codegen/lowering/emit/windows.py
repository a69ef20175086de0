"""Reduces windows that slide over `[N, C, spatial...]`, and spreads gradients back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.padding import cropped, padded, positive
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.workarounds.single_window import crop_unread

Combine = Callable[[Arithmetic, list[Scalar], list[Scalar]], Sequence[Scalar]]


@dataclass(frozen=True)
class Window:
    """Size, stride and padding of a window, per spatial dim.

    Attributes:
        size: extents of the window.
        stride: step of the window.
        before: padding before the first element; negative if the first elements are not read.
        after: padding after the last element; negative if the last elements are not read.
    """

    size: tuple[int, ...]
    stride: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    def middle(self, widest: int) -> Window:
        """Returns the window of the middle elements, at most `widest` of them per dim.

        An odd extent has one middle element; an even one has two, or the first of them if `widest`
        is 1.
        """
        sizes = [min(widest, 2 - size % 2) for size in self.size]
        first = [(size - 1) // 2 for size in self.size]
        dims = range(len(sizes))
        return Window(
            tuple(sizes),
            self.stride,
            tuple(self.before[dim] - first[dim] for dim in dims),
            tuple(self.after[dim] - (self.size[dim] - first[dim] - sizes[dim]) for dim in dims),
        )


def reduce_windows(
    emitter: Emitter,
    operands: Sequence[Tensor],
    window: Window,
    inits: Sequence[Tensor],
    compute: str,
    combine: Combine,
) -> list[Tensor]:
    """Emits the reduction of each window of the operands, which must be padded.

    Args:
        emitter: emitter that receives the ops.
        operands: the tensors that the window slides over, stored in logical order.
        window: sizes and strides.
        inits: initial values, [N, C, positions...]; each result has the shape and type of its init.
        compute: type of the arithmetic.
        combine: emits the new totals from the totals and one element of each operand, in the
            operands' types. The loops are n, c, positions, window.
    """
    extents = emitter.empty(Tensor.logical("", window.size, compute))
    positions = inits[0].shape[2:]
    operands = [crop_unread(emitter, value, window.size, positions) for value in operands]

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> Sequence[Scalar]:
        totals = arguments[len(operands) + 1 :]
        return combine(Arithmetic(scalars, compute), totals, arguments[: len(operands)])

    read, bounds, written, kinds = _loops(window.stride)
    # The last operand is never read; its shape only defines the extents of the window's loops.
    maps = [*[read] * len(operands), bounds, *[written] * len(inits)]
    return emitter.mapped("pool", [*operands, extents], inits, body, maps, kinds)


def _loops(stride: Sequence[int]) -> tuple[str, str, str, list[str]]:
    """Maps loops (n, c, positions..., window...) to operands, window and result; loop kinds."""
    out = [f"o{dim}" for dim in range(len(stride))]
    window = [f"r{dim}" for dim in range(len(stride))]
    read = [f"{o} * {step} + {r}" for o, r, step in zip(out, window, stride, strict=True)]
    loops = ", ".join(["n", "c", *out, *window])
    maps = [
        f"affine_map<({loops}) -> ({', '.join(result)})>"
        for result in (["n", "c", *read], window, ["n", "c", *out])
    ]
    kinds = ["parallel"] * (2 + len(out)) + ["reduction"] * len(window)
    return maps[0], maps[1], maps[2], kinds


def extended(emitter: Emitter, x: Tensor, window: Window) -> Tensor:
    """Returns `x` with padding that repeats the elements at the edge."""
    shape = list(x.shape)
    for dim, pads in enumerate(zip(window.before, window.after, strict=True)):
        shape[dim + 2] += sum(pads)

    def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
        indices = [scalars.index(0), scalars.index(1)]
        for dim, before in enumerate(window.before):
            shift = scalars.constant(before, "index")
            index = scalars.op("arith.subi", scalars.index(dim + 2), shift)
            index = scalars.op("arith.maxsi", index, scalars.constant(0, "index"))
            last = scalars.constant(x.shape[dim + 2] - 1, "index")
            indices.append(scalars.op("arith.minsi", index, last))
        return [scalars.element(x, *indices)]

    init = emitter.empty(Tensor.logical("", shape, x.element))
    return emitter.generic("extended", [], [init], body, shape=shape)[0]


def spread(
    emitter: Emitter,
    dy: Tensor,
    stride: Sequence[int],
    low: Sequence[int],
    high: Sequence[int],
    value: float = 0,
) -> Tensor:
    """Spreads elements `stride` apart, with `value` between and around them.

    Args:
        emitter: emitter that receives the ops.
        dy: elements [N, C, spatial...].
        stride: distance of two adjacent elements, per spatial dim.
        low: elements of `value` before the first one; negative numbers crop.
        high: elements of `value` after the last one; negative numbers crop.
        value: value of the new elements.
    """
    if max(stride) == 1:
        return padded(emitter, dy, low, high, value)
    before = positive(low)
    extents = [
        first + (extent - 1) * step + 1 + last
        for first, extent, step, last in zip(
            before, dy.shape[2:], stride, positive(high), strict=True
        )
    ]
    between = emitter.filled(replace(dy, shape=(*dy.shape[:2], *extents)), value)
    offsets, steps = [0, 0, *before], [1, 1, *stride]
    text = (
        f"tensor.insert_slice {dy.name} into {between.name}{offsets} {list(dy.shape)} {steps} : "
        f"{dy.type} into {between.type}"
    )
    wide = replace(between, name=emitter.op("spread", text))
    return cropped(emitter, wide, low, high)

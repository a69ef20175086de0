"""Turns memory into logical tensors at a kernel's border, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hipgraft.codegen.layout import Layout, Window
from hipgraft.codegen.lowering.emitter import Emitter
from hipgraft.codegen.lowering.scalars import Scalar, ScalarEmitter
from hipgraft.codegen.lowering.tensor import Tensor
from hipgraft.diagnostics import CodegenError


def read_operand(emitter: Emitter, name: str, layout: Layout) -> Tensor:
    """Returns the logical tensor that `layout` describes in the argument `name`."""
    memory = Tensor.logical(name, layout.physical_shape, layout.element_type)
    window = layout.window
    if window is None:
        return _gather(emitter, memory, layout)
    if layout.flat_offset:
        size = math.prod(window.extents)
        memory = _slice(emitter, memory, Window(memory.shape, (layout.flat_offset,), (size,)))
        memory = emitter.reshape(memory, window.extents)
    box = _slice(emitter, memory, window)
    packed = emitter.reshape(box, [layout.shape[dim] for dim in layout.order])
    return Tensor(packed.name, layout.shape, layout.element_type, layout.order)


def write_result(emitter: Emitter, value: Tensor, layout: Layout) -> str:
    """Returns the physical tensor of `layout` that holds `value`.

    Raises:
        CodegenError: the strides do not nest, so that no packed tensor holds the result.
    """
    window = layout.window
    if window is None or len(layout.order) < len(layout.shape):
        raise CodegenError(f"result strides {list(layout.strides)} are not rows within rows")
    packed = emitter.in_order(value, layout.order)
    if window.is_whole:
        return packed.name
    box = Tensor.logical(packed.name, packed.extents, packed.element)
    return _insert(emitter, emitter.reshape(box, window.sizes), window)


def _slice(emitter: Emitter, memory: Tensor, window: Window) -> Tensor:
    if window.is_whole:
        return memory
    result = Tensor.logical("", window.sizes, memory.element)
    text = f"tensor.extract_slice {memory.name}{_box(window)} : {memory.type} to {result.type}"
    return replace(result, name=emitter.op("window", text))


def _insert(emitter: Emitter, box: Tensor, window: Window) -> str:
    memory = emitter.empty(Tensor.logical("", window.extents, box.element))
    into = f"{box.name} into {memory.name}{_box(window)} : {box.type} into {memory.type}"
    return emitter.op("placed", f"tensor.insert_slice {into}")


def _box(window: Window) -> str:
    steps = [1] * len(window.sizes)
    return f"{list(window.offsets)} {list(window.sizes)} {steps}"


def _gather(emitter: Emitter, memory: Tensor, layout: Layout) -> Tensor:
    """Reads each element at its own place: the way for strides that do not nest."""

    def body(scalars: ScalarEmitter, _: Sequence[Scalar]) -> list[Scalar]:
        place = scalars.constant(layout.offset, "index")
        for dim, stride in enumerate(layout.strides):
            if layout.shape[dim] > 1 and stride:
                step = scalars.constant(stride, "index")
                distance = scalars.op("arith.muli", scalars.index(dim), step)
                place = scalars.op("arith.addi", place, distance)
        return [scalars.element(memory, place)]

    init = emitter.empty(Tensor.logical("", layout.shape, layout.element_type))
    return emitter.generic("gathered", [], [init], body, shape=layout.shape)[0]

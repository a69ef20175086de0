"""Converts between memory and logical tensors at a kernel's boundary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hipgraft.codegen.layout import Layout, Window
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.offsets import write_places
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor, reassociation


def read_operand(emitter: Emitter, name: str, layout: Layout) -> Tensor:
    """Returns the logical tensor that `layout` describes in the argument `name`."""
    return _read(emitter, Tensor.logical(name, layout.physical_shape, layout.element_type), layout)


def read_window(emitter: Emitter, base: Tensor, layout: Layout) -> Tensor:
    """Returns the logical tensor that `layout` describes in the row-major elements of `base`."""
    renamed = _permuted(base, layout)
    if renamed is not None:
        return renamed
    count = math.prod(base.shape)
    wanted = layout.physical_elements
    if wanted == count:
        return _read(emitter, reshaped(emitter, base, layout.physical_shape), layout)
    flat = reshaped(emitter, base, (count,))
    if wanted > count:  # `base` ends within the last row of the packed tensor
        return _gather(emitter, flat, layout)
    memory = _slice(emitter, flat, Window((count,), (0,), (wanted,)))
    return _read(emitter, reshaped(emitter, memory, layout.physical_shape), layout)


def _permuted(base: Tensor, layout: Layout) -> Tensor | None:
    """Returns the same SSA value with other dims, if the window only permutes or broadcasts."""
    window, extents = layout.window, tuple(layout.shape[dim] for dim in layout.order)
    if window is None or not window.is_whole or layout.offset or extents != base.shape:
        return None
    dims = tuple(layout.order[dim] for dim in base.dims)
    return Tensor(base.name, layout.shape, base.element, dims)


def reshaped(emitter: Emitter, value: Tensor, shape: Sequence[int]) -> Tensor:
    """Returns the row-major elements of `value` in any shape."""
    if _refines(value.shape, shape) or _refines(shape, value.shape):
        return emitter.reshape(value, shape)
    flat = emitter.reshape(value, (math.prod(shape),))
    return emitter.reshape(flat, shape)


def _refines(wide: Sequence[int], narrow: Sequence[int]) -> bool:
    """Whether each dim of `narrow` is the product of consecutive dims of `wide`."""
    if len(wide) < len(narrow):
        return False
    groups = reassociation(wide, narrow)
    products = [math.prod(wide[dim] for dim in group) for group in groups]
    return all(groups) and products == list(narrow)


def _read(emitter: Emitter, memory: Tensor, layout: Layout) -> Tensor:
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
    """Returns the physical tensor of `layout` that holds `value`; its elements must not overlap."""
    window = layout.window
    if window is None:
        return write_places(emitter, value, layout).name
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
    """Emits a read of each element at its own offset, as strides that do not nest require."""

    def body(scalars: ScalarEmitter, _: Sequence[Scalar]) -> list[Scalar]:
        offset = scalars.constant(layout.offset, "index")
        for dim, stride in enumerate(layout.strides):
            if layout.shape[dim] > 1 and stride:
                step = scalars.constant(stride, "index")
                distance = scalars.op("arith.muli", scalars.index(dim), step)
                offset = scalars.op("arith.addi", offset, distance)
        return [scalars.element(memory, offset)]

    init = emitter.empty(Tensor.logical("", layout.shape, layout.element_type))
    return emitter.generic("gathered", [], [init], body, shape=layout.shape)[0]

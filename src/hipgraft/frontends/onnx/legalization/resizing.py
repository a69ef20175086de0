"""Rewrites resizing, one dimension at a time, with indices and weights for each result."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper

from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer
from hipgraft.ir.diagnostics import Declined

_FLOAT, _INT64 = TensorProto.FLOAT, TensorProto.INT64
_MOST_TAPS = 64
_IMAGE = 4  # rank of the tensors that torch-mlir resizes
_NATIVE = frozenset({"asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel"})
_CENTRES = "tf_half_pixel_for_nn"
"""Coordinates of opset 11, which tf2onnx writes into models of later opsets, too."""
_VALUES = {
    "mode": ("nearest", "linear", "cubic"),
    "coordinate_transformation_mode": (
        *_NATIVE, "half_pixel_symmetric", "tf_crop_and_resize", _CENTRES,
    ),
    "nearest_mode": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    "keep_aspect_ratio_policy": ("stretch", "not_larger", "not_smaller"),
}  # fmt: skip


def _resize(writer: Writer) -> None:
    """`(x, roi, scales, sizes)`."""
    x, element = writer.node.input[0], writer.element(writer.node.input[0])
    dtype = helper.tensor_dtype_to_np_dtype(element)
    for name, values in _VALUES.items():
        if writer.attribute(name, values[0]) not in values:
            raise Refused(f"with {name} = '{writer.attribute(name)}' is not supported")
    is_nearest = writer.attribute("mode", "nearest") == "nearest"
    is_short = dtype.kind in "iu" and dtype.itemsize <= 2
    if dtype.kind not in "fV" and not is_nearest and not is_short:
        raise Refused("of integers of 32 and 64 bits is not supported but by the nearest element")
    if is_short and (dtype.kind == "u" or not is_nearest):
        y = writer.op(
            "Resize", writer.cast(x, _FLOAT), *writer.node.input[1:], **writer.attributes()
        )
        writer.result(writer.cast(y if is_nearest else _saturated(writer, y, dtype), element))
        return
    if _is_native(writer):
        raise Declined("supported", "it is left to torch-mlir")
    before = writer.shape(x)
    after = writer.needed_shape(writer.node.output[0], "with operands that are inputs")
    axes = [int(axis) % len(before) for axis in writer.attribute("axes", range(len(before)))]
    if 0 in before and 0 not in after:
        raise Refused("of a tensor without elements is not supported")
    common = _common_scale(writer, [before[axis] for axis in axes])
    for index, axis in enumerate(axes):
        line = _Line(writer, index, axis, before, after, len(axes), common)
        x = line.resized(x)
    writer.result(x)


def _saturated(writer: Writer, y: str, dtype: np.dtype[Any]) -> str:
    """Rounds and saturates floats to integers, as ONNX's reference does; onnxruntime truncates."""
    bounds = [writer.like(float(one), _FLOAT) for one in (np.iinfo(dtype).min, np.iinfo(dtype).max)]
    return writer.op("Clip", writer.op("Round", y), *bounds)


def _common_scale(writer: Writer, extents: list[int]) -> float | None:
    """Returns the common scale of all dimensions if the aspect ratio is kept, else None."""
    policy = writer.attribute("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch" or not writer.has_input(3):
        return None
    sizes = writer.graph.constants.get(writer.node.input[3])
    if sizes is None:
        raise Refused("that keeps the aspect ratio is supported for constant sizes only")
    scales = [size / extent for size, extent in zip(sizes, extents, strict=True)]
    return min(scales) if policy == "not_larger" else max(scales)


def _is_native(writer: Writer) -> bool:
    """Whether torch-mlir supports the form and its operands."""
    names = [writer.node.input[i] for i in (1, 2, 3) if writer.has_input(i)]
    known = all(
        name in writer.graph.constants or writer.graph.shapes.get(name) == [0] for name in names
    )
    mode = writer.attribute("coordinate_transformation_mode", "half_pixel")
    special = ("antialias", "exclude_outside", "axes")
    plain = not any(writer.attribute(name, 0) for name in special)
    rounding = writer.attribute("nearest_mode", "round_prefer_floor")
    stretches = writer.attribute("keep_aspect_ratio_policy", "stretch") == "stretch"
    rounds = rounding in ("round_prefer_floor", "floor")
    if mode == "align_corners" and not _has_whole_extents(writer):
        return False
    is_default = float(writer.attribute("cubic_coeff_a", -0.75)) == -0.75
    is_image = len(writer.graph.shapes.get(writer.node.input[0], [])) == _IMAGE
    forms = (known, plain, stretches, rounds, is_default, is_image, mode in _NATIVE)
    return all(forms)


def _has_whole_extents(writer: Writer) -> bool:
    """Whether constant scales, if any, scale the extents to whole numbers."""
    name = writer.node.input[2] if writer.has_input(2) else ""
    scales = writer.graph.constants.get(name)
    if scales is None or not scales.size:
        return True
    extents = np.array(writer.shape(writer.node.input[0])) * scales
    return bool((extents == np.round(extents)).all())


class _Line:
    """One dimension of a resize."""

    def __init__(
        self,
        writer: Writer,
        index: int,
        axis: int,
        before: list[int],
        after: list[int],
        count: int,
        scale: float | None,
    ):
        self._writer = writer
        self._position, self._axis, self._count = index, axis, count
        self._before, self._after = before[axis], after[axis]
        self._rank, self._common_scale = len(before), scale
        self._mode = writer.attribute("mode", "nearest")
        self._coordinates = writer.attribute("coordinate_transformation_mode", "half_pixel")

    def resized(self, x: str) -> str:
        writer = self._writer
        crops = self._coordinates == "tf_crop_and_resize"
        if self._before == self._after and not crops and not self._is_scaled():
            return x
        has_weights = any(writer.attribute(name, 0) for name in ("antialias", "exclude_outside"))
        if has_weights and self._mode != "nearest":
            return self._filtered(x)
        points = self._points()
        if self._mode == "nearest":
            y = writer.op("Gather", x, self._index(self._rounded(points)), axis=self._axis)
        else:
            y = self._weighted(x, points)
        return self._extrapolated(y, points) if crops else y

    def _is_scaled(self) -> bool:
        """Whether a scale input may stretch a dimension whose extent does not change."""
        return self._writer.has_input(2) and self._writer.shape(self._writer.node.input[2]) != [0]

    def _number(self, value: float) -> str:
        return self._writer.const(np.float32(value))

    def _scale(self) -> str:
        writer = self._writer
        if self._is_scaled():
            return writer.op("Gather", writer.node.input[2], writer.like_int(self._position))
        return self._number(self._common_scale or self._after / self._before)

    def _points(self) -> str:
        """Writes the positions of the results in the tensor."""
        writer, old, new = self._writer, self._before, self._after
        positions = writer.const(np.arange(new, dtype=np.float32))
        mode = self._coordinates
        if mode == "align_corners" and self._is_scaled() and new > 1:
            # ONNX's reference uses the extent before it is truncated to a whole number.
            whole = writer.op("Mul", self._scale(), self._number(old))
            last = writer.op("Sub", whole, self._number(1))
            return writer.op("Div", writer.op("Mul", positions, self._number(old - 1)), last)
        if mode == "align_corners":
            return writer.op(
                "Mul", positions, self._number((old - 1) / (new - 1) if new > 1 else 0)
            )
        if mode == "asymmetric":
            return writer.op("Div", positions, self._scale())
        if mode == "tf_crop_and_resize":
            return self._cropped(positions)
        if mode == "pytorch_half_pixel" and new == 1:
            return self._writer.op("Mul", positions, self._number(0))
        half = self._number(0.5)
        centred = writer.op("Div", writer.op("Add", positions, half), self._scale())
        if mode == _CENTRES:
            return centred
        points = writer.op("Sub", centred, half)
        if mode != "half_pixel_symmetric":
            return points
        whole = writer.op("Mul", self._scale(), self._number(old))
        share = writer.op("Div", self._number(new), whole)
        rest = writer.op("Sub", self._number(1), share)
        return writer.op("Add", points, writer.op("Mul", rest, self._number(old / 2)))

    def _cropped(self, positions: str) -> str:
        writer, old, new = self._writer, self._before, self._after
        roi = writer.cast(writer.node.input[1], _FLOAT)
        start, end = (
            writer.op("Gather", roi, writer.like_int(index))
            for index in (self._position, self._position + self._count)
        )
        if new == 1:
            middle = writer.op("Mul", writer.op("Add", start, end), self._number((old - 1) / 2))
            return writer.op("Add", writer.op("Mul", positions, self._number(0)), middle)
        first = writer.op("Mul", start, self._number(old - 1))
        step = writer.op("Mul", writer.op("Sub", end, start), self._number((old - 1) / (new - 1)))
        return writer.op("Add", writer.op("Mul", positions, step), first)

    def _filtered(self, x: str) -> str:
        """Weights elements by constants: in the wider windows of a smaller result, or inside."""
        writer = self._writer
        scale = self._known_scale()
        points = self._known_points(scale)
        is_cubic = self._mode == "cubic"
        stretch = min(scale, 1.0) if writer.attribute("antialias", 0) else 1.0
        first = int(np.floor(-(2 if is_cubic else 1) / stretch)) + 1
        offsets = range(first, 2 - first)
        if len(offsets) > _MOST_TAPS:
            raise Refused(f"of {len(offsets)} elements for each result is not supported")
        low = np.floor(points)
        positions = low + np.array(offsets).reshape(-1, 1)
        distances = np.abs(positions - points) * stretch
        weights = self._cubic(distances) if is_cubic else np.clip(1 - distances, 0, 1)
        if writer.attribute("exclude_outside", 0):
            weights *= (positions >= 0) & (positions < self._before)
        weights /= weights.sum(0)
        indices = positions.clip(0, self._before - 1).astype(np.int64)
        total = ""
        for index, weight in zip(indices, weights, strict=True):
            total = self._added(total, x, writer.const(index), writer.const(weight, np.float32))
        return total

    def _known_scale(self) -> float:
        writer = self._writer
        if not self._is_scaled():
            return self._common_scale or self._after / self._before
        scales = writer.graph.constants.get(writer.node.input[2])
        if scales is None:
            raise Refused("by filters is supported for constant scales only")
        return float(scales[self._position])

    def _known_points(self, scale: float) -> np.ndarray:
        """Returns the positions of the results in the tensor, like `_points`."""
        old, new, mode = self._before, self._after, self._coordinates
        positions = np.arange(new, dtype=np.float64)
        if mode == "align_corners":
            last = scale * old - 1
            return positions * (old - 1) / last if last else positions * 0
        if mode == "asymmetric":
            return positions / scale
        points = (positions + 0.5) / scale - 0.5
        if mode == _CENTRES:
            return points + 0.5
        if mode == "half_pixel_symmetric":
            return points + old / 2 * (1 - new / (scale * old))
        if mode == "pytorch_half_pixel" and new == 1:
            return positions  # [0]
        if mode == "tf_crop_and_resize":
            raise Refused("of a part by filters is not supported")
        return points

    def _cubic(self, distances: np.ndarray) -> np.ndarray:
        """Returns the weights of Keys's cubic kernel."""
        a, x = float(self._writer.attribute("cubic_coeff_a", -0.75)), distances
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return np.where(x <= 1, near, np.where(x < 2, far, 0.0))

    def _rounded(self, points: str) -> str:
        writer, half = self._writer, self._number(0.5)
        mode = writer.attribute("nearest_mode", "round_prefer_floor")
        if mode == "round_prefer_floor":
            return writer.op("Ceil", writer.op("Sub", points, half))
        if mode == "round_prefer_ceil":
            return writer.op("Floor", writer.op("Add", points, half))
        return writer.op("Floor" if mode == "floor" else "Ceil", points)

    def _index(self, positions: str) -> str:
        writer = self._writer
        low = writer.op("Max", positions, self._number(0))
        return writer.cast(writer.op("Min", low, self._number(self._before - 1)), _INT64)

    def _weighted(self, x: str, points: str) -> str:
        writer = self._writer
        low = writer.op("Floor", points)
        rest = writer.op("Sub", points, low)
        total = ""
        for offset in range(2) if self._mode == "linear" else range(-1, 3):
            index = self._index(writer.op("Add", low, self._number(offset)))
            total = self._added(total, x, index, self._weight(rest, offset))
        return total

    def _added(self, total: str, x: str, index: str, weight: str) -> str:
        """Adds the weighted elements at `index` to a total; indices and weights are [results]."""
        writer = self._writer
        narrow = writer.cast(weight, writer.element(writer.node.input[0]))
        shape = [1] * self._rank
        shape[self._axis] = self._after
        taken = writer.op("Gather", x, index, axis=self._axis)
        value = writer.op("Mul", taken, writer.reshape(narrow, shape))
        return writer.op("Add", total, value) if total else value

    def _weight(self, rest: str, offset: int) -> str:
        writer = self._writer
        if self._mode == "linear":
            return rest if offset else writer.op("Sub", self._number(1), rest)
        a = float(writer.attribute("cubic_coeff_a", -0.75))
        near = (a + 2, -(a + 3), 0.0, 1.0)
        factors = near if offset in (0, 1) else (a, -5 * a, 8 * a, -4 * a)
        distance = writer.op("Abs", writer.op("Sub", rest, self._number(offset)))
        value = self._number(factors[0])
        for factor in factors[1:]:
            value = writer.op("Add", writer.op("Mul", value, distance), self._number(factor))
        return value

    def _extrapolated(self, y: str, points: str) -> str:
        writer = self._writer
        low = writer.op("GreaterOrEqual", points, self._number(0))
        high = writer.op("LessOrEqual", points, self._number(self._before - 1))
        shape = [1] * self._rank
        shape[self._axis] = self._after
        inside = writer.reshape(writer.op("And", low, high), shape)
        element = writer.element(writer.node.input[0])
        value = writer.like(float(writer.attribute("extrapolation_value", 0.0)), element)
        return writer.op("Where", inside, y, value)


RESIZING: dict[str, Rewrite] = {"Resize": _resize}
"""The rewrites, by operator."""

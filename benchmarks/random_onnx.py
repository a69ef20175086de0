"""Draws ONNX models of one to three operators from ONNX's schemas; some of them are invalid."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import onnx
from fitting_operands import FITS
from onnx import defs, helper, numpy_helper
from random_operands import (
    LONGEST_EXTENTS,
    LONGEST_SIZE,
    VIEWED_OPSET,
    VIEWS,
    draw_elements,
    draw_shape,
    lengthened,
    spread,
)

from hipgraft.frontends.onnx.limits import check_inference

OPSETS = (7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 17, 18, 19, 20, 21, 22, 23, 24)
TYPES = ("tensor(float)",) * 6 + (
    "tensor(float16)", "tensor(double)", "tensor(int32)", "tensor(int64)", "tensor(int8)",
    "tensor(int16)", "tensor(uint8)", "tensor(uint16)", "tensor(uint32)", "tensor(uint64)",
    "tensor(bool)",
)  # fmt: skip
SKIPPED = re.compile(
    "Random|Bernoulli|Multinomial|Dropout|Sequence(?!$)|Optional|String|Regex|Image|Tfidf|TfIdf|"
    "Loop|Scan|^If$|Gradient|Adagrad|Adam|Momentum|Unique|NonZero|Constant$|NonMax|Label|MaxUnpool"
)
STRINGS = {
    "auto_pad": ["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"],
    "coordinate_transformation_mode": ["half_pixel", "asymmetric", "align_corners",
                                       "pytorch_half_pixel", "half_pixel_symmetric",
                                       "output_half_pixel", "tf_crop_and_resize"],
    "direction": ["LEFT", "RIGHT", "forward", "reverse", "bidirectional"],
    "mode": ["constant", "reflect", "edge", "wrap", "DCR", "CRD", "nearest", "linear", "cubic",
             "bilinear", "avg", "max"],
    "nearest_mode": ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"],
    "padding_mode": ["zeros", "border", "reflection"],
    "reduction": ["none", "mean", "sum", "add", "mul", "max", "min"],
    "approximate": ["none", "tanh"],
    "keep_aspect_ratio_policy": ["stretch", "not_larger", "not_smaller"],
    "equation": ["ij->ji", "ij,jk->ik", "bij,bjk->bik", "ii->i", "ij->", "ij,ij->", "i,j->ij",
                 "...ij,...jk->...ik", "bhid,bhjd->bhij", "ijk->kji", "ij,kj->ik", "i,i"],
}  # fmt: skip
FOLLOWING: dict[str, tuple[int, dict[str, Any]]] = {
    **dict.fromkeys(("Relu", "Sigmoid", "Abs", "Neg", "Exp", "Not", "Erf", "Sqrt"), (1, {})),
    **dict.fromkeys(("Softmax", "ReduceMax", "ReduceMean", "ReduceSum"), (1, {})),
    **dict.fromkeys(("Flatten", "Transpose", "Shape"), (1, {})),
    **dict.fromkeys(("Add", "Mul", "Sub", "MatMul", "Max", "Equal", "Less", "And"), (2, {})),
    "Concat": (2, {"axis": 0}),
    "Cast": (1, {"to": onnx.TensorProto.FLOAT}),
}
"""Operators that read the previous result, how often, and with which attributes."""
OPERANDS = re.compile(
    "^(axes|axis|shape|k|repeats|pads|starts|ends|steps|split|sizes|depth|output_shape|K)$"
)


@dataclass(frozen=True)
class Draft:
    """A model of one operator that may be invalid.

    Attributes:
        op: name of the operator.
        opset: version of the default domain.
        attributes: attributes that are given.
        inputs: arrays, None for an omitted one.
        constant: indices of the inputs that are initialisers.
        outputs: number of requested results.
        following: operators that read the first result, one after the other.
        views: names of the views through which the inputs are read, by their indices.
        is_square: whether the second input is the first one.
        keeps: whether the first result is a result of the model, too, if operators follow.
        skips: whether the first result is omitted.
        dynamic: extents that are symbolic dimensions, each of which has one name.
    """

    op: str
    opset: int
    attributes: dict[str, Any]
    inputs: list[np.ndarray | None]
    constant: list[bool] = field(default_factory=list)
    outputs: int = 1
    following: tuple[str, ...] = ()
    views: dict[int, str] = field(default_factory=dict)
    is_square: bool = False
    keeps: bool = False
    skips: bool = False
    dynamic: frozenset[int] = frozenset()

    def model(self) -> onnx.ModelProto:
        """Returns the model, with result shapes from inference."""
        names = [f"x{i}" if one is not None else "" for i, one in enumerate(self.inputs)]
        infos, tensors, nodes = [], [], []
        for index, array in self._given():
            if self.constant[index]:
                tensors.append(numpy_helper.from_array(array, names[index]))
                continue
            stored = self._stored(index)
            source = names[index] if stored is array else f"s{index}"
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            extents = [f"d{one}" if one in self.dynamic else one for one in stored.shape]
            infos.append(helper.make_tensor_value_info(source, kind, extents))
            if stored is not array:
                node, constants = VIEWS[self.views[index]].nodes(array, source, names[index])
                nodes.append(node)
                tensors += constants
        if self.is_square:
            names[1] = names[0]
        while names and not names[-1]:
            names.pop()
        results = ["" if self.skips and not i else f"y{i}" for i in range(self.outputs)]
        nodes.append(helper.make_node(self.op, names, results, name="node", **self.attributes))
        last = "y0"
        for index, op in enumerate(self.following):
            count, attributes = FOLLOWING[op]
            operands, last = [last] * count, f"z{index}"
            name = f"following{index}"
            nodes.append(helper.make_node(op, operands, [last], name=name, **attributes))
        kept = ["y0"] if self.keeps and self.following else []
        ends = [*([] if self.skips else [last]), *kept, *results[1:]]
        outputs = [onnx.ValueInfoProto(name=name) for name in ends]
        graph = helper.make_graph(nodes, "g", infos, outputs, tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = 10
        check_inference(model)
        return onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)

    def feeds(self) -> dict[str, np.ndarray]:
        """Returns the inputs by name."""
        feeds = {}
        for index, array in self._given():
            stored = self._stored(index)
            if not self.constant[index]:
                feeds[f"x{index}" if stored is array else f"s{index}"] = stored
        return {name: np.asarray(array) for name, array in feeds.items()}

    def _given(self) -> Iterator[tuple[int, np.ndarray]]:
        for index, array in enumerate(self.inputs):
            if array is not None and not (index == 1 and self.is_square):
                yield index, array

    def _stored(self, index: int) -> np.ndarray:
        """Returns the array stored for an input: the input itself if no view applies."""
        array = self.inputs[index]
        if index not in self.views or self.constant[index]:
            return array
        stored = VIEWS[self.views[index]].stored(array)
        return array if stored is None else stored


def draft(rng: random.Random, pattern: str) -> Draft:
    """Draws a model from the schemas of the operators whose name matches a pattern."""
    found = _matching(pattern)
    opset = rng.choice([opset for opset in OPSETS if found[opset]])
    schema = defs.get_schema(rng.choice(found[opset]), opset)
    kinds = _kinds(rng, schema)
    if not all(_is_drawn(formal, kinds) for formal in schema.inputs):
        return draft(rng, pattern)
    shape = draw_shape(rng)
    inputs: list[np.ndarray | None] = []
    for formal in _formals(rng, schema):
        omitted = formal.option == defs.OpSchema.FormalParameterOption.Optional
        omitted = omitted and rng.random() < 0.5
        inputs.append(None if omitted else _array(rng, formal, kinds, shape))
    attributes = _attributes(rng, schema, shape)
    if schema.name in FITS and rng.random() < 0.9:
        FITS[schema.name](rng, inputs, attributes)
    names = _names(schema, len(inputs))
    constant = [
        array is not None and (bool(OPERANDS.match(name)) or rng.random() < 0.15)
        for array, name in zip(inputs, names, strict=True)
    ]
    outputs = rng.randint(max(schema.min_output, 1), max(min(schema.max_output, 3), 1))
    following = tuple(rng.choices(tuple(FOLLOWING), k=rng.choice((0, 0, 0, 0, 1, 1, 2))))
    if rng.random() < 0.08:
        constant = [array is not None for array in inputs]
    views = _views(rng, inputs, constant) if opset >= VIEWED_OPSET else {}
    is_square = len(inputs) > 1 and _is_alike(inputs[0], inputs[1]) and rng.random() < 0.08
    if is_square:
        inputs[1] = inputs[0]
    return Draft(
        schema.name,
        opset,
        attributes,
        inputs,
        constant,
        outputs,
        following,
        views,
        is_square,
        keeps=rng.random() < 0.3,
        skips=outputs > 1 and not following and rng.random() < 0.1,
    )


def with_dynamic_extents(rng: random.Random, candidate: Draft) -> Draft:
    """Makes most extents symbolic, but not 0 and 1, which programs with dynamic shapes reject."""
    extents = sorted({extent for array in candidate.feeds().values() for extent in array.shape})
    dynamic = frozenset(extent for extent in extents if extent > 1 and rng.random() < 0.8)
    return replace(candidate, dynamic=dynamic)


def with_long_extents(rng: random.Random, candidate: Draft) -> Draft:
    """Makes one or two extents as long as those of real models, so that kernels need many waves.

    Attributes and operands that are shapes or axes stay, so that fewer of the models are valid.
    """
    inputs = list(candidate.inputs)
    names = _names(defs.get_schema(candidate.op, candidate.opset), len(inputs))
    places = [
        index
        for index, (one, name) in enumerate(zip(inputs, names, strict=True))
        if one is not None and not OPERANDS.match(name)
    ]
    extents = sorted({extent for index in places for extent in inputs[index].shape if extent > 1})
    for extent in rng.sample(extents, min(len(extents), rng.choice((1, 1, 2)))):
        longer = rng.choice(LONGEST_EXTENTS)
        sizes = [
            math.prod(longer if each == extent else each for each in inputs[index].shape)
            for index in places
        ]
        if sum(sizes) <= LONGEST_SIZE:
            for index in places:
                inputs[index] = lengthened(rng, inputs[index], extent, longer)
    if candidate.is_square:
        inputs[1] = inputs[0]
    return replace(candidate, inputs=inputs)


@cache
def _matching(pattern: str) -> dict[int, list[str]]:
    """Returns the names of operators that match a pattern, by opset."""
    return {
        opset: [name for name in _operators(opset) if re.search(pattern, name)] for opset in OPSETS
    }


def _views(
    rng: random.Random, inputs: list[np.ndarray | None], constant: list[bool]
) -> dict[int, str]:
    """Draws views of inputs, some of which get equal rows."""
    views = {}
    for index, array in enumerate(inputs):
        if array is not None and not constant[index] and rng.random() < 0.15:
            views[index] = rng.choice(tuple(VIEWS))
            if views[index] == "expanded":
                inputs[index] = spread(rng, array)
    return views


def _is_alike(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    return one is not None and other is not None and one.dtype == other.dtype


@cache
def _operators(opset: int) -> list[str]:
    found = {s.name for s in defs.get_all_schemas_with_history() if s.domain == ""}
    return sorted(
        name
        for name in found
        if not SKIPPED.search(name)
        and defs.has(name, opset)
        and not defs.get_schema(name, opset).deprecated
    )


def _names(schema: Any, count: int) -> list[str]:
    names = [formal.name for formal in schema.inputs]
    return (names + names[-1:] * count)[:count] if names else []


def _formals(rng: random.Random, schema: Any) -> Iterator[Any]:
    for formal in schema.inputs:
        is_variadic = formal.option == defs.OpSchema.FormalParameterOption.Variadic
        for _ in range(rng.randint(1, 3) if is_variadic else 1):
            yield formal


def _kinds(rng: random.Random, schema: Any) -> dict[str, str]:
    """Draws a type for each of the schema's type parameters."""
    kinds = {}
    for constraint in schema.type_constraints:
        allowed = [kind for kind in TYPES if kind in constraint.allowed_type_strs]
        kinds[constraint.type_param_str] = rng.choice(allowed or constraint.allowed_type_strs)
    return kinds


def _is_drawn(formal: Any, kinds: dict[str, str]) -> bool:
    return kinds.get(formal.type_str, formal.type_str) in TYPES


def _array(rng: random.Random, formal: Any, kinds: dict[str, str], shape: list[int]) -> np.ndarray:
    kind = kinds.get(formal.type_str, formal.type_str)
    dtype = _dtype(kind)
    draw = np.random.default_rng(rng.getrandbits(32))
    if OPERANDS.match(formal.name):
        count = rng.choice((0, 1, 1, len(shape), 2 * len(shape)))
        extents = [] if formal.name in ("axis", "depth") else [count]
        return draw.integers(-2, 4, extents).astype(dtype)
    if formal.name == "sequence_lens":
        return draw.integers(1, max([1, *shape[:1]]) + 1, shape[1:2] or [1]).astype(dtype)
    return draw_elements(rng, _variation(rng, shape), dtype)


def _dtype(kind: str) -> np.dtype:
    name = kind.removeprefix("tensor(").removesuffix(")")
    return np.dtype({"float": "float32", "double": "float64"}.get(name, name))


def _variation(rng: random.Random, shape: list[int]) -> list[int]:
    """Draws a shape that broadcasts with `shape`, is a vector's, or differs."""
    choice = rng.random()
    if choice < 0.6:
        return shape
    if choice < 0.75:
        return [extent if rng.random() < 0.5 else 1 for extent in shape[rng.randint(0, 1) :]]
    if choice < 0.9 and shape:
        return [rng.choice(shape)]
    return draw_shape(rng)


def _attributes(rng: random.Random, schema: Any, shape: list[int]) -> dict[str, Any]:
    chosen = {}
    for name, attribute in schema.attributes.items():
        if not attribute.required and rng.random() < 0.5:
            continue
        value = _value(rng, name, attribute, len(shape))
        if value is not None:
            chosen[name] = value
    return chosen


def _value(rng: random.Random, name: str, attribute: Any, rank: int) -> Any:
    kind = attribute.type.name
    spatial = max(rank - 2, 1)
    if kind == "STRING":
        return rng.choice(STRINGS[name]) if name in STRINGS else None
    if name in ("to", "dtype", "output_dtype"):
        return rng.choice((1, 2, 3, 6, 7, 9, 10, 11, 12))
    if kind == "INT":
        return rng.choice((0, 1, 1, 2, -1, -2, 3))
    if kind == "FLOAT":
        return rng.choice((0.0, 0.5, 1.0, 2.0, -1.0))
    if kind == "INTS":
        if name in ("perm",):
            return rng.sample(range(rank), rank)
        if name in ("pads",):
            return [rng.choice((0, 0, 1, 2)) for _ in range(2 * spatial)]
        count = spatial if "axes" not in name else rng.randint(1, max(rank, 1))
        return [rng.choice((1, 1, 2, 3)) for _ in range(count)]
    return None

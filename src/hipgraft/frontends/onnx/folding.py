"""Evaluates the constant parts of an ONNX graph: shape computations and small tables."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import ml_dtypes
import numpy as np
import onnx
from onnx import NodeProto, numpy_helper
from onnx.reference import ReferenceEvaluator

from hipgraft.frontends.onnx.limits import memory_limit
from hipgraft.ir.foreign_data import malformed

# The memory limit for a node with a small result; larger nodes are tables, which are not folded.
_MOST_MEMORY = 64 << 20

_MOST_ELEMENTS = 4096
"""The size limit of folded results; kernels compute larger tables faster than files load."""

MOST_DECISIVE = 1 << 20
"""The size limit of what decides how many elements another node has."""

_DECIDED = frozenset({"Compress", "NonMaxSuppression", "NonZero", "Unique"})
"""The operators whose number of results depends on values."""

_FOLDS = frozenset(
    {"Abs", "Add", "And", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast",
     "CastLike", "Ceil", "Clip", "Compress", "Concat", "Constant", "ConstantOfShape", "Cos",
     "CumSum", "Div", "Equal", "Erf", "Exp", "Expand", "EyeLike", "Flatten", "Floor", "Gather",
     "GatherElements", "GatherND", "Greater", "GreaterOrEqual", "Identity", "IsInf", "IsNaN",
     "Less", "LessOrEqual", "Log", "MatMul", "Max", "Mean", "Min", "Mod", "Mul", "Neg",
     "NonMaxSuppression", "NonZero", "Not", "OneHot", "Or", "Pad", "Pow", "Range", "Reciprocal",
     "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "Relu", "Reshape", "Round",
     "ScatterElements", "ScatterND", "Shape", "Sigmoid", "Sign", "Sin", "Size", "Slice", "Split",
     "Sqrt", "Squeeze", "Sub", "Sum", "Tan", "Tanh", "Tile", "TopK", "Transpose", "Trilu", "Unique",
     "Unsqueeze", "Where", "Xor"}
)  # fmt: skip
"""What computes shapes, indices and tables; the evaluator gets several other operators wrong."""

_SUMS = frozenset({"CumSum", "MatMul", "Mean", "ReduceMean", "ReduceProd", "ReduceSum", "Sum"})
"""The operators that are evaluated in f32 if their operands have 16 bits."""

_NARROW = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))

_Constants = dict[str, np.ndarray]


def fold_constants(model: onnx.ModelProto, *, opaque: Collection[str] = ()) -> bool:
    """Replaces nodes whose inputs are all small constants by initialisers.

    `Shape` and `Size` of a value with a known static shape are constants, and an `If` with a
    constant condition becomes its branch.

    Args:
        model: a model with inferred shapes; changed in place.
        opaque: names of initialisers whose data is not available.

    Returns:
        Whether anything was folded.
    """
    graph = model.graph
    decisive = decisive_values(graph)
    constants = small_constants(graph, opaque, decisive)
    shapes = _static_shapes(graph)
    elements = {
        value.name: value.type.tensor_type.elem_type for value in [*graph.value_info, *graph.output]
    }
    kept: list[NodeProto] = []
    for node in graph.node:
        branch = _constant_branch(node, constants)
        if branch is not None:
            kept += _inlined(node, branch)
            graph.initializer.extend(branch.initializer)
            continue
        is_decisive = not decisive.isdisjoint(node.output)
        most = MOST_DECISIVE if is_decisive else _MOST_ELEMENTS
        values = _evaluate(node, constants, shapes, model, most)
        if values is not None and not _has_types(values, elements, shapes):
            values = None
        if values is None:
            kept.append(node)
            continue
        constants.update(values)
        _tell_results(graph, values)
        graph.initializer.extend(numpy_helper.from_array(v, n) for n, v in values.items())
    changed = kept != list(graph.node)
    if changed:
        del graph.node[:]
        graph.node.extend(kept)
        _drop_unused(graph)
    return changed


def decisive_values(graph: onnx.GraphProto) -> set[str]:
    """Returns the constants that determine the sizes of other values, and these other values."""
    constant = {tensor.name for tensor in graph.initializer} | {""}
    folds: list[NodeProto] = []
    for node in graph.node:
        if node.op_type in _FOLDS and constant.issuperset(node.input):
            constant.update(node.output)
            folds.append(node)
    found: set[str] = set()
    for node in reversed(folds):
        if node.op_type in _DECIDED:
            found.update(node.output)
        if not found.isdisjoint(node.output):
            found.update(node.input)
    return found


def small_constants(
    graph: onnx.GraphProto, opaque: Collection[str], decisive: Collection[str] = ()
) -> _Constants:
    """Returns the elements of initialisers that may be folded, by name.

    Args:
        graph: a graph.
        opaque: names of initialisers whose data is not available.
        decisive: names of initialisers to which a higher size limit applies.

    Raises:
        HipgraftError: the data of an initialiser does not fit its shape.
    """
    found: dict[str, np.ndarray] = {}
    for tensor in graph.initializer:
        most = MOST_DECISIVE if tensor.name in decisive else _MOST_ELEMENTS
        if tensor.name not in opaque and _elements(tensor.dims) <= most:
            with malformed(f"initializer '{tensor.name}'", ""):
                found[tensor.name] = numpy_helper.to_array(tensor)
    return found


def _elements(dims: Collection[int]) -> int:
    return math.prod(dims)  # Python's integers do not overflow


def _static_shapes(graph: onnx.GraphProto) -> dict[str, list[int]]:
    shapes = {tensor.name: list(tensor.dims) for tensor in graph.initializer}
    for value in [*graph.value_info, *graph.input, *graph.output]:
        tensor = value.type.tensor_type
        if tensor.HasField("shape") and all(dim.HasField("dim_value") for dim in tensor.shape.dim):
            shapes[value.name] = [dim.dim_value for dim in tensor.shape.dim]
    return shapes


def _constant_branch(
    node: NodeProto, constants: Mapping[str, np.ndarray]
) -> onnx.GraphProto | None:
    is_if = node.op_type == "If" and node.domain in ("", "ai.onnx")
    condition = constants.get(node.input[0]) if is_if else None
    if condition is None or condition.size != 1:
        return None
    taken = "then_branch" if bool(condition.item()) else "else_branch"
    branch = next((attribute.g for attribute in node.attribute if attribute.name == taken), None)
    return branch if branch and len(branch.output) == len(node.output) else None


def _inlined(node: NodeProto, branch: onnx.GraphProto) -> list[NodeProto]:
    """Returns the branch's nodes, with its outputs renamed to the outputs of the `If`."""
    nodes = list(branch.node)
    for inside in nodes:
        inside.name = node.name  # locates errors
    for inner, outer in zip(branch.output, node.output, strict=True):
        nodes.append(onnx.helper.make_node("Identity", [inner.name], [outer], name=node.name))
    return nodes


def _evaluate(
    node: NodeProto,
    constants: Mapping[str, np.ndarray],
    shapes: Mapping[str, list[int]],
    model: onnx.ModelProto,
    most_elements: int,
) -> _Constants | None:
    if node.op_type in ("Shape", "Size") and node.input[0] in shapes:
        return _extent(node, shapes[node.input[0]])
    inputs = {name for name in node.input if name}
    if node.op_type not in _FOLDS or not inputs <= constants.keys():
        return None
    if any(_elements(shapes.get(name, [])) > most_elements for name in node.output):
        return None
    operands = {name: constants[name] for name in inputs}
    if any(
        _has_nan(array) for array in operands.values()
    ):  # implementations order these in different ways
        return None
    return evaluate(node, operands, model, most_elements=most_elements)


def _has_nan(array: np.ndarray) -> bool:
    return array.dtype.kind == "f" and bool(np.isnan(array).any())


def _tell_results(graph: onnx.GraphProto, values: Mapping[str, np.ndarray]) -> None:
    """Declares the shapes of constant results, which ONNX does not infer."""
    for result in graph.output:
        if result.name in values:
            array = values[result.name]
            kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
            result.CopyFrom(onnx.helper.make_tensor_value_info(result.name, kind, array.shape))


def _has_types(
    values: _Constants, elements: Mapping[str, int], shapes: Mapping[str, list[int]]
) -> bool:
    """Whether values have the inferred types.

    The evaluator widens some integers, and adds dimensions to results of `GlobalMaxPool`.
    """
    return all(
        elements.get(name, 0) in (0, onnx.helper.np_dtype_to_tensor_dtype(value.dtype))
        and shapes.get(name, list(value.shape)) == list(value.shape)
        for name, value in values.items()
    )


def _extent(node: NodeProto, shape: list[int]) -> _Constants:
    if node.op_type == "Size":
        return {node.output[0]: np.array(min(_elements(shape), 2**63 - 1), dtype=np.int64)}
    bounds = {attribute.name: attribute.i for attribute in node.attribute}
    part = shape[bounds.get("start") : bounds.get("end")]
    return {node.output[0]: np.array(part, dtype=np.int64)}


def evaluate(
    node: NodeProto,
    inputs: Mapping[str, np.ndarray],
    model: onnx.ModelProto,
    *,
    most_elements: int = _MOST_ELEMENTS,
) -> _Constants | None:
    """Evaluates a node with ONNX's reference implementation.

    Args:
        node: node without bodies.
        inputs: its operands by name.
        model: model of the node, for the versions of operators.
        most_elements: size limit of each result.

    Returns:
        The results by name; None if one is too large, or if the operator cannot be evaluated.
    """
    outputs = [name for name in node.output if name]
    graph = onnx.helper.make_graph(
        [node],
        "fold",
        [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in inputs],
        [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in outputs],
    )
    single = onnx.helper.make_model(graph, opset_imports=model.opset_import)
    # NumPy rounds each partial sum to 16 bits, which may also overflow.
    narrow = [one.dtype for one in inputs.values() if one.dtype in _NARROW]
    is_wide = bool(narrow) and node.op_type in _SUMS
    operands = {
        name: one.astype(np.float32) if is_wide and one.dtype in _NARROW else one
        for name, one in inputs.items()
    }
    try:
        with memory_limit(_MOST_MEMORY), np.errstate(all="ignore"):
            values = ReferenceEvaluator(single).run(outputs, operands)
    except Exception:  # an op or type that the evaluator does not know stays in the graph
        return None
    if any(isinstance(value, list) for value in values):  # a sequence of tensors
        return None
    arrays = [np.asarray(value, narrow[0] if is_wide else None) for value in values]
    if any(array.size > most_elements or array.dtype == object for array in arrays):
        return None
    return dict(zip(outputs, arrays, strict=True))


def _drop_unused(graph: onnx.GraphProto) -> None:
    used = _names_used(graph) | {value.name for value in graph.output}
    for tensor in [tensor for tensor in graph.initializer if tensor.name not in used]:
        graph.initializer.remove(tensor)


def _names_used(graph: onnx.GraphProto) -> set[str]:
    names: set[str] = set()
    for node in graph.node:
        names.update(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                names |= _names_used(attribute.g)
                names |= {value.name for value in attribute.g.output}
    return names

"""Recognises layer and RMS normalisation from their arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import arith_d, ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.tensors import element_type_of, shape_of
from hipgraft.transforms.recognition.values import (
    Rules,
    check_interior,
    interior,
    is_narrow,
    made_by,
    make_window,
    mode_of,
    only_reader,
    readers,
    same,
    split_splat,
    through_casts,
    through_widenings,
    window,
)


@dataclass
class _Norm:
    """A recognised normalisation; its op computes `root`."""

    x: ir.Value
    centred: bool
    dims: list[int]
    epsilon: float
    root: ir.Value
    scale: ir.Value | None = None
    bias: ir.Value | None = None


def recognize_norm(op: ir.Operation, rules: Rules) -> str | None:
    """Replaces `x / sqrt(mean(x²) + epsilon)`, of x or of `x - mean(x)`; `op` is the mean.

    A factor and a summand that have the extents of the normalised dimensions become its scale
    and bias.
    """
    x = _squared(op)
    end = None if x is None else _inverse_root(op)
    if x is None or end is None:
        return None
    inverse, epsilon = end
    root = _scaled(inverse, x)
    dims = hipdnn.ReductionOp(op).axes
    source = _centred(x, dims)
    norm = _Norm(x if source is None else source, source is not None, dims, epsilon, root)
    _add_parameters(norm, rules)
    return _replace(norm, rules)


def _squared(op: ir.Operation) -> ir.Value | None:
    """Returns the value whose squares `op` averages."""
    square = made_by(op.operands[0], "mul")
    if square is None or not same(*square.operands):
        return None
    return through_widenings(square.operands[0])


def _inverse_root(op: ir.Operation) -> tuple[ir.Operation, float] | None:
    """Returns the op of `1 / sqrt(mean + epsilon)` or `sqrt(mean + epsilon)`, and epsilon."""
    shifted = only_reader(op.results[0])
    root = None if mode_of(shifted) != "add" or shifted is None else _root_of(shifted)
    if shifted is None or root is None:
        return None
    split = split_splat(shifted)
    if split is None:
        raise Declined("epsilon", "the epsilon of a normalisation is not a constant")
    return root, split[1]


def _root_of(shifted: ir.Operation) -> ir.Operation | None:
    root = only_reader(shifted.results[0])
    if mode_of(root) == "sqrt" and root is not None:
        inverse = only_reader(root.results[0])
        return inverse if mode_of(inverse) == "reciprocal" else root
    return root if mode_of(root) == "rsqrt" else None


def _scaled(inverse: ir.Operation, x: ir.Value) -> ir.Value:
    """Returns the product of x and the inverse root, or the quotient of x and the root."""
    end = only_reader(inverse.results[0])
    wanted = "div" if mode_of(inverse) == "sqrt" else "mul"
    if end is None or mode_of(end) != wanted:
        raise Declined("root-use", "an inverse root mean square does not scale one tensor")
    is_inverse = [same(operand, inverse.results[0]) for operand in end.operands]
    other = end.operands[0] if is_inverse[1] else end.operands[1]
    if (wanted == "div" and not is_inverse[1]) or not same(other, x):
        raise Declined("other-tensor", "what is normalised is not what was squared")
    return end.results[0]


def _centred(x: ir.Value, dims: Sequence[int]) -> ir.Value | None:
    """Returns the value whose deviation from its mean is x, None if x is not a deviation."""
    difference = made_by(x, "sub")
    mean = None if difference is None else made_by(difference.operands[1], "AVG")
    if difference is None or mean is None or not same(mean.operands[0], difference.operands[0]):
        return None
    if hipdnn.ReductionOp(mean).axes != list(dims):
        raise Declined("other-mean", "mean and variance are not over the same dimensions")
    return through_widenings(difference.operands[0])


def _add_parameters(norm: _Norm, rules: Rules) -> None:
    """Absorbs the scale and the bias that follow, and a last cast."""
    for mode, name in (("mul", "scale"), ("add", "bias")):
        if norm.bias is None and (mode == "mul" or norm.scale is not None):
            _add_parameter(norm, mode, name, rules)
    cast = _last_cast(norm.root)
    if cast is not None:
        norm.root = cast


def _add_parameter(norm: _Norm, mode: str, name: str, rules: Rules) -> None:
    reader = only_reader(norm.root)
    if reader is None or mode_of(reader) != mode:
        return
    others = [value for value in reader.operands if through_casts(value) != norm.root]
    between = interior(reader.results[0], [norm.root, *others])[1:]
    rounds = any(is_narrow(element_type_of(op.results[0])) for op in between)
    if rounds and not rules.drop_roundings:
        return
    if len(others) == 1 and _is_parameter(others[0], norm):
        setattr(norm, name, others[0])
        norm.root = reader.results[0]


def _last_cast(value: ir.Value) -> ir.Value | None:
    found = readers(value)
    if len(found) == 1 and mode_of(found[0]) == "identity" and defining_op(value) is not None:
        return found[0].results[0]
    return None


def _is_parameter(value: ir.Value, norm: _Norm) -> bool:
    """Whether a value has the extents of x in the normalised dimensions and 1 elsewhere."""
    return _aligned(value, len(shape_of(norm.x))) == _parameter_shape(norm)


def _aligned(value: ir.Value, rank: int) -> tuple[int, ...]:
    return (1,) * (rank - len(shape_of(value))) + shape_of(value)


def _parameter_shape(norm: _Norm) -> tuple[int, ...]:
    shape = shape_of(norm.x)
    return tuple(extent if dim in norm.dims else 1 for dim, extent in enumerate(shape))


def _trailing_count(norm: _Norm) -> int:
    """Returns the number of trailing dimensions that are normalised."""
    shape = shape_of(norm.x)
    first = min(norm.dims)
    if any(shape[dim] > 1 and dim not in norm.dims for dim in range(first, len(shape))):
        raise Declined("inner-dimensions", "the normalised dimensions are not the last ones")
    return len(shape) - first


def _replace(norm: _Norm, rules: Rules) -> str:
    given = [value for value in (norm.scale, norm.bias) if value is not None]
    count = _trailing_count(norm) if norm.centred else 0
    check_interior(norm.root, [norm.x, *given], rules)
    end = defining_op(norm.root)
    assert end is not None
    with ir.InsertionPoint(end), end.location:
        y = _layernorm(norm, count) if norm.centred else _rmsnorm(norm)
    norm.root.replace_all_uses_with(y)
    return "layernorm" if norm.centred else "rmsnorm"


def _layernorm(norm: _Norm, count: int) -> ir.Value:
    return hipdnn.layernorm(
        norm.x,
        _parameter(norm, norm.scale, 1.0),
        _parameter(norm, norm.bias, 0.0),
        _epsilon(norm),
        forward_phase="INFERENCE",
        normalized_dim_count=count,
        result_type=norm.root.type,
    )


def _rmsnorm(norm: _Norm) -> ir.Value:
    return hipdnn.rmsnorm(
        norm.x,
        _parameter(norm, norm.scale, 1.0),
        _epsilon(norm),
        None if norm.bias is None else _parameter(norm, norm.bias, 0.0),
        forward_phase="INFERENCE",
        result_type=norm.root.type,
    )


def _parameter(norm: _Norm, given: ir.Value | None, default: float) -> ir.Value:
    shape = _parameter_shape(norm)
    if given is None:
        return _splat(default, shape, element_type_of(norm.x))
    base, view = window(through_widenings(given))
    aligned = view.expand(shape)
    return make_window(base, aligned)


def _epsilon(norm: _Norm) -> ir.Value:
    f64 = ir.F64Type.get()
    return _splat(norm.epsilon, (1,), f64 if element_type_of(norm.x) == f64 else ir.F32Type.get())


def _splat(value: float, shape: Sequence[int], element: ir.Type) -> ir.Value:
    number = ir.FloatAttr.get(element, value)
    kind = ir.RankedTensorType.get(shape, element)
    return arith_d.ConstantOp(kind, ir.DenseElementsAttr.get_splat(kind, number)).result

"""Elements read from a slice of a tensor: `tensor.extract` of a `tensor.extract_slice`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import arith_d, ir
from hipgraft.ir.io import walk

EXTRACT_OF_SLICE = Workaround(
    name="extract-of-slice",
    fault="If a loop with a `tensor.extract` is vectorized, the read becomes a `vector.gather` at "
    "linear positions computed from the extents of the tensor. A slice becomes a "
    "`memref.subview` with the strides of its source, so the gather reads wrong elements. "
    "Slices of whole rows are contiguous and read correctly.",
    effect=Effect.WRONG,
    targets="AMDGPU, CUDA",
    remedy="After the flow phase, which also folds transpositions of slices into reads, each "
    "`tensor.extract` of a dispatch reads the source of the slice with the slice's offsets added.",
)

_EXTRACT = "tensor.extract"
_SLICE = "tensor.extract_slice"
_COLLAPSE = "tensor.collapse_shape"
_EXPAND = "tensor.expand_shape"
_CAST = "tensor.cast"
_LOAD = "iree_tensor_ext.dispatch.tensor.load"  # a slice of a dispatch's operand

_DYNAMIC = ir.ShapedType.get_dynamic_size()

_Index = int | ir.Value


def read_whole_sources(module: ir.Module) -> int:
    """Rewrites each `tensor.extract` from a slice to read the slice's source; returns how many."""
    if not EXTRACT_OF_SLICE.is_on:
        return 0
    behind = [op for op in _reads(module) if _slice_behind(op.operands[0]) is not None]
    with module.context:
        for op in behind:
            _read_whole_source(op)
    return len(behind)


def _reads(module: ir.Module) -> Iterator[ir.Operation]:
    return (op for op in walk(module.operation) if op.name == _EXTRACT)


def _owner(value: ir.Value) -> ir.Operation | None:
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def _slice_behind(value: ir.Value) -> ir.Operation | None:
    """Returns the slice that defines `value`, or that `value` reshapes; None if there is none."""
    owner = _owner(value)
    while owner is not None and owner.name in (_COLLAPSE, _EXPAND, _CAST):
        owner = _owner(owner.operands[0])
    return owner if owner is not None and _is_part(owner) else None


def _is_part(op: ir.Operation) -> bool:
    """Whether an op reads a part of a tensor."""
    if op.name != _LOAD:
        return op.name == _SLICE
    offsets, steps = _mixed(op, "offsets"), _mixed(op, "strides")
    return any(offsets) or steps != [1] * len(steps) or _mixed(op, "sizes") != _whole_sizes(op)


def _read_whole_source(op: ir.Operation) -> None:
    value, indices = op.operands[0], list(op.operands)[1:]
    while _slice_behind(value) is not None:
        owner = _owner(value)
        assert owner is not None
        with ir.InsertionPoint(op), op.location:
            indices = _STEPS[owner.name](owner, indices)
        value = _whole_load(owner) if owner.name == _LOAD else owner.operands[0]
    with ir.InsertionPoint(op), op.location:
        read = ir.Operation.create(_EXTRACT, results=[op.result.type], operands=[value, *indices])
    op.result.replace_all_uses_with(read.result)
    op.erase()


def _loaded_type(op: ir.Operation) -> ir.RankedTensorType:
    """Returns the type of the whole tensor that a dispatch's load reads from."""
    # `!iree_tensor_ext.dispatch.tensor<readonly:tensor<12x8xf32>>` has no class in the bindings.
    _, _, inner = str(op.operands[0].type).partition(":")
    return ir.RankedTensorType(ir.Type.parse(inner.removesuffix(">"), op.context))


def _dims(op: ir.Operation) -> list[ir.Value]:
    """Returns the dynamic extents of a load's operand."""
    return list(op.operands)[1 : 1 + _segments(op)[1]]


def _whole_sizes(op: ir.Operation) -> list[_Index]:
    dims = iter(_dims(op))
    return [next(dims) if extent == _DYNAMIC else extent for extent in _loaded_type(op).shape]


def _whole_load(op: ir.Operation) -> ir.Value:
    """Emits a load of the whole tensor of which a load reads a part."""
    kind, dims = _loaded_type(op), _dims(op)
    segments = [1, len(dims), 0, len(dims), 0]
    attributes: dict[str, ir.Attribute] = {
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get(segments, op.context),
        "static_offsets": ir.DenseI64ArrayAttr.get([0] * kind.rank, op.context),
        "static_sizes": ir.DenseI64ArrayAttr.get(kind.shape, op.context),
        "static_strides": ir.DenseI64ArrayAttr.get([1] * kind.rank, op.context),
    }
    operands = [op.operands[0], *dims, *dims]
    with ir.InsertionPoint(op), op.location:
        return ir.Operation.create(
            _LOAD, results=[kind], operands=operands, attributes=attributes
        ).result


def _sliced(op: ir.Operation, indices: Sequence[ir.Value]) -> list[ir.Value]:
    """Returns the indices in the source of a slice."""
    offsets, steps = _mixed(op, "offsets"), _mixed(op, "strides")
    kept = _kept_dims(op)
    inner = iter(indices)
    return [
        _sum(offset, _product(next(inner), step)) if dim in kept else _value(offset)
        for dim, (offset, step) in enumerate(zip(offsets, steps, strict=True))
    ]


def _kept_dims(op: ir.Operation) -> set[int]:
    """Returns the dims of a slice's source that its result keeps; the others have extent 1."""
    shape = list(ir.RankedTensorType(op.result.type).shape)
    sizes = _numbers(op, "static_sizes")
    kept: set[int] = set()
    for dim, size in enumerate(sizes):
        if len(kept) < len(shape) and size == shape[len(kept)]:
            kept.add(dim)
    return kept


def _collapsed(op: ir.Operation, indices: Sequence[ir.Value]) -> list[ir.Value]:
    """Returns the indices in the source of a `tensor.collapse_shape`."""
    source = op.operands[0]
    extents = [_extent(source, dim) for dim in range(_rank(source))]
    inner: list[ir.Value] = []
    for group, index in zip(_groups(op), indices, strict=True):
        inner += _split(index, [extents[dim] for dim in group])
    return inner or [_value(0) for _ in extents]


def _split(index: ir.Value, extents: Sequence[_Index]) -> list[ir.Value]:
    """Returns the indices in several dims for an index in the dim that they collapse to."""
    indices: list[ir.Value] = []
    moving = [dim for dim, extent in enumerate(extents) if extent != 1]
    for dim in reversed(range(len(extents))):
        if dim not in moving:
            indices.append(_value(0))
        elif dim == moving[0]:
            indices.append(index)
        else:
            extent = _value(extents[dim])
            indices.append(_op("arith.remui", index, extent))
            index = _op("arith.divui", index, extent)
    return indices[::-1]


def _expanded(op: ir.Operation, indices: Sequence[ir.Value]) -> list[ir.Value]:
    """Returns the indices in the source of a `tensor.expand_shape`."""
    inner: list[ir.Value] = []
    for group in _groups(op):
        index = _value(0)
        for count, dim in enumerate(group):
            extent = _extent(op.result, dim)
            if extent != 1:
                index = _sum(indices[dim], _product(index, extent) if count else 0)
        inner.append(index)
    return inner


def _cast(_: ir.Operation, indices: Sequence[ir.Value]) -> list[ir.Value]:
    return list(indices)


_STEPS = {_SLICE: _sliced, _LOAD: _sliced, _COLLAPSE: _collapsed, _EXPAND: _expanded, _CAST: _cast}


def _rank(value: ir.Value) -> int:
    return ir.RankedTensorType(value.type).rank


def _groups(op: ir.Operation) -> list[list[int]]:
    groups = ir.ArrayAttr(op.attributes["reassociation"])
    return [[ir.IntegerAttr(dim).value for dim in ir.ArrayAttr(group)] for group in groups]


def _numbers(op: ir.Operation, name: str) -> list[int]:
    return list(ir.DenseI64ArrayAttr(op.attributes[name]))


def _segments(op: ir.Operation) -> list[int]:
    """Returns the operand counts of an op's segments; the last ones are offsets, sizes, strides."""
    return list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))


def _mixed(op: ir.Operation, name: str) -> list[_Index]:
    """Returns the offsets, sizes or strides of a slice; some of these may be operands."""
    *_, offsets, sizes, strides = _segments(op)
    last = {"offsets": sizes + strides, "sizes": strides, "strides": 0}[name]
    count = {"offsets": offsets, "sizes": sizes, "strides": strides}[name]
    end = len(op.operands) - last
    dynamic = iter(list(op.operands)[end - count : end])
    return [next(dynamic) if one == _DYNAMIC else one for one in _numbers(op, f"static_{name}")]


def _extent(value: ir.Value, dim: int) -> _Index:
    extent = ir.RankedTensorType(value.type).shape[dim]
    if extent != _DYNAMIC:
        return extent
    return _op("tensor.dim", value, _value(dim))


def _op(name: str, *operands: ir.Value) -> ir.Value:
    return ir.Operation.create(name, results=[ir.IndexType.get()], operands=operands).result


def _value(number: _Index) -> ir.Value:
    if isinstance(number, int):
        return arith_d.ConstantOp(ir.IndexType.get(), number).result
    return number


def _sum(a: _Index, b: _Index) -> ir.Value:
    if a == 0 or b == 0:
        return _value(b if a == 0 else a)
    return _op("arith.addi", _value(a), _value(b))


def _product(a: ir.Value, b: _Index) -> ir.Value:
    return a if b == 1 else _op("arith.muli", a, _value(b))

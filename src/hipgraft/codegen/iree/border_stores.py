"""Moves the stores of kernels in LLVM's dialect inside a border, and stores the border."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import gcd, prod
from operator import mul

from hipgraft.codegen.iree.llvm_builders import call, constant, emit
from hipgraft.codegen.kernel import Dispatch
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.element_types import byte_size
from hipgraft.ir.io import walk

_WIDEST = 16  # bytes that a work item stores at once
_STORES = ("llvm.store", "llvm.intr.masked.store")
_DYNAMIC = -(1 << 31)  # stands for an operand among the constant indices of an address


@dataclass(frozen=True)
class Border:
    """Zeros around a row-major tensor.

    Attributes:
        sizes: extents of the tensor.
        low: zeros before it, per dim.
        high: zeros after it, per dim.
        width: bytes of an element.
    """

    sizes: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    width: int

    @property
    def outer(self) -> tuple[int, ...]:
        """Extents of the tensor with its border."""
        extents = zip(self.low, self.sizes, self.high, strict=True)
        return tuple(map(sum, extents))

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor with its border."""
        return self.width * prod(self.outer)

    @property
    def row(self) -> int:
        """Bytes of the tensor that are contiguous inside the border."""
        return self.width * prod(self.sizes[self.padded[-1] :])

    @property
    def padded(self) -> list[int]:
        """Dims with zeros before or after them."""
        return [dim for dim, pair in enumerate(zip(self.low, self.high, strict=True)) if any(pair)]

    def step(self, dim: int) -> int:
        """Bytes between neighbours along a dim of the tensor with its border."""
        return self.width * prod(self.outer[dim + 1 :])


def move_stores(function: ir.Operation, argument: int, step: Dispatch, border: Border) -> None:
    """Moves the stores through an argument of a kernel, and adds those of the border.

    Args:
        function: the kernel, in canonical form.
        argument: number of the argument, the address of a row-major tensor.
        step: the only launch of the kernel.
        border: the border to write around the tensor.

    Raises:
        Declined: an address is not understood, or a masked store may cross the end of a row.
    """
    pointer = function.regions[0].blocks[0].arguments[argument]
    for store in list(_stores(pointer, [], border)):
        with ir.InsertionPoint(store.operation), store.operation.location:
            _move(store, border)
    name = f"hipgraft_border_{argument}_of_{step.kernel}"
    text = _zeros_text(name, border, step, str(pointer.type))
    parsed = ir.Module.parse(text, function.context)
    (helper,) = parsed.body.operations
    helper.detach_from_parent()
    ir.InsertionPoint(function).insert(helper)
    # Before other code, it would move allocations out of the entry block, and delay loads.
    for op in [op for op in walk(function) if op.name == "llvm.return"]:
        with ir.InsertionPoint(op), op.location:
            call(name, [pointer])


@dataclass(frozen=True)
class _Store:
    """A store, the address of the tensor, and the ops that add offsets to it."""

    operation: ir.Operation
    base: ir.Value
    steps: Sequence[ir.Operation]


def _stores(pointer: ir.Value, steps: list[ir.Operation], border: Border) -> Iterator[_Store]:
    """Yields the stores through a pointer to a tensor, and enlarges its buffer resources."""
    for use in list(pointer.uses):
        op = use.owner.operation
        if op.name == "llvm.getelementptr" and use.operand_number == 0:
            yield from _stores(op.results[0], [*steps, op], border)
        elif op.name == "rocdl.make.buffer.rsrc" and not steps:
            with ir.InsertionPoint(op), op.location:
                op.operands[2] = constant(border.nbytes, op.operands[2].type)
            yield from _stores(op.results[0], steps, border)
        elif op.name in _STORES and use.operand_number == 1:
            yield _Store(op, steps[0].operands[0] if steps else pointer, steps)
        elif op.name != "llvm.intr.assume":
            raise Declined("border", f"'{op.name}' op uses the address of a result")


def _move(store: _Store, border: Border) -> None:
    """Moves a store to the place of its elements inside the border.

    A store that may cross the end of a row becomes several that do not.
    """
    i32, i64 = (ir.IntegerType.get_signless(width) for width in (32, 64))
    nbytes = _nbytes(store.operation.operands[0].type)
    size = gcd(border.row, *map(_least_step, store.steps), nbytes)
    inner = constant(0, i32)
    for step in store.steps:
        inner = emit("llvm.add", i32, inner, _added_bytes(step, i32))
    if size == nbytes:
        store.operation.operands[1] = _address(store, inner, border)
        return
    kind = store.operation.operands[0].type
    is_vector = isinstance(kind, ir.VectorType) and _nbytes(kind.element_type) == border.width
    if store.operation.name != "llvm.store" or not is_vector or size % border.width:
        raise Declined("border", "a store may cross the end of a row")
    count = size // border.width
    for first in range(0, nbytes // border.width, count):
        offset = emit("llvm.add", i32, inner, constant(first * border.width, i32))
        part = _elements(store.operation.operands[0], first, count)
        place = _address(store, offset, border)
        made = ir.Operation.create("llvm.store", operands=[part, place])
        made.attributes["alignment"] = ir.IntegerAttr.get(i64, size & -size)
    store.operation.erase()


def _address(store: _Store, inner: ir.Value, border: Border) -> ir.Value:
    """Returns the address inside the border of an offset without it, in bytes."""
    return emit(
        "llvm.getelementptr",
        store.base.type,
        store.base,
        _placed(inner, border),
        elem_type=ir.TypeAttr.get(ir.IntegerType.get_signless(8)),
        rawConstantIndices=ir.DenseI32ArrayAttr.get([_DYNAMIC]),
    )


def _elements(value: ir.Value, first: int, count: int) -> ir.Value:
    """Returns adjacent elements of a vector."""
    kind = ir.VectorType(value.type)
    if count == 1:
        index = constant(first, ir.IntegerType.get_signless(32))
        return emit("llvm.extractelement", kind.element_type, value, index)
    mask = ir.DenseI32ArrayAttr.get(list(range(first, first + count)))
    part = ir.VectorType.get([count], kind.element_type)
    return emit("llvm.shufflevector", part, value, value, mask=mask)


def _placed(inner: ir.Value, border: Border) -> ir.Value:
    """Returns the offset with the border of an offset without it; both in bytes."""
    kind = inner.type
    start = sum(border.low[dim] * border.step(dim) for dim in border.padded)
    place = emit("llvm.add", kind, inner, constant(start, kind))
    for dim in border.padded:
        if prod(border.sizes[:dim]) == 1:
            continue
        block = border.width * prod(border.sizes[dim:])
        between = (border.low[dim] + border.high[dim]) * border.step(dim)
        index = emit("llvm.udiv", kind, inner, constant(block, kind))
        more = emit("llvm.mul", kind, index, constant(between, kind))
        place = emit("llvm.add", kind, place, more)
    return place


def _nbytes(kind: ir.Type) -> int:
    is_vector = isinstance(kind, ir.VectorType)
    found = byte_size(kind.shape, kind.element_type) if is_vector else byte_size((), kind)
    if found is None:
        raise Declined("border", f"elements of type {kind} have no whole bytes")
    return found


def _index(step: ir.Operation) -> int | ir.Value:
    """Returns the only index of an address."""
    indices = list(ir.DenseI32ArrayAttr(step.attributes["rawConstantIndices"]))
    if len(indices) != 1:
        raise Declined("border", "an address has several indices")
    return indices[0] if indices[0] != _DYNAMIC else step.operands[1]


def _element_bytes(step: ir.Operation) -> int:
    return _nbytes(ir.TypeAttr(step.attributes["elem_type"]).value)


def _added_bytes(step: ir.Operation, kind: ir.Type) -> ir.Value:
    index, width = _index(step), _element_bytes(step)
    if isinstance(index, int):
        return constant(index * width, kind)
    narrow = index if index.type == kind else emit("llvm.trunc", kind, index)
    return emit("llvm.mul", kind, narrow, constant(width, kind))


def _least_step(step: ir.Operation) -> int:
    """Returns a number of bytes of which an address adds a multiple."""
    index = _index(step)
    return _element_bytes(step) * (abs(index) if isinstance(index, int) else _divisor(index))


def _divisor(value: ir.Value) -> int:
    """Returns a number that divides an integer."""
    op = defining_op(value)
    if op is None:
        return 1
    if op.name == "llvm.mlir.constant":
        attribute = op.attributes["value"]
        return abs(ir.IntegerAttr(attribute).value) if isinstance(attribute, ir.IntegerAttr) else 1
    parts = [_divisor(operand) for operand in op.operands] if op.name in _DIVISORS else [1]
    return _DIVISORS.get(op.name, gcd)(*parts)


_DIVISORS: dict[str, Callable[..., int]] = {
    "llvm.add": gcd,
    "llvm.sub": gcd,
    "llvm.or": gcd,
    "llvm.mul": mul,
    "llvm.sext": gcd,
    "llvm.zext": gcd,
    "llvm.trunc": gcd,
}


def _zeros_text(name: str, border: Border, step: Dispatch, pointer: str) -> str:
    """Returns a module with a function whose work items together store the zeros of a border."""
    size = gcd(_WIDEST, border.step(border.padded[-1]))
    unit = min(size, 4)
    kind = f"vector<{size // unit}xi{8 * unit}>"
    lines = _Lines()
    item = lines.number([f"workitem.id.{axis}" for axis in "xyz"], step.block)
    group = lines.number([f"workgroup.id.{axis}" for axis in "xyz"], step.grid)
    first = lines.op("add", lines.op("mul", group, lines.constant(prod(step.block))), item)
    lines.add(f"llvm.br ^next({first} : i32)")
    lines.add("^next(%chunk: i32):")
    more = lines.compare("ult", "%chunk", lines.constant(border.nbytes // size))
    lines.add(f"llvm.cond_br {more}, ^look, ^end")
    lines.add("^look:")
    inside = ""
    for dim in border.padded:
        index = lines.op("udiv", "%chunk", lines.constant(border.step(dim) // size))
        if prod(border.outer[:dim]) > 1:
            index = lines.op("urem", index, lines.constant(border.outer[dim]))
        index = lines.op("sub", index, lines.constant(border.low[dim]))
        within = lines.compare("ult", index, lines.constant(border.sizes[dim]))
        inside = lines.op("and", inside, within, "i1") if inside else within
    after = lines.op("add", "%chunk", lines.constant(prod(step.grid) * prod(step.block)))
    lines.add(f"llvm.cond_br {inside}, ^next({after} : i32), ^store")
    lines.add("^store:")
    zeros = lines.value(f"llvm.mlir.constant(dense<0> : {kind}) : {kind}")
    place = lines.value(f"llvm.getelementptr %out[%chunk] : ({pointer}, i32) -> {pointer}, {kind}")
    lines.add(f"llvm.store {zeros}, {place} <alignment = {size}> : {kind}, {pointer}")
    lines.add(f"llvm.br ^next({after} : i32)")
    lines.add("^end:")
    lines.add("llvm.return")
    body = "\n".join(lines.lines)
    head = f"llvm.func internal @{name}(%out: {pointer}) attributes {{always_inline}}"
    return f"{head} {{\n{body}\n}}"


@dataclass
class _Lines:
    """The text of a function on integers of 32 bits."""

    lines: list[str] = field(default_factory=list[str])

    def add(self, line: str) -> None:
        self.lines.append(line)

    def value(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.add(f"{name} = {text}")
        return name

    def constant(self, value: int) -> str:
        return self.value(f"llvm.mlir.constant({value} : i32) : i32")

    def op(self, name: str, left: str, right: str, kind: str = "i32") -> str:
        return self.value(f"llvm.{name} {left}, {right} : {kind}")

    def compare(self, predicate: str, left: str, right: str) -> str:
        return self.value(f'llvm.icmp "{predicate}" {left}, {right} : i32')

    def number(self, names: Sequence[str], extents: Sequence[int]) -> str:
        """Emits the row-major number of a work item or workgroup, x first."""
        total = ""
        for name, extent in reversed([*zip(names, extents, strict=True)]):
            if extent == 1 and total:
                continue
            index = self.value(f"rocdl.{name} : i32")
            if total:
                index = self.op("add", self.op("mul", total, self.constant(extent)), index)
            total = index
        return total

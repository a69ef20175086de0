"""Builds the upstream ops of host programs.

Each builder inserts one op at the current insertion point, at location `loc`. Builders call the
generic `Operation.create`, so they import no dialect module of the bindings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hipgraft.ir.bindings import ir


def defining_op(value: ir.Value) -> ir.Operation | None:
    """Returns the op that defines `value`; None for a block argument."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def attributes_of(op: ir.Operation) -> dict[str, ir.Attribute]:
    """Returns all attributes of `op` by name."""
    named = [op.attributes[position] for position in range(len(op.attributes))]
    return {one.name: one.attr for one in named}


def bytes_type(nbytes: int) -> ir.MemRefType:
    """Returns `memref<NBYTESxi8>`."""
    return ir.MemRefType.get([nbytes], ir.IntegerType.get_signless(8))


def strided_type(
    shape: Sequence[int], strides: Sequence[int], offset: int, element_type: ir.Type
) -> ir.MemRefType:
    """Returns a memref type with a static strided layout."""
    layout = ir.StridedLayoutAttr.get(offset, list(strides))
    return ir.MemRefType.get(list(shape), element_type, layout)


def index_constant(value: int, loc: ir.Location) -> ir.Value:
    """Builds an `arith.constant` of type index."""
    return _constant(ir.IntegerAttr.get(ir.IndexType.get(), value), loc)


def integer_constant(value: int, width: int, loc: ir.Location) -> ir.Value:
    """Builds an `arith.constant` of a signless integer type; `value` is its bit pattern."""
    signed = value - (1 << width) if value >> (width - 1) & 1 else value
    return _constant(ir.IntegerAttr.get(ir.IntegerType.get_signless(width), signed), loc)


def alloc(nbytes: int, loc: ir.Location) -> ir.Value:
    """Builds a `memref.alloc` of bytes."""
    segments = ir.DenseI32ArrayAttr.get([0, 0])
    return _one("memref.alloc", [bytes_type(nbytes)], [], {"operandSegmentSizes": segments}, loc)


def view(
    buffer: ir.Value, byte_shift: ir.Value, result_type: ir.Type, loc: ir.Location
) -> ir.Value:
    """Builds a `memref.view` of a byte buffer."""
    return _one("memref.view", [result_type], [buffer, byte_shift], {}, loc)


def reinterpret_cast(
    source: ir.Value,
    shape: Sequence[int],
    strides: Sequence[int],
    offset: int,
    loc: ir.Location,
) -> ir.Value:
    """Builds a `memref.reinterpret_cast` to static sizes, strides and offset, in elements."""
    element_type = ir.MemRefType(source.type).element_type
    result_type = strided_type(shape, strides, offset, element_type)
    attributes = {
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0, 0]),
        "static_offsets": ir.DenseI64ArrayAttr.get([offset]),
        "static_sizes": ir.DenseI64ArrayAttr.get(list(shape)),
        "static_strides": ir.DenseI64ArrayAttr.get(list(strides)),
    }
    return _one("memref.reinterpret_cast", [result_type], [source], attributes, loc)


def global_constant(name: str, value: ir.Attribute, loc: ir.Location) -> ir.Operation:
    """Builds a private constant `memref.global` that holds the elements of `value`."""
    tensor = ir.RankedTensorType(value.type)
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "sym_visibility": ir.StringAttr.get("private"),
        "type": ir.TypeAttr.get(ir.MemRefType.get(tensor.shape, tensor.element_type)),
        "initial_value": value,
        "constant": ir.UnitAttr.get(),
    }
    return ir.Operation.create("memref.global", attributes=attributes, loc=loc)


def get_global(name: str, result_type: ir.Type, loc: ir.Location) -> ir.Value:
    """Builds a `memref.get_global`."""
    return _one("memref.get_global", [result_type], [], {"name": _symbol(name)}, loc)


def return_(loc: ir.Location) -> None:
    """Builds a `func.return` without operands."""
    ir.Operation.create("func.return", loc=loc)


def wait_async(loc: ir.Location, tokens: Sequence[ir.Value] = ()) -> ir.Operation:
    """Builds a `gpu.wait async [tokens]`, whose token starts a chain of device ops."""
    return ir.Operation.create("gpu.wait", results=[_token_type()], operands=list(tokens), loc=loc)


def token_of_stream(stream: ir.Value, loc: ir.Location) -> ir.Operation:
    """Casts a stream of the GPU runtime to a token; `gpu-to-llvm` puts its chain on the stream.

    `gpu-to-llvm` lowers tokens to streams, so it removes this cast.
    """
    return ir.Operation.create(
        "builtin.unrealized_conversion_cast",
        results=[_token_type()],
        operands=[stream],
        loc=loc,
    )


def wait(token: ir.Value, loc: ir.Location) -> None:
    """Builds a `gpu.wait [token]`, which blocks the host."""
    ir.Operation.create("gpu.wait", operands=[token], loc=loc)


def gpu_alloc(nbytes: int, token: ir.Value, loc: ir.Location) -> ir.Operation:
    """Builds a `gpu.alloc async` of bytes; its results are the buffer and the next token."""
    return ir.Operation.create(
        "gpu.alloc",
        results=[bytes_type(nbytes), _token_type()],
        operands=[token],
        attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0])},
        loc=loc,
    )


def dynamic_type(element: ir.Type | None = None) -> ir.MemRefType:
    """Returns `memref<?xELEMENT>`, by default of bytes."""
    dynamic = ir.ShapedType.get_dynamic_size()
    return ir.MemRefType.get([dynamic], element or ir.IntegerType.get_signless(8))


def gpu_alloc_dynamic(nbytes: ir.Value, token: ir.Value, loc: ir.Location) -> ir.Operation:
    """Builds a `gpu.alloc async` of a number of bytes that the host computes; see `gpu_alloc`."""
    return ir.Operation.create(
        "gpu.alloc",
        results=[dynamic_type(), _token_type()],
        operands=[token, nbytes],
        attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, 0])},
        loc=loc,
    )


def dim(memref: ir.Value, position: int, loc: ir.Location) -> ir.Value:
    """Builds a `memref.dim`."""
    return _one(
        "memref.dim", [ir.IndexType.get()], [memref, index_constant(position, loc)], {}, loc
    )


def view_dynamic(
    buffer: ir.Value,
    byte_shift: ir.Value,
    count: ir.Value,
    loc: ir.Location,
    element: ir.Type | None = None,
) -> ir.Value:
    """Builds a `memref.view` of a byte buffer as `count` elements, by default bytes."""
    return _one("memref.view", [dynamic_type(element)], [buffer, byte_shift, count], {}, loc)


def gpu_dealloc(buffer: ir.Value, token: ir.Value, loc: ir.Location) -> ir.Value:
    """Builds a `gpu.dealloc async` and returns the next token."""
    return _one("gpu.dealloc", [_token_type()], [token, buffer], {}, loc)


def memset(target: ir.Value, value: ir.Value, token: ir.Value, loc: ir.Location) -> ir.Value:
    """Builds a `gpu.memset async` and returns the next token."""
    return _one("gpu.memset", [_token_type()], [token, target, value], {}, loc)


def memcpy(target: ir.Value, source: ir.Value, token: ir.Value, loc: ir.Location) -> ir.Value:
    """Builds a `gpu.memcpy async` and returns the next token."""
    return _one("gpu.memcpy", [_token_type()], [token, target, source], {}, loc)


def launch(
    kernel: tuple[str, str],
    grid: Sequence[ir.Value],
    block: Sequence[ir.Value],
    shared_bytes: ir.Value | None,
    arguments: Sequence[ir.Value],
    token: ir.Value,
    loc: ir.Location,
) -> ir.Value:
    """Builds a `gpu.launch_func async` of `@binary::@kernel` and returns the next token."""
    shared = [] if shared_bytes is None else [shared_bytes]
    clusters = [0, 0, 0]
    segments = [1, 1, 1, 1, 1, 1, 1, *clusters, len(shared), len(arguments), 0]
    attributes = {
        "kernel": ir.SymbolRefAttr.get(list(kernel)),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get(segments),
    }
    operands = [token, *grid, *block, *shared, *arguments]
    return _one("gpu.launch_func", [_token_type()], operands, attributes, loc)


def bytes_at(source: ir.Value, offset: ir.Value, nbytes: int, loc: ir.Location) -> ir.Value:
    """Views memory `offset` bytes into a memref of any type as `nbytes` bytes.

    `memref.view` accepts byte buffers only, and upstream's GPU lowering drops the offset of a
    memref. So this function builds the descriptor from the pointer, in the form that
    `finalize-memref-to-llvm` produces; the casts on both sides then cancel.
    """
    return bytes_of_pointer(_pointer_at(source, offset, loc), nbytes, loc)


def elements_at(
    source: ir.Value, offset: ir.Value, count: ir.Value, loc: ir.Location, element: ir.Type
) -> ir.Value:
    """Views memory `offset` bytes into a memref of any type as elements; see `bytes_at`."""
    size = _one("arith.index_cast", [ir.IntegerType.get_signless(64)], [count], {}, loc)
    return _of_pointer(_pointer_at(source, offset, loc), size, dynamic_type(element), loc)


def bytes_of_pointer(pointer: ir.Value, nbytes: int, loc: ir.Location) -> ir.Value:
    """Views the memory at an LLVM pointer as a memref of `nbytes` bytes."""
    size = llvm_constant(nbytes, ir.IntegerType.get_signless(64), loc)
    return _of_pointer(pointer, size, bytes_type(nbytes), loc)


def _pointer_at(source: ir.Value, offset: ir.Value, loc: ir.Location) -> ir.Value:
    i64, pointer_type = ir.IntegerType.get_signless(64), ir.Type.parse("!llvm.ptr")
    base = _one("memref.extract_aligned_pointer_as_index", [ir.IndexType.get()], [source], {}, loc)
    overflow = ir.Attribute.parse("#arith.overflow<none>")
    moved = _one("arith.addi", [base.type], [base, offset], {"overflowFlags": overflow}, loc)
    word = _one("arith.index_cast", [i64], [moved], {}, loc)
    return _one("llvm.inttoptr", [pointer_type], [word], {}, loc)


def _of_pointer(
    pointer: ir.Value, size: ir.Value, kind: ir.MemRefType, loc: ir.Location
) -> ir.Value:
    i64 = ir.IntegerType.get_signless(64)
    struct = ir.Type.parse("!llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>")
    descriptor = _one("llvm.mlir.poison", [struct], [], {}, loc)
    zero, one = llvm_constant(0, i64, loc), llvm_constant(1, i64, loc)
    fields = [([0], pointer), ([1], pointer), ([2], zero), ([3, 0], size), ([4, 0], one)]
    for position, value in fields:
        where = {"position": ir.DenseI64ArrayAttr.get(position)}
        descriptor = _one("llvm.insertvalue", [struct], [descriptor, value], where, loc)
    return _one("builtin.unrealized_conversion_cast", [kind], [descriptor], {}, loc)


def llvm_constant(value: int, element_type: ir.Type, loc: ir.Location) -> ir.Value:
    """Builds an `llvm.mlir.constant` of an integer type."""
    attribute = ir.IntegerAttr.get(element_type, value)
    return _one("llvm.mlir.constant", [element_type], [], {"value": attribute}, loc)


def _constant(value: ir.Attribute, loc: ir.Location) -> ir.Value:
    return _one("arith.constant", [value.type], [], {"value": value}, loc)


def _symbol(name: str) -> ir.Attribute:
    return ir.FlatSymbolRefAttr.get(name)


def _token_type() -> ir.Type:
    return ir.Type.parse("!gpu.async.token")


def _one(
    name: str,
    results: Sequence[ir.Type],
    operands: Sequence[ir.Value],
    attributes: Mapping[str, ir.Attribute],
    loc: ir.Location,
) -> ir.Value:
    op = ir.Operation.create(
        name, results=list(results), operands=list(operands), attributes=dict(attributes), loc=loc
    )
    return op.results[0]

"""Executes host programs, op by op, on a device.

Handles stage `hipdnn-buffers` on a device that runs whole graphs (the CPU), and stage `host` on
one that runs code objects. A run's memory is freed when the run ends or fails; the `Executor` keeps
constants and loaded code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hipgraft.codegen.iree.static_values import evaluate
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.closing import Closing
from hipgraft.ir.diagnostics import HipgraftError, OpError, location_text
from hipgraft.ir.element_types import byte_width
from hipgraft.ir.entry_points import find_functions, result_count, select_function, symbols
from hipgraft.ir.function_attributes import function_errors
from hipgraft.ir.resources import global_bytes
from hipgraft.runtime import boundary
from hipgraft.runtime.boundary import Array, DeviceArray
from hipgraft.runtime.devices.protocols import unload
from hipgraft.runtime.devices.registry import Device, GraphDevice, copy_on_device
from hipgraft.runtime.host_program.dynamic import check_assertion, tensors_of
from hipgraft.runtime.host_program.graphs import Graph
from hipgraft.runtime.host_program.kernels import Binary, pack_kernarg
from hipgraft.runtime.host_program.memref import MemRef
from hipgraft.runtime.recording import Tensor


class Executor(Closing):
    """A host program on a device.

    Args:
        module: stage `hipdnn-buffers` or `host`.
        device: see `hipgraft.runtime.devices.registry`.

    Raises:
        HipgraftError: the module has no function for the device, or an unsupported one.
    """

    def __init__(self, module: ir.Module, device: Device):
        for error in function_errors(module):
            raise error
        self.device = device
        self.functions = find_functions(module, device.architecture)
        self._module = module
        self._symbols = symbols(module)
        self.globals: dict[str, int] = {}
        self._binaries: dict[str, Binary] = {}
        self._graphs: dict[str, Graph] = {}
        try:
            self._load()
        except BaseException:
            self.close()
            raise

    def _load(self) -> None:
        """Loads code in the module's order, then constants in order of use."""
        blocks = [function.regions[0].blocks[0] for function in self.functions]
        operations = [op.operation for block in blocks for op in block.operations]
        launches = [op for op in operations if op.name == "gpu.launch_func"]
        users = {ir.SymbolRefAttr(op.attributes["kernel"]).value[0]: op for op in launches}
        for name in self._symbols:
            if name in users:
                self.binary(name, users[name])
        for op in operations:
            error = hipdnn.verify_op(op) if op.name in hipdnn.OPS else None
            if error is not None:
                raise error
            if op.name == "memref.get_global":
                self.global_address(ir.FlatSymbolRefAttr(op.attributes["name"]).value, op)

    def close(self) -> None:
        """Frees the constants and the code on the device."""
        while self._binaries:
            unload(self.device, self._binaries.popitem()[1].handle)
        while self.globals:
            self.device.free(self.globals.popitem()[1])

    def run(self, inputs: Sequence[Any]) -> list[Array]:
        """Runs the program.

        Args:
            inputs: NumPy arrays, arrays with DLPack, or `DeviceArray`s, one per argument; their
                shapes select among variants of the program.

        Returns:
            One array per result.

        Raises:
            HipgraftError: an input does not fit, or an op cannot be executed.
        """
        given = boundary.imported(inputs, self.device, "input")
        shapes = [boundary.array_shape(array) for array in given]
        function = select_function(self.functions, shapes)
        tensors = tensors_of(function, shapes)
        expected = tensors[: len(tensors) - result_count(function, len(given))]
        given = boundary.match(given, expected, self.device, "input")
        frame = _Frame(self)
        try:
            return frame.run(function.regions[0].blocks[0], tensors, given)
        finally:
            frame.free_all()

    def execute(
        self, function: ir.Operation, tensors: Sequence[Tensor], addresses: Sequence[int]
    ) -> None:
        """Runs one of the program's functions on device memory and waits for it.

        Args:
            function: one of `functions`.
            tensors: tensor of each argument, results included.
            addresses: device address of each argument.

        Raises:
            HipgraftError: an op cannot be executed.
        """
        frame = _Frame(self)
        try:
            frame.execute_body(function.regions[0].blocks[0], tensors, addresses)
        finally:
            frame.free_all()

    def symbol(self, name: str, user: ir.Operation) -> ir.Operation:
        """Returns the op that a symbol refers to."""
        if name not in self._symbols:
            raise OpError(f"'{user.name}' op refers to '@{name}', which does not exist", user)
        return self._symbols[name]

    def global_address(self, name: str, user: ir.Operation) -> int:
        """Returns the address of a constant on the device; the first call uploads it."""
        if name not in self.globals:
            data = global_bytes(self.symbol(name, user))
            self.globals[name] = self.device.allocate(len(data))
            self.device.copy_to_device(self.globals[name], data)
        return self.globals[name]

    def binary(self, name: str, user: ir.Operation) -> Binary:
        """Returns a loaded `gpu.binary`."""
        if name not in self._binaries:
            self._binaries[name] = Binary.load(self.symbol(name, user), self.device)
        return self._binaries[name]

    def graph(self, name: str, user: ir.Operation) -> Graph:
        """Returns a loaded `hipdnn.executable`."""
        if name not in self._graphs:
            if not isinstance(self.device, GraphDevice):
                raise OpError(
                    f"'{user.name}' op cannot run on device '{self.device.architecture}', which "
                    "takes merged programs",
                    user,
                )
            self._graphs[name] = Graph.load(self.symbol(name, user), self.device)
        return self._graphs[name]


@dataclass
class _Frame:
    """One execution of a function."""

    executor: Executor
    values: dict[ir.Value, Any] = field(default_factory=dict[ir.Value, Any])
    allocations: list[int] = field(default_factory=list[int])

    @property
    def device(self) -> Device:
        return self.executor.device

    def run(
        self, body: ir.Block, tensors: Sequence[Tensor], inputs: Sequence[Array | DeviceArray]
    ) -> list[Array]:
        addresses = [self.allocate(tensor.nbytes) for tensor in tensors]
        for position, (array, tensor) in enumerate(zip(inputs, tensors, strict=False)):
            if isinstance(array, DeviceArray):
                addresses[position] = array.address
            else:
                self.device.copy_to_device(addresses[position], boundary.raw(array, tensor))
        self.execute_body(body, tensors, addresses)
        results = [boundary.empty(tensor) for tensor in tensors[len(inputs) :]]
        outputs = zip(addresses[len(inputs) :], tensors[len(inputs) :], results, strict=True)
        for address, tensor, array in outputs:
            boundary.download(self.device, address, tensor, array)
        return results

    def execute_body(
        self, body: ir.Block, tensors: Sequence[Tensor], addresses: Sequence[int]
    ) -> None:
        for argument, tensor, address in zip(body.arguments, tensors, addresses, strict=True):
            self.values[argument] = MemRef.of_tensor(address, tensor, argument.type)
        for op in body.operations:
            self.execute(op.operation)
        self.device.synchronize()

    def allocate(self, nbytes: int) -> int:
        # A device need not support empty allocations.
        address = self.device.allocate(max(nbytes, 1))
        self.allocations.append(address)
        return address

    def free(self, address: int) -> None:
        self.allocations.remove(address)
        self.device.free(address)

    def free_all(self) -> None:
        for address in reversed(list(self.allocations)):
            self.free(address)

    def execute(self, op: ir.Operation) -> None:
        is_number = op.name.startswith(_NUMBERS)
        if op.name not in _HANDLERS and not is_number:
            raise OpError(f"'{op.name}' op cannot be executed", op)
        try:
            results = _number(self, op) if is_number else _HANDLERS[op.name](self, op)
        except Exception as error:  # the device raised the error: add the op's location
            if not isinstance(error, HipgraftError):
                error.add_note(f"executing '{op.name}' op at {location_text(op.location)}")
            raise
        self.values.update(zip(op.results, results, strict=True))

    def operands(self, op: ir.Operation) -> list[Any]:
        return [self.values[operand] for operand in op.operands]

    def segments(self, op: ir.Operation) -> list[list[Any]]:
        """Returns operand values in the groups of `operandSegmentSizes`."""
        values = iter(self.operands(op))
        sizes = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
        return [[next(values) for _ in range(size)] for size in sizes]


_NUMBERS = ("affine.", "arith.")

# Device ops run in program order, so tokens are irrelevant.
_TOKEN = None


def _constant(frame: _Frame, op: ir.Operation) -> list[Any]:
    return [ir.IntegerAttr(op.attributes["value"]).value]


def _number(frame: _Frame, op: ir.Operation) -> list[Any]:
    return [evaluate(op, frame.operands(op))]


def _dim(frame: _Frame, op: ir.Operation) -> list[Any]:
    memref, position = frame.operands(op)
    return [memref.shape[position]]


def _same(frame: _Frame, op: ir.Operation) -> list[Any]:
    return frame.operands(op)


def _alloc(frame: _Frame, op: ir.Operation) -> list[Any]:
    _tokens, sizes, _symbols = frame.segments(op) if op.name == "gpu.alloc" else ([], [], [])
    memref = _sized(0, op.results[0].type, sizes)
    allocated = replace(memref, address=frame.allocate(memref.nbytes))
    return [allocated, _TOKEN][: len(op.results)]


def _sized(address: int, memref_type: ir.Type, sizes: Sequence[int]) -> MemRef:
    """Returns a memref of identity layout; `sizes` are its dynamic extents."""
    kind, given = ir.MemRefType(memref_type), iter(sizes)
    shape = [
        next(given) if kind.is_dynamic_dim(dim) else kind.shape[dim] for dim in range(kind.rank)
    ]
    return MemRef.of_shape(address, shape, memref_type)


def _dealloc(frame: _Frame, op: ir.Operation) -> list[Any]:
    frame.device.synchronize()
    frame.free(frame.operands(op)[-1].address)
    return [_TOKEN] * len(op.results)


def _view(frame: _Frame, op: ir.Operation) -> list[Any]:
    buffer, shift, *sizes = frame.operands(op)
    return [_sized(buffer.address + shift, op.results[0].type, sizes)]


def _reinterpret_cast(frame: _Frame, op: ir.Operation) -> list[Any]:
    (source,) = frame.operands(op)
    (offset,) = ir.DenseI64ArrayAttr(op.attributes["static_offsets"])
    shape = tuple(ir.DenseI64ArrayAttr(op.attributes["static_sizes"]))
    strides = tuple(ir.DenseI64ArrayAttr(op.attributes["static_strides"]))
    return [MemRef(source.address, offset, shape, strides, source.element_type)]


def _get_global(frame: _Frame, op: ir.Operation) -> list[Any]:
    name = ir.FlatSymbolRefAttr(op.attributes["name"]).value
    address = frame.executor.global_address(name, op)
    return [MemRef.packed(address, op.results[0].type)]


def _pointer(frame: _Frame, op: ir.Operation) -> list[Any]:
    return [frame.operands(op)[0].address]


def _poison(frame: _Frame, op: ir.Operation) -> list[Any]:
    return [{}]


def _insert_value(frame: _Frame, op: ir.Operation) -> list[Any]:
    struct, value = frame.operands(op)
    position = tuple(ir.DenseI64ArrayAttr(op.attributes["position"]))
    return [{**struct, position: value}]


def _descriptor(frame: _Frame, op: ir.Operation) -> list[Any]:
    """Returns a memref from its fields: allocated and aligned pointer, offset, sizes, strides."""
    (struct,) = frame.operands(op)
    return [_sized(struct[(1,)], op.results[0].type, [struct[(3, 0)]])]


def _wait(frame: _Frame, op: ir.Operation) -> list[Any]:
    if not op.results:
        frame.device.synchronize()
    return [_TOKEN] * len(op.results)


def _memset(frame: _Frame, op: ir.Operation) -> list[Any]:
    target, value = frame.operands(op)[-2:]
    width = byte_width(target.element_type) or 0
    if not isinstance(value, int):
        raise OpError(f"'{op.name}' op takes a value that is no number", op)
    pattern = (value & (1 << 8 * width) - 1).to_bytes(width, "little")
    frame.device.fill(_start(target, op), pattern, target.nbytes)
    return [_TOKEN] * len(op.results)


def _memcpy(frame: _Frame, op: ir.Operation) -> list[Any]:
    target, source = frame.operands(op)[-2:]
    copy_on_device(frame.device, _start(target, op), _start(source, op), source.nbytes)
    return [_TOKEN] * len(op.results)


def _launch(frame: _Frame, op: ir.Operation) -> list[Any]:
    groups = frame.segments(op)
    grid, block = (tuple(extent for (extent,) in groups[at : at + 3]) for at in (1, 4))
    (shared,) = groups[10] or [0]
    binary_name, kernel_name = ir.SymbolRefAttr(op.attributes["kernel"]).value
    kernel = frame.executor.binary(binary_name, op).kernel(kernel_name, op)
    words = [_start(v, op) if isinstance(v, MemRef) else v for v in groups[11]]
    kernarg = pack_kernarg(kernel.info, words, op)
    if all(grid):  # drivers reject an empty grid
        frame.device.launch(kernel.handle, grid, block, shared, kernarg)
    return [_TOKEN] * len(op.results)


def _execute_graph(frame: _Frame, op: ir.Operation) -> list[Any]:
    name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    frame.executor.graph(name, op).run(frame.operands(op))
    return []


def _assert(frame: _Frame, op: ir.Operation) -> list[Any]:
    check_assertion(op, frame.operands(op)[0])
    return []


def _return(frame: _Frame, op: ir.Operation) -> list[Any]:
    return []


_HANDLERS: dict[str, Callable[[_Frame, ir.Operation], list[Any]]] = {
    "builtin.unrealized_conversion_cast": _descriptor,
    "cf.assert": _assert,
    "func.return": _return,
    "gpu.alloc": _alloc,
    "gpu.dealloc": _dealloc,
    "gpu.launch_func": _launch,
    "gpu.memcpy": _memcpy,
    "gpu.memset": _memset,
    "gpu.wait": _wait,
    "hipdnn.execute": _execute_graph,
    "llvm.insertvalue": _insert_value,
    "llvm.inttoptr": _same,
    "llvm.mlir.constant": _constant,
    "llvm.mlir.poison": _poison,
    "memref.alloc": _alloc,
    "memref.dim": _dim,
    "memref.extract_aligned_pointer_as_index": _pointer,
    "memref.get_global": _get_global,
    "memref.reinterpret_cast": _reinterpret_cast,
    "memref.view": _view,
}


def _start(memref: MemRef, op: ir.Operation) -> int:
    """Returns a GPU op's address for a memref: upstream's lowering ignores the offset."""
    if memref.offset:
        raise OpError(
            f"'{op.name}' op takes a memref with offset {memref.offset}, which the lowering to "
            "a GPU runtime drops",
            op,
        )
    return memref.address

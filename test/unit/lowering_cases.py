"""Graphs that are lowered, compiled for the CPU in batches, and run."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import iree.runtime as iree_runtime
import ml_dtypes
import numpy as np
import pytest
from emulator import run_kernel

from hipgraft.codegen.iree.session import get_session
from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.layout import Layout
from hipgraft.codegen.lowering.all_ops import lower_container
from hipgraft.codegen.plan import Plan
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds.narrow_floats import expand_conversions
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.strided_view import row_major_strides

Array = np.ndarray[Any, np.dtype[Any]]
Build = Callable[..., ir.Value | Sequence[ir.Value]]

DTYPES: dict[str, np.dtype[Any]] = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "ui8": np.dtype(np.uint8),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E8M0FNU": np.dtype(ml_dtypes.float8_e8m0fnu),
    "f4E2M1FN": np.dtype(ml_dtypes.float4_e2m1fn),
}
ELEMENTS = {dtype: element for element, dtype in DTYPES.items()}
_HAL = {
    "f16": iree_runtime.HalElementType.FLOAT_16,
    "bf16": iree_runtime.HalElementType.BFLOAT_16,
    "f32": iree_runtime.HalElementType.FLOAT_32,
    "f64": iree_runtime.HalElementType.FLOAT_64,
    "i1": iree_runtime.HalElementType.BOOL_8,
    "i8": iree_runtime.HalElementType.SINT_8,
    "ui8": iree_runtime.HalElementType.SINT_8,
    "i32": iree_runtime.HalElementType.SINT_32,
    "i64": iree_runtime.HalElementType.SINT_64,
    "f8E4M3FN": iree_runtime.HalElementType.FLOAT_8_E4M3_FN,
    "f8E5M2": iree_runtime.HalElementType.FLOAT_8_E5M2,
    "f8E8M0FNU": iree_runtime.HalElementType.FLOAT_8_E8M0_FNU,
    "f4E2M1FN": iree_runtime.HalElementType.INT_4,
}

# Twice as many cases take little less time per case; half as many let `-k` start sooner.
_BATCH = 16

COVERED: dict[str, list[tuple[str, str, str]]] = {}
"""The ops with mode and element type in each lowered case, by the case's name."""

FIELDS: dict[str, set[str]] = {}
"""The operands, results and attributes that lowered cases have, by op."""


@dataclass(repr=False)
class Case:
    """A graph with its inputs and the oracle's results.

    Attributes:
        name: unique; a valid symbol.
        inputs: memory of the operands: in the graph's types, or the physical tensors of strided
            operands.
        build: builds the body from the block's arguments and returns what to yield.
        expected: results in double precision (or integers).
        elements: element types of the results.
        shapes: logical shapes of the operands; if empty, the shapes of `inputs`.
        layouts: `arg_strides`, `arg_offsets` and `result_strides`.
        logical_results: logical shapes of the results; if empty, the shapes of `expected`.
        target: target of the lowering; the code always runs on the CPU.
        plan: the lowering alternatives to apply.
        compared: the elements of the only result to compare; None for all.
        compute: compute type of all ops; None keeps the types that `build` set.
    """

    name: str
    inputs: Sequence[Array]
    build: Build
    expected: Sequence[Array]
    elements: Sequence[str]
    rtol: float
    atol: float
    shapes: Sequence[Sequence[int]] = ()
    layouts: dict[str, Any] = field(default_factory=dict[str, Any])
    logical_results: Sequence[Sequence[int]] = ()
    target: str = "cpu"
    plan: str = "default"
    compared: Array | None = None
    compute: str | None = None

    def __repr__(self) -> str:
        with make_context(), ir.Location.unknown():
            _, graph = build_graph(self)
            return f"{self.name}: {graph.operation}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))  # what hypothesis shows

    def check(self, results: Sequence[Array]) -> None:
        """Compares with the oracle; NaN equals NaN."""
        for result, expected in zip(results, self.expected, strict=True):
            assert result.size == np.size(expected)
            actual = result.astype(np.float64).reshape(np.shape(expected))
            chosen = np.ones(actual.shape, np.bool_) if self.compared is None else self.compared
            np.testing.assert_allclose(
                actual[chosen],
                np.asarray(expected, np.float64)[chosen],
                rtol=self.rtol,
                atol=self.atol,
            )


def tensor_type(shape: Sequence[int], element: str) -> ir.Type:
    """Returns a ranked tensor type in the current context."""
    return ir.Type.parse(f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>")


def splat(value: float, shape: Sequence[int] = (1,)) -> ir.Value:
    """Returns a constant of one number, by default a scalar, at the current insertion point."""
    type_ = tensor_type(shape, "f32")
    attribute = ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(ir.F32Type.get(), value))
    return ir.Operation.create(
        "arith.constant", results=[type_], attributes={"value": attribute}
    ).result


def build_graph(case: Case) -> tuple[ir.Module, hipdnn.GraphOp]:
    """Builds the graph of `case` with the dialect's builders, in the current context."""
    shapes = case.shapes or [value.shape for value in case.inputs]
    elements = [ELEMENTS[value.dtype] for value in case.inputs]
    types = [tensor_type(*pair) for pair in zip(shapes, elements, strict=True)]
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        logical = case.logical_results or [np.shape(value) for value in case.expected]
        results = [tensor_type(*pair) for pair in zip(logical, case.elements, strict=True)]
        source = ir.Operation.create("test.source", results=types)
        op = hipdnn.graph(list(source.results), results, name=case.name, **case.layouts)
    with ir.InsertionPoint(op.body):
        values = case.build(*op.body.arguments)
        hipdnn.yield_([values] if isinstance(values, ir.Value) else values)
    for one in op.body.operations:
        if case.compute is not None and op.computes(one.operation.name):
            one.operation.attributes["compute_type"] = ir.TypeAttr.get(ir.Type.parse(case.compute))
    return module, op


def lower_case(case: Case) -> str:
    """Lowers the graph of `case`."""
    with make_context(), ir.Location.unknown():
        module, op = build_graph(case)
        errors = hipdnn.verify(module)
        if errors:
            raise errors[0]
        computing = [one for one in op.body.operations if op.computes(one.operation.name)]
        COVERED[case.name] = [covered(one) for one in computing]
        for one in computing:
            note_fields(one)
        return lower_container(op.operation, Target.parse(case.target), Plan.parse(case.plan))


def covered(op: ir.OpView) -> tuple[str, str, str]:
    """Returns the op, mode and element type that a passing case covers."""
    wrapped = hipdnn.wrap(op)
    names = ("mode", "resample_mode", "forward_phase")
    modes = [str(getattr(wrapped, name)) for name in names if hasattr(wrapped, name)]
    values = [*op.operation.operands, *op.operation.results]
    element = str(ir.RankedTensorType(values[0].type).element_type)
    return wrapped.OP_NAME, modes[0] if modes else "", element


def note_fields(op: ir.OpView) -> None:
    """Adds the fields that `op` has to `FIELDS`."""
    wrapped = hipdnn.wrap(op)
    names = FIELDS.setdefault(wrapped.OP_NAME, set())
    names.update(one.name for one in wrapped.operand_fields if wrapped.operand_values(one))
    names.update(one.name for one in wrapped.result_fields if wrapped.result_values(one))
    names.update(op.operation.attributes)


def selected(request: pytest.FixtureRequest, fixture: str, parameter: str) -> list[Any]:
    """Returns the values of a parameter in a module's selected tests that use a fixture."""
    return [
        item.callspec.params[parameter]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path
        if fixture in item.fixturenames
    ]


class Results(Mapping[str, list[Array]]):
    """Results by case name; cases are compiled and run on demand.

    A batch of cases is compiled as one program, which takes a fraction of the time of separate
    programs. If a batch does not compile, each of its cases gets its own program, so that only the
    failing case fails.

    Args:
        cases: all cases; neighbours are compiled together.
        lower: function that lowers a case to a module with a function `@main`.
    """

    def __init__(self, cases: Sequence[Case], lower: Callable[[Case], str] = lower_case):
        self._lower = lower
        self._cases = {case.name: case for case in cases}
        batches = [cases[start : start + _BATCH] for start in range(0, len(cases), _BATCH)]
        self._batches = {case.name: batch for batch in batches for case in batch}
        self._programs: dict[str, _Program] = {}

    def __getitem__(self, name: str) -> list[Array]:
        if name not in self._programs:
            self._compile(name)
        return self._programs[name].run(self._cases[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._cases)

    def __len__(self) -> int:
        return len(self._cases)

    def _compile(self, name: str) -> None:
        batch = self._batches[name]
        try:
            program = _Program(batch, self._lower)
        except Exception:  # any error must fail one case only
            if len(batch) == 1:
                raise
            self._batches.update({case.name: [case] for case in batch})
            return self._compile(name)
        self._programs.update(dict.fromkeys((case.name for case in batch), program))


class _Program:
    """Cases compiled as one module and loaded."""

    def __init__(self, cases: Sequence[Case], lower: Callable[[Case], str]):
        binary = compile_functions({case.name: lower(case) for case in cases})
        self._config = iree_runtime.Config("local-task")
        instance = self._config.vm_instance
        self._module = iree_runtime.VmModule.copy_buffer(instance, binary)
        modules = [*self._config.default_vm_modules, self._module]
        self._context = iree_runtime.VmContext(instance, modules=modules)

    def run(self, case: Case) -> list[Array]:
        arguments = iree_runtime.VmVariantList(len(case.inputs))
        for value, shape in zip(case.inputs, physical_shapes(case), strict=True):
            arguments.push_ref(_buffer_view(self._config.device, value.reshape(shape)))
        results = iree_runtime.VmVariantList(len(case.expected))
        self._context.invoke(self._module.lookup_function(case.name), arguments, results)
        views = [
            results.get_as_object(position, iree_runtime.HalBufferView)
            for position in range(len(case.expected))
        ]
        return [_read(view, element) for view, element in zip(views, case.elements, strict=True)]


def run_case(case: Case, kernel: Kernel | None = None) -> list[Array]:
    """Returns what a case computes on the CPU, or as code for its GPU on the emulator.

    The code is compiled in this process unless a kernel for the GPU is given.
    """
    if case.target == "cpu":
        return Results([case])[case.name]
    kernel = kernel or compile_text(lower_case(case), Target.parse(case.target))
    operands = [_to_memory(value) for value in case.inputs]
    forms = list(zip(map(np.shape, case.expected), case.elements, strict=True))
    sizes = [
        math.prod(shape) * DTYPES[element].itemsize // (2 if element == "f4E2M1FN" else 1)
        for shape, element in forms
    ]
    memory = run_kernel(kernel, operands, [((size,), np.uint8) for size in sizes])
    return [
        from_memory(data, element, shape)
        for data, (shape, element) in zip(memory, forms, strict=True)
    ]


def compile_functions(modules: dict[str, str]) -> bytes:
    """Merges modules with one function `@main` each under new names, and compiles the result."""
    functions: list[str] = []
    for name, text in modules.items():
        body = re.fullmatch(r"module \{\n(.*)\}\n", text, re.DOTALL)
        assert body is not None
        functions.append(body.group(1).replace("@main", f"@{name}", 1))
    session = get_session(Target.parse("cpu").iree_flags)
    module = session.parse("module @cases {\n" + "".join(functions) + "}\n")
    session.run(module, compile_to="executable-targets")
    expand_conversions(module)
    return session.compile_to_vmfb(module, compile_from="executable-targets")


def physical_shapes(case: Case) -> list[tuple[int, ...]]:
    """Returns the shapes of the tensors that the kernel of `case` takes."""
    count = len(case.inputs)
    shapes = case.shapes or [value.shape for value in case.inputs]
    strides = case.layouts.get("arg_strides", [None] * count)
    offsets = case.layouts.get("arg_offsets", [0] * count)
    return [
        Layout(tuple(shape), tuple(step or row_major_strides(shape)), offset, "").physical_shape
        for shape, step, offset in zip(shapes, strides, offsets, strict=True)
    ]


def _buffer_view(device: Any, value: Array) -> Any:
    buffer = device.allocator.allocate_buffer_copy(
        iree_runtime.MemoryType.DEVICE_LOCAL,
        iree_runtime.BufferUsage.DEFAULT | iree_runtime.BufferUsage.MAPPING,
        device,
        _to_memory(value),
    )
    element = int(_HAL[ELEMENTS[value.dtype]])
    return iree_runtime.HalBufferView(buffer, list(value.shape), element)


def _read(view: Any, element: str) -> Array:
    data = view.map().asarray([view.byte_length], np.dtype(np.uint8))
    return from_memory(data, element, view.shape)


def _to_memory(value: Array) -> Array:
    """Returns the bytes of memory that hold the elements of `value`."""
    raw = np.ascontiguousarray(value).view(np.uint8).reshape(-1)
    is_packed = ELEMENTS[value.dtype] == "f4E2M1FN"  # numpy has a byte for each
    return raw[::2] | raw[1::2] << 4 if is_packed else raw


def from_memory(data: Array, element: str, shape: Sequence[int]) -> Array:
    """Returns the elements that bytes of memory hold."""
    if element == "f4E2M1FN":
        data = np.stack([data & 15, data >> 4], axis=-1)
    return np.array(data).view(DTYPES[element]).reshape(shape)

"""Evaluates constant parts of a torch function with IREE on the CPU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.ir.bindings import func_d, ir
from hipgraft.ir.diagnostics import CodegenError
from hipgraft.ir.element_types import byte_size
from hipgraft.ir.resources import constant_bytes, elements_of, inline_elements
from hipgraft.runtime.devices.cpu import CpuDevice
from hipgraft.runtime.devices.protocols import TypedMemory
from hipgraft.transforms.torch_to_hipdnn.converter import builtin_tensor_type

_LITERAL = "torch.vtensor.literal"

_LONGEST = 1 << 12
"""Bytes of the largest literal in a program's text."""


def evaluate(ops: Sequence[ir.Operation], values: Sequence[ir.Value]) -> list[ir.Attribute]:
    """Evaluates `values` to attributes for `torch.vtensor.literal`.

    Args:
        ops: torch ops in order, which read only each other's results.
        values: the results to compute, value tensors of static shape.

    Raises:
        CodegenError: the ops do not compile for the CPU.
    """
    kinds = [builtin_tensor_type(value.type) for value in values]
    large = [op for op in ops if op.name == _LITERAL and _is_large(op)]
    text = _program(ops, large, values, kinds)
    kernel = compile_text(text, Target.parse("cpu"))
    device = CpuDevice()
    try:
        inputs = [_written(device, op) for op in large]
        tensors = [_allocated(device, kind) for kind in kinds]
        device.call(device.load_module(kernel.objects[0]), inputs, tensors)
        # Equal tensors share one attribute, so that their resource is stored once.
        made: dict[tuple[ir.Type, bytes], ir.Attribute] = {}
        keys = [
            (value.type, _read(device, tensor))
            for tensor, value in zip(tensors, values, strict=True)
        ]
        for kind, data in keys:
            if (kind, data) not in made:
                made[kind, data] = _elements(data, kind)
        return [made[key] for key in keys]
    finally:
        device.close()


def _is_large(literal: ir.Operation) -> bool:
    """Whether a literal is an argument of the program, because its text would be long."""
    return _nbytes(builtin_tensor_type(literal.results[0].type)) > _LONGEST


def _allocated(device: CpuDevice, kind: ir.RankedTensorType) -> TypedMemory:
    address = device.allocate(_nbytes(kind))
    return TypedMemory(address, tuple(kind.shape), str(kind.element_type))


def _written(device: CpuDevice, literal: ir.Operation) -> TypedMemory:
    memory = _allocated(device, builtin_tensor_type(literal.results[0].type))
    device.copy_to_device(memory.address, constant_bytes(literal))
    return memory


def _nbytes(kind: ir.RankedTensorType) -> int:
    size = byte_size(tuple(kind.shape), kind.element_type)
    if size is None:
        raise CodegenError(f"elements of {kind} have no size in bytes")
    return size


def _program(
    ops: Sequence[ir.Operation],
    large: Sequence[ir.Operation],
    values: Sequence[ir.Value],
    kinds: Sequence[ir.RankedTensorType],
) -> str:
    """Builds a module whose `main` computes `values` and returns builtin tensors.

    Its arguments are the `large` literals.
    """
    location = ir.Location.unknown()
    module = ir.Module.create(location)
    literals = [op.results[0] for op in large]
    passed = [builtin_tensor_type(value.type) for value in literals]
    with ir.InsertionPoint(module.body):
        function = func_d.FuncOp("main", ir.FunctionType.get(passed, list(kinds)), loc=location)
    entry = function.add_entry_block()
    copies: dict[ir.Value, ir.Value] = {}
    with ir.InsertionPoint(entry):
        for literal, argument in zip(literals, entry.arguments, strict=True):
            copies[literal] = ir.Operation.create(
                "torch_c.from_builtin_tensor",
                results=[literal.type],
                operands=[argument],
                loc=location,
            ).results[0]
        for op in [op for op in ops if op.results[0] not in copies]:
            clone = op.clone().operation
            for index, operand in enumerate(op.operands):
                clone.operands[index] = copies[operand]
            copies.update(zip(op.results, clone.results, strict=True))
        results = [
            ir.Operation.create(
                "torch_c.to_builtin_tensor", results=[kind], operands=[copies[value]], loc=location
            ).results[0]
            for value, kind in zip(values, kinds, strict=True)
        ]
        func_d.ReturnOp(results, loc=location)
    return str(module)


def _read(device: CpuDevice, tensor: TypedMemory) -> bytes:
    data = bytearray(tensor.nbytes)
    device.copy_to_host(data, tensor.address)
    return bytes(data)


def _elements(data: bytes, vtensor: ir.Type) -> ir.Attribute:
    """Converts the elements of a `!torch.vtensor` to an attribute, in torch's signed type."""
    shape = builtin_tensor_type(vtensor).shape
    element = str(vtensor).rsplit(",", 1)[1].rstrip(">")
    extents = "".join(f"{extent}x" for extent in shape)
    kind = ir.RankedTensorType(ir.Type.parse(f"tensor<{extents}{element}>"))
    if element == "i1":
        flags = np.frombuffer(data, np.uint8).astype(np.bool_)
        return ir.DenseElementsAttr.get(flags.reshape(shape), type=kind)
    words = np.frombuffer(data, f"u{len(data) // math.prod(shape)}")
    if _is_range(words, element):
        return inline_elements(words, kind)
    return elements_of(words, kind, "folded")


def _is_range(words: np.ndarray[Any, Any], element: str) -> bool:
    """Whether the words are evenly spaced integers, which conversions turn into windows."""
    if words.size < 2:
        return False
    steps = np.diff(words)
    return element.startswith(("si", "ui")) and bool((steps == steps[0]).all())

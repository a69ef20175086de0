"""Whole models against onnxruntime's and PyTorch's outputs: on the CPU and on the emulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator import open_emulator, requires_emulator

import hipgraft
from hipgraft.codegen.objects.code_object import CodeObject
from hipgraft.host.lowering import lower_host
from hipgraft.ir.bindings import ir
from hipgraft.runtime import run_module

pytestmark = pytest.mark.slow

MODELS = Path(__file__).resolve().parents[1] / "models"
NAMES = (
    "train_cnn_tiny.onnx",
    "llama_f16_tiny.onnx",
    "t5_f16_tiny.onnx",
    "vit_f16_tiny.onnx",
    "bert_tiny.mlir",
    "whisper_tiny.mlir",
    "decoder_f32_tiny.onnx",
    "decoder_f16_tiny.onnx",
    "windows_tiny.onnx",
    "experts_tiny.onnx",
)

# Relative to the largest output: twice the spacing of the type's numbers after 1, and in f32, where
# two layers already cost more than that, what a sum of 64 of them may lose. Errors are half of it.
TOLERANCE = {"float32": 64 * 2.0**-23, "float16": 2 * 2.0**-10}


def arrays(name: str, prefix: str) -> list[np.ndarray]:
    stored = np.load((MODELS / name).with_suffix(".npz"))
    return [stored[f"{prefix}_{i}"] for i in range(sum(key.startswith(prefix) for key in stored))]


def assert_matches(name: str, results: list[np.ndarray]) -> None:
    expected = arrays(name, "out")
    assert len(results) == len(expected)
    for result, want in zip(results, expected, strict=True):
        assert result.dtype == want.dtype
        assert result.shape == want.shape
        limit = TOLERANCE[want.dtype.name] * np.abs(want.astype(np.float64)).max()
        np.testing.assert_allclose(result, want, rtol=0, atol=limit)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", NAMES)
def test_on_the_cpu(name: str) -> None:
    program = hipgraft.compile(MODELS / name, target="cpu")
    assert_matches(name, program.run(arrays(name, "in")))


@pytest.mark.sampled(6)
@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("name", NAMES)
def test_on_the_emulator(name: str, architecture: str) -> None:
    program = hipgraft.compile(MODELS / name, target=architecture)
    check_binaries(program.module, architecture)
    lower_host(program.module, architecture)
    device = open_emulator(architecture)
    assert_matches(name, run_module(program.module, arrays(name, "in"), device))


@requires_emulator
def test_several_targets_in_one_program() -> None:
    name = "windows_tiny.onnx"
    program = hipgraft.compile(MODELS / name, target=["gfx942", "gfx1201"])
    for architecture in ("gfx942", "gfx1201"):
        device = open_emulator(architecture)
        assert_matches(name, run_module(program.module, arrays(name, "in"), device))


def check_binaries(module: ir.Module, architecture: str) -> None:
    """Every binary holds exactly the launched kernels, with their required block sizes."""
    ops = [op.operation for op in module.body.operations]
    code = {symbol(op): code_object(op) for op in ops if op.name == "gpu.binary"}
    launched: dict[str, set[str]] = {name: set() for name in code}
    for function in (op for op in ops if op.name == "func.func"):
        for op in function.regions[0].blocks[0].operations:
            if op.operation.name == "gpu.launch_func":
                check_launch(op.operation, code, launched)
    for name, binary in code.items():
        assert binary.architecture == architecture
        assert set(binary.kernels) == launched[name]


def check_launch(
    op: ir.Operation, code: dict[str, CodeObject], launched: dict[str, set[str]]
) -> None:
    binary, kernel = str(op.attributes["kernel"]).replace('"', "").split("::@")
    binary = binary.removeprefix("@")
    launched[binary].add(kernel)
    sizes = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    first = sizes[0] + 3
    block = [constant(operand) for operand in list(op.operands)[first : first + 3]]
    assert tuple(block) == code[binary].kernels[kernel].workgroup_size


def constant(value: ir.Value) -> int:
    return ir.IntegerAttr(ir.OpResult(value).owner.attributes["value"]).value


def symbol(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["sym_name"]).value


def code_object(op: ir.Operation) -> CodeObject:
    (attribute,) = list(ir.ArrayAttr(op.attributes["objects"]))
    data: Any = gpu_object(attribute)
    return CodeObject.parse(data)


def gpu_object(attribute: ir.Attribute) -> bytes:
    from hipgraft.ir.bindings import gpu_d

    return gpu_d.ObjectAttr(attribute).object

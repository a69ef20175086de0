"""The interpreter of host programs, on the CPU and on a device that records calls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from programs import build_program, run_passes, uniform

from hipgraft.codegen.objects.code_object import KernelArgument, KernelInfo
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.resources import global_bytes
from hipgraft.runtime import run_module
from hipgraft.runtime.devices.cpu import CpuDevice
from hipgraft.runtime.devices.registry import Device, TypedMemory, open_device
from hipgraft.runtime.host_program.interpreter import Executor
from hipgraft.runtime.host_program.kernels import pack_kernarg


class HostMemoryDevice(CpuDevice):
    """Host memory under another name; runs no kernels."""

    architecture = "gfx942"
    load_module = None
    call = None


def parse(text: str) -> ir.Module:
    with make_context():
        return ir.Module.parse(text)


COPY = """
func.func @main(%x: memref<6xf32>, %y: memref<6xf32>)
    attributes {hipgraft.results = 1 : i64, hipgraft.targets = ["gfx942"]} {
  %t0 = gpu.wait async
  %t1 = gpu.memcpy async [%t0] %y, %x : memref<6xf32>, memref<6xf32>
  BODY
  gpu.wait [%t1]
  return
}"""


def test_copies_fills_and_views() -> None:
    module = parse("""
func.func @main(%x: memref<8xi8>, %y: memref<8xi8>, %z: memref<2xi16>)
    attributes {hipgraft.results = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %v = arith.constant -2 : i16
  %w = arith.constant 7 : i32
  %t0 = gpu.wait async
  %a, %t1 = gpu.alloc async [%t0] () : memref<16xi8>
  %low = memref.view %a[%c0][] : memref<16xi8> to memref<8xi8>
  %t2 = gpu.memcpy async [%t1] %low, %x : memref<8xi8>, memref<8xi8>
  %word = memref.view %a[%c4][] : memref<16xi8> to memref<1xi32>
  %t3 = gpu.memset async [%t2] %word, %w : memref<1xi32>, i32
  %t4 = gpu.memcpy async [%t3] %y, %low : memref<8xi8>, memref<8xi8>
  %t5 = gpu.memset async [%t4] %z, %v : memref<2xi16>, i16
  %t6 = gpu.dealloc async [%t5] %a : memref<16xi8>
  gpu.wait [%t6]
  return
}""")
    device = HostMemoryDevice()
    y, z = run_module(module, [np.arange(8, dtype=np.int8)], device)
    np.testing.assert_array_equal(y, [0, 1, 2, 3, 7, 0, 0, 0])
    np.testing.assert_array_equal(z, [-2, -2])
    assert not device._allocations


def test_a_program_of_another_origin_returns_what_is_not_given() -> None:
    module = parse(COPY.replace("hipgraft.results = 1 : i64, ", "").replace("BODY", ""))
    device = HostMemoryDevice()
    x = np.arange(6, dtype=np.float32)
    with Executor(module, device) as executor:
        (y,) = executor.run([x])
    np.testing.assert_array_equal(y, x)
    assert not device._allocations


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], "the program has 1 inputs, but 0 were given"),
        ([np.zeros(6)], r"input #0 has shape \[6\] and dtype float64; expected \[6\] and float32"),
        ([np.zeros((2, 3), np.float32)], r"input #0 has shape \[2, 3\]"),
    ],
)
def test_inputs_are_checked(inputs: Sequence[np.ndarray], message: str) -> None:
    with pytest.raises(HipgraftError, match=message):
        run_module(parse(COPY.replace("BODY", "")), inputs, HostMemoryDevice())


def test_inputs_need_not_be_contiguous() -> None:
    x = np.arange(12, dtype=np.float32)[::2]
    (y,) = run_module(parse(COPY.replace("BODY", "")), [x], HostMemoryDevice())
    np.testing.assert_array_equal(y, x)


def test_other_architecture() -> None:
    with pytest.raises(HipgraftError, match="no public function for 'cpu'; the program is for gfx"):
        run_module(parse(COPY.replace("BODY", "")), [np.zeros(6, np.float32)], CpuDevice())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("memref.copy %x, %y : memref<6xf32> to memref<6xf32>", "'memref.copy' op cannot be exec"),
        (
            '"hipdnn.execute"(%x, %y) {callee = @g} : (memref<6xf32>, memref<6xf32>) -> ()',
            "'hipdnn.execute' op cannot run on device 'gfx942', which takes merged programs",
        ),
        (
            """%v = memref.reinterpret_cast %x to offset: [2], sizes: [4], strides: [1]
                 : memref<6xf32> to memref<4xf32, strided<[1], offset: 2>>
               %w = memref.reinterpret_cast %y to offset: [0], sizes: [4], strides: [1]
                 : memref<6xf32> to memref<4xf32, strided<[1], offset: 0>>
               %t9 = gpu.memcpy async [%t1] %w, %v : memref<4xf32, strided<[1], offset: 0>>,
                 memref<4xf32, strided<[1], offset: 2>>""",
            "'gpu.memcpy' op takes a memref with offset 2",
        ),
    ],
)
def test_errors_are_located_and_free_memory(body: str, message: str) -> None:
    with make_context() as context:
        text = COPY.replace("BODY", body)
        module = ir.Operation.parse(
            f"module {{ {text} }}", source_name="program.mlir", context=context
        ).opview
    device = HostMemoryDevice()
    program = ir.Module.parse(module.operation.get_asm(enable_debug_info=True), context=context)
    with pytest.raises(HipgraftError, match=message) as caught:
        run_module(program, [np.zeros(6, np.float32)], device)
    assert caught.value.location.startswith("program.mlir:")
    assert not device._allocations


def test_a_device_s_own_error_says_where_the_program_was() -> None:
    class FaultyDevice(HostMemoryDevice):
        def copy_to_host(self, buffer: object, address: int) -> None:
            raise OSError("bus error")

    device = FaultyDevice()
    with pytest.raises(OSError, match="bus error") as caught:
        run_module(parse(COPY.replace("BODY", "")), [np.zeros(6, np.float32)], device)
    assert caught.value.__notes__[0].startswith("executing 'gpu.memcpy' op at ")
    assert not device._allocations


def test_program_of_another_origin_writes_what_follows_its_inputs() -> None:
    text = COPY.replace("BODY", "").replace("hipgraft.results = 1 : i64, ", "")
    x = uniform(6, dtype=np.float32)
    (y,) = run_module(parse(text), [x], HostMemoryDevice())
    np.testing.assert_array_equal(y, x)
    with pytest.raises(HipgraftError, match="the program has 2 inputs, but 3 were given"):
        run_module(parse(text), [x, x, x], HostMemoryDevice())


ABS = """
func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = math.absf %x : tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}"""

WEIGHTED = """
func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %w = arith.constant dense<2.0> : tensor<4x6xf32>
  %0 = "hipdnn.execute"(%x) {callee = @abs} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = "hipdnn.execute"(%0, %w) {callee = @scale}
      : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}"""

SCALE = """
func.func @main(%x: tensor<4x6xf32>, %w: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %r = arith.mulf %x, %w : tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}"""


@pytest.mark.slow
def test_executor_keeps_constants_and_code_between_runs() -> None:
    abs_types = "operand_types = [tensor<4x6xf32>], result_types = [tensor<4x6xf32>]"
    scale_types = (
        "operand_types = [tensor<4x6xf32>, tensor<4x6xf32>], result_types = [tensor<4x6xf32>]"
    )
    graphs = {"abs": (ABS, abs_types), "scale": (SCALE, scale_types)}
    module = build_program(WEIGHTED, graphs, ["cpu"])
    run_passes(module, "hipdnn-bufferize")
    device = CpuDevice()
    with Executor(module, device) as executor:
        for seed in range(2):
            x = uniform(4, 6, dtype=np.float32, seed=seed)
            np.testing.assert_array_equal(executor.run([x])[0], 2 * np.abs(x))
            assert len(device._allocations) == 1, "the constant stays"
    assert not device._allocations


GLOBALS = {
    "f32": ("memref<3xf32>", "dense<[1.5, 0x7F800000, -2.0]>", np.float32),
    "f16": ("memref<3xf16>", "dense<[1.5, 3.0, -2.0]>", np.float16),
    "bf16": ("memref<3xbf16>", "dense<[1.5, 0x7F80, -2.0]>", ml_dtypes.bfloat16),
    "i64": ("memref<3xi64>", "dense<[1, -5, 7]>", np.int64),
    "i1": ("memref<3xi1>", "dense<[true, false, true]>", np.bool_),
    "splat": ("memref<3xbf16>", "dense<-2.5>", ml_dtypes.bfloat16),
    "truth": ("memref<3xi1>", "dense<true>", np.bool_),
}
VALUES = {
    "f32": [1.5, np.inf, -2.0],
    "f16": [1.5, 3.0, -2.0],
    "bf16": [1.5, np.inf, -2.0],
    "i64": [1, -5, 7],
    "i1": [True, False, True],
    "splat": [-2.5] * 3,
    "truth": [True] * 3,
}


@pytest.mark.parametrize("case", GLOBALS)
def test_bytes_of_literals(case: str) -> None:
    memref, value, dtype = GLOBALS[case]
    module = parse(f'memref.global "private" constant @g : {memref} = {value}')
    found = np.frombuffer(global_bytes(module.body.operations[0].operation), dtype)
    np.testing.assert_array_equal(found, np.array(VALUES[case], dtype))


def test_bytes_of_a_large_literal() -> None:
    """Beyond some length, literals are printed as hexadecimal bytes."""
    expected = np.arange(300).astype(ml_dtypes.bfloat16)
    literal = ", ".join(str(float(number)) for number in expected)
    module = parse(f'memref.global "private" constant @g : memref<300xbf16> = dense<[{literal}]>')
    found = np.frombuffer(global_bytes(module.body.operations[0].operation), expected.dtype)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("count", [1, 9, 1000, 100_000])
def test_bytes_of_resources(count: int) -> None:
    data = np.random.default_rng(count).integers(0, 256, count, np.uint8).tobytes()
    module = parse(f"""
memref.global "private" constant @other : memref<2xi8> = dense_resource<other>
memref.global "private" constant @g : memref<{count}xi8> = dense_resource<blob>
{{-# dialect_resources: {{ builtin: {{
  other: "0x04000000AABB", blob: "0x40000000{data.hex()}"
}} }} #-}}""")
    assert global_bytes(module.body.operations[1].operation) == data


def test_missing_resource() -> None:
    module = parse('memref.global "private" constant @g : memref<2xi8> = dense_resource<elsewhere>')
    with pytest.raises(HipgraftError, match="resource that the module does not hold"):
        global_bytes(module.body.operations[0].operation)


def test_resource_of_another_size() -> None:
    module = parse("""
memref.global "private" constant @g : memref<3xf32> = dense_resource<blob>
{-# dialect_resources: { builtin: { blob: "0x0400000000112233" } } #-}""")
    with pytest.raises(HipgraftError, match="has a resource of 4 bytes, expected 12"):
        global_bytes(module.body.operations[0].operation)


def kernel_info(*arguments: KernelArgument) -> KernelInfo:
    return KernelInfo("k", arguments, 32, 0, 0, 1, 0, 1, 0, 64, 64, None)


def test_kernarg_is_packed_by_the_note() -> None:
    module = parse("func.func private @f()")
    op = module.body.operations[0].operation
    info = kernel_info(
        KernelArgument("global_buffer", 8, 8),
        KernelArgument("by_value", 4, 2),
        KernelArgument("by_value", 20, 4),
    )
    packed = pack_kernarg(info, [0x1122334455667788, 0x10002, -1], op)
    assert packed[8:16] == bytes.fromhex("8877665544332211")
    assert packed[4:6] == b"\x02\x00"
    assert packed[20:24] == b"\xff" * 4
    assert len(packed) == 32
    assert sum(packed[0:4] + packed[6:8] + packed[16:20] + packed[24:]) == 0
    with pytest.raises(HipgraftError, match="passes 1 arguments, but kernel 'k' takes 3"):
        pack_kernarg(info, [1], op)


def test_cpu_pads_rows_that_end_after_the_memory() -> None:
    device = CpuDevice()
    address = device.allocate(10)
    device.fill(address, b"\x07", 10)
    np.testing.assert_array_equal(device._padded(address + 8, 4), [7, 7, 0, 0])
    with pytest.raises(HipgraftError, match="leaves its allocation"):
        device.fill(address, b"\x07", 11)
    with pytest.raises(HipgraftError, match="outside every allocation"):
        device.copy_to_host(bytearray(1), address + 10_000_000)


def test_cpu_refuses_kernels() -> None:
    with pytest.raises(HipgraftError, match="runs no GPU kernels"):
        CpuDevice().load_code_object(b"\x7fELF")


@pytest.mark.slow
def test_cpu_reports_the_runtime_s_errors() -> None:
    from programs import compiled

    device = CpuDevice()
    module = device.load_module(compiled(ABS, "cpu").objects[0])
    wrong = TypedMemory(device.allocate(20), (5,), "f32")
    with pytest.raises(HipgraftError, match="IREE's runtime failed"):
        device.call(module, [wrong], [wrong])


FACTORY = """
from hipgraft.runtime.devices.cpu import CpuDevice

def good():
    return CpuDevice()

def bad():
    return object()
"""


def test_devices_are_opened_by_file_and_by_module(tmp_path: Path) -> None:
    path = tmp_path / "device.py"
    path.write_text(FACTORY)
    assert isinstance(open_device(f"{path}:good"), Device)
    assert isinstance(open_device("hipgraft.runtime.devices.cpu:CpuDevice"), CpuDevice)
    assert isinstance(open_device("cpu"), CpuDevice)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gpu", "unknown device 'gpu'; expected cpu"),
        ("missing.py:make", "device file 'missing.py' does not exist"),
        ("no.such.module:make", "device module 'no.such.module' cannot be imported"),
        ("hipgraft.runtime.devices.cpu:nothing", "has no function 'nothing'"),
        ("FILE:bad", "it lacks allocate, architecture, close"),
    ],
)
def test_devices_that_cannot_be_opened(spec: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "device.py"
    path.write_text(FACTORY)
    with pytest.raises(HipgraftError, match=message):
        open_device(spec.replace("FILE", str(path)))

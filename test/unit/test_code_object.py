"""Extracts code objects from containers, reads them, and checks launches against them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hipgraft.codegen.kernel import Binding, Dispatch, Kernel
from hipgraft.codegen.objects.code_object import (
    CodeObject,
    KernelArgument,
    KernelInfo,
    check_dispatch,
    extract_code_objects,
)
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.ir.diagnostics import CodegenError

MATMUL = """
func.func @main(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>)
                     outs(%init : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}"""

INFO = KernelInfo(
    name="k",
    arguments=(
        KernelArgument("global_buffer", 0, 8),
        KernelArgument("global_buffer", 8, 8),
        KernelArgument("by_value", 16, 4),
    ),
    kernarg_size=20,
    lds_size=0,
    scratch_size=0,
    vgprs=8,
    agprs=0,
    sgprs=8,
    spills=0,
    wavefront_size=64,
    max_workgroup_size=128,
    workgroup_size=(128, 1, 1),
)
LAUNCH = Dispatch(
    object=0,
    kernel="k",
    grid=(1, 1, 1),
    block=(128, 1, 1),
    dynamic_shared_memory=0,
    bindings=(Binding(0, 0, 4, "read"), Binding(1, 0, 4, "write")),
    constants=(7,),
)


@pytest.fixture(scope="module", params=["gfx942", "gfx1100"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return compile_text(MATMUL, Target.parse(request.param))


def test_note_is_read(kernel: Kernel) -> None:
    code_object = CodeObject.parse(kernel.objects[0])
    (dispatch,) = kernel.dispatches
    info = code_object.kernels[dispatch.kernel]
    assert code_object.architecture == kernel.target
    assert info.wavefront_size == Target.parse(kernel.target).wavefront_size
    assert [a.offset for a in info.arguments] == [0, 8, 16]
    assert info.kernarg_size >= 24
    assert (info.lds_size > 0) == (kernel.target == "gfx942"), "tiles go through LDS for MFMA"
    assert info.workgroup_size == dispatch.block
    assert info.vgprs > 0


def test_damaged_note(kernel: Kernel) -> None:
    (data,) = kernel.objects
    with pytest.raises(CodegenError, match="truncated"):
        CodeObject.parse(data[:50])
    with pytest.raises(CodegenError, match="no AMDGPU metadata"):
        CodeObject.parse(data.replace(b"AMDGPU\0", b"OTHERS\0"))


def test_several_objects_are_found_in_a_container(kernel: Kernel) -> None:
    (data,) = kernel.objects
    container = b"HIP1" + bytes(7) + data + b"\x00padding" + data + b"tail"
    assert extract_code_objects(container) == [data, data]
    assert extract_code_objects(container.removesuffix(b"tail")) == [data, data]


def test_truncated_object(kernel: Kernel) -> None:
    with pytest.raises(CodegenError, match="truncated code object"):
        extract_code_objects(b"HIP1" + kernel.objects[0][:-1])
    with pytest.raises(CodegenError, match="truncated code object"):
        extract_code_objects(b"HIP1" + kernel.objects[0][:32])


def test_container_without_object() -> None:
    with pytest.raises(CodegenError, match="holds no code object"):
        extract_code_objects(b"HIP1 and nothing else")


def test_matching_launch_is_accepted() -> None:
    check_dispatch(LAUNCH, INFO, 64)
    check_dispatch(LAUNCH, replace(INFO, workgroup_size=None), 0)


@pytest.mark.parametrize(
    ("launch", "subgroup_size", "message"),
    [
        (replace(LAUNCH, bindings=LAUNCH.bindings[:1]), 64, "takes arguments .* passes"),
        (replace(LAUNCH, constants=()), 64, "takes arguments .* passes"),
        (replace(LAUNCH, block=(64, 2, 1)), 64, r"requires workgroups of \(128, 1, 1\)"),
        (LAUNCH, 32, "wavefronts of 64 but its schedule is for 32"),
    ],
)
def test_launch_that_disagrees(launch: Dispatch, subgroup_size: int, message: str) -> None:
    with pytest.raises(CodegenError, match=message):
        check_dispatch(launch, INFO, subgroup_size)


def test_too_large_workgroup() -> None:
    info = replace(INFO, workgroup_size=None, max_workgroup_size=64)
    with pytest.raises(CodegenError, match="allows 64 work items"):
        check_dispatch(LAUNCH, info, 64)

"""Static resource usage of kernels, against LLVM's comments in the assembly that it emits."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from test_code_object import INFO
from test_provider import CHAIN, MATMUL

from hipgraft.codegen.objects.resource_stats import (
    KernelResources,
    kernel_resources,
    occupancy,
    peak_resources,
)
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target, known_targets

LLC = shutil.which("llc-22") or shutil.which("llc")
AMDGPU = [name for name in known_targets() if name.startswith("gfx")]

# Work items, vector and scalar registers, bytes of LDS.
KERNELS = [
    (64, 0, 0, 0),
    (64, 24, 0, 0),
    (64, 25, 0, 0),
    (256, 100, 0, 512),
    (256, 129, 90, 0),
    (1024, 64, 102, 0),
    (64, 256, 0, 60000),
    (512, 40, 0, 30000),
    (96, 16, 85, 20000),
    (64, 8, 0, 3000),
]


def kernel_text(index: int, workgroup: int, vgprs: int, sgprs: int, lds: int) -> str:
    clobbers = [f"~{{v{vgprs - 1}}}"] * (vgprs > 0) + [f"~{{s{sgprs - 1}}}"] * (sgprs > 0)
    body = f'call void asm sideeffect "", "{",".join(clobbers)}"()' if clobbers else ""
    store = f"store volatile i8 0, ptr addrspace(3) @lds{index}" if lds else ""
    return f"""
@lds{index} = internal addrspace(3) global [{max(lds, 1)} x i8] poison
define amdgpu_kernel void @k{index}() #{index} {{
  {body}
  {store}
  ret void
}}
attributes #{index} = {{ "amdgpu-flat-work-group-size"="{workgroup},{workgroup}" }}
"""


def note_value(asm: str, kernel: str, name: str) -> int:
    (entry,) = [part for part in asm.split("  - .a")[1:] if f".name:           {kernel}\n" in part]
    return int(re.findall(rf"\.{name}: +(\d+)", entry)[0])


@pytest.mark.skipif(LLC is None, reason="no llc")
@pytest.mark.parametrize("target", AMDGPU)
def test_occupancy_is_llvm_s(target: str, tmp_path: Path) -> None:
    source = tmp_path / "kernels.ll"
    source.write_text("".join(kernel_text(i, *kernel) for i, kernel in enumerate(KERNELS)))
    command = [LLC, "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={target}", str(source), "-o", "-"]
    asm = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    printed = [int(text) for text in re.findall(r"; Occupancy: (\d+)", asm)]
    assert len(printed) == len(KERNELS)
    got: list[int] = []
    for index, (workgroup, *_) in enumerate(KERNELS):
        info = replace(
            INFO,
            vgprs=note_value(asm, f"k{index}", "vgpr_count"),
            sgprs=note_value(asm, f"k{index}", "sgpr_count"),
            lds_size=note_value(asm, f"k{index}", "group_segment_fixed_size"),
            wavefront_size=note_value(asm, f"k{index}", "wavefront_size"),
        )
        got.append(occupancy(target, info, workgroup))
    assert got == printed


@pytest.mark.slow
def test_each_launch_has_resources() -> None:
    kernel = compile_text(CHAIN, Target.parse("gfx942"))
    resources = kernel_resources(kernel)
    assert [each.name for each in resources] == [step.kernel for step in kernel.dispatches]
    assert all(1 <= each.occupancy <= 8 and each.vgprs and each.kernarg for each in resources)
    assert kernel_resources(compile_text(MATMUL, Target.parse("sm_80"))) == []


def test_largest_needs_and_lowest_occupancy() -> None:
    small = KernelResources("a", 64, 64, 8, 0, 16, 0, 512, 0, 24, 8)
    large = KernelResources("b", 64, 64, 128, 4, 12, 2, 0, 64, 24, 4)
    assert peak_resources([small, large]) == {
        "vgprs": 128,
        "agprs": 4,
        "sgprs": 16,
        "lds": 512,
        "spills": 2,
        "scratch": 64,
        "occupancy": 4,
    }
    assert peak_resources([]) == {}

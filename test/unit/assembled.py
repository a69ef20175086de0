"""Assembles kernels from text with LLVM's assembler, where it is beside the disassembler."""

from __future__ import annotations

import importlib.util
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from hipgraft.emulator import CodeObject, MissingEmulatorError
from hipgraft.emulator.disassembly import disassembler

# A kernel `f` with arguments that are all pointers; s[0:1] has the address of the arguments, v0 the
# work item. Registers are many, so that no test has to count them.
_TEMPLATE = """
.amdgcn_target "amdgcn-amd-amdhsa--{architecture}"
.text
.globl f
.p2align 8
.type f,@function
f:
{body}
  s_endpgm
.Lend:
.size f, .Lend-f
.rodata
.p2align 6
.amdhsa_kernel f
  .amdhsa_next_free_vgpr {vgprs}
  .amdhsa_next_free_sgpr 96
  .amdhsa_group_segment_fixed_size {lds}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_float_denorm_mode_16_64 3
  .amdhsa_float_denorm_mode_32 {denormals}
  {own}
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--{architecture}
amdhsa.kernels:
  - .name: f
    .symbol: f.kd
    .kernarg_segment_size: {kernarg}
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: 0
    .wavefront_size: {wave}
    .sgpr_count: 96
    .vgpr_count: {vgprs}
    .max_flat_workgroup_size: 1024
    .args:
{arguments}
.end_amdgpu_metadata
"""
_ARGUMENT = "      - {{.size: 8, .offset: {offset}, .value_kind: global_buffer}}"


def wave_size(architecture: str) -> int:
    """Lanes of a wave in these kernels."""
    return 64 if architecture.startswith("gfx9") else 32


@cache
def assembler() -> str | None:
    """The path of `llvm-mc`, or None."""
    try:
        tool = Path(disassembler()).resolve()
    except MissingEmulatorError:
        return None
    path = tool.with_name(tool.name.replace("llvm-objdump", "llvm-mc"))
    return str(path) if path.exists() else None


requires_assembler = pytest.mark.skipif(
    assembler() is None, reason="no llvm-mc beside llvm-objdump: run `apt-get install llvm-22`"
)


def assemble(
    body: str, architecture: str, pointers: int, lds: int = 0, denormals: int = 3
) -> CodeObject:
    """Returns a code object with the kernel `f`, whose arguments are pointers."""
    gfx9 = architecture.startswith("gfx9")
    accumulators = architecture in ("gfx90a", "gfx942", "gfx950")
    own = ".amdhsa_accum_offset 256" if accumulators else ""
    if not gfx9:
        own = ".amdhsa_wavefront_size32 1"
    text = _TEMPLATE.format(
        architecture=architecture,
        body=body,
        vgprs=512 if accumulators else 250,
        lds=lds,
        own=own,
        denormals=denormals,
        kernarg=8 * pointers,
        wave=wave_size(architecture),
        arguments="\n".join(_ARGUMENT.format(offset=8 * number) for number in range(pointers)),
    )
    command = [assembler(), "-triple=amdgcn-amd-amdhsa", f"-mcpu={architecture}", "-filetype=obj"]
    with tempfile.TemporaryDirectory() as folder:
        source, binary, linked = (Path(folder) / name for name in ("f.s", "f.o", "f.hsaco"))
        source.write_text(text)
        done = subprocess.run(
            [*command, "-o", binary, source], check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        package = importlib.util.find_spec("iree.compiler")
        assert package is not None
        assert package.origin is not None
        linker = Path(package.origin).parent / "_mlir_libs" / "iree-lld"
        subprocess.run([linker, "-flavor", "gnu", "-shared", "-o", linked, binary], check=True)
        return CodeObject.read(linked)

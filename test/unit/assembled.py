"""Assembles kernels from text, if LLVM's assembler is installed beside the disassembler."""

from __future__ import annotations

import importlib.util
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from hipgraft.emulator import CodeObject, MissingEmulatorError, launch
from hipgraft.emulator.disassembly import disassembler

# A kernel `f` whose arguments are all pointers; s[0:1] holds the address of the arguments, v0 the
# work item. It reserves many registers, so that no test has to count them.
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
  .amdhsa_system_vgpr_workitem_id {positions}
  .amdhsa_float_denorm_mode_16_64 3
  .amdhsa_float_denorm_mode_32 {denormals}
  {own}
.end_amdhsa_kernel
{data}
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
    body: str,
    architecture: str,
    pointers: int,
    lds: int = 0,
    denormals: int = 3,
    data: str = "",
    flags: Sequence[str] = (),
    positions: int = 0,
    directives: str = "",
) -> CodeObject:
    """Returns a code object with the kernel `f`, whose arguments are pointers, and with `data`.

    The assembler takes `flags`, and the descriptor more `directives`. With `positions` 1, v0 has
    the work-item's y too, with 2 also z.
    """
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
        own=f"{own}\n{directives}",
        denormals=denormals,
        data=data,
        positions=positions,
        kernarg=8 * pointers,
        wave=wave_size(architecture),
        arguments="\n".join(_ARGUMENT.format(offset=8 * number) for number in range(pointers)),
    )
    command = [assembler(), "-triple=amdgcn-amd-amdhsa", f"-mcpu={architecture}", "-filetype=obj"]
    command += flags
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


def execute(
    architecture: str,
    text: str,
    given: Mapping[int, np.ndarray],
    wanted: Sequence[int],
    *,
    lds: int = 0,
    memory: np.ndarray | None = None,
    denormals: int = 3,
) -> np.ndarray:
    """Runs instructions in one wave.

    Args:
        architecture: architecture of the code.
        text: the instructions. They may use s[20:21], the address of `memory`, and v255 (v249 in
            waves of 32 lanes), the lane times 4.
        given: lanes of 32 bits by vector register.
        wanted: vector registers to return.
        lds: bytes of LDS.
        memory: contents of the memory that s[20:21] points to.
        denormals: bits of the mode of 32-bit floats; 0 flushes them.

    Returns:
        The lanes of each wanted register, as 32 bits.
    """
    lanes, step = wave_size(architecture), 4 * wave_size(architecture)
    item = 249 if lanes == 32 else 255
    wait = "s_waitcnt vmcnt(0) lgkmcnt(0)"
    if architecture.startswith("gfx12"):
        wait = "s_wait_kmcnt 0x0\ns_wait_loadcnt_dscnt 0x0"
    lines = ["s_load_dwordx4 s[4:7], s[0:1], 0x0", "s_load_dwordx2 s[20:21], s[0:1], 0x10", wait]
    lines += ["v_and_b32 v0, 0x3ff, v0", f"v_lshlrev_b32 v{item}, 2, v0"]
    for register in given:
        lines += [f"global_load_dword v{register}, v{item}, s[4:5]"]
        lines += [f"s_add_u32 s4, s4, {step}", "s_addc_u32 s5, s5, 0"]
    lines += [wait, *text.splitlines(), wait, "s_mov_b64 exec, -1"]
    if lanes == 32:
        lines[-1] = "s_mov_b32 exec_lo, -1"
    for register in wanted:
        lines += [f"global_store_dword v{item}, v{register}, s[6:7]"]
        lines += [f"s_add_u32 s6, s6, {step}", "s_addc_u32 s7, s7, 0"]
    code = assemble("\n".join(lines), architecture, pointers=3, lds=lds, denormals=denormals)
    inputs = np.zeros((max(len(given), 1), lanes), np.uint32)
    for row, values in zip(inputs, given.values(), strict=False):
        row[:] = np.ascontiguousarray(values).view(np.uint32)
    outputs = np.zeros((len(wanted), lanes), np.uint32)
    memory = np.zeros(1, np.uint32) if memory is None else memory
    launch(code, "f", (1,), (lanes,), [inputs, outputs, memory])
    return outputs

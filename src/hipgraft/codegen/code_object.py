"""AMDGPU code objects: taking them out of IREE's container and reading their note.

The note (msgpack, `amdhsa.kernels`) is what the driver goes by: kernel names, the layout of the
kernel argument segment, LDS, registers, workgroup size. Source: LLVM's AMDGPU usage guide,
"Code Object V5 Metadata".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgpack  # pyright: ignore[reportMissingTypeStubs]

from hipgraft.diagnostics import CodegenError

if TYPE_CHECKING:
    # Devices read code objects without the compiler at hand.
    from hipgraft.codegen.kernel import Dispatch, Triple

_ELF_MAGIC = b"\x7fELF"
_HIDDEN = "hidden_"
_SHT_NOTE = 7
# Sizes of the name and of what it names, and a number for its kind.
_NOTE = struct.Struct("<III")


@dataclass(frozen=True)
class KernelArgument:
    """One explicit argument in the kernel argument segment; offset and size in bytes."""

    kind: str
    offset: int
    size: int


@dataclass(frozen=True)
class KernelInfo:
    """What the note says of one kernel.

    Attributes:
        name: symbol to launch.
        arguments: explicit arguments in order; hidden ones are left out.
        kernarg_size: bytes of the kernel argument segment, hidden arguments included.
        lds_size: static LDS in bytes.
        scratch_size: private memory of a work item in bytes.
        vgprs: vector registers of a work item.
        agprs: accumulator registers of a work item.
        sgprs: scalar registers of a wavefront.
        spills: vector and scalar registers spilled to memory.
        wavefront_size: work items of a wavefront.
        max_workgroup_size: most work items of a workgroup.
        workgroup_size: required workgroup size, or None.
    """

    name: str
    arguments: tuple[KernelArgument, ...]
    kernarg_size: int
    lds_size: int
    scratch_size: int
    vgprs: int
    agprs: int
    sgprs: int
    spills: int
    wavefront_size: int
    max_workgroup_size: int
    workgroup_size: Triple | None


@dataclass(frozen=True)
class CodeObject:
    """A parsed AMDGPU ELF.

    Attributes:
        architecture: e.g. `gfx942`, without feature suffixes.
        kernels: by symbol.
    """

    architecture: str
    kernels: dict[str, KernelInfo]

    @staticmethod
    def parse(data: bytes) -> CodeObject:
        """Reads the note of an ELF.

        Raises:
            CodegenError: `data` is no AMDGPU code object.
        """
        metadata = _metadata(data)
        kernels = [_kernel_info(entry) for entry in metadata["amdhsa.kernels"]]
        target = str(metadata["amdhsa.target"])
        return CodeObject(
            architecture=target.split(":")[0].rsplit("-", 1)[-1],
            kernels={kernel.name: kernel for kernel in kernels},
        )


def extract_code_objects(container: bytes) -> list[bytes]:
    """Returns the ELF files in an executable binary of IREE's HIP target, in order.

    The container is a FlatBuffer whose schema changes between releases, so the ELF is found by
    its magic and cut by its own section header table, which lld writes last.

    Raises:
        CodegenError: there is none.
    """
    found: list[bytes] = []
    start = container.find(_ELF_MAGIC)
    while start >= 0:
        found.append(container[start : start + _elf_size(container, start)])
        start = container.find(_ELF_MAGIC, start + len(found[-1]))
    if not found:
        raise CodegenError("the compiler's executable binary holds no code object")
    return found


def check_dispatch(dispatch: Dispatch, kernel: KernelInfo, subgroup_size: int) -> None:
    """Checks that a launch agrees with the note of the kernel it launches.

    Args:
        dispatch: the launch.
        kernel: what the note says.
        subgroup_size: lanes of a wavefront that the schedule was made for.

    Raises:
        CodegenError: arguments, workgroup size or wavefront size differ, or the kernel is empty.
    """
    expected = _expected_arguments(dispatch)
    if kernel.arguments != expected:
        raise CodegenError(
            f"kernel '{kernel.name}' takes arguments {_describe(kernel.arguments)} but its launch "
            f"passes {_describe(expected)}"
        )
    if kernel.workgroup_size not in (None, dispatch.block):
        raise CodegenError(
            f"kernel '{kernel.name}' requires workgroups of {kernel.workgroup_size} but is "
            f"launched with {dispatch.block}"
        )
    # PTX names no registers of either kind.
    if kernel.vgprs == 0 < kernel.sgprs:
        raise CodegenError(
            f"kernel '{kernel.name}' uses no vector register, so it stores nothing: the compiler "
            "found its behaviour undefined"
        )
    if subgroup_size not in (0, kernel.wavefront_size):
        raise CodegenError(
            f"kernel '{kernel.name}' has wavefronts of {kernel.wavefront_size} but its schedule "
            f"is for {subgroup_size}"
        )
    x, y, z = dispatch.block
    if x * y * z > kernel.max_workgroup_size:
        raise CodegenError(
            f"kernel '{kernel.name}' allows {kernel.max_workgroup_size} work items in a "
            f"workgroup but is launched with {x * y * z}"
        )


def _expected_arguments(dispatch: Dispatch) -> tuple[KernelArgument, ...]:
    pointers = [
        KernelArgument("global_buffer", 8 * index, 8) for index in range(len(dispatch.bindings))
    ]
    base = 8 * len(pointers)
    words = [
        KernelArgument("by_value", base + 4 * index, 4) for index in range(len(dispatch.constants))
    ]
    return tuple(pointers + words)


def _describe(arguments: tuple[KernelArgument, ...]) -> str:
    return "(" + ", ".join(f"{a.kind} {a.size} at {a.offset}" for a in arguments) + ")"


def _elf_size(container: bytes, start: int) -> int:
    # ELF64 header: e_shoff at 40, e_shentsize and e_shnum at 58 and 60.
    if len(container) < start + 64:
        raise CodegenError("the compiler's executable binary holds a truncated code object")
    (table,) = struct.unpack_from("<Q", container, start + 40)
    entry_size, entries = struct.unpack_from("<HH", container, start + 58)
    size = table + entry_size * entries
    if start + size > len(container):
        raise CodegenError("the compiler's executable binary holds a truncated code object")
    return size


def _metadata(data: bytes) -> dict[str, Any]:
    try:
        for start, size in _note_sections(data):
            name_size, size_of_metadata, _ = _NOTE.unpack_from(data, start)
            name = data[start + _NOTE.size :][:name_size]
            if name == b"AMDGPU\0" and size > _NOTE.size:
                begin = start + _NOTE.size + _aligned(name_size)
                metadata = data[begin : begin + size_of_metadata]
                return msgpack.unpackb(metadata, strict_map_key=False)
    except struct.error:
        raise CodegenError("the code object is truncated") from None
    raise CodegenError("the code object has no AMDGPU metadata note")


def _note_sections(data: bytes) -> Iterator[tuple[int, int]]:
    """Yields offset and size; by hand, because a general reader takes 10 times as long."""
    # ELF64: e_shoff at 40; e_shentsize and e_shnum at 58. A section: type at 4, place at 24.
    (table,) = struct.unpack_from("<Q", data, 40)
    entry_size, entries = struct.unpack_from("<HH", data, 58)
    for section in range(table, table + entry_size * entries, entry_size):
        (kind,) = struct.unpack_from("<I", data, section + 4)
        if kind == _SHT_NOTE:
            yield struct.unpack_from("<QQ", data, section + 24)


def _aligned(size: int) -> int:
    return -(-size // 4) * 4


def _kernel_info(entry: dict[str, Any]) -> KernelInfo:
    required = entry.get(".reqd_workgroup_size")
    return KernelInfo(
        name=entry[".name"],
        arguments=tuple(
            KernelArgument(arg[".value_kind"], arg[".offset"], arg[".size"])
            for arg in entry.get(".args", [])
            if not arg[".value_kind"].startswith(_HIDDEN)
        ),
        kernarg_size=entry[".kernarg_segment_size"],
        lds_size=entry[".group_segment_fixed_size"],
        scratch_size=entry[".private_segment_fixed_size"],
        vgprs=entry[".vgpr_count"],
        agprs=entry.get(".agpr_count", 0),
        sgprs=entry[".sgpr_count"],
        spills=entry.get(".vgpr_spill_count", 0) + entry.get(".sgpr_spill_count", 0),
        wavefront_size=entry[".wavefront_size"],
        max_workgroup_size=entry[".max_flat_workgroup_size"],
        workgroup_size=None if required is None else (required[0], required[1], required[2]),
    )

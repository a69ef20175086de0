"""Extracts AMDGPU code objects from IREE's container, and reads their metadata.

The metadata note (msgpack, `amdhsa.kernels`) has the driver's data: kernel names, the layout of the
kernel argument segment, LDS, registers, workgroup size. Source: LLVM's AMDGPU usage guide, "Code
Object V5 Metadata".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import msgspec

from hipgraft.ir.diagnostics import CodegenError

if TYPE_CHECKING:
    # Devices read code objects on machines without the compiler, which this import would need.
    from hipgraft.codegen.kernel import Dispatch, Triple

_ELF_MAGIC = b"\x7fELF"
_HIDDEN = "hidden_"
_SHT_NOTE = 7
# A note's header: size of its name, size of its description, type.
_NOTE = struct.Struct("<III")

_Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
_Positive = Annotated[int, msgspec.Meta(ge=1, le=1 << 16)]


def _dotted(**names: str) -> dict[str, str]:
    return {name: f".{spelling}" for name, spelling in names.items()}


class _Argument(
    msgspec.Struct, rename=_dotted(kind="value_kind", offset="offset", size="size"), frozen=True
):
    kind: str
    offset: _Count
    size: _Count


class _Kernel(
    msgspec.Struct,
    rename=_dotted(
        name="name",
        kernarg_size="kernarg_segment_size",
        lds_size="group_segment_fixed_size",
        scratch_size="private_segment_fixed_size",
        vgprs="vgpr_count",
        sgprs="sgpr_count",
        wavefront_size="wavefront_size",
        max_workgroup_size="max_flat_workgroup_size",
        workgroup_size="reqd_workgroup_size",
        arguments="args",
        agprs="agpr_count",
        vgpr_spills="vgpr_spill_count",
        sgpr_spills="sgpr_spill_count",
    ),
    frozen=True,
):
    name: str
    kernarg_size: _Count
    lds_size: _Count
    scratch_size: _Count
    vgprs: _Count
    sgprs: _Count
    wavefront_size: _Positive
    max_workgroup_size: _Positive
    workgroup_size: tuple[int, int, int] | None = None
    arguments: tuple[_Argument, ...] = ()
    agprs: _Count = 0
    vgpr_spills: _Count = 0
    sgpr_spills: _Count = 0


class _Metadata(
    msgspec.Struct, rename={"target": "amdhsa.target", "kernels": "amdhsa.kernels"}, frozen=True
):
    target: str
    kernels: tuple[_Kernel, ...]


@dataclass(frozen=True)
class KernelArgument:
    """One explicit argument in the kernel argument segment; offset and size are in bytes."""

    kind: str
    offset: int
    size: int


@dataclass(frozen=True)
class KernelInfo:
    """The metadata of one kernel.

    Attributes:
        name: symbol to launch.
        arguments: explicit arguments in order, without hidden ones.
        kernarg_size: bytes of the kernel argument segment, hidden arguments included.
        lds_size: static LDS in bytes.
        scratch_size: private memory per work item in bytes.
        vgprs: vector registers per work item.
        agprs: accumulator registers per work item.
        sgprs: scalar registers per wavefront.
        spills: vector and scalar registers spilled to memory.
        wavefront_size: work items in a wavefront.
        max_workgroup_size: the most work items in a workgroup.
        workgroup_size: required workgroup size, or None.
        counts_registers: whether the object declares how many registers the kernel uses.
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
    counts_registers: bool = True


@dataclass(frozen=True)
class CodeObject:
    """A parsed AMDGPU ELF.

    Attributes:
        architecture: e.g. `gfx942`, without feature suffixes.
        kernels: kernels by symbol.
    """

    architecture: str
    kernels: dict[str, KernelInfo]

    @staticmethod
    def parse(data: bytes) -> CodeObject:
        """Reads the note of an ELF.

        Raises:
            CodegenError: `data` is not an AMDGPU code object.
        """
        metadata = _metadata(data)
        kernels = [_kernel_info(entry) for entry in metadata.kernels]
        return CodeObject(
            architecture=metadata.target.split(":")[0].rsplit("-", 1)[-1],
            kernels={kernel.name: kernel for kernel in kernels},
        )


def extract_code_objects(container: bytes) -> list[bytes]:
    """Returns the ELF files in an executable binary of IREE's HIP target, in order.

    The container is a FlatBuffer whose schema changes between releases. So the ELF is found by its
    magic, and its size is computed from its section header table, which lld writes last.

    Raises:
        CodegenError: the container holds no ELF file.
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
    """Checks that a launch agrees with the metadata of its kernel.

    Args:
        dispatch: the launch.
        kernel: metadata of the kernel.
        subgroup_size: wavefront size that the schedule assumes; 0 if unknown.

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
    if kernel.vgprs == 0 and kernel.counts_registers:
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


def _metadata(data: bytes) -> _Metadata:
    try:
        for start, size in _note_sections(data):
            name_size, size_of_metadata, _ = _NOTE.unpack_from(data, start)
            name = data[start + _NOTE.size :][:name_size]
            if name == b"AMDGPU\0" and size > _NOTE.size:
                begin = start + _NOTE.size + _aligned(name_size)
                metadata = data[begin : begin + size_of_metadata]
                return msgspec.msgpack.decode(metadata, type=_Metadata)
    except (struct.error, OverflowError, IndexError):
        raise CodegenError("the code object is truncated") from None
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise CodegenError(f"malformed metadata in the code object: {error}") from None
    raise CodegenError("the code object has no AMDGPU metadata note")


def _note_sections(data: bytes) -> Iterator[tuple[int, int]]:
    """Yields offset and size of each note section.

    This is written by hand because a general ELF reader takes 10 times as long.
    """
    # ELF64: e_shoff at 40; e_shentsize and e_shnum at 58. Section header: sh_type at 4, sh_offset
    # and sh_size at 24.
    (table,) = struct.unpack_from("<Q", data, 40)
    entry_size, entries = struct.unpack_from("<HH", data, 58)
    for section in range(table, table + entry_size * entries, entry_size):
        (kind,) = struct.unpack_from("<I", data, section + 4)
        if kind == _SHT_NOTE:
            yield struct.unpack_from("<QQ", data, section + 24)


def _aligned(size: int) -> int:
    return -(-size // 4) * 4


def _kernel_info(kernel: _Kernel) -> KernelInfo:
    return KernelInfo(
        name=kernel.name,
        arguments=tuple(
            KernelArgument(argument.kind, argument.offset, argument.size)
            for argument in kernel.arguments
            if not argument.kind.startswith(_HIDDEN)
        ),
        kernarg_size=kernel.kernarg_size,
        lds_size=kernel.lds_size,
        scratch_size=kernel.scratch_size,
        vgprs=kernel.vgprs,
        agprs=kernel.agprs,
        sgprs=kernel.sgprs,
        spills=kernel.vgpr_spills + kernel.sgpr_spills,
        wavefront_size=kernel.wavefront_size,
        max_workgroup_size=kernel.max_workgroup_size,
        workgroup_size=kernel.workgroup_size,
    )

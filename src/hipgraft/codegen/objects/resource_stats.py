"""Computes the resource usage and the occupancy of compiled kernels without running them.

Sources: the code object's note for the resources of a kernel; LLVM's AMDGPU backend
(`AMDGPUBaseInfo.cpp`) for those of an architecture and their allocation granularity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.objects.code_object import CodeObject, KernelInfo

_ELF_MAGIC = b"\x7fELF"
_LDS = 64 << 10
# The most workgroups of a unit that can use barriers at the same time.
_BARRIERS = 16


@dataclass(frozen=True)
class _ComputeUnit:
    """The resources that a workgroup's waves share; on RDNA a pair of units (WGP mode).

    Attributes:
        simds: SIMD units.
        waves: the most wavefronts per SIMD unit.
        vgprs: vector registers per lane, shared by the wavefronts of a SIMD unit.
        vgpr_granule: allocation granularity of vector registers.
        lds: bytes of LDS, shared by the workgroups of the unit.
        barriers: the most workgroups with several wavefronts.
        limited_sgprs: whether scalar registers limit occupancy, too.
    """

    simds: int
    waves: int
    vgprs: int
    vgpr_granule: int
    lds: int = _LDS
    barriers: int = _BARRIERS
    limited_sgprs: bool = False


_CDNA1 = _ComputeUnit(simds=4, waves=10, vgprs=256, vgpr_granule=4, limited_sgprs=True)
_CDNA = _ComputeUnit(simds=4, waves=8, vgprs=512, vgpr_granule=8, limited_sgprs=True)
_CDNA4 = _ComputeUnit(4, 8, 512, 8, lds=160 << 10, limited_sgprs=True)
_RDNA = _ComputeUnit(4, 16, 1024, 16, lds=2 * _LDS, barriers=2 * _BARRIERS)
_RDNA_LARGE = _ComputeUnit(4, 16, 1536, 24, lds=2 * _LDS, barriers=2 * _BARRIERS)

_COMPUTE_UNITS = {
    "gfx908": _CDNA1,
    "gfx90a": _CDNA,
    "gfx942": _CDNA,
    "gfx950": _CDNA4,
    "gfx1100": _RDNA_LARGE,
    "gfx1101": _RDNA_LARGE,
    "gfx1103": _RDNA,
    "gfx1150": _RDNA,
    "gfx1151": _RDNA_LARGE,
    "gfx1200": _RDNA_LARGE,
    "gfx1201": _RDNA_LARGE,
    "gfx1250": _ComputeUnit(4, 16, 1024, 16, lds=320 << 10),
}

# Scalar register limits on GFX9: the most per wavefront for each number of wavefronts.
_SGPR_LIMITS = ((80, 10), (88, 9), (100, 8))
_SGPR_FLOOR = 7


@dataclass(frozen=True)
class KernelResources:
    """Resource usage of the kernel of one launch.

    Attributes:
        name: symbol of the kernel.
        workgroup: work items in a workgroup.
        wavefront: work items in a wavefront.
        vgprs: vector registers per work item, including AGPRs where they share a register file.
        agprs: accumulator registers per work item.
        sgprs: scalar registers per wavefront.
        spills: registers spilled to memory.
        lds: bytes of LDS per workgroup.
        scratch: bytes of private memory per work item.
        kernarg: bytes of the kernel argument segment.
        occupancy: wavefronts that fit on a SIMD unit at once; 0 if unknown.
    """

    name: str
    workgroup: int
    wavefront: int
    vgprs: int
    agprs: int
    sgprs: int
    spills: int
    lds: int
    scratch: int
    kernarg: int
    occupancy: int


def kernel_resources(kernel: Kernel) -> list[KernelResources]:
    """Returns the resource usage of each launch of a kernel, in order; empty if not for AMDGPU."""
    if kernel.format != "hsaco":
        return []
    code_objects = [CodeObject.parse(data) for data in kernel.objects]
    return [
        _resources(code_objects[one.object], one.kernel, prod(one.block))
        for one in kernel.dispatches
    ]


def required_resources(data: bytes, kernel: str) -> KernelResources | None:
    """Returns the resource usage of a kernel in workgroups of the size that it requires.

    Args:
        data: a code object.
        kernel: symbol of the kernel.

    Returns:
        The resource usage; None if the code object is not for AMDGPU, or requires no size.
    """
    if not data.startswith(_ELF_MAGIC):
        return None
    code_object = CodeObject.parse(data)
    size = code_object.kernels[kernel].workgroup_size
    return None if size is None else _resources(code_object, kernel, prod(size))


def peak_resources(resources: Sequence[KernelResources]) -> dict[str, int]:
    """Returns the largest resource usage among a kernel's launches, and the lowest occupancy."""
    if not resources:
        return {}
    names = ("vgprs", "agprs", "sgprs", "lds", "spills", "scratch")
    largest = {name: max(getattr(each, name) for each in resources) for name in names}
    return {**largest, "occupancy": min(each.occupancy for each in resources)}


def occupancy(architecture: str, info: KernelInfo, workgroup: int) -> int:
    """Returns how many wavefronts of a kernel fit on a SIMD unit; 0 if the unit is unknown.

    Args:
        architecture: e.g. `gfx942`.
        info: metadata of the kernel.
        workgroup: work items in a workgroup.
    """
    unit = _COMPUTE_UNITS.get(architecture)
    if unit is None:
        return 0
    limits = [unit.waves, _waves_by_vgprs(unit, info.vgprs), _waves_by_lds(unit, info, workgroup)]
    if unit.limited_sgprs:
        fitting = (waves for most, waves in _SGPR_LIMITS if info.sgprs <= most)
        limits.append(next(fitting, _SGPR_FLOOR))
    return min(limits)


def _resources(code_object: CodeObject, kernel: str, workgroup: int) -> KernelResources:
    info = code_object.kernels[kernel]
    return KernelResources(
        name=info.name,
        workgroup=workgroup,
        wavefront=info.wavefront_size,
        vgprs=info.vgprs,
        agprs=info.agprs,
        sgprs=info.sgprs,
        spills=info.spills,
        lds=info.lds_size,
        scratch=info.scratch_size,
        kernarg=info.kernarg_size,
        occupancy=occupancy(code_object.architecture, info, workgroup),
    )


def _waves_by_vgprs(unit: _ComputeUnit, vgprs: int) -> int:
    allocated = max(_ceil_div(vgprs, unit.vgpr_granule), 1) * unit.vgpr_granule
    return max(unit.vgprs // allocated, 1)


def _waves_by_lds(unit: _ComputeUnit, info: KernelInfo, workgroup: int) -> int:
    """Returns the waves per SIMD unit if only LDS, barriers and wave slots limit workgroups."""
    waves = _ceil_div(workgroup, info.wavefront_size)
    groups = unit.waves * unit.simds // waves
    if waves > 1:
        groups = min(groups, unit.barriers)
    if info.lds_size:
        groups = min(groups, unit.lds // info.lds_size)
    return _ceil_div(max(groups, 1) * waves, unit.simds)


def _ceil_div(value: int, divisor: int) -> int:
    return -(-value // divisor)

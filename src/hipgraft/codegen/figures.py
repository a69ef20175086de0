"""Static figures of compiled kernels: what they occupy of a compute unit, without running them.

Sources: the code object's note for what a kernel takes; LLVM's AMDGPU backend
(`AMDGPUBaseInfo.cpp`) for what an architecture has and how it hands it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from hipgraft.codegen.code_object import CodeObject, KernelInfo
from hipgraft.codegen.kernel import Dispatch, Kernel

_LDS = 64 << 10
# Workgroups that can wait at barriers at once.
_BARRIERS = 16


@dataclass(frozen=True)
class _ComputeUnit:
    """What the waves of a workgroup share; on RDNA a pair of units in workgroup processor mode.

    Attributes:
        simds: units of execution.
        waves: most wavefronts that one of them holds.
        vgprs: vector registers of each lane that its wavefronts share.
        vgpr_granule: how many are handed out at once.
        lds: bytes that its workgroups share.
        barriers: most workgroups of several wavefronts.
        limited_sgprs: whether scalar registers are shared, too.
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

# GFX9's scalar registers: up to how many leave room for how many wavefronts.
_SGPR_LIMITS = ((80, 10), (88, 9), (100, 8))
_SGPR_FLOOR = 7


@dataclass(frozen=True)
class KernelFigures:
    """One launch's kernel.

    Attributes:
        name: symbol of the kernel.
        workgroup: work items of a workgroup.
        wavefront: work items of a wavefront.
        vgprs: vector registers of a work item; where AGPRs share their file, those included.
        agprs: accumulator registers of a work item.
        sgprs: scalar registers of a wavefront.
        spills: registers spilled to memory.
        lds: bytes of a workgroup.
        scratch: private bytes of a work item.
        kernarg: bytes of arguments.
        occupancy: wavefronts that a SIMD unit can hold at once; 0 where that is not known.
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


def kernel_figures(kernel: Kernel) -> list[KernelFigures]:
    """Returns the figures of each launch of a kernel, in order; none but for AMDGPU."""
    if kernel.format != "hsaco":
        return []
    code_objects = [CodeObject.parse(data) for data in kernel.objects]
    return [_figures(code_objects[dispatch.object], dispatch) for dispatch in kernel.dispatches]


def largest_figures(figures: Sequence[KernelFigures]) -> dict[str, int]:
    """Returns the largest needs of a kernel's launches, and their lowest occupancy."""
    if not figures:
        return {}
    names = ("vgprs", "agprs", "sgprs", "lds", "spills", "scratch")
    largest = {name: max(getattr(each, name) for each in figures) for name in names}
    return {**largest, "occupancy": min(each.occupancy for each in figures)}


def occupancy(architecture: str, info: KernelInfo, workgroup: int) -> int:
    """Returns how many wavefronts of a kernel fit on a SIMD unit; 0 if the unit is not known.

    Args:
        architecture: e.g. `gfx942`.
        info: what the kernel takes.
        workgroup: work items of a workgroup.
    """
    unit = _COMPUTE_UNITS.get(architecture)
    if unit is None:
        return 0
    limits = [unit.waves, _waves_by_vgprs(unit, info.vgprs), _waves_by_lds(unit, info, workgroup)]
    if unit.limited_sgprs:
        fitting = (waves for most, waves in _SGPR_LIMITS if info.sgprs <= most)
        limits.append(next(fitting, _SGPR_FLOOR))
    return min(limits)


def _figures(code_object: CodeObject, dispatch: Dispatch) -> KernelFigures:
    info = code_object.kernels[dispatch.kernel]
    workgroup = prod(dispatch.block)
    return KernelFigures(
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
    """Whole workgroups share a unit: they are limited by its waves, barriers and LDS."""
    waves = _ceil_div(workgroup, info.wavefront_size)
    groups = unit.waves * unit.simds // waves
    if waves > 1:
        groups = min(groups, unit.barriers)
    if info.lds_size:
        groups = min(groups, unit.lds // info.lds_size)
    return _ceil_div(max(groups, 1) * waves, unit.simds)


def _ceil_div(value: int, divisor: int) -> int:
    return -(-value // divisor)

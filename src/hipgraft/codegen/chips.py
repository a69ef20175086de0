"""Properties of chips for time estimates; docs/timing.md and docs/cost.md have the sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hipgraft.ir.diagnostics import HipgraftError

_MIB = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """A GPU as its data sheet describes it.

    Attributes:
        name: name of the product.
        architecture: architecture as LLVM spells it.
        units: number of compute units, or on RDNA of pairs of units that share workgroups.
        dies: number of dies, each with its own L2; workgroups alternate between them.
        clock: cycles per second.
        lds_bytes: LDS bytes per cycle of a unit.
        lds_size: LDS bytes of a unit.
        l1_bytes: bytes per cycle of one L1.
        l2_bytes: L2 bytes per cycle of a unit.
        far_bandwidth: bytes per second beyond the L2s, for data in the last cache.
        far_size: bytes of the last cache; 0 if there is none beyond the L2s.
        memory_bandwidth: achieved bytes per second.
        peaks: dense operations per second at `clock`, by element type of a matrix product's
            factors; the key `vector` means f32 outside of the matrix units.
        kernel_seconds: least time of a kernel, besides its work.
        gap_seconds: time between a kernel and the next one, which depends on it.
    """

    name: str
    architecture: str
    units: int
    dies: int
    clock: float
    lds_bytes: float
    lds_size: int
    l1_bytes: float
    l2_bytes: float
    far_bandwidth: float
    far_size: int
    memory_bandwidth: float
    peaks: Mapping[str, float]
    kernel_seconds: float = 1.5e-6
    gap_seconds: float = 2e-6

    @property
    def fewest_tiles(self) -> int:
        """The number of workgroups below which a contraction should have smaller tiles."""
        return self.units // 2 if self.architecture.startswith("gfx9") else 2 * self.units


@dataclass(frozen=True, kw_only=True)
class Chip(Gpu):
    """A GPU whose properties suffice to replay kernels.

    Attributes:
        simds: number of SIMDs of a unit.
        cadence: cycles between two instructions of a wave.
        lanes_per_issue: lanes that a vector instruction of `cadence` cycles covers.
        double_cycles: factor by which vector instructions on f64 take longer.
        valu_latency: cycles until a result can be read.
        matrix_latency: cycles from a matrix instruction's last pass until its result can be read.
        matrix_beside_vector: whether vector instructions issue while the matrix unit works.
        wmma_cycles: cycles of a WMMA instruction.
        scalar_latency: cycles between scalar instructions of a wave.
        branch_cycles: cycles of a branch.
        launch_cycles: cycles from a free slot to a workgroup's first instruction.
        lds_latency: cycles until an LDS load returns.
        l1_least_cycles: least cycles of an instruction in the L1.
        l1_scale: factor on the cycles of an instruction in one L1.
        l1_latency: cycles until a load from the L1 returns.
        l1_size: L1 bytes of a unit.
        l2_latency: cycles until a load from the L2 returns.
        far_latency: cycles until a load from beyond the L2 returns.
        store_latency: cycles until a store completes.
        scalar_load_latency: cycles until a scalar load returns.
        separate_stores: whether stores have their own counter.
        registers: number of vector registers per lane of a SIMD.
        register_granule: granule in which registers are allocated to waves.
        most_waves: most waves of a SIMD.
    """

    simds: int
    cadence: float
    lanes_per_issue: int
    double_cycles: int
    valu_latency: float
    matrix_latency: int
    matrix_beside_vector: bool
    wmma_cycles: int
    scalar_latency: float
    branch_cycles: float
    launch_cycles: float
    lds_latency: float
    l1_least_cycles: float
    l1_scale: float
    l1_latency: float
    l1_size: int
    l2_latency: float
    far_latency: float
    store_latency: float
    scalar_load_latency: float
    separate_stores: bool
    registers: int
    register_granule: int
    most_waves: int


def _peaks(
    f16: float, f8: float, i8: float, f32: float, f64: float, vector: float, **other: float
) -> Mapping[str, float]:
    """Returns peak rates by element type, given a data sheet's in 10^12 operations per second."""
    found = {"f16": f16, "bf16": f16, "i8": i8, "ui8": i8, "f32": f32, "f64": f64}
    found |= dict.fromkeys(("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ"), f8)
    return {name: 1e12 * rate for name, rate in (found | {"vector": vector} | other).items()}


_MI300X = Chip(
    name="MI300X",
    architecture="gfx942",
    units=304,
    dies=8,
    clock=2.1e9,
    simds=4,
    cadence=4,
    lanes_per_issue=64,
    double_cycles=1,
    valu_latency=4,
    matrix_latency=8,
    matrix_beside_vector=True,
    wmma_cycles=0,
    scalar_latency=4,
    branch_cycles=16,
    launch_cycles=400,
    lds_bytes=128,
    lds_latency=64,
    lds_size=64 << 10,
    l1_bytes=64,
    l1_least_cycles=4,
    l1_scale=1,
    l1_latency=120,
    l1_size=32 << 10,
    l2_bytes=54,
    l2_latency=250,
    far_bandwidth=10.5e12,
    far_latency=460,
    far_size=256 * _MIB,
    memory_bandwidth=4.3e12,
    peaks=_peaks(f16=1307.4, f8=2614.9, i8=2614.9, f32=163.4, f64=163.4, vector=163.4),
    store_latency=120,
    scalar_load_latency=200,
    separate_stores=False,
    registers=512,
    register_granule=8,
    most_waves=8,
)

CHIPS = {
    "gfx942": _MI300X,
    "gfx950": replace(
        _MI300X,
        name="MI355X",
        architecture="gfx950",
        units=256,
        clock=2.4e9,
        lds_size=160 << 10,
        far_latency=500,
        memory_bandwidth=6.5e12,
        peaks=_peaks(
            f16=2516.6, f8=5033.2, i8=5033.2, f32=157.3, f64=78.6, vector=157.3, f4E2M1FN=10066.3
        ),
    ),
    # A workgroup runs on the four SIMDs and two L1s of a pair of compute units.
    "gfx1100": Chip(
        name="RX 7900 XTX",
        architecture="gfx1100",
        units=48,
        dies=1,
        clock=2.4e9,
        simds=4,
        cadence=1,
        lanes_per_issue=32,
        double_cycles=16,
        valu_latency=5,
        matrix_latency=2,
        matrix_beside_vector=False,
        wmma_cycles=32,
        scalar_latency=2,
        branch_cycles=16,
        launch_cycles=300,
        lds_bytes=256,
        lds_latency=60,
        lds_size=128 << 10,
        l1_bytes=64,
        l1_least_cycles=4,
        l1_scale=0.5,
        l1_latency=120,
        l1_size=64 << 10,
        l2_bytes=84,
        l2_latency=300,
        far_bandwidth=2.6e12,
        far_latency=500,
        far_size=96 * _MIB,
        memory_bandwidth=0.85e12,
        # The vector unit multiplies types for which there are no matrix instructions.
        peaks=_peaks(f16=122.8, f8=122.8, i8=122.8, f32=61.4, f64=0.96, vector=61.4),
        store_latency=120,
        scalar_load_latency=150,
        separate_stores=True,
        registers=1536,
        register_granule=24,
        most_waves=16,
    ),
}
"""The chips for which there are time estimates, by architecture."""

GPUS: dict[str, Gpu] = {
    # This is one of the package's two dies, each of which is a device of its own.
    "mi250x": Gpu(
        name="MI250X",
        architecture="gfx90a",
        units=110,
        dies=1,
        clock=1.7e9,
        lds_bytes=128,
        lds_size=64 << 10,
        l1_bytes=64,
        l2_bytes=37,
        far_bandwidth=1.3e12,
        far_size=0,
        memory_bandwidth=1.3e12,
        peaks=_peaks(f16=191.5, f8=191.5, i8=191.5, f32=47.9, f64=47.9, vector=23.9),
    ),
    "mi300x": _MI300X,
    "mi325x": replace(_MI300X, name="MI325X", memory_bandwidth=4.9e12),
    "mi355x": CHIPS["gfx950"],
    "rx7900xtx": CHIPS["gfx1100"],
    "rx9070xt": Gpu(
        name="RX 9070 XT",
        architecture="gfx1201",
        units=32,
        dies=1,
        clock=2.97e9,
        lds_bytes=256,
        lds_size=128 << 10,
        l1_bytes=64,
        l2_bytes=84,
        far_bandwidth=2.2e12,
        far_size=64 * _MIB,
        memory_bandwidth=0.57e12,
        peaks=_peaks(f16=195, f8=389, i8=389, f32=48.7, f64=0.76, vector=48.7),
    ),
    "strix-halo": Gpu(
        name="Strix Halo",
        architecture="gfx1151",
        units=20,
        dies=1,
        clock=2.9e9,
        lds_bytes=256,
        lds_size=128 << 10,
        l1_bytes=64,
        l2_bytes=84,
        far_bandwidth=0.7e12,
        far_size=32 * _MIB,
        memory_bandwidth=0.215e12,
        peaks=_peaks(f16=59.4, f8=59.4, i8=59.4, f32=29.7, f64=0.46, vector=29.7),
    ),
}
"""The GPUs for which there are costs of graphs, by product; docs/cost.md has the sources."""


def find_gpu(name: str) -> Gpu:
    """Returns the GPU of a product or an architecture; for other names the first of their family.

    Args:
        name: name as in `GPUS` or as LLVM spells it; an empty name, `cpu` and CUDA's names mean the
            default, MI300X.

    Raises:
        HipgraftError: there is no such product.
    """
    if name in GPUS:
        return GPUS[name]
    alike = (gpu for gpu in GPUS.values() if gpu.architecture == name)
    if (found := next(alike, None)) is not None:
        return found
    if not name or name == "cpu" or name.startswith("sm_"):
        return _MI300X
    if name.startswith("gfx"):
        is_rdna4 = name.startswith("gfx12")
        return GPUS["rx9070xt"] if is_rdna4 else CHIPS["gfx1100" if name[3:5] == "11" else "gfx942"]
    raise HipgraftError(f"unknown GPU '{name}'; expected one of {', '.join(GPUS)}")


def product_of(name: str) -> str:
    """Returns the name in `GPUS` of the GPU that `find_gpu` finds.

    Raises:
        HipgraftError: there is no such product.
    """
    found = find_gpu(name)
    return next(product for product, gpu in GPUS.items() if gpu is found)

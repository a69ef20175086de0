"""Facts about chips, for estimates of time. docs/timing.md has the sources."""

from __future__ import annotations

from dataclasses import dataclass, replace

_MIB = 1 << 20


@dataclass(frozen=True)
class Chip:
    """A GPU.

    Attributes:
        name: product.
        units: compute units; on RDNA pairs of them, which share workgroups.
        dies: between which workgroups alternate, each with an L2 of its own.
        clock: cycles per second.
        simds: of a unit.
        cadence: cycles between two instructions of a wave.
        lanes_per_issue: lanes that a vector instruction of `cadence` cycles covers.
        double_cycles: how many times as long vector instructions on f64 take.
        valu_latency: cycles until a result can be read.
        matrix_latency: likewise, of matrix instructions after their passes.
        matrix_beside_vector: whether vector instructions issue while the matrix unit works.
        wmma_cycles: of a WMMA instruction.
        scalar_latency: cycles between scalar instructions of a wave.
        branch_cycles: of a branch.
        launch_cycles: from a free slot to a workgroup's first instruction.
        lds_bytes: per cycle.
        lds_latency: cycles.
        lds_size: bytes of a unit.
        l1_bytes: per cycle.
        l1_least_cycles: of an instruction.
        l1_scale: cycles of an instruction, as a part of those of one L1.
        l1_latency: cycles.
        l1_size: bytes of a unit.
        l2_bytes: of a unit per cycle.
        l2_latency: cycles.
        far_bandwidth: bytes per second beyond the L2s, of data in the last cache.
        far_latency: cycles.
        far_size: bytes of the last cache.
        memory_bandwidth: bytes per second that are achieved.
        store_latency: cycles.
        scalar_load_latency: cycles.
        separate_stores: whether stores have a counter of their own.
        registers: vector registers of a SIMD's lane.
        register_granule: in which waves take them.
        most_waves: of a SIMD.
        kernel_seconds: that each kernel takes at least, besides its work.
        gap_seconds: between a kernel and the next that depends on it.
    """

    name: str
    units: int
    dies: int
    clock: float
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
    lds_bytes: float
    lds_latency: float
    lds_size: int
    l1_bytes: float
    l1_least_cycles: float
    l1_scale: float
    l1_latency: float
    l1_size: int
    l2_bytes: float
    l2_latency: float
    far_bandwidth: float
    far_latency: float
    far_size: int
    memory_bandwidth: float
    store_latency: float
    scalar_load_latency: float
    separate_stores: bool
    registers: int
    register_granule: int
    most_waves: int
    kernel_seconds: float = 1.5e-6
    gap_seconds: float = 2e-6


_MI300X = Chip(
    name="MI300X",
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
        units=256,
        clock=2.4e9,
        lds_size=160 << 10,
        far_latency=500,
        memory_bandwidth=6.5e12,
    ),
    # A workgroup runs on the four SIMDs and two L1s of a pair of compute units.
    "gfx1100": Chip(
        name="RX 7900 XTX",
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
        store_latency=120,
        scalar_load_latency=150,
        separate_stores=True,
        registers=1536,
        register_granule=24,
        most_waves=16,
    ),
}
"""By architecture, the chip that estimates are for."""

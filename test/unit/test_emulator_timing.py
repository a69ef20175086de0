"""Compares estimated times with cycles that follow from instructions and a chip's parameters."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from assembled import assemble, requires_assembler

from hipgraft.codegen.chips import CHIPS
from hipgraft.emulator import EmulatorError, Estimate, estimate
from hipgraft.emulator import timing as model

pytestmark = requires_assembler

MI300X = CHIPS["gfx942"]
BEGIN = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_and_b32 v0, 0x3ff, v0
"""


@pytest.fixture(autouse=True)
def facts_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disables `VARIATIONS`, so that times follow exactly from the chip's parameters."""
    monkeypatch.setattr(model, "VARIATIONS", ({},))


def repeated(text: str, times: int) -> str:
    return f"  .rept {times}\n  {text}\n  .endr\n"


def timed(
    text: str,
    *,
    groups: int = 1,
    waves: int = 1,
    lds: int = 1024,
    elements: int = 1 << 16,
    architecture: str = "gfx942",
) -> Estimate:
    code = assemble(BEGIN + text, architecture, pointers=1, lds=lds)
    items = 64 * waves if architecture.startswith("gfx9") else 32 * waves
    return estimate(code, "f", (groups,), (items,), [np.zeros(elements, np.uint32)])


def cycles_of_each(instruction: str, before: str = "", **options: int) -> float:
    """Returns the cycles that each additional instance of an instruction takes."""
    few, many = (
        timed(before + repeated(instruction, times), **options).microseconds
        for times in (1000, 2000)
    )
    return (many - few) * 1e-6 * MI300X.clock / 1000


@pytest.mark.slow
@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("instruction", "cycles"),
    [
        ("v_add_f32 v1, v1, v2", 4),
        ("v_exp_f32 v1, v1", 16),
        ("v_mul_lo_u32 v1, v1, v2", 16),
        ("v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], v[0:3]", 16),
        ("v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]", 32),
        ("v_mfma_f32_16x16x4_f32 v[0:3], v8, v9, v[0:3]", 32),
        ("v_mfma_f32_32x32x2_f32 v[0:15], v16, v17, v[0:15]", 64),
        ("s_add_u32 s6, s6, s7", 4),
        ("s_nop 3", 16),
    ],
)
def test_dependent_instructions_take_their_issue_cycles(instruction: str, cycles: float):
    assert cycles_of_each(instruction) == pytest.approx(cycles, rel=1e-6)


@pytest.mark.slow
def test_another_reader_of_a_matrix_waits_for_the_passes():
    product = "v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], v[0:3]"
    both = cycles_of_each(f"{product}\n  v_add_f32 v0, v0, v0")
    assert both == pytest.approx(16 + MI300X.matrix_latency + MI300X.valu_latency, rel=1e-6)


@pytest.mark.slow
def test_waves_of_one_simd_share_its_vector_unit():
    # Four waves run on four SIMDs; eight share them.
    alone, shared = (cycles_of_each("v_add_f32 v1, v1, v2", waves=waves) for waves in (4, 8))
    assert alone == pytest.approx(4, rel=1e-6)
    assert shared == pytest.approx(8, rel=1e-3)


@pytest.mark.parametrize(("shift", "cycles"), [(2, 2), (3, 4), (7, 64)])
def test_lanes_that_meet_in_a_bank_take_turns(shift: int, cycles: int):
    """A wave reads 256 bytes: two cycles; lanes 128 bytes apart all use one bank."""
    before = f"  v_lshlrev_b32 v1, {shift}, v0\n"
    read = "ds_read_b32 v2, v1"
    reads = timed(before + repeated(read, 500), lds=8192)
    assert reads.parts["lds"] * 1e-6 * MI300X.clock / 500 == pytest.approx(cycles, rel=1e-6)


@pytest.mark.slow
def test_more_workgroups_than_units_take_further_rounds():
    text = repeated("v_add_f32 v1, v1, v2", 2000)
    # A workgroup of 64 KiB of LDS has its unit for itself.
    times = [
        timed(text, groups=groups, waves=16, lds=64 << 10).microseconds
        - 1e6 * MI300X.kernel_seconds
        for groups in (1, 304, 608)
    ]
    assert times[1] == pytest.approx(times[0], rel=0.01)
    assert times[2] == pytest.approx(2 * times[0], rel=0.05)


# A workgroup of one wave reads its 16 KiB of the operand whose address is in the registers.
READ_ALL = """
  s_lshl_b32 s8, s2, 14
  v_lshlrev_b32 v1, 4, v0
  v_add_u32 v1, s8, v1
  .rept 16
  global_load_dwordx4 v[4:7], v1, s[{first}:{last}]
  v_add_u32 v1, 0x400, v1
  .endr
"""


@pytest.mark.slow
def test_what_does_not_fit_the_last_cache_comes_from_memory():
    size = 512 << 20
    text = READ_ALL.format(first=4, last=5)
    found = timed(text, groups=size >> 14, elements=size // 4)
    seconds = size / MI300X.memory_bandwidth + MI300X.kernel_seconds
    assert found.bound == "memory"
    assert found.microseconds == pytest.approx(1e6 * seconds, rel=1e-6)


@pytest.mark.slow
def test_what_is_not_read_of_an_operand_takes_no_time():
    few, many = (
        timed(READ_ALL.format(first=4, last=5), groups=64, elements=elements)
        for elements in (1 << 18, 1 << 27)
    )
    assert few.microseconds == many.microseconds
    assert few.parts["memory"] == pytest.approx(1e6 * (1 << 20) / MI300X.far_bandwidth, rel=1e-6)


def test_operands_that_share_memory_are_read_once():
    memory = np.zeros(1 << 20, np.uint8)
    second = "  s_load_dwordx2 s[6:7], s[0:1], 0x8\n  s_waitcnt lgkmcnt(0)\n"
    text = READ_ALL.format(first=4, last=5) + READ_ALL.format(first=6, last=7)
    code = assemble(BEGIN + second + text, "gfx942", 2)
    found = estimate(code, "f", (48,), (64,), [memory[: 3 << 18], memory[1 << 18 :]])
    seconds = memory.nbytes / MI300X.far_bandwidth
    assert found.parts["memory"] == pytest.approx(1e6 * seconds, rel=1e-6)


@pytest.mark.slow
def test_waves_wait_for_each_other_at_a_barrier():
    # Which wave it is, as a scalar: the first of two works before the barrier, the second after it.
    text = """
  v_readfirstlane_b32 s6, v0
  s_cmp_eq_u32 s6, 0
  s_cbranch_scc{first} 1f
  .rept 2000
  v_add_f32 v1, v1, v2
  .endr
1:
  {barrier}
  s_cmp_eq_u32 s6, 0
  s_cbranch_scc{second} 2f
  .rept 2000
  v_add_f32 v1, v1, v2
  .endr
2:
"""
    apart, together = (
        timed(text.format(first=0, second=1, barrier=barrier), waves=2).microseconds
        - 1e6 * MI300X.kernel_seconds
        for barrier in ("s_barrier", "s_nop 0")
    )
    assert apart == pytest.approx(2 * together, rel=0.1)


@pytest.mark.slow
def test_loads_take_the_latency_of_their_level():
    load = "  global_load_dword v1, v0, s[4:5]\n  s_waitcnt vmcnt(0)"
    assert cycles_of_each(load, "  v_mov_b32 v0, 0\n") == pytest.approx(MI300X.l1_latency, rel=0.1)
    # Each load reads a different cache line, which no cache of a unit holds.
    load += "\n  v_add_u32 v0, 0x80, v0"
    assert cycles_of_each(load, "  v_mov_b32 v0, 0\n") > MI300X.l2_latency


def test_occupancy_follows_registers_and_lds():
    # Kernels of these tests take all 512 registers: a wave for each SIMD.
    assert timed("  s_nop 0\n", groups=4096).occupancy == 4
    assert timed("  s_nop 0\n", groups=4096, lds=32 << 10).occupancy == 2


def test_an_estimate_leaves_memory_as_it_is():
    code = assemble(
        BEGIN + "  v_lshlrev_b32 v1, 2, v0\n  global_store_dword v1, v0, s[4:5]\n", "gfx942", 1
    )
    memory = np.zeros(64, np.uint32)
    estimate(code, "f", (1,), (64,), [memory])
    assert not memory.any()


def test_unknown_chips_and_faults_are_errors():
    code = assemble("  s_nop 0\n", "gfx1200", pointers=1)
    with pytest.raises(EmulatorError, match="not for gfx1200"):
        estimate(code, "f", (1,), (32,), [np.zeros(4, np.uint32)])
    out = "  v_mov_b32 v1, 0x1000\n  global_store_dword v1, v0, s[4:5]\n"
    with pytest.raises(EmulatorError, match="out of bounds"):
        timed(out, elements=4)


@pytest.mark.slow
def test_the_command_prints_the_estimate(tmp_path: Path):
    code = assemble(BEGIN + repeated("v_add_f32 v1, v1, v2", 100), "gfx942", pointers=1)
    (tmp_path / "f.hsaco").write_bytes(code.data)
    np.savez(tmp_path / "in.npz", x=np.zeros(64, np.uint32))
    command = [sys.executable, "-m", "hipgraft.emulator", "f.hsaco", "--args=in.npz", "--estimate"]
    done = subprocess.run(
        [*command, "--block=64"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "kernel f on MI300X" in done.stdout
    assert "bound by launch" in done.stdout

"""The emulator finds defects in kernels broken on purpose, and none in correct kernels."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from assembled import assemble, requires_assembler

from hipgraft.emulator import Check, EmulatorDevice, EmulatorError, launch, parse_checks
from hipgraft.emulator.source_lines import SourceLines
from hipgraft.tools import hipgraft_run

pytestmark = requires_assembler

BEGIN = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v1, 2, v0
  s_mov_b32 m0, -1
"""
# Each wave writes its part of LDS, and reads the part of the other wave.
EXCHANGE = """
  ds_write_b32 v1, v0
{barrier}
  v_xor_b32 v2, 0x100, v1
  ds_read_b32 v3, v2
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v3, s[4:5]
"""
ORDER = "result that depends on the order of waves"
BARRIER = "  s_waitcnt lgkmcnt(0)\n  s_barrier"


def findings(text: str, waves: int = 2, groups: int = 1, check: Check = Check.ALL):
    code = assemble(BEGIN + text, "gfx942", pointers=1, lds=1024)
    memory = np.zeros(64 * waves * groups + 4, np.uint32)
    counts = launch(code, "f", (groups,), (64 * waves,), [memory], check=check)
    return counts.findings


def test_a_right_exchange_is_clean():
    assert findings(EXCHANGE.format(barrier=BARRIER)) == ()


def test_an_exchange_without_a_barrier_races():
    found = findings(EXCHANGE.format(barrier="  s_nop 0"), check=Check.RACES)
    assert [one.kind for one in found] == ["race in LDS"]
    (race,) = found
    assert race.other is not None
    assert {race.site.text, race.other.text} == {"ds_write_b32 v1, v0", "ds_read_b32 v3, v2"}
    assert {race.site.wave, race.other.wave} == {0, 1}
    assert race.site.instruction != race.other.instruction


def test_two_waves_that_store_to_one_place_race_unless_they_store_the_same():
    text = "  v_mov_b32 v4, {}\n  v_lshrrev_b32 v5, 6, v0\n  ds_write_b32 v4, v5\n"
    assert [one.kind for one in findings(text.format(0))] == ["race in LDS"]
    assert findings(text.format(0).replace("v_lshrrev_b32 v5, 6, v0", "v_mov_b32 v5, 7")) == ()


def test_a_missing_second_barrier_races():
    again = EXCHANGE.format(barrier=BARRIER) + "  ds_write_b32 v1, v3\n"
    found = findings(again)
    assert [one.kind for one in found] == ["race in LDS", ORDER]
    assert found[0].other is not None
    assert found[0].other.text == "ds_write_b32 v1, v3"
    fixed = EXCHANGE.format(barrier=BARRIER) + BARRIER + "\n  ds_write_b32 v1, v3\n"
    assert findings(fixed) == ()


def test_workgroups_that_store_to_one_place_race():
    store = "  v_mov_b32 v3, s2\n  global_store_dword v1, v3, s[4:5]\n"
    found = findings(store, waves=1, groups=2)
    assert [one.kind for one in found] == ["race in global memory"]
    assert found[0].other is not None
    assert (found[0].site.workgroup, found[0].other.workgroup) == (1, 0)
    # A barrier orders the waves of one workgroup only.
    assert findings(BARRIER + "\n" + store, waves=1, groups=2) != ()
    assert findings("  v_mov_b32 v3, 1\n  global_atomic_add v1, v3, s[4:5]\n", 1, 4) == ()


def test_a_store_that_another_wave_reads_races_in_global_memory():
    text = """
  global_store_dword v1, v0, s[4:5]
{}
  v_xor_b32 v2, 0x100, v1
  global_load_dword v3, v2, s[4:5]
"""
    assert [one.kind for one in findings(text.format("  s_nop 0"))] == ["race in global memory"]
    assert findings(text.format("  s_waitcnt vmcnt(0)\n  s_barrier")) == ()


def test_misaligned_accesses():
    text = "  v_add_u32 v2, 2, v1\n  {} v2, v1, s[4:5]\n"
    assert findings(text.format("global_store_dword")) == ()
    (found,) = findings(text.format("global_atomic_add"), check=Check.ALIGNMENT)
    assert (found.kind, found.size) == ("misaligned access", 4)
    assert findings("  ds_write_b64 v1, v[2:3]\n", waves=1, check=Check.ALIGNMENT) == ()
    (found,) = findings("  ds_add_u64 v1, v[2:3]\n", waves=1, check=Check.ALIGNMENT)
    assert (found.lane, found.address) == (1, 4)


def test_barriers_in_divergent_control_flow():
    text = "  v_cmp_gt_u32 vcc, 32, v0\n  s_and_saveexec_b64 s[8:9], vcc\n  s_barrier\n"
    found = findings(text, waves=1)
    assert [one.kind for one in found] == ["barrier while lanes are off"]
    assert found[0].lane == 32
    # Lanes that the workgroup never had are not off.
    code = assemble(BEGIN + "  s_barrier\n", "gfx942", pointers=1)
    counts = launch(code, "f", (1,), (40,), [np.zeros(1)], check=Check.ALL)
    assert counts.findings == ()


def test_waves_at_different_barriers():
    text = """
  v_readfirstlane_b32 s8, v0
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 .Lfirst
  s_barrier
  s_endpgm
.Lfirst:
  s_nop 0
  s_barrier
"""
    (found,) = findings(text)
    assert found.kind == "waves wait at different barriers"
    assert found.other is not None
    assert found.site.instruction < found.other.instruction


@pytest.mark.slow
def test_checks_are_chosen_by_name(tmp_path: Path):
    assert parse_checks("races,barriers") == Check.RACES | Check.BARRIERS
    assert parse_checks("all") == Check.ALL
    with pytest.raises(EmulatorError, match="found 'rases'"):
        parse_checks("rases")
    code = assemble(BEGIN + EXCHANGE.format(barrier="  s_nop 0"), "gfx942", pointers=1, lds=1024)
    (tmp_path / "f.hsaco").write_bytes(code.data)
    np.savez(tmp_path / "in.npz", y=np.zeros(128, np.uint32))
    command = [sys.executable, "-m", "hipgraft.emulator", "f.hsaco", "--block=128"]
    command += ["--args=in.npz", "--check=all"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "error: kernel 'f': race in LDS: 'ds_write_b32 v1, v0' at 0x" in done.stderr


# Those of the assembler's template.
LINES_BEFORE = 8
LINES = """
  .file 1 "/kernels/src" "swap.cpp"
  .loc 1 12 0
  ds_write_b32 v1, v0
  .loc 1 0 0
  s_nop 0
  .loc 1 14 0
  v_xor_b32 v2, 0x100, v1
  ds_read_b32 v3, v2
  .loc 1 20 0
  global_store_dword v1, v3, s[4:5]
"""


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "flags", "lines"),
    [
        (LINES, [], ("swap.cpp:14", "swap.cpp:12", "swap.cpp:20")),
        (LINES, ["-dwarf-version=5"], ("swap.cpp:14", "swap.cpp:12", "swap.cpp:20")),
        (EXCHANGE.format(barrier="  s_nop 0"), ["-g"], ("f.s:{0}", "f.s:{1}", "f.s:{2}")),
        (EXCHANGE.format(barrier="  s_nop 0"), [], ("", "", "")),
    ],
    ids=["loc", "loc in DWARF 5", "assembler", "none"],
)
def test_source_lines(text: str, flags: list[str], lines: tuple[str, str, str], tmp_path: Path):
    code = assemble(BEGIN + text, "gfx942", pointers=1, lds=1024, flags=flags)
    # The assembler's own lines are those of the template's text.
    body = ["ds_read_b32", "ds_write_b32", "global_store_dword"]
    numbers = [_line_of(one, BEGIN + text) for one in body]
    read, write, store = (line.format(*numbers) for line in lines)
    memory = np.zeros(128, np.uint32)
    (race,) = launch(code, "f", (1,), (128,), [memory], check=Check.RACES).findings
    assert race.other is not None
    sources = {site.text.split()[0]: site.source for site in (race.site, race.other)}
    assert sources == {"ds_read_b32": read, "ds_write_b32": write}
    told = f" ({race.site.source})" if race.site.source else ""
    assert f"at 0x{race.site.instruction:x}{told} in wave" in str(race)
    with pytest.raises(EmulatorError) as fault:
        launch(code, "f", (1,), (128,), [memory[:100]])
    told = f" ({store})" if store else ""
    assert f"{told} in wave 1 of workgroup (0, 0, 0)" in fault.value.message
    assert told or "(f.s" not in fault.value.message
    (tmp_path / "f.hsaco").write_bytes(code.data)
    np.savez(tmp_path / "in.npz", y=memory)
    command = [sys.executable, "-m", "hipgraft.emulator", "f.hsaco", "--block=128"]
    command += ["--args=in.npz", "--check=races"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.stderr == f"error: {race}\n"


def _line_of(mnemonic: str, text: str) -> int:
    (number,) = [i for i, line in enumerate(text.split("\n")) if line.split()[:1] == [mnemonic]]
    return LINES_BEFORE + number


@pytest.mark.slow
def test_damaged_line_tables_tell_nothing():
    code = assemble(BEGIN + LINES, "gfx942", pointers=1, lds=1024)
    (address,) = [row.address for row in code.rows if row.text.startswith("ds_read")]
    assert SourceLines(code.data).find(address) == "swap.cpp:14"
    folder = code.data.index(b"/kernels/src")
    version = folder - 24  # after the length; then lengths, and the operands of opcodes
    assert code.data[version : version + 2] == b"\x04\0"
    for place in range(version - 4, folder + 60):
        damaged = bytearray(code.data)
        damaged[place] ^= 0xFF
        SourceLines(bytes(damaged))
        if place in (version, version - 3):
            assert SourceLines(bytes(damaged)).find(address) == ""


def test_devices_and_the_run_tool_check(capfd: pytest.CaptureFixture[str]):
    code = assemble(BEGIN + EXCHANGE.format(barrier="  s_nop 0"), "gfx942", pointers=1, lds=1024)
    device = EmulatorDevice("gfx942", check=Check.RACES)
    address = device.allocate(512)
    kernel = device.get_kernel(device.load_code_object(code.data), "f")
    device.launch(kernel, (1,), (128,), 0, address.to_bytes(8, "little"))
    assert [one.kind for one in device.findings] == ["race in LDS"]
    assert hipgraft_run.main(["model.onnx", "--device=cpu", "--check=all"]) == 1
    assert "--check needs --device=emulator" in capfd.readouterr().err

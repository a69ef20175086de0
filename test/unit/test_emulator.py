"""The emulator's interface: launches, counts, errors, caches, tools."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from assembled import assemble, requires_assembler, wave_size
from emulator import requires_emulator

from hipgraft.emulator import (
    CodeObject,
    EmulatorDevice,
    EmulatorError,
    MissingEmulatorError,
    UnknownInstructionError,
    decoded_cache,
    disassembly,
    launch,
    native,
)
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.runtime.devices.registry import open_device

ARCHITECTURES = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1200", "gfx1201")
WAIT = "  s_waitcnt vmcnt(0) lgkmcnt(0)"
WAIT12 = "  s_wait_kmcnt 0x0\n  s_wait_loadcnt 0x0"


def double_of(architecture: str) -> CodeObject:
    """A kernel that writes to its second pointer twice what its first points to."""
    gfx12 = architecture.startswith("gfx12")
    wait = WAIT12 if gfx12 else WAIT
    item = "v_and_b32 v0, 0x3ff, v0"
    group = "ttmp9" if gfx12 else "s2"
    return assemble(
        f"""
  s_load_dwordx4 s[4:7], s[0:1], 0x0
{wait}
  {item}
  s_mul_i32 s3, {group}, {wave_size(architecture)}
  v_add{"_nc" if wave_size(architecture) == 32 else ""}_u32 v0, s3, v0
  v_lshlrev_b32 v0, 2, v0
  global_load_dword v1, v0, s[4:5]
{wait}
  v_add_f32 v1, v1, v1
  global_store_dword v0, v1, s[6:7]
""",
        architecture,
        pointers=2,
    )


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HIPGRAFT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "emulator"


@requires_assembler
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_kernel_runs_on_every_architecture(architecture: str):
    code = double_of(architecture)
    assert code.architecture == architecture
    x = np.arange(4 * wave_size(architecture), dtype=np.float32)
    y = np.zeros_like(x)
    counts = launch(code, "f", (4,), (wave_size(architecture),), [x, y])
    np.testing.assert_array_equal(y, 2 * x)
    assert (counts.workgroups, counts.of_workgroups) == (4, 4)
    assert counts.bytes_stored == y.nbytes
    assert counts.instructions % 4 == 0


@requires_assembler
def test_a_sample_is_scaled():
    code, x = double_of("gfx942"), np.arange(640, dtype=np.float32)
    whole = launch(code, "f", (10,), (64,), [x, np.zeros_like(x)])
    sample = launch(code, "f", (10,), (64,), [x, np.zeros_like(x)], every=5)
    assert (sample.workgroups, sample.scale) == (2, 5)
    assert sample.instructions * sample.scale == whole.instructions


@pytest.mark.slow
@requires_assembler
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
def test_v0_has_only_the_positions_that_the_kernel_asks_for(architecture: str):
    body = """
      s_load_dwordx2 s[4:5], s[0:1], 0x0
      s_waitcnt lgkmcnt(0)
      v_mbcnt_lo_u32_b32 v1, -1, 0
      v_lshlrev_b32 v1, 2, v1
      global_store_dword v1, v0, s[4:5]
    """
    z, y, x = np.indices((2, 3, 4), np.uint32)
    for positions, expected in enumerate([x, x | y << 10, x | y << 10 | z << 20]):
        code = assemble(body, architecture, pointers=1, positions=positions)
        found = np.zeros((2, 3, 4), np.uint32)
        launch(code, "f", (1,), (4, 3, 2), [found])
        np.testing.assert_array_equal(found, expected)


@requires_assembler
@pytest.mark.parametrize("bits", ["32", "16_64"])
def test_other_modes_of_rounding_are_refused(bits: str) -> None:
    code = assemble("", "gfx942", pointers=1, directives=f"  .amdhsa_float_round_mode_{bits} 1")
    with pytest.raises(EmulatorError, match="starts in an unsupported mode of floats"):
        launch(code, "f", (1,), (64,), [np.zeros(1, np.uint32)])


@requires_assembler
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
def test_the_dispatch_packet_has_the_extents_of_the_launch(architecture: str) -> None:
    body = """
      s_load_dwordx4 s[8:11], s[0:1], 0x0
      s_load_dwordx4 s[12:15], s[0:1], 0x10
      s_load_dwordx2 s[4:5], s[2:3], 0x0
      s_waitcnt lgkmcnt(0)
      v_mov_b32 v7, 0
    """
    body += "".join(
        f"\nv_mov_b32 v1, s{8 + n}\nglobal_store_dword v7, v1, s[4:5] offset:{4 * n}"
        for n in range(8)
    )
    directives = "  .amdhsa_user_sgpr_dispatch_ptr 1"
    code = assemble(body, architecture, pointers=1, lds=96, directives=directives)
    found = np.zeros(8, np.uint32)
    launch(code, "f", (5, 6, 7), (4, 3, 2), [found])
    # The layout of hsa_kernel_dispatch_packet_t: extents of groups in 16 bits, of the grid in 32.
    assert found.view(np.uint16)[2:5].tolist() == [4, 3, 2]
    assert found[3:].tolist() == [20, 18, 14, 0, 96]


@requires_assembler
def test_results_are_the_same_on_any_number_of_threads():
    code, x = double_of("gfx942"), np.arange(6400, dtype=np.float32)
    found = []
    for threads in (1, 2, 7):
        y = np.zeros_like(x)
        launch(code, "f", (100,), (64,), [x, y], threads=threads)
        found.append(y)
    assert all(np.array_equal(each, 2 * x) for each in found)


@requires_assembler
def test_accesses_out_of_bounds_are_told():
    code, x = double_of("gfx942"), np.arange(128, dtype=np.float32)
    with pytest.raises(EmulatorError, match=r"kernel 'f': load out of bounds: lane 0, address 0x"):
        launch(code, "f", (3,), (64,), [x, np.zeros(192, np.float32)])
    with pytest.raises(EmulatorError, match="store out of bounds: lane 32"):
        launch(code, "f", (2,), (64,), [x, np.zeros(96, np.float32)])


@requires_assembler
def test_wrong_arguments_are_refused():
    code, x = double_of("gfx942"), np.arange(64, dtype=np.float32)
    with pytest.raises(EmulatorError, match="takes 2 arguments, found 1"):
        launch(code, "f", (1,), (64,), [x])
    with pytest.raises(EmulatorError, match="an argument of 8 bytes, found 4"):
        launch(code, "f", (1,), (64,), [x, np.int32(3)])
    with pytest.raises(EmulatorError, match="no kernel 'g'; the code object has 'f'"):
        launch(code, "g", (1,), (64,), [x, x])
    with pytest.raises(EmulatorError, match="up to three positive extents"):
        launch(code, "f", (0,), (64,), [x, x])


@requires_assembler
def test_unknown_instructions_are_named_with_their_address():
    code = assemble("  s_nop 0\n  v_interp_mov_f32 v0, p10, attr0.x", "gfx900", pointers=0)
    with pytest.raises(UnknownInstructionError, match=r"'v_interp_mov_f32.*' at 0x[0-9a-f]+04"):
        launch(code, "f", (1,), (64,), [])


@pytest.mark.slow
@requires_assembler
def test_decoded_kernels_are_cached_until_they_are_damaged(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
):
    x = np.arange(64, dtype=np.float32)
    code = double_of("gfx942")
    launch(code, "f", (1,), (64,), [x, np.zeros_like(x)])
    (entry,) = own_cache.iterdir()
    again = double_of("gfx942")
    monkeypatch.setattr(CodeObject, "rows", property(lambda _: pytest.fail("it is disassembled")))
    y = np.zeros_like(x)
    launch(again, "f", (1,), (64,), [x, y])
    np.testing.assert_array_equal(y, 2 * x)
    monkeypatch.undo()
    monkeypatch.setenv("HIPGRAFT_CACHE_DIR", str(own_cache.parent))
    intact = entry.read_bytes()
    entry.write_bytes(intact[:-9] + bytes(9))
    launch(double_of("gfx942"), "f", (1,), (64,), [x, y])
    assert entry.read_bytes() == intact


@requires_assembler
def test_the_cache_stays_small(own_cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(decoded_cache, "_MOST_ENTRIES", 4)
    own_cache.mkdir(parents=True)
    for number in range(9):
        (own_cache / str(number)).write_bytes(b"")
    x = np.arange(64, dtype=np.float32)
    launch(double_of("gfx942"), "f", (1,), (64,), [x, x.copy()])
    assert len(list(own_cache.iterdir())) == 6


def test_a_missing_disassembler_is_one_clear_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HIPGRAFT_LLVM_OBJDUMP", "/nowhere/llvm-objdump")
    disassembly.disassembler.cache_clear()
    try:
        with pytest.raises(MissingEmulatorError) as caught:
            disassembly.disassembler()
        with pytest.raises(MissingEmulatorError):
            open_device("emulator")
    finally:
        disassembly.disassembler.cache_clear()
    assert "apt-get install llvm-22" in caught.value.message
    assert "\n" not in caught.value.message


@requires_emulator
def test_the_variable_names_the_disassembler(monkeypatch: pytest.MonkeyPatch):
    path = disassembly.disassembler()
    monkeypatch.setenv("HIPGRAFT_LLVM_OBJDUMP", path)
    monkeypatch.setenv("PATH", "")
    disassembly.disassembler.cache_clear()
    assert disassembly.disassembler() == path
    disassembly.disassembler.cache_clear()


@requires_emulator
def test_devices_by_name():
    assert open_device("emulator").architecture == "gfx942"
    assert open_device("emulator:gfx1201").architecture == "gfx1201"


def test_device_memory_is_guarded():
    device = EmulatorDevice()
    address = device.allocate(16)
    assert address % 256 == 0
    with pytest.raises(EmulatorError, match="outside of every allocation"):
        device.copy_to_host(bytearray(17), address)
    device.free(address)
    with pytest.raises(EmulatorError, match="no allocation"):
        device.free(address)


@requires_assembler
def test_a_code_object_of_another_architecture_is_refused(tmp_path: Path):
    code = double_of("gfx1100")
    with pytest.raises(HipgraftError, match="is for gfx1100, the device is gfx942"):
        EmulatorDevice("gfx942").load_code_object(code.data)


@pytest.mark.slow
@requires_assembler
def test_the_tool_runs_one_kernel(tmp_path: Path):
    (tmp_path / "f.hsaco").write_bytes(double_of("gfx942").data)
    x = np.arange(64, dtype=np.float32)
    np.savez(tmp_path / "in.npz", x=x, y=np.zeros_like(x))
    command = [sys.executable, "-m", "hipgraft.emulator", "f.hsaco", "--kernel=f", "--block=64"]
    command += ["--args=in.npz", "--output=out.npz"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "kernel f: 1 of 1 workgroups" in done.stdout
    np.testing.assert_array_equal(np.load(tmp_path / "out.npz")["y"], 2 * x)
    failed = subprocess.run([*command, "--grid=2"], cwd=tmp_path, capture_output=True, text=True)
    assert failed.returncode == 1
    assert failed.stderr.startswith("error: kernel 'f': load out of bounds")


@pytest.mark.skipif(shutil.which("nm") is None, reason="no nm")
def test_the_core_needs_no_cpp_library():
    (library,) = Path(native.__file__).parent.glob("_core*.so")
    text = subprocess.run(["nm", "-D", library], check=True, capture_output=True, text=True).stdout
    assert "_ZNSt" not in text
    assert "_Unwind" not in text

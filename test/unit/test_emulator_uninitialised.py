"""Uses of uninitialised values, and results that depend on the order of waves."""

import numpy as np
import pytest
from assembled import assemble, requires_assembler

from hipgraft.emulator import Check, EmulatorDevice, Order, TrackedArray, launch

pytestmark = requires_assembler

BEGIN = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v1, 2, v0
"""
STORE, ADDRESS, CONTROL = (
    f"{what} an uninitialised value"
    for what in ("store of", "address that depends on", "control flow that depends on")
)


def findings(
    text: str, check: Check = Check.ALL, waves: int = 1, arch: str = "gfx942", groups: int = 1
):
    code = assemble(BEGIN + text, arch, pointers=1, lds=1024)
    memory = np.zeros(64 * waves, np.uint32)
    return launch(code, "f", (groups,), (64 * waves,), [memory], check=check).findings


def test_a_store_of_what_was_computed_from_an_unwritten_register():
    (found,) = findings("  v_add_u32 v3, 1, v7\n  v_mov_b32 v4, v3\n"
                        "  global_store_dword v1, v4, s[4:5]\n")  # fmt: skip
    assert (found.kind, found.site.text) == (STORE, "global_store_dword v1, v4, s[4:5]")
    assert found.other is not None
    assert found.other.text == "v_add_u32_e32 v3, 1, v7"
    assert "; it comes from 'v_add_u32_e32 v3, 1, v7' at 0x" in str(found)


@pytest.mark.parametrize(
    "text",
    [
        # Values and lanes that nothing reads do not matter.
        "  v_add_u32 v3, 1, v7\n",
        "  v_and_b32 v3, 0, v7\n  global_store_dword v1, v3, s[4:5]\n",
        "  v_mov_b32 v3, v7\n  global_store_short v1, v0, s[4:5]\n",
        "  v_and_b32 v3, 0xffff0000, v7\n  global_store_short v1, v3, s[4:5]\n",
        "  v_cmp_ne_u32 vcc, 64, v0\n  v_cndmask_b32 v3, v7, v0, vcc\n"
        "  global_store_dword v1, v3, s[4:5]\n",
        "  ds_write_b32 v1, v7\n  s_waitcnt lgkmcnt(0)\n  ds_read_b32 v3, v1\n",
        "  ds_read_b64 v[8:9], v1\n  s_waitcnt lgkmcnt(0)\n  v_mov_b32 v8, 0\n",
    ],
)
def test_values_that_do_not_matter_are_no_findings(text: str):
    assert findings(text) == ()


def test_lanes_that_were_off_when_a_register_was_written():
    text = """
  v_cmp_gt_u32 vcc, 32, v0
  s_and_saveexec_b64 s[8:9], vcc
  v_mov_b32 v3, 5
  s_mov_b64 exec, s[8:9]
  global_store_dword v1, v3, s[4:5]
"""
    (found,) = findings(text)
    assert (found.kind, found.lane) == (STORE, 32)


def test_one_half_of_a_register():
    text = "  v_mov_b32_sdwa v3, v0 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE\n  {} v1, v3, s[4:5]"
    assert findings(text.format("global_store_short_d16_hi")) == ()
    assert [one.kind for one in findings(text.format("global_store_short"))] == [STORE]


@pytest.mark.slow
def test_through_lds_and_scalars():
    staged = "  ds_write_b32 v1, v7\n  s_waitcnt lgkmcnt(0)\n  ds_read_b32 v3, v1\n"
    (found,) = findings(staged + "  global_store_dword v1, v3, s[4:5]\n")
    assert found.other is not None
    assert (found.kind, found.other.text) == (STORE, "ds_write_b32 v1, v7")
    scalar = "  v_readfirstlane_b32 s8, v7\n  v_mov_b32 v3, s8\n"
    (found,) = findings(scalar + "  global_store_dword v1, v3, s[4:5]\n")
    assert found.other is not None
    assert found.other.text == "v_readfirstlane_b32 s8, v7"
    (found,) = findings("  v_mov_b32 v3, s40\n  global_store_dword v1, v3, s[4:5]\n")
    assert found.kind == STORE


def test_lds_that_the_workgroup_has_not_written():
    written = "  ds_write_b32 v1, v0\n  s_waitcnt lgkmcnt(0)\n"
    read = "  ds_read_b64 v[8:9], v1 offset:{}\n  s_waitcnt lgkmcnt(0)\n"
    read += "  global_store_dword v1, v{}, s[4:5]\n"
    assert findings(written + read.format(0, 8)) == ()
    (found,) = findings(written + read.format(0, 9))  # of which the last lane's is not written
    assert found.other is not None
    assert (found.kind, found.lane) == (STORE, 63)
    assert found.other.text == "ds_read_b64 v[8:9], v1"
    (found,) = findings(written + read.format(512, 8))
    assert (found.kind, found.lane) == (STORE, 0)
    # What an earlier workgroup wrote is not there.
    again = "  s_cmp_eq_u32 s2, 0\n  s_cbranch_scc0 .Lread\n  ds_write_b32 v1, v0\n.Lread:\n"
    again += "  s_waitcnt lgkmcnt(0)\n" + read.format(0, 8)
    assert findings(again) == ()
    (found,) = findings(again, Check.UNINITIALISED, groups=2)
    assert found.site.workgroup == 1


def test_addresses():
    within = "  v_and_b32 v3, 0xfc, v7\n"
    (found,) = findings(within + "  global_store_dword v3, v1, s[4:5]\n", Check.UNINITIALISED)
    assert (found.kind, found.site.text) == (ADDRESS, "global_store_dword v3, v1, s[4:5]")
    read = within + "  ds_write_b32 v1, v1\n  s_waitcnt lgkmcnt(0)\n  ds_read_b32 v4, v3\n"
    (found,) = findings(read + "  global_store_dword v1, v4, s[4:5]\n")
    assert (found.kind, found.site.text) == (ADDRESS, "ds_read_b32 v4, v3")


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("  s_cmp_lt_u32 s40, 5\n  s_cbranch_scc1 .Lover\n.Lover:\n", "s_cbranch_scc1"),
        ("  v_cmp_lt_u32 vcc, 5, v7\n  s_cbranch_vccz .Lover\n.Lover:\n", ""),
        ("  v_cmp_gt_u32 vcc, 64, v7\n  s_and_saveexec_b64 s[8:9], vcc\n", "s_and_saveexec_b64"),
        ("  v_cmpx_gt_u32 vcc, 64, v7\n", "v_cmpx_gt_u32"),
    ],
)
def test_control_flow(text: str, at: str):
    stored = "  global_store_dword v1, v0, s[4:5]\n"
    found = findings("  s_nop 0\n" + text + stored)
    # A branch that goes where the next instruction is does not matter.
    expected = [] if "cbranch" in text else [CONTROL]
    assert [one.kind for one in found] == expected
    if expected:
        assert found[0].site.text.startswith(at)


def test_lanes_that_a_value_turns_on_or_off():
    """They matter if they store something, or are off when others do."""
    defined = "  v_cmp_gt_u32 vcc, 9, v0\n  v_cndmask_b32 v7, v7, v0, vcc\n"
    off = "  v_cmp_gt_u32 vcc, 64, v7\n  s_and_saveexec_b64 s[8:9], vcc\n  v_mov_b32 v3, 5\n"
    on = "  s_mov_b64 exec, s[8:9]\n"
    within = "  v_cmp_gt_u32 vcc, 9, v0\n  s_and_b64 exec, exec, vcc\n"
    stored = "  global_store_dword v1, v0, s[4:5]\n"
    assert findings(defined + off + on + within + stored) == ()
    assert findings(defined + off + on + stored) == ()
    for text in (off + stored, off):
        (found,) = findings(defined + text)
        assert (found.kind, found.lane) == (CONTROL, 9)
    lanes_on = off.replace("v_cmp_gt_u32 vcc, 64", "v_cmp_lt_u32 vcc, 64")
    (found,) = findings(defined + lanes_on + stored)
    assert found.kind == CONTROL
    assert findings(defined + lanes_on + on + stored) == ()


def test_a_branch():
    text = "  s_cmp_lt_u32 s40, 0x100\n  s_cbranch_scc1 .Lover\n  s_nop 0\n.Lover:\n"
    (found,) = findings(text, waves=16)
    assert found.kind == CONTROL
    assert found.other is not None
    assert found.other.text == "s_cmp_lt_u32 s40, 0x100"


def test_right_kernels_of_other_architectures_are_clean():
    text = """
  s_load_b64 s[4:5], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v1, 2, v0
  global_store_b32 v1, {}, s[4:5]
"""
    for register, kinds in (("v0", []), ("v7", [STORE])):
        code = assemble(text.format(register), "gfx1100", pointers=1)
        counts = launch(code, "f", (1,), (32,), [np.zeros(32, np.uint32)], check=Check.ALL)
        assert [one.kind for one in counts.findings] == kinds


COPY = """
  global_load_dword v3, v1, s[4:5]
  s_waitcnt vmcnt(0)
  global_store_dword v1, v3, s[4:5] offset:256
"""


def test_global_memory_that_nothing_was_stored_to():
    code = assemble(BEGIN + COPY, "gfx942", pointers=1)
    device = EmulatorDevice("gfx942", check=Check.UNINITIALISED)
    kernel = device.get_kernel(device.load_code_object(code.data), "f")
    address = device.allocate(768)
    device.copy_to_device(address, bytes(4 * 63))
    for _ in range(2):
        device.launch(kernel, (1,), (64,), 0, address.to_bytes(8, "little"))
    (found,) = device.launches[0].findings
    assert (found.kind, found.lane) == (STORE, 63)
    assert found.other is not None
    assert found.other.text == "global_load_dword v3, v1, s[4:5]"
    # What the kernel stored is there for the next one.
    device.fill(address, b"\0", 256)
    device.launch(kernel, (1,), (64,), 0, address.to_bytes(8, "little"))
    device.launch(kernel, (1,), (64,), 0, (address + 256).to_bytes(8, "little"))
    assert device.launches[-2].findings == device.launches[-1].findings == ()


def test_tracked_arrays():
    code = assemble(BEGIN + COPY, "gfx942", pointers=1)
    memory = TrackedArray(np.arange(128, dtype=np.uint32), np.zeros(512, np.uint8))
    counts = launch(code, "f", (1,), (64,), [memory], check=Check.UNINITIALISED)
    assert [one.kind for one in counts.findings] == [STORE]
    assert memory.defined.tolist() == [0] * 256 + [1] * 256
    assert memory.content[64:].tolist() == list(range(64))


# The last wave wins.
LAST = "  v_lshrrev_b32 v3, 6, v0\n  v_and_b32 v4, 0xfc, v1\n  global_store_dword v4, v3, s[4:5]\n"


@pytest.mark.parametrize("order", Order)
def test_results_that_depend_on_the_order_of_waves(order: Order):
    code = assemble(BEGIN + LAST, "gfx942", pointers=1)
    memory = np.zeros(64, np.uint32)
    counts = launch(code, "f", (1,), (128,), [memory], check=Check.ORDER, order=order)
    (found,) = counts.findings
    assert found.kind == "result that depends on the order of waves"
    assert found.site.text == "global_store_dword v4, v3, s[4:5]"
    assert found.address == memory.ctypes.data
    alone = np.zeros(64, np.uint32)
    launch(code, "f", (1,), (128,), [alone], order=order)
    assert (memory == alone).all()


def test_memory_is_read_once_where_two_orders_run():
    text = "  global_load_dword v3, v1, s[4:5]\n  s_waitcnt vmcnt(0)\n  v_add_u32 v3, 1, v3\n"
    code = assemble(BEGIN + text + "  global_store_dword v1, v3, s[4:5]\n", "gfx942", pointers=1)
    memory = np.zeros(128, np.uint32)
    assert launch(code, "f", (1,), (128,), [memory], check=Check.ALL).findings == ()
    assert (memory == 1).all()
    sums = "  v_mov_b32 v2, 0\n  global_atomic_add v2, v0, s[4:5]\n"
    code = assemble(BEGIN + sums, "gfx942", pointers=1)
    assert launch(code, "f", (1,), (128,), [memory], check=Check.ALL).findings == ()
    assert memory[0] == 1 + sum(range(128))

"""All instructions that LLVM's disassembler knows, and those that the emulator does not need."""

import re
import subprocess

import numpy as np
import pytest
from assembled import assembler, execute, requires_assembler, wave_size

from hipgraft.emulator.native import core
from hipgraft.emulator.syntax import parse_statement

pytestmark = requires_assembler
RANDOM = np.random.default_rng(7)

# For each encoding: the word with zeros in all fields, the opcode's first bit, and its width.
_SHARED = {
    "SOP2": (0x80000000, 23, 7),
    "SOPK": (0xB0000000, 23, 5),
    "SOP1": (0xBE800000, 8, 8),
    "SOPC": (0xBF000000, 16, 7),
    "SOPP": (0xBF800000, 16, 7),
    "VOP1": (0x7E000000, 9, 8),
    "VOP2": (0x00000000, 25, 6),
    "VOPC": (0x7C000000, 17, 8),
}
_GFX9 = _SHARED | {
    "SMEM": (0xC0000000, 18, 8),
    "VOP3": (0xD0000000, 16, 10),
    "VOP3P": (0xD3800000, 16, 7),
    "DS": (0xD8000000, 17, 8),
    "FLAT": (0xDC000000, 18, 7),
    "SCRATCH": (0xDC004000, 18, 7),
    "GLOBAL": (0xDC008000, 18, 7),
    "MUBUF": (0xE0000000, 18, 7),
    "MTBUF": (0xE8000000, 15, 4),
}
_GFX11 = _SHARED | {
    "SMEM": (0xF4000000, 18, 8),
    "VOP3": (0xD4000000, 16, 10),
    "VOP3P": (0xCC000000, 16, 7),
    "DS": (0xD8000000, 18, 8),
    "FLAT": (0xDC000000, 18, 7),
    "SCRATCH": (0xDC010000, 18, 7),
    "GLOBAL": (0xDC020000, 18, 7),
    "MUBUF": (0xE0000000, 18, 8),
}
_GFX12 = _GFX11 | {
    "SMEM": (0xF4000000, 13, 6),
    "FLAT": (0xEC000000, 14, 8),
    "SCRATCH": (0xED000000, 14, 8),
    "GLOBAL": (0xEE000000, 14, 8),
    "MUBUF": (0xC4000000, 14, 8),
}
ENCODINGS = {
    "gfx90a": _GFX9,
    "gfx942": _GFX9,
    "gfx950": _GFX9,
    "gfx1100": _GFX11,
    "gfx1151": _GFX11,
    "gfx1200": _GFX12,
    "gfx1201": _GFX12,
}

# What compiled kernels of matrices, windows and elements do not have, by reason.
LACKING = {
    "typed memory, textures and rays": r"t?buffer_\w*format\w*|ds_bvh\w+",
    "graphics": r"v_cube\w+|v_interp\w*|v_mullit\w+|v_screen\w+|v_pipeflush|s_setkill|s_wqm\w+"
    r"|s_quadmask\w+|s_endpgm_ordered\w*|v_(cvt|pk)_pk?norm\w+|v_cvt_(pk_)?(norm|pknorm)\w+"
    r"|v_cvt_pkaccum\w+|v_cvt_off_f32_i4|v_cvt_pk_u8_f32|v_cvt_pk_[iu]16_f32",
    "video": r"v_m?q?sad\w+|v_msad\w+|v_lerp_u8",
    "arithmetic of DirectX 9": r"v_\w+_legacy_\w+|v_\w*dx9_zero\w+",
    "control of the machine": r"s_(atc|dcache|gl1|icache|rfe|sendmsg|sethalt|ttrace|version)\w*"
    r"|s_(cbranch_cdbg|memtime|memrealtime|getreg|setvskip|sleep_var|alloc_vgpr)\w*"
    r"|v_(clrexcp|illegal)|ds_nop|buffer_invl2",
    "calls, forks and loops of subvectors; kernels are inlined": r"s_(call|setpc|swappc)_b64"
    r"|s_cbranch_(g_fork|i_fork|join)|s_subvector\w+|s_and_?n?o?t?[n01]+_wrexec\w+|s_andn\d_wrexec\w+",
    "scalar stores and atomics, which these GPUs lack": r"s_(buffer_|scratch_)?(atomic|store)\w+"
    r"|s_scratch_\w+",
    "memory that no IR asks for": r"ds_(append|consume|mskor|wrap"
    r"|condxchg32|cmpst|cmpstore|wrxchg2|storexchg)\w*|\w+_addtid_b32|\w+_cmpswap_f32"
    r"|global_atomic_ordered_add_b64|(global|scratch)_(load|store)_block|scratch_load_lds\w+"
    r"|s_buffer_(load_[iu]\d+|prefetch_data)|s_prefetch_data_pc_rel|global_load_tr_b\d+",
    "named barriers": r"s_barrier_(init|join|leave|signal_isfirst)|s_get_barrier_state",
    "only by an intrinsic": r"s_bitreplicate\w+|s_movrelsd_2_b32|v_movrelsd_2_b32|v_swaprel_b32"
    r"|v_permlanex?16_var_b32|ds_bpermute_fi_b32|v_dot2_(bf16_bf16|f16_f16)|v_prng_b32"
    r"|v_cvt_sr_\w+|v_cvt_scalef32\w+|ds_read_b96_tr_b6|v_mfma_\w+_xf32|v_mfma_ld_scale_b32",
}


def disassembled(architecture: str) -> dict[str, str]:
    """An example of each mnemonic, by the name that the emulator knows it by."""
    lines = []
    for first, shift, bits in ENCODINGS[architecture].values():
        for code in range(1 << bits):
            words = (first | code << shift, 0x04000100, 0)
            lines.append(
                " ".join(f"0x{byte:02x}" for word in words for byte in word.to_bytes(4, "little"))
            )
    command = [assembler(), "--disassemble", "-triple=amdgcn-amd-amdhsa", f"-mcpu={architecture}"]
    if not architecture.startswith("gfx9"):
        command.append("--mattr=+real-true16")
    done = subprocess.run(
        [str(word) for word in command],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    rows = (line.strip() for line in done.stdout.splitlines())
    return {parse_statement(row).name: row for row in rows if row and row[0].isalpha()}


@pytest.mark.parametrize("architecture", ENCODINGS)
def test_each_instruction_is_known_or_named(architecture: str):
    found = disassembled(architecture)
    assert len(found) > 700
    declined = re.compile("|".join(LACKING.values()))
    unknown = [row for name, row in found.items() if name not in core().operations]
    assert [row for row in unknown if not declined.fullmatch(parse_statement(row).name)] == []


def drawn(architecture: str, *registers: int) -> dict[int, np.ndarray]:
    lanes = wave_size(architecture)
    return {one: RANDOM.integers(0, 2**32, lanes, dtype=np.uint32) for one in registers}


def fields(words: np.ndarray, bits: int, *, signed: bool) -> np.ndarray:
    """The fields of words `[lane]` as `[lane, field]`, the lowest first."""
    shifts = np.arange(0, 32, bits)
    parts = (words[:, None].astype(np.int64) >> shifts) & ((1 << bits) - 1)
    return parts - (parts >> (bits - 1) << bits) if signed else parts


DOTS = [
    ("gfx942", "v_dot8_i32_i4 v8, v2, v3, v4", 4, True, True),
    ("gfx942", "v_dot8_u32_u4 v8, v2, v3, v4", 4, False, False),
    ("gfx942", "v_dot2_u32_u16 v8, v2, v3, v4", 16, False, False),
    ("gfx1100", "v_dot8_i32_iu4 v8, v2, v3, v4 neg_lo:[1,0,0]", 4, True, False),
    ("gfx1201", "v_dot8_i32_iu4 v8, v2, v3, v4 neg_lo:[0,1,0]", 4, False, True),
    ("gfx1100", "v_dot8_u32_u4 v8, v2, v3, v4", 4, False, False),
]


@pytest.mark.parametrize(("architecture", "text", "bits", "first", "second"), DOTS)
@pytest.mark.parametrize("clamp", [False, True])
def test_products_of_small_integers(
    architecture: str, text: str, bits: int, first: bool, second: bool, clamp: bool
):
    given = drawn(architecture, 2, 3, 4)
    given[4][:3] = 0x7FFFFFFF, 0xFFFFFFFF, 0x80000000
    is_signed = first or second
    sums = fields(given[2], bits, signed=first) * fields(given[3], bits, signed=second)
    whole = sums.sum(1) + given[4].astype(np.int64 if not is_signed else np.int32)
    if clamp:
        low, high = (-(2**31), 2**31 - 1) if is_signed else (0, 2**32 - 1)
        whole = whole.clip(low, high)
    found = execute(architecture, text + " clamp" * clamp, given, [8])[0]
    np.testing.assert_array_equal(found, whole.astype(np.uint32))


@pytest.mark.parametrize(("name", "bits"), [("v_dot2c_i32_i16", 16), ("v_dot8c_i32_i4", 4)])
def test_products_added_to_the_result(name: str, bits: int):
    given = drawn("gfx942", 2, 3, 8)
    sums = (fields(given[2], bits, signed=True) * fields(given[3], bits, signed=True)).sum(1)
    found = execute("gfx942", f"{name} v8, v2, v3", given, [8])[0]
    np.testing.assert_array_equal(found, (given[8] + sums).astype(np.uint32))


def test_integers_narrow_by_saturation():
    given = drawn("gfx950", 2, 3)
    given[2][:4] = 0x00FF0100, 0xFFFF7FFF, 0x80000001, 0x0080FF80
    given[4] = RANDOM.integers(0, 33, 64, dtype=np.uint32)
    text = (
        "v_sat_pk_u8_i16 v8, v2\nv_ashr_pk_u8_i32 v9, v2, v3, v4\nv_ashr_pk_i8_i32 v10, v2, v3, v4"
    )
    found = execute("gfx950", text, given, [8, 9, 10]) & 0xFFFF
    halves = fields(given[2], 16, signed=True).clip(0, 255)
    np.testing.assert_array_equal(found[0], halves[:, 0] | halves[:, 1] << 8)
    shifted = [given[one].view(np.int32) >> (given[4] & 31) for one in (2, 3)]
    for row, low, high in ((1, 0, 255), (2, -128, 127)):
        first, second = (one.clip(low, high) & 255 for one in shifted)
        np.testing.assert_array_equal(found[row], first | second << 8)


def test_minima_and_maxima_of_gfx12_keep_nan():
    values = np.array([[1.0, 2.0], [np.nan, 2.0], [-0.0, 0.0], [3.0, np.nan], [np.inf, -np.inf]])
    pairs = np.resize(values, (32, 2))
    words = [np.ascontiguousarray(pairs[:, i]).view(np.uint32).reshape(32, 2) for i in (0, 1)]
    given = {2: words[0][:, 0], 3: words[0][:, 1], 4: words[1][:, 0], 5: words[1][:, 1]}
    text = "v_maximum_f64 v[8:9], v[2:3], v[4:5]\nv_minimum_f64 v[10:11], v[2:3], v[4:5]"
    found = np.ascontiguousarray(execute("gfx1201", text, given, range(8, 12)).T).view(np.float64)
    np.testing.assert_array_equal(found[:, 0], np.maximum(*pairs.T))
    np.testing.assert_array_equal(found[:, 1], np.minimum(*pairs.T))


@pytest.mark.parametrize("name", ["maximumminimum", "minimummaximum"])
def test_clamps_of_half_floats_keep_nan(name: str):
    columns = RANDOM.standard_normal((3, 32)).astype(np.float16)
    columns[RANDOM.integers(0, 3, 6), RANDOM.integers(0, 32, 6)] = np.nan
    given = {2 + i: one.view(np.uint16).astype(np.uint32) for i, one in enumerate(columns)}
    found = execute("gfx1201", f"v_{name}_f16 v8, v2, v3, v4", given, [8])[0]
    first, second = (np.maximum, np.minimum) if name.startswith("max") else (np.minimum, np.maximum)
    expected = second(first(columns[0], columns[1]), columns[2])
    np.testing.assert_array_equal(found.astype(np.uint16).view(np.float16), expected)


def test_products_rounded_twice_on_gfx90a():
    """`v_mad` and `v_mac` round the product, and flush denormal numbers in any mode."""
    columns = RANDOM.standard_normal((3, 64)).astype(np.float32)
    columns[:, 0] = 1e-39, 1, 0
    columns[:, 1] = 1e-30, 1e-9, 1
    given = {2 + i: one.view(np.uint32) for i, one in enumerate(columns)}
    half = np.float32(0.3)
    text = f"""v_mov_b32 v8, v4
v_mac_f32 v8, v2, v3
v_mad_f32 v9, v2, v3, v4
v_madmk_f32 v10, v2, {half.view(np.uint32):#x}, v3
v_madak_f32 v11, v2, v3, {half.view(np.uint32):#x}"""
    found = execute("gfx90a", text, given, range(8, 12)).view(np.float32)
    a, b, c = np.where(np.abs(columns) < np.finfo(np.float32).tiny, np.float32(0), columns)

    def mad(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        product = (x * y).astype(np.float32)
        product = np.where(np.abs(product) < np.finfo(np.float32).tiny, np.float32(0), product)
        return (product + z).astype(np.float32)

    np.testing.assert_array_equal(found[0], mad(a, b, c))
    np.testing.assert_array_equal(found[1], mad(a, b, c))
    np.testing.assert_array_equal(found[2], mad(a, np.full_like(a, half), b))
    np.testing.assert_array_equal(found[3], mad(a, b, np.full_like(a, half)))


SCALARS = [
    ("s_bcnt0_i32_b64", "s10", lambda x: 64 - x.bit_count()),
    ("s_ff0_i32_b64", "s10", lambda x: next(i for i in range(64) if not x >> i & 1)),
    (
        "s_flbit_i32_i64",
        "s10",
        lambda x: next(i for i in range(64) if (x << i ^ x << i + 1) >> 63 & 1) + 1,
    ),
    ("s_brev_b64", "s[10:11]", lambda x: int(f"{x:064b}"[::-1], 2)),
]


@pytest.mark.parametrize(("name", "result", "defined"), SCALARS)
@pytest.mark.parametrize(
    "value", [0x0000123456789ABC, 0xFFFFFFF0_0000FFFF, 0x3, 0x8000000000000001]
)
def test_bits_of_64(name: str, result: str, defined, value: int):
    text = f"""s_mov_b32 s8, {value & 0xFFFFFFFF:#x}
s_mov_b32 s9, {value >> 32:#x}
s_mov_b32 s11, 0
{name} {result}, s[8:9]
v_mov_b32 v1, s10
v_mov_b32 v2, s11
"""
    low, high = execute("gfx942", text, {}, [1, 2])[:, 0].tolist()
    assert low | high << 32 == defined(value)


def test_scalar_registers_by_index():
    text = """s_mov_b32 s24, 10
s_mov_b32 s25, 11
s_mov_b32 s26, 12
s_mov_b32 s27, 13
s_mov_b32 s28, 0
s_mov_b32 s29, 0
s_mov_b32 m0, 2
s_movrels_b32 s8, s24
s_movrels_b64 s[10:11], s[24:25]
s_movreld_b32 s26, s25
s_movreld_b64 s[28:29], s[24:25]
s_bitset1_b64 s[24:25], 37
s_bitset0_b64 s[24:25], 1
v_mov_b32 v1, s8
v_mov_b32 v2, s10
v_mov_b32 v3, s11
v_mov_b32 v4, s28
v_mov_b32 v5, s30
v_mov_b32 v6, s31
v_mov_b32 v7, s24
v_mov_b32 v8, s25
"""
    found = execute("gfx942", text, {}, range(1, 9))[:, 0].tolist()
    assert found == [12, 12, 13, 11, 10, 11, 8, 11 | 32]


def test_scalar_half_floats_of_gfx1151():
    text = """s_mov_b32 s8, 0x3c00c000
s_cvt_hi_f32_f16 s9, s8
s_max_f16 s10, s8, 0
s_min_f16 s11, s8, 0
v_mov_b32 v1, s9
v_mov_b32 v2, s10
v_mov_b32 v3, s11
"""
    found = execute("gfx1151", text, {}, [1, 2, 3])[:, 0]
    assert found[:1].view(np.float32)[0] == 1.0
    assert (found[1:] & 0xFFFF).tolist() == [0, 0xC000]

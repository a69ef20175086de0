"""Instructions on the emulator, against definitions in numpy."""

import ml_dtypes
import numpy as np
import pytest
from assembled import execute, requires_assembler, wave_size

pytestmark = requires_assembler
RANDOM = np.random.default_rng(5)

F16, BF16, I8 = np.float16, ml_dtypes.bfloat16, np.int8
FNUZ = {"fp8": ml_dtypes.float8_e4m3fnuz, "bf8": ml_dtypes.float8_e5m2fnuz}
OCP = {"fp8": ml_dtypes.float8_e4m3fn, "bf8": ml_dtypes.float8_e5m2}


def eight_bit(architecture: str) -> dict[str, type]:
    return FNUZ if architecture == "gfx942" else OCP


def draw(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Small numbers, whose products and sums are exact."""
    return RANDOM.integers(-4, 5, shape).astype(dtype)


def registers(matrix: np.ndarray) -> np.ndarray:
    """Elements `[lane, element]` to registers of 32 bits `[register, lane]`."""
    return np.ascontiguousarray(np.ascontiguousarray(matrix).view(np.uint32).T)


def numbered(first: int, rows: np.ndarray) -> dict[int, np.ndarray]:
    return {first + number: row for number, row in enumerate(rows)}


def span(first: int, count: int) -> str:
    return f"v[{first}:{first + count - 1}]" if count > 1 else f"v{first}"


def result_rows(size: int) -> np.ndarray:
    """The row of the result by register and lane, for one block on gfx9."""
    register = np.arange(size * size // 64)[:, None]
    lane = np.arange(64)[None, :]
    if size == 32:
        return 8 * (register // 4) + 4 * (lane // 32) + register % 4
    return 4 * (lane // 16) + register % 4


def gather_lanes(matrix: np.ndarray, elements: int) -> np.ndarray:
    """A matrix `[row, k]` to lanes `[lane, element]`: lanes of a row follow each other in k."""
    rows = matrix.shape[0]
    lanes = np.arange(64)
    return np.stack(
        [matrix[lanes % rows, lanes // rows * elements + e] for e in range(elements)], 1
    )


SPARSE = [
    ("gfx942", "f32_16x16x32_f16", 16, 32, F16),
    ("gfx942", "f32_32x32x16_f16", 32, 16, F16),
    ("gfx942", "f32_16x16x32_bf16", 16, 32, BF16),
    ("gfx942", "i32_16x16x64_i8", 16, 64, I8),
    ("gfx942", "i32_32x32x32_i8", 32, 32, I8),
    ("gfx942", "f32_16x16x64_fp8_bf8", 16, 64, None),
    ("gfx950", "f32_16x16x64_f16", 16, 64, F16),
    ("gfx950", "f32_32x32x32_bf16", 32, 32, BF16),
    ("gfx950", "i32_16x16x128_i8", 16, 128, I8),
    ("gfx950", "f32_32x32x64_bf8_fp8", 32, 64, None),
]


@pytest.mark.parametrize(("architecture", "name", "size", "depth", "dtype"), SPARSE)
@pytest.mark.parametrize("index_set", [0, 1])
def test_sparse_products(
    architecture: str, name: str, size: int, depth: int, dtype: type | None, index_set: int
):
    kinds = [dtype, dtype] if dtype else [eight_bit(architecture)[n] for n in name.split("_")[2:]]
    # Two distinct positions of each four, in order, by row.
    pairs = np.array([(i, j) for i in range(4) for j in range(i + 1, 4)])
    places = pairs[RANDOM.integers(0, 6, (size, depth // 4))]
    packed, b = draw((size, depth // 2), kinds[0]), draw((size, depth), kinds[1])
    a = np.zeros((size, depth))
    for row in range(size):
        for group in range(depth // 4):
            for n in range(2):
                column = 4 * group + places[row, group, n]
                a[row, column] = float(packed[row, 2 * group + n])
    elements = depth // (64 // size)
    lanes_a = registers(gather_lanes(packed, elements // 2))
    lanes_b = registers(gather_lanes(b, elements))
    # 2 bits per stored element; sets of them follow each other in a register.
    bits = gather_lanes(places.reshape(size, -1), elements // 2)
    width = elements  # 2 bits of half the elements
    index_set %= 32 // width
    index = sum(bits[:, e].astype(np.uint64) << np.uint64(2 * e) for e in range(elements // 2))
    noise = RANDOM.integers(0, 2**32, 64, dtype=np.uint64)
    mask = np.uint64(((1 << width) - 1) << width * index_set)
    index = (index << np.uint64(width * index_set)) | (noise & ~mask)
    integers = name.startswith("i32")
    count = size * size // 64
    before = draw((size, size), np.int32 if integers else np.float32)
    rows, columns = result_rows(size), np.arange(64)[None, :] % size
    given = {
        **numbered(2, lanes_a),
        **numbered(12, lanes_b),
        30: index.astype(np.uint32),
        **numbered(32, before[rows, columns].view(np.uint32)),
    }
    text = f"v_smfmac_{name} {span(32, count)}, {span(2, len(lanes_a))}, {span(12, len(lanes_b))}"
    text += f", v30 abid:{index_set}" if index_set else ", v30"
    found = execute(architecture, "s_nop 7\n" + text + "\ns_nop 7", given, range(32, 32 + count))
    expected = before + a @ b.astype(np.float64).T
    np.testing.assert_array_equal(found.view(before.dtype), expected[rows, columns])


SMALL = {
    0: (OCP["fp8"], 8),
    1: (OCP["bf8"], 8),
    2: (ml_dtypes.float6_e2m3fn, 6),
    3: (ml_dtypes.float6_e3m2fn, 6),
    4: (ml_dtypes.float4_e2m1fn, 4),
}


def pack_bits(matrix: np.ndarray, dtype: type, bits: int) -> np.ndarray:
    """Lanes `[lane, element]` of a small float to registers `[register, lane]`."""
    codes = matrix.astype(dtype).view(np.uint8).astype(object)
    words = [sum(int(code) << bits * e for e, code in enumerate(lane)) for lane in codes]
    count = matrix.shape[1] * bits // 32
    return np.array(
        [[word >> 32 * number & 0xFFFFFFFF for word in words] for number in range(count)],
        np.uint32,
    )


@pytest.mark.parametrize("size", [16, 32])
@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 2), (3, 4), (4, 4), (0, 4)])
@pytest.mark.parametrize("scaled", [False, True])
def test_products_of_small_floats(size: int, first: int, second: int, scaled: bool):
    depth = 128 if size == 16 else 64
    values = np.array([-4, -2, -1, -0.5, 0, 0.5, 1, 2, 4])
    a, b = RANDOM.choice(values, (size, depth)), RANDOM.choice(values, (size, depth))
    exponents = RANDOM.integers(120, 134, (2, 64, 4))
    rows_a = pack_bits(gather_lanes(a, 32), *SMALL[first])
    rows_b = pack_bits(gather_lanes(b, 32), *SMALL[second])
    scales = [
        sum(e[:, n].astype(np.uint32) << np.uint32(8 * n) for n in range(4)) for e in exponents
    ]
    count = size * size // 64
    zeros = numbered(60, np.zeros((count, 64), np.uint32))
    given = {**numbered(2, rows_a), **numbered(12, rows_b), 30: scales[0], 31: scales[1], **zeros}
    form = "32x32x64" if size == 32 else "16x16x128"
    operands = f"{span(60, count)}, {span(2, len(rows_a))}, {span(12, len(rows_b))}"
    operands += f", {span(60, count)}"
    text = f"v_mfma_f32_{form}_f8f6f4 {operands} cbsz:{first} blgp:{second}"
    if scaled:
        # Byte 1 of the scales of A, byte 2 of those of B.
        text = f"v_mfma_scale_f32_{form}_f8f6f4 {operands}, v30, v31 op_sel:[1,0,0] "
        text += f"op_sel_hi:[0,1,0] cbsz:{first} blgp:{second}"
        lanes = np.arange(64)
        for matrix, exponent, byte in ((a, exponents[0], 1), (b, exponents[1], 2)):
            for lane in lanes:
                block = slice(lane // size * 32, lane // size * 32 + 32)
                matrix[lane % size, block] *= 2.0 ** (exponent[lane, byte] - 127)
    found = execute("gfx950", text, given, range(60, 60 + count)).view(np.float32)
    expected = (a @ b.T)[result_rows(size), np.arange(64)[None, :] % size]
    np.testing.assert_array_equal(found, expected.astype(np.float32))


ALL_BYTES = np.arange(256, dtype=np.uint8)


@pytest.mark.parametrize("architecture", ["gfx942", "gfx950", "gfx1200"])
@pytest.mark.parametrize("kind", ["fp8", "bf8"])
def test_floats_of_8_bits_widen(architecture: str, kind: str):
    lanes, dtype = wave_size(architecture), eight_bit(architecture)[kind]
    for start in range(0, 256, lanes):
        codes = ALL_BYTES[start : start + lanes]
        text = f"v_cvt_f32_{kind} v1, v2\nv_cvt_pk_f32_{kind} v[4:5], v3"
        both = codes.astype(np.uint32) | (codes[::-1].astype(np.uint32) << 8)
        found = execute(architecture, text, {2: codes.astype(np.uint32), 3: both}, [1, 4, 5])
        with np.errstate(invalid="ignore"):
            expected = codes.view(dtype).astype(np.float32)
        for row, values in zip(found, (expected, expected, expected[::-1]), strict=True):
            np.testing.assert_array_equal(row.view(np.float32), values)


@pytest.mark.parametrize("architecture", ["gfx942", "gfx950", "gfx1200"])
@pytest.mark.parametrize("kind", ["fp8", "bf8"])
def test_floats_narrow_to_8_bits(architecture: str, kind: str):
    lanes, dtype = wave_size(architecture), eight_bit(architecture)[kind]
    # Within the range: beyond it, saturation depends on a mode.
    x = (RANDOM.standard_normal(lanes) * 2.0 ** RANDOM.integers(-9, 7, lanes)).astype(np.float32)
    text = f"v_mov_b32 v1, 0\nv_cvt_pk_{kind}_f32 v1, v2, v3"
    (found,) = execute(architecture, text, {2: x, 3: x[::-1].copy()}, [1])
    codes = x.astype(dtype).view(np.uint8).astype(np.uint32)
    np.testing.assert_array_equal(found, codes | codes[::-1] << 8)


LANE = np.arange(64)
DPP = [
    ("quad_perm:[3,0,1,2]", (LANE & ~3) + np.array([3, 0, 1, 2] * 16), None),
    ("row_ror:3", (LANE & ~15) + (LANE - 3) % 16, None),
    ("row_mirror", LANE ^ 15, None),
    ("row_half_mirror", LANE ^ 7, None),
    ("row_shl:2", LANE + 2, LANE % 16 < 14),
    ("row_shr:5", LANE - 5, LANE % 16 >= 5),
    ("row_bcast:15 row_mask:0xa", (LANE & ~15) - 1, (LANE // 16) % 2 == 1),
    ("row_bcast:31 row_mask:0xc", np.full(64, 31), LANE >= 32),
    ("wave_shr:1", LANE - 1, LANE >= 1),
    ("row_newbcast:7", LANE // 16 * 16 + 7, None),
]


@pytest.mark.parametrize(("control", "source", "valid"), DPP, ids=[one[0] for one in DPP])
def test_dpp_moves_lanes(control: str, source: np.ndarray, valid: np.ndarray | None):
    architecture = "gfx942" if control.startswith("row_newbcast") else "gfx900"
    x, old = RANDOM.integers(0, 2**31, (2, 64), dtype=np.uint32)
    masks = "" if "row_mask" in control else " row_mask:0xf"
    text = f"s_nop 1\nv_mov_b32_dpp v1, v2 {control}{masks} bank_mask:0xf"
    (found,) = execute(architecture, text, {1: old, 2: x}, [1])
    moved = x[source % 64]
    np.testing.assert_array_equal(found, moved if valid is None else np.where(valid, moved, old))


def test_dpp8_and_permlanes():
    lane = np.arange(32)
    x, old = RANDOM.integers(0, 2**31, (2, 32), dtype=np.uint32)
    text = """v_mov_b32_dpp v1, v2 dpp8:[7,6,5,4,3,2,1,0]
v_mov_b32_dpp v3, v2 row_xmask:5 row_mask:0xf bank_mask:0xf
s_mov_b32 s8, 0x76543210
s_mov_b32 s9, 0xfedcba98
v_permlane16_b32 v4, v2, s9, s8
v_permlanex16_b32 v5, v2, s8, s9"""
    found = execute("gfx1100", text, {1: old, 2: x, 3: old, 4: old, 5: old}, [1, 3, 4, 5])
    sources = (lane ^ 7, lane ^ 5, lane ^ 8, lane ^ 16)
    np.testing.assert_array_equal(found, [x[source] for source in sources])


def test_swaps_of_permlanes():
    x, y = RANDOM.integers(0, 2**31, (2, 64), dtype=np.uint32)
    text = "v_permlane32_swap_b32 v1, v2\nv_permlane16_swap_b32 v3, v4"
    found = execute("gfx950", text, {1: x, 2: y, 3: x, 4: y}, [1, 2, 3, 4])
    halves = np.concatenate([x[:32], y[:32]]), np.concatenate([x[32:], y[32:]])
    rows_x, rows_y = x.reshape(4, 16).copy(), y.reshape(4, 16).copy()
    rows_x[[1, 3]], rows_y[[0, 2]] = y.reshape(4, 16)[[0, 2]], x.reshape(4, 16)[[1, 3]]
    np.testing.assert_array_equal(found, [*halves, rows_x.ravel(), rows_y.ravel()])


def test_sdwa_selects_parts():
    x, y, old = RANDOM.integers(0, 2**32, (3, 64), dtype=np.uint32)
    whole = "dst_sel:DWORD dst_unused:UNUSED_PAD"
    kept = "dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE"
    text = f"""v_add_u32_sdwa v1, v2, v3 {whole} src0_sel:BYTE_2 src1_sel:WORD_1
v_mov_b32_sdwa v4, v2 {kept} src0_sel:BYTE_3
v_add_u32_sdwa v5, sext(v2), v3 {whole} src0_sel:BYTE_0 src1_sel:DWORD"""
    found = execute("gfx942", text, {2: x, 3: y, 4: old}, [1, 4, 5])
    signed = (x & 255).astype(np.uint8).view(np.int8).astype(np.int32).view(np.uint32)
    expected = [(x >> 16 & 255) + (y >> 16), (old & 0xFFFF) | (x >> 24) << 16, signed + y]
    np.testing.assert_array_equal(found, expected)


ATOMICS = {
    "add": np.add,
    "sub": np.subtract,
    "smax": lambda m, d: np.maximum(m.view(np.int32), d.view(np.int32)).view(np.uint32),
    "umin": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "swap": lambda _, d: d,
    "inc": lambda m, d: np.where(m >= d, 0, m + 1).astype(np.uint32),
    "dec": lambda m, d: np.where((m == 0) | (m > d), d, m - 1),
    "add_f32": lambda m, d: (m.view(np.float32) + d.view(np.float32)).view(np.uint32),
    "pk_add_f16": lambda m, d: (m.view(np.float16) + d.view(np.float16)).view(np.uint32),
}


@pytest.mark.parametrize("name", ATOMICS)
def test_global_atomics(name: str):
    memory = (RANDOM.standard_normal(64) * 4).astype(np.float32).view(np.uint32)
    operand = (RANDOM.standard_normal(64) * 4).astype(np.float32).view(np.uint32)
    before = memory.copy()
    text = f"global_atomic_{name} v1, v255, v2, s[20:21] sc0"
    (found,) = execute("gfx942", text, {2: operand}, [1], memory=memory)
    np.testing.assert_array_equal(found, before)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(memory, ATOMICS[name](before, operand))


@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
def test_lds_atomics_and_compare_and_swap(architecture: str):
    lanes = wave_size(architecture)
    item = "v249" if lanes == 32 else "v255"
    old, add, new = RANDOM.integers(0, 2**31, (3, lanes), dtype=np.uint32)
    guess = np.where(np.arange(lanes) % 2, old + add, 7).astype(np.uint32)
    write, swap = ("ds_write_b32", f"ds_cmpst_rtn_b32 v6, {item}, v4, v5")
    if architecture == "gfx1100":
        write, swap = ("ds_store_b32", f"ds_cmpstore_rtn_b32 v6, {item}, v5, v4")
    read = write.replace("write", "read").replace("store", "load")
    text = f"""s_mov_b32 m0, -1
{write} {item}, v2
ds_add_rtn_u32 v1, {item}, v3
{swap}
{read} v7, {item}"""
    found = execute(
        architecture, text, {2: old, 3: add, 4: guess, 5: new}, [1, 6, 7], lds=4 * lanes
    )
    after = np.where(guess == old + add, new, old + add)
    np.testing.assert_array_equal(found, [old, old + add, after])


@pytest.mark.parametrize(("bits", "name"), [(16, "b16"), (8, "b8"), (4, "b4")])
def test_transposing_loads(bits: int, name: str):
    rows = RANDOM.integers(0, 2**32, (64, 2), dtype=np.uint32)
    text = f"""v_lshlrev_b32 v1, 1, v255
ds_write_b64 v1, v[2:3]
ds_read_b64_tr_{name} v[4:5], v1"""
    given = {2: rows[:, 0].copy(), 3: rows[:, 1].copy()}
    found = execute("gfx950", text, given, [4, 5], lds=512)
    wide = rows.view(np.uint64)[:, 0]
    each = 64 // bits
    shifts = np.arange(each, dtype=np.uint64) * np.uint64(bits)
    elements = (wide[:, None] >> shifts) & np.uint64((1 << bits) - 1)
    # 16 lanes hold `each` rows of 16 elements; lane i gets column i.
    tiles = elements.reshape(4, each, 16)
    columns = np.moveaxis(tiles, 2, 1).reshape(64, each)
    expected = np.bitwise_or.reduce(columns << shifts, axis=1)
    np.testing.assert_array_equal(found.T.copy().view(np.uint64)[:, 0], expected)


def test_loads_to_lds():
    memory = RANDOM.integers(0, 2**32, 64, dtype=np.uint32)
    text = """s_mov_b32 m0, 0x40
s_nop 0
global_load_lds_dword v255, s[20:21]
s_waitcnt vmcnt(0)
ds_read_b32 v1, v255 offset:64"""
    (found,) = execute("gfx942", text, {}, [1], lds=512, memory=memory)
    np.testing.assert_array_equal(found, memory)


def test_scalar_floats_of_gfx12():
    text = """s_mov_b32 s8, 0x40490fdb
s_mov_b32 s9, 0xbf800000
s_add_f32 s10, s8, s9
s_mul_f32 s11, s8, s9
s_mov_b32 s12, 1.0
s_fmac_f32 s12, s8, s9
s_cvt_i32_f32 s13, s8
s_cmp_lt_f32 s9, s8
s_cselect_b32 s14, 5, 6
s_mul_u64 s[16:17], s[8:9], s[8:9]
v_mov_b32 v1, s10
v_mov_b32 v2, s11
v_mov_b32 v3, s12
v_mov_b32 v4, s13
v_mov_b32 v5, s14
v_mov_b32 v6, s16
v_mov_b32 v7, s17
"""
    found = execute("gfx1200", text, {}, range(1, 8))[:, 0]
    pi = np.float32(np.pi)
    np.testing.assert_array_equal(found[:3].view(np.float32), [pi - 1, -pi, np.float32(1) - pi])
    square = (0xBF800000_40490FDB**2) % 2**64
    assert found[3:].tolist() == [3, 5, square & 0xFFFFFFFF, square >> 32]


@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("segment", [0, 1, 2, 17, 22, 31])
def test_bits_for_range_reduction(architecture: str, segment: int):
    """`v_trig_preop_f64` gives 53 bits of 2/pi, which has 1201; pi is mpmath's."""
    from mpmath import mp

    lanes = wave_size(architecture)
    angles = np.ldexp(RANDOM.uniform(-1, 1, lanes), RANDOM.integers(-30, 1024, lanes))
    with mp.workprec(1300):
        fraction = int(mp.floor(2 / mp.pi * 2**1201))
    expected = []
    for angle in angles:
        exponent = int(np.frexp(angle)[1]) - 1 + 1023
        first = 53 * segment + max(exponent - 1077, 0)
        bits = (fraction << first & (1 << 1201) - 1) >> 1201 - 53
        expected.append(np.ldexp(float(bits), -53 - first + (128 if exponent >= 1968 else 0)))
    given = numbered(2, registers(angles[:, None]))
    found = execute(architecture, f"v_trig_preop_f64 v[4:5], v[2:3], {segment}", given, (4, 5))
    np.testing.assert_array_equal(np.ascontiguousarray(found.T).view(np.float64)[:, 0], expected)


def test_generic_addresses_of_lds_are_no_global_addresses():
    text = """
  s_mov_b64 s[24:25], src_shared_base
  s_mov_b64 s[26:27], src_private_base
  v_mov_b32 v20, s25
  v_mov_b32 v21, s27
  v_mov_b32 v2, s24
  v_add_u32 v2, v2, v255
  v_mov_b32 v3, s25
  flat_store_dword v[2:3], v1
  s_waitcnt vmcnt(0) lgkmcnt(0)
  ds_read_b32 v22, v255
"""
    stored = np.arange(64, dtype=np.uint32) * 3
    shared, private, found = execute("gfx942", text, {1: stored}, [20, 21, 22], lds=256)
    # Linux gives a process no address from 2^47 on unless the process requests one.
    assert shared[0] >= 1 << 15
    assert private[0] >= 1 << 15
    assert shared[0] != private[0]
    np.testing.assert_array_equal(found, stored)


def test_two_instructions_issued_together_read_before_either_writes() -> None:
    x, y = (np.arange(32, dtype=np.float32) + base for base in (1, 100))
    text = "v_dual_mov_b32 v1, v2 :: v_dual_add_f32 v2, v1, v2"
    first, second = execute("gfx1100", text, {1: x, 2: y}, [1, 2]).view(np.float32)
    np.testing.assert_array_equal(first, y)
    np.testing.assert_array_equal(second, x + y)

"""Code for any x86-64 CPU has no unresolved symbols, and rounds correctly."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from lowering_cases import (
    DTYPES,
    ELEMENTS,
    Array,
    Case,
    Results,
    compile_functions,
    lower_case,
    tensor_type,
)

from hipgraft.codegen.target import CPU_VARIABLE
from hipgraft.codegen.workarounds import without
from hipgraft.codegen.workarounds.narrow_floats import NARROW_FLOATS
from hipgraft.dialects import hipdnn
from hipgraft.ir.diagnostics import CodegenError

pytestmark = pytest.mark.slow

_V2 = {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"}
_V3 = _V2 | {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"}
_V4 = _V3 | {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}
_BF16 = _V4 | {"adx", "aes", "avx512_bf16", "avx512_vnni", "pclmulqdq", "rdseed", "xsavec"}

PROCESSORS = {"x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4, "cooperlake": _BF16}
"""Linux's names of processor features, by LLVM's names of processors."""

FLOATS = ("f64", "f32", "f16", "bf16")
INTEGERS = ("i8", "i32", "i64")

FUNCTIONS: dict[str, Callable[..., Array]] = {
    "math.absf": np.abs,
    "math.ceil": np.ceil,
    "math.exp": np.exp,
    "math.floor": np.floor,
    "math.log": np.log,
    "math.log1p": np.log1p,
    "math.roundeven": np.rint,
    "math.sqrt": np.sqrt,
    "math.trunc": np.trunc,
    "math.powf": np.power,
    "math.fma": lambda x, y, z: x * y + z,
    "arith.divf": np.divide,
    "arith.maximumf": np.maximum,
}
# The compiler evaluates these in single precision at best.
SINGLE = FUNCTIONS | {
    "math.atan": np.arctan,
    "math.cos": np.cos,
    "math.erf": np.vectorize(math.erf),
    "math.sin": np.sin,
    "math.tanh": np.tanh,
    "arith.remf": np.fmod,
}
ARITY = {"math.powf": 2, "math.fma": 3, "arith.divf": 2, "arith.maximumf": 2, "arith.remf": 2}
TOLERANCE = {"f64": 1e-12, "f32": 1e-5, "f16": 2e-3, "bf16": 1.6e-2}

TO_INTEGERS = ("fptosi", "fptoui")
FROM_INTEGERS = ("sitofp", "uitofp")
ON_INTEGERS: dict[str, Callable[[Array, Array], Array]] = {
    "divsi": lambda x, y: (x - np.fmod(x, y)) // y,
    "remsi": np.fmod,
    "divui": lambda x, y: (unsigned(x) // unsigned(y)).view(x.dtype),
    "remui": lambda x, y: (unsigned(x) % unsigned(y)).view(x.dtype),
}


CASES: dict[str, Case] = {}
TEXTS: dict[str, str] = {}

ARITHMETIC = {"addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide}


def module(source: str, arity: int, results: Sequence[tuple[str, str]], extent: int) -> str:
    """Returns a function of one loop.

    Args:
        source: element type of its operands, which the loop has as `%x0`, `%x1`, `%x2`.
        arity: number of operands.
        results: element type of each result, and the operation that makes it.
        extent: extent of the loop.
    """
    tensors = [f"tensor<{extent}x{element}>" for element, _ in results]
    operand = f"tensor<{extent}x{source}>"
    maps = ", ".join(["affine_map<(i) -> (i)>"] * (arity + len(results)))
    lines = "\n".join(f"%y{i} = {line}" for i, (_, line) in enumerate(results))
    return f"""module {{
func.func @main({_joined("%a{0}: {1}", [operand] * arity)}) -> ({", ".join(tensors)}) {{
  {_joined("%e{0} = tensor.empty() : {1}", tensors, chr(10))}
  %r:{len(results)} = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}
      ins({_joined("%a{0}", [operand] * arity)} : {", ".join([operand] * arity)})
      outs({_joined("%e{0}", tensors)} : {", ".join(tensors)}) {{
  ^bb0({_joined("%x{0}: {1}", [source] * arity)}, {_joined("%o{0}: {1}", [e for e, _ in results])}):
    {lines}
    linalg.yield {_joined("%y{0}", results)} : {", ".join(element for element, _ in results)}
  }} -> ({", ".join(tensors)})
  return {_joined("%r#{0}", results)} : {", ".join(tensors)}
}}
}}
"""


def _joined(form: str, values: Sequence[object], between: str = ", ") -> str:
    return between.join(form.format(index, value) for index, value in enumerate(values))


def written(
    name: str,
    inputs: Sequence[Array],
    lines: Sequence[tuple[str, str]],
    expected: Sequence[Array],
    tolerance: float = 0,
) -> None:
    """Adds a case whose function is given as text instead of lowered from a graph."""
    TEXTS[name] = module(ELEMENTS[inputs[0].dtype], len(inputs), lines, inputs[0].size)
    CASES[name] = Case(
        name=name,
        inputs=inputs,
        build=lambda *_: (),
        expected=[np.asarray(value, np.float64) for value in expected],
        elements=[element for element, _ in lines],
        rtol=tolerance,
        atol=tolerance,
    )


def unsigned(values: Array) -> Array:
    return values.view(f"u{values.dtype.itemsize}")


def floats(element: str) -> Array:
    """Returns numbers of all magnitudes, midpoints of neighbours in narrower types, and NaN."""
    random = np.random.default_rng(14)
    size = DTYPES[element].itemsize
    bits = random.integers(0, 1 << 8 * size, 512, np.uint64).astype(f"u{size}")
    values = [bits.view(DTYPES[element]), np.array([0, -0.0, np.inf, -np.inf, np.nan])]
    for narrow in ("f16", "bf16") if size > 2 else ():
        near = random.uniform(0.9, 1.1, 64) * 2.0 ** random.integers(-26, 16, 64)
        low = near.astype(DTYPES[narrow])
        high = (low.view(np.uint16) + 1).view(low.dtype)
        middle = (low.astype(DTYPES[element]) + high.astype(DTYPES[element])) / 2
        values += [middle, -middle, np.nextafter(middle, 0), np.nextafter(middle, np.inf)]
    found = np.concatenate([value.astype(DTYPES[element]) for value in values])
    # IREE's threads treat subnormal numbers of f32 and f64 as 0.
    is_subnormal = (found != 0) & (np.abs(found.astype(np.float64)) < 2.0**-126)
    return found[~is_subnormal]


def add_conversions(source: str) -> None:
    """Conversions of floats to floats."""
    values = floats(source)
    size = DTYPES[source].itemsize
    to = [t for t in FLOATS if DTYPES[t].itemsize != size]
    operation = {t: "truncf" if DTYPES[t].itemsize < size else "extf" for t in to}
    lines = [(t, f"arith.{operation[t]} %x0 : {source} to {t}") for t in to]
    written(f"from_{source}", [values], lines, [values.astype(DTYPES[t]) for t in to])
    small = np.random.default_rng(1).uniform(0, 100, 64).astype(DTYPES[source])
    lines = [(t, f"arith.{op} %x0 : {source} to {t}") for t in INTEGERS for op in TO_INTEGERS]
    expected = [small.astype(DTYPES[t]) for t, _ in lines]
    written(f"{source}_to_integers", [small], lines, expected)


def add_from_integers(source: str) -> None:
    """Conversions of integers to floats: those in two steps must round only once."""
    random = np.random.default_rng(2)
    limits = np.iinfo(DTYPES[source])
    scales = 2.0 ** random.uniform(0, limits.bits - 1, 128)
    near = np.arange(250, 1100, 7) % limits.max
    ends = [limits.min, limits.max, limits.max - 1, -1, 0, 1]
    values = np.concatenate([ends, near, scales, -scales]).astype(DTYPES[source])
    lines = [(t, f"arith.{op} %x0 : {source} to {t}") for t in FLOATS for op in FROM_INTEGERS]
    views = {"sitofp": values, "uitofp": unsigned(values)}
    expected = [views[line[6:12]].astype(DTYPES[t]) for t, line in lines]
    written(f"from_{source}", [values], lines, expected)
    # The type cannot represent the quotient of its smallest number and -1.
    divisors = np.roll(values, 1) | 1
    pairs = [values, np.where(divisors == -1, 3, divisors)]
    lines = [(source, f"arith.{op} %x0, %x1 : {source}") for op in ON_INTEGERS]
    written(f"division_{source}", pairs, lines, [op(*pairs) for op in ON_INTEGERS.values()])


def add_functions(element: str) -> None:
    """Functions of a math library."""
    random = np.random.default_rng(3)
    inputs = [random.uniform(0.1, 3, 64).astype(DTYPES[element]) for _ in range(3)]
    wide = [value.astype(np.float64) for value in inputs]
    functions = FUNCTIONS if element == "f64" else SINGLE
    operands = {name: ["%x0", "%x1", "%x2"][: ARITY.get(name, 1)] for name in functions}
    lines = [(element, f"{name} {', '.join(operands[name])} : {element}") for name in functions]
    expected = [function(*wide[: ARITY.get(name, 1)]) for name, function in functions.items()]
    written(f"functions_{element}", inputs, lines, expected, TOLERANCE[element])


def add_arithmetic(element: str) -> None:
    """Sums and products whose results are subnormal numbers of a narrow type, too."""
    x = floats(element)
    magnitude = np.abs(x.astype(np.float64))
    x = x[~((magnitude > 2.0**40) | (magnitude < 2.0**-40)) | np.isinf(magnitude)]
    y = np.roll(x[::-1], 1)
    lines = [(element, f"arith.{op} %x0, %x1 : {element}") for op in ARITHMETIC]
    expected = [function(x, y) for function in ARITHMETIC.values()]
    written(f"arithmetic_{element}", [x, y], lines, expected)


def add_small_floats(source: str, target: str) -> None:
    """Floats of 8 bits, which the lowering itself converts."""
    values = floats(source)
    values = values[np.abs(values.astype(np.float64)) <= 400]
    name = f"{source}_to_{target}"
    CASES[name] = Case(
        name=name,
        inputs=[values],
        build=lambda x: hipdnn.pointwise(
            x, mode="identity", result_type=tensor_type([values.size], target)
        ),
        expected=[values.astype(DTYPES[target]).astype(np.float64)],
        elements=[target],
        rtol=0,
        atol=0,
    )
    TEXTS[name] = lower_case(CASES[name])


def add_all() -> None:
    for each in FLOATS:
        add_conversions(each)
        add_functions(each)
    for each in ("f16", "bf16"):
        add_arithmetic(each)
    for each in INTEGERS:
        add_from_integers(each)
    for wide, narrow in itertools.product(("f32", "f16", "bf16"), ("f8E4M3FN", "f8E5M2")):
        add_small_floats(wide, narrow)
        add_small_floats(narrow, wide)


with np.errstate(all="ignore"):
    add_all()


def features() -> set[str]:
    """Returns the features of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return set()
    return {word for line in lines if line.startswith("flags") for word in line.split()}


def unresolved(binary: bytes) -> list[str]:
    """Returns the symbols that the code in an IREE module lacks."""
    elf = ELFFile(io.BytesIO(binary[binary.index(b"\x7fELF") :]))
    return [
        symbol.name
        for section in elf.iter_sections()
        if isinstance(section, SymbolTableSection)
        for symbol in section.iter_symbols()
        if symbol["st_shndx"] == "SHN_UNDEF" and symbol.name
    ]


@pytest.fixture(scope="module", params=PROCESSORS)
def processor(request: pytest.FixtureRequest) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CPU_VARIABLE, request.param)
        yield request.param


@pytest.mark.thorough
def test_nothing_is_unresolved(processor: str) -> None:
    """IREE's linker refuses undefined symbols; its loader would, too."""
    assert unresolved(compile_functions(TEXTS)) == []


@pytest.fixture(scope="module")
def computed(processor: str) -> Results:
    missing = PROCESSORS[processor] - features()
    if missing:
        pytest.skip(f"this processor lacks {', '.join(sorted(missing))}")
    return Results([*CASES.values()], lambda case: TEXTS[case.name])


@pytest.mark.sampled(96)
@pytest.mark.parametrize("name", CASES)
def test_rounding(name: str, computed: Results) -> None:
    CASES[name].check(computed[name])


def test_the_workaround_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, the compiler no longer needs `narrow_floats.py`: remove that file."""
    monkeypatch.setenv(CPU_VARIABLE, "x86-64-v3")
    with without(NARROW_FLOATS), pytest.raises(CodegenError, match="failed to link"):
        compile_functions({"from_i32": TEXTS["from_i32"]})

"""Reads, generates, writes and compares the arrays of tools."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.foreign_data import malformed, os_reason
from hipgraft.ir.outputs import replacing
from hipgraft.ir.selection import select
from hipgraft.runtime.recording import DYNAMIC
from hipgraft.tools.cli import is_number

Array = np.ndarray[Any, Any]

Given: TypeAlias = Mapping[str, Array] | Sequence[tuple[int, ...]]
"""Arrays by name, or the shapes of arrays to generate."""

_KINDS = "biufcV"
"""Kinds of elements: numbers, and bytes, as which NumPy stores types that it does not support."""

_MOST_INFLATED = 1 << 30
"""The limit on the bytes of arrays in an archive, unless the archive itself is larger."""


@dataclass(frozen=True)
class Signature:
    """The name, extents (`DYNAMIC` accepts any) and element type of a program's argument."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def read_arrays(flag: str, prefix: str) -> Mapping[str, Array]:
    """Reads `@FILE.npz` or `@FILE.npy`.

    Args:
        flag: the flag's value.
        prefix: `in` or `out`; arrays named `in_0`, `in_1`, ... are the arguments in order, and
            arrays with other names in the file are then ignored.

    Returns:
        Arrays by name; the sole array of a `.npy` file is called `PREFIX_0`.

    Raises:
        HipgraftError: the file is missing or malformed.
    """
    path = Path(flag.removeprefix("@"))
    if not flag.startswith("@") or path.suffix not in (".npz", ".npy"):
        raise HipgraftError(f"expected '@FILE.npz' or '@FILE.npy', found '{flag}'")
    if path.suffix == ".npy":
        with _arrays_in(path) as file:
            return {f"{prefix}_0": _read_array(file, path.stat().st_size)}
    arrays: dict[str, Array] = {}
    with _arrays_in(path) as file, zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        most = max(_MOST_INFLATED, 64 * path.stat().st_size)
        if sum(member.file_size for member in members) > most:
            raise HipgraftError(f"they inflate to more than {most} bytes")
        for member in members:
            with archive.open(member) as data:
                name = member.filename.removesuffix(".npy")
                arrays[name] = _read_array(data, member.file_size)
    numbered = {name: array for name, array in arrays.items() if _is_numbered(name, prefix)}
    return numbered or arrays


@contextmanager
def _arrays_in(path: Path) -> Generator[IO[bytes], None, None]:
    try:
        file = path.open("rb")
    except (OSError, ValueError) as error:
        reason = os_reason(error)
        raise HipgraftError(f"cannot read arrays: {reason}", location=str(path)) from None
    with file, malformed("arrays", str(path)):
        yield file


def _read_array(file: IO[bytes], size: int) -> Array:
    """Reads one array in NumPy's format without trusting its header."""
    version = np.lib.format.read_magic(file)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise HipgraftError(f"unknown version {version} of an array")
    shape, fortran, dtype = readers[version](file)
    if dtype.hasobject or dtype.fields is not None or dtype.kind not in _KINDS:
        raise HipgraftError(f"an array has elements of type '{dtype}'")
    nbytes = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or nbytes > size:
        raise HipgraftError(f"an array of shape {list(shape)} has {size} bytes")
    data = file.read(nbytes)
    array = np.frombuffer(data, dtype, math.prod(shape))
    array = array.reshape(shape, order="F" if fortran else "C")
    # A writable copy in the machine's byte order.
    return array.astype(dtype.newbyteorder("="), order="C")


def _is_numbered(name: str, prefix: str) -> bool:
    head, _, number = name.rpartition("_")
    return head == prefix and is_number(number)


def read_inputs(flag: str) -> Given:
    """Reads arrays, or shapes of inputs as `2x128,2x128`; a scalar's shape is empty.

    Raises:
        HipgraftError: a file is missing or malformed, or an extent is not a positive number.
    """
    if flag.startswith("@"):
        return read_arrays(flag, "in")
    texts = [text.split("x") if text else [] for text in flag.split(",")]
    if not all(is_number(one) and int(one) for extents in texts for one in extents):
        raise HipgraftError(f"expected '@FILE.npz', '@FILE.npy' or shapes as 2x128, found '{flag}'")
    return [tuple(map(int, extents)) for extents in texts]


def match_inputs(
    arrays: Mapping[str, Array], variants: Mapping[str, Sequence[Signature]]
) -> list[Array]:
    """Returns an array for each argument: by `in_N`, by `argN`, or by the argument's name.

    Args:
        arrays: arrays by name.
        variants: arguments of each variant of the program; the shapes select one.

    Raises:
        HipgraftError: an array is missing, or has another shape or element type.
    """
    names = [
        _array_name(arrays, index, signature)
        for index, signature in enumerate(next(iter(variants.values())))
    ]
    shapes = {name: [one.shape for one in signatures] for name, signatures in variants.items()}
    chosen = select(shapes, [arrays[name].shape for name in names])
    signatures = list(variants.values())[chosen]
    return [
        _checked(arrays[name], name, signature)
        for name, signature in zip(names, signatures, strict=True)
    ]


def _array_name(arrays: Mapping[str, Array], index: int, signature: Signature) -> str:
    names = (f"in_{index}", f"arg{index}", signature.name)
    return _present(arrays, names, f"argument #{index}")


def _present(arrays: Mapping[str, Array], names: Sequence[str], what: str) -> str:
    """Returns the first of `names` that is present; empty names are ignored."""
    name = next((name for name in names if name in arrays), None)
    if name is None:
        expected = " or ".join(f"'{name}'" for name in names if name)
        found = ", ".join(f"'{name}'" for name in arrays)
        raise HipgraftError(f"no array for {what}: expected one called {expected}; found {found}")
    return name


def match_expected(arrays: Mapping[str, Array], names: Sequence[str]) -> list[Array]:
    """Returns the expected array for each result: by `out_N`, or by the result's name.

    Args:
        arrays: arrays by name, possibly including inputs.
        names: names of the results, empty for results without one.

    Raises:
        HipgraftError: an array is missing, or there are more arrays than results.
    """
    count = sum(_is_numbered(name, "out") for name in arrays)
    if count > len(names):
        raise HipgraftError(f"expected {count} results, the program has {len(names)}")
    return [
        arrays[_present(arrays, (f"out_{index}", name), f"result #{index}")]
        for index, name in enumerate(names)
    ]


def _checked(array: Array, name: str, signature: Signature) -> Array:
    # Programs have signless integers, and NumPy's files do not support bfloat16.
    same_bits = array.dtype.itemsize == signature.dtype.itemsize
    if same_bits and (
        array.dtype.kind == "V" or {array.dtype.kind, signature.dtype.kind} == {"i", "u"}
    ):
        array = array.view(signature.dtype)
    if not _fits(array.shape, signature.shape) or array.dtype != signature.dtype:
        raise HipgraftError(
            f"array '{name}': expected {describe(signature.shape, signature.dtype)}, "
            f"found {describe(array.shape, array.dtype)}"
        )
    return array


def _fits(shape: Sequence[int], expected: Sequence[int]) -> bool:
    return len(shape) == len(expected) and all(
        extent in (given, DYNAMIC) for given, extent in zip(shape, expected, strict=True)
    )


def describe(shape: Sequence[int], dtype: np.dtype[Any]) -> str:
    """Returns extents and element type as `1x3xfloat32`."""
    extents = ("?" if extent == DYNAMIC else str(extent) for extent in shape)
    return "x".join([*extents, dtype.name])


def of_shapes(
    variants: Mapping[str, Sequence[Signature]], shapes: Sequence[tuple[int, ...]]
) -> list[Signature]:
    """Returns the arguments of the variant that fits shapes, with these shapes.

    Raises:
        HipgraftError: no variant fits them.
    """
    known = {name: [one.shape for one in signatures] for name, signatures in variants.items()}
    signatures = list(variants.values())[select(known, shapes)]
    if len(signatures) != len(shapes):
        raise HipgraftError(f"expected {len(signatures)} shapes of inputs, found {len(shapes)}")
    for index, (one, shape) in enumerate(zip(signatures, shapes, strict=True)):
        if not _fits(shape, one.shape):
            expected, found = describe(one.shape, one.dtype), describe(shape, one.dtype)
            raise HipgraftError(f"argument #{index} is a {expected}, found {found}")
    return [replace(one, shape=shape) for one, shape in zip(signatures, shapes, strict=True)]


def generate_inputs(signatures: Sequence[Signature], seed: int) -> list[Array]:
    """Returns reproducible arrays: normally distributed floats, and integers 0 and 1.

    These integers are valid tokens and positions, and make sense as masks.

    Raises:
        HipgraftError: a shape is dynamic.
    """
    for index, signature in enumerate(signatures):
        if DYNAMIC in signature.shape:
            kind = describe(signature.shape, signature.dtype)
            raise HipgraftError(f"argument #{index} is a {kind}: give arrays or shapes by --input")
    random = np.random.default_rng(seed)
    return [_generated(random, signature) for signature in signatures]


def _generated(random: np.random.Generator, signature: Signature) -> Array:
    is_float = "float" in signature.dtype.name  # ml_dtypes' have no kind in common
    values = (
        random.standard_normal(signature.shape)
        if is_float
        else random.integers(0, 2, signature.shape)
    )
    return np.asarray(values).astype(signature.dtype)


def write_arrays(flag: str, outputs: Sequence[Array], names: Sequence[str]) -> None:
    """Writes results to `@FILE.npz`; bfloat16 is written as its bits.

    Args:
        flag: the flag's value.
        outputs: the results.
        names: names of the results. If one is empty or two are equal, all are `out_0`, ...

    Raises:
        HipgraftError: the file cannot be written.
    """
    path = flag.removeprefix("@")
    if not path.endswith(".npz"):
        raise HipgraftError(f"expected '@FILE.npz', found '{flag}'")
    if not all(names) or len(set(names)) < len(names):
        names = [f"out_{index}" for index in range(len(outputs))]
    arrays = dict(zip(names, outputs, strict=True))
    with replacing(path) as temporary, temporary.open("wb") as file:
        save(file, arrays)


def save(file: IO[bytes], arrays: Mapping[str, Array]) -> None:
    """Writes arrays by name as an `.npz` file: `np.savez` does not support every name."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)

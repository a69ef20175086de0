"""The C header of an object file of a host program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from hipgraft.host_lowering import LoweredHost
from hipgraft.runtime.recording import Tensor


def object_header(lowered: LoweredHost, guard: str) -> str:
    """Returns the header.

    Args:
        lowered: the program.
        guard: the include guard's name, of any characters.
    """
    macro = re.sub(r"\W", "_", guard).upper()
    ranks = sorted({len(tensor.shape) for tensor in lowered.arguments})
    arguments = ",\n    ".join(_arguments(lowered))
    entry = lowered.entry
    lines = [
        f"#ifndef {macro}",
        f"#define {macro}",
        "",
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        "/* Descriptors of memory on the device; sizes, strides and offset in elements. */",
        *[_descriptor(rank) for rank in ranks],
        "",
        "/* Runs the program and waits for it. Memory is the caller's; so is the upload of the",
        "   constants, once. Link with a library of MLIR's GPU runtime (mgpu*). */",
        f"void _mlir_ciface_{entry}(\n    {arguments});",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        f"#endif /* {macro} */",
    ]
    return "\n".join(lines) + "\n"


def _descriptor(rank: int) -> str:
    arrays = f" int64_t sizes[{rank}]; int64_t strides[{rank}];" if rank else ""
    name = f"hipgraft_memref_{rank}"
    return (
        f"#ifndef HIPGRAFT_MEMREF_{rank}\n#define HIPGRAFT_MEMREF_{rank}\n"
        f"typedef struct {{ void *allocated; void *aligned; int64_t offset;{arrays} }} {name};\n"
        "#endif"
    )


def _arguments(lowered: LoweredHost) -> Iterator[str]:
    numbers = {kind: count() for kind in ("input", "constant", "result")}
    kinds = ["input"] * lowered.inputs + ["constant"] * len(lowered.constants)
    kinds += ["result"] * lowered.results
    names = [tensor.name for tensor in lowered.arguments[: lowered.inputs]]
    names += [*lowered.constants, *[""] * lowered.results]
    for kind, name, tensor in zip(kinds, names, lowered.arguments, strict=True):
        label = f"{kind}_{next(numbers[kind])}"
        yield f"hipgraft_memref_{len(tensor.shape)} *{label} /* {_described(name, tensor)} */"


def _described(name: str, tensor: Tensor) -> str:
    kind = "x".join([*map(str, tensor.shape), tensor.element_type])
    called = f"{name.replace('*/', '')}: " if name else ""
    strides = "" if tensor.is_packed else f", strides {list(tensor.dense_strides)}"
    return f"{called}{kind}{strides}"

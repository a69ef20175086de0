"""Writes the C header of an object file of a host program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from hipgraft.host.lowering import LoweredHost
from hipgraft.runtime.recording import DYNAMIC, Tensor


def object_header(lowered: LoweredHost, guard: str) -> str:
    """Returns the text of the header.

    Args:
        lowered: the program.
        guard: name of the include guard, of any characters.
    """
    macro = re.sub(r"\W", "_", guard).upper()
    ranks = sorted({len(one.shape) for tensors in lowered.variants.values() for one in tensors})
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
        *_extents(lowered),
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


def _extents(lowered: LoweredHost) -> Iterator[str]:
    """Declares the function that computes the results' extents, if shapes are dynamic."""
    (tensors, *_) = lowered.variants.values()
    results = tensors[len(tensors) - lowered.results :]
    if not lowered.extents or not any(one.shape for one in results):
        return
    inputs = list(_arguments(lowered))[: lowered.inputs]
    fields = [
        f"int64_t result_{n}[{len(one.shape)}];" for n, one in enumerate(results) if one.shape
    ]
    name, parameters = lowered.extents, ",\n    ".join(inputs)
    yield "/* Computes the extents of the results from the sizes of the inputs. */"
    if sum(len(one.shape) for one in results) == 1:
        yield f"int64_t _mlir_ciface_{name}(\n    {parameters});"
    else:
        yield f"typedef struct {{ {' '.join(fields)} }} {name};"
        yield f"void _mlir_ciface_{name}(\n    {name} *extents,\n    {parameters});"
    yield ""


def _arguments(lowered: LoweredHost) -> Iterator[str]:
    numbers = {kind: count() for kind in ("input", "constant", "result")}
    kinds = ["input"] * lowered.inputs + ["constant"] * len(lowered.constants)
    kinds += ["result"] * lowered.results
    columns = list(zip(*lowered.variants.values(), strict=True))
    names = [forms[0].name for forms in columns[: lowered.inputs]]
    names += [*lowered.constants, *[""] * lowered.results]
    for kind, name, forms in zip(kinds, names, columns, strict=True):
        label = f"{kind}_{next(numbers[kind])}"
        called = f"{name.replace('*/', '')}: " if name else ""
        described = " or ".join(dict.fromkeys(map(_described, forms)))
        yield f"hipgraft_memref_{len(forms[0].shape)} *{label} /* {called}{described} */"


def _described(tensor: Tensor) -> str:
    extents = ("?" if extent == DYNAMIC else str(extent) for extent in tensor.shape)
    kind = "x".join([*extents, tensor.element_type])
    strides = "" if tensor.is_packed else f", strides {list(tensor.dense_strides)}"
    return f"{kind}{strides}"

"""Compares a model's kernels with those of `iree-compile` by work counted on an emulator.

    python benchmarks/wave_counts.py MODEL... [--target gfx942]
        [--sample 24] [--kernels 5] [--limit 1.0]

Prints a row for each model: the dynamic wave instructions and the MB that lanes load and store, for
hipgraft and for `iree-compile --iree-opt-level=O3` of the same file, and the ratios. Exits with 1
if a ratio of wave instructions exceeds `--limit`.

About `--sample` workgroups of each launch, evenly spaced over the grid, are executed and
extrapolated to all; `--sample 0` executes every workgroup. Memory is zero-filled on both sides: no
kernel's control flow depends on data. Fills, copies and the work that IREE does once at load time
do not count. `--kernels N` lists the N most expensive kernels of both.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import hipgraft
from hipgraft.codegen.iree.entry import ENTRY, add_result_buffers, lower_torch, signature
from hipgraft.codegen.iree.schedule import read_schedule
from hipgraft.codegen.iree.session import IreeSession
from hipgraft.codegen.kernel import Kernel, kernels_of
from hipgraft.codegen.objects.code_object import extract_code_objects
from hipgraft.codegen.objects.elf_note import without_access_qualifiers
from hipgraft.codegen.provider import executable_binaries, make_kernel
from hipgraft.codegen.target import Target
from hipgraft.ir.bindings import ir, passmanager
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.service.tuning.counted import Count, CountedCostModel

_FROM_ONNX = "builtin.module(torch-onnx-to-torch-backend-pipeline)"
_MEGABYTE = 1e6


@dataclass(frozen=True)
class Part:
    """A kernel and the number of times that a program runs it."""

    name: str
    kernel: Kernel
    times: int


def hipgraft_parts(model: Path, target: Target) -> list[Part]:
    """Returns the kernels of a model's executables."""
    program = hipgraft.compile(model, target.name, compile_to="hipdnn-executables")
    executables: dict[str, Kernel] = {}
    calls: Counter[str] = Counter()
    for op in _walk(program.module):
        if op.name == "hipdnn.executable":
            (executables[ir.StringAttr(op.attributes["sym_name"]).value],) = kernels_of(op)
        elif op.name == "hipdnn.execute":
            calls[ir.FlatSymbolRefAttr(op.attributes["callee"]).value] += 1
    return [Part(name, kernel, calls[name]) for name, kernel in executables.items()]


def _walk(module: ir.Module) -> Iterable[ir.Operation]:
    for op in module.body.operations:
        yield op.operation
        if op.operation.name == "func.func" and not op.is_external:
            yield from (each.operation for each in op.body.blocks[0].operations)


def iree_parts(model: Path, target: Target) -> list[Part]:
    """Returns the program that `iree-compile` builds from a model."""
    session = IreeSession((*target.device_flags, "--iree-opt-level=O3"))
    module = session.parse(_imported(model))
    _lower_input(module)
    kind = signature(module)
    add_result_buffers(module)
    session.run(module, compile_to="executable-targets")
    _drop_constants(module)
    schedule = read_schedule(module, len(kind.inputs), len(kind.results))
    session.run(module, compile_from="executable-targets", compile_to="hal")
    binaries = [each for data in executable_binaries(module) for each in extract_code_objects(data)]
    objects = [without_access_qualifiers(data) for data in binaries]
    return [Part("iree-compile", make_kernel(target, objects, schedule), 1)]


def _imported(model: Path) -> str:
    if model.suffix != ".onnx":
        return model.read_text()
    importer = Path(sys.executable).parent / "iree-import-onnx"
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model.mlir"
        command = [importer, model, "--opset-version=17", "-o", path]
        subprocess.run(command, check=True, capture_output=True)
        return path.read_text()


def _lower_input(module: ir.Module) -> None:
    """Runs `iree-compile`'s first step, but with a synchronous entry point of one name."""
    (function,) = [op.operation for op in module.body.operations if op.name != "torch.operator"]
    function.attributes["sym_name"] = ir.StringAttr.get(ENTRY, module.context)
    if "torch.onnx_meta.opset_version" in function.attributes:
        passmanager.PassManager.parse(_FROM_ONNX, module.context).run(module.operation)
    lower_torch(module)


def _drop_constants(module: ir.Module) -> None:
    """Replaces constants that are loaded once by zeros, which cause the same work."""
    for op in module.body.operations:
        if op.operation.name != "util.initializer":
            continue
        for each in op.operation.regions[0].blocks[0].operations:
            if each.operation.name == "util.buffer.constant":
                each.operation.attributes["value"] = _zeros(each.operation.attributes["value"])


def _zeros(value: ir.Attribute) -> ir.Attribute:
    size = str(value).removeprefix("#util.composite<").partition("xi8")[0]
    zeros = f"#util.composite<{size}xi8, [\ndense<0> : tensor<{size}xi8>,\n]>"
    return ir.Attribute.parse(zeros, value.context)


def count(parts: Iterable[Part], cost_model: CountedCostModel) -> list[Count]:
    """Returns the work of each kernel in one run of the program."""
    return [
        Count(
            f"{part.name}: {each.kernel}",
            each.instructions * part.times,
            each.loaded * part.times,
            each.stored * part.times,
        )
        for part in parts
        for each in cost_model.counts(part.kernel)
    ]


def total(counts: Sequence[Count]) -> tuple[float, float]:
    """Returns wave instructions, and bytes that lanes load and store."""
    instructions = sum(each.instructions for each in counts)
    return instructions, sum(each.loaded + each.stored for each in counts)


def print_largest(counts: Sequence[Count], most: int) -> None:
    for each in sorted(counts, key=lambda each: -each.instructions)[:most]:
        print(f"    {each.instructions:9.2e} {each.loaded / _MEGABYTE:9.2f} MB  {each.kernel}")


def measure(model: Path, target: Target, cost_model: CountedCostModel, kernels: int) -> float:
    """Prints the row of a model and returns its ratio of wave instructions."""
    sides: list[list[Count]] = []
    for parts_of in (hipgraft_parts, iree_parts):
        try:
            sides.append(count(parts_of(model, target), cost_model))
        except (HipgraftError, RuntimeError) as error:
            print(f"| {model.stem} | {parts_of.__name__}: {error} |", flush=True)
            return 0.0
    (ours, our_bytes), (theirs, their_bytes) = map(total, sides)
    row = f"| {model.stem} | {ours:.3e} | {theirs:.3e} | {ours / theirs:.3f}"
    row += f" | {our_bytes / _MEGABYTE:.2f} | {their_bytes / _MEGABYTE:.2f}"
    print(f"{row} | {our_bytes / their_bytes:.3f} |", flush=True)
    for side in sides:
        print_largest(side, kernels)
    return ours / theirs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--target", default="gfx942")
    parser.add_argument("--sample", type=int, default=24)
    parser.add_argument("--kernels", type=int, default=0)
    parser.add_argument("--limit", type=float, default=1.0)
    flags = parser.parse_args()
    target, cost_model = Target.parse(flags.target), CountedCostModel(flags.sample)
    print("| model | wave instructions | iree-compile | ratio | MB | iree-compile | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    ratios = [measure(model, target, cost_model, flags.kernels) for model in flags.models]
    return int(max(ratios) > flags.limit)


if __name__ == "__main__":
    sys.exit(main())

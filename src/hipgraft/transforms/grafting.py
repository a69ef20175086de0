"""Converts executables to `gpu.binary` ops, which architectures share if their kernels agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hipgraft.codegen.kernel import Dispatch, Kernel, kernels_of
from hipgraft.dialects.hipdnn import ExecutableOp
from hipgraft.ir.bindings import gpu_d, ir
from hipgraft.ir.diagnostics import PassFailure
from hipgraft.ir.symbols import symbol_of

# `gpu.object`'s format (`assembly`, `bin`) and target attribute, by a kernel's format.
_OBJECT_FORMATS = {"hsaco": (3, "rocdl"), "ptx": (2, "nvvm")}


@dataclass(frozen=True)
class GraftedKernel:
    """A kernel and the `gpu.binary` symbol of each of its code objects."""

    kernel: Kernel
    binaries: tuple[str, ...]

    @property
    def schedule(self) -> tuple[object, ...]:
        """The properties that a host function depends on; targets share it if they are equal."""
        return (self.binaries, self.kernel.steps, self.kernel.workspace_size)


@dataclass(frozen=True)
class CompiledGraph:
    """An executable's kernels by target."""

    op: ir.Operation
    name: str
    kernels: dict[str, Kernel]

    @staticmethod
    def read(op: ir.Operation) -> CompiledGraph:
        """Reads a `hipdnn.executable`."""
        name = symbol_of(op)
        return CompiledGraph(op, name, {kernel.target: kernel for kernel in kernels_of(op)})

    def kernel(self, target: str) -> Kernel:
        """Returns the kernel for `target`.

        Raises:
            PassFailure: `target` has no kernel, or its kernel is not a code object for a GPU.
        """
        kernel = self.kernels.get(target)
        if kernel is None:
            have = ", ".join(self.kernels) or "none"
            raise PassFailure(
                f"'hipdnn.executable' op '@{self.name}' has no binary for '{target}'; "
                f"it has {have}",
                self.op,
            )
        if kernel.format == "hipdnn":
            raise PassFailure(ExecutableOp(self.op).needs_host, self.op)
        if kernel.format not in _OBJECT_FORMATS:
            raise PassFailure(
                f"'hipdnn.executable' op '@{self.name}' has a binary of format "
                f"'{kernel.format}' for '{target}', which cannot be merged; "
                "expected 'hsaco' or 'ptx'",
                self.op,
            )
        return kernel


def grouped(targets: Sequence[str], keys: Iterable[object]) -> list[list[str]]:
    """Groups targets with equal keys, in order of first appearance."""
    groups: dict[object, list[str]] = {}
    for target, key in zip(targets, keys, strict=True):
        groups.setdefault(key, []).append(target)
    return list(groups.values())


def suffixes(groups: Sequence[Sequence[str]]) -> list[str]:
    """Returns symbol suffixes: none for the first group, the first target for each other group."""
    return [f"_{group[0]}" if position else "" for position, group in enumerate(groups)]


def _binary_key(kernel: Kernel) -> object:
    launches = frozenset((step.object, step.kernel, step.block) for step in kernel.dispatches)
    return (len(kernel.objects), launches)


def graft(graph: CompiledGraph, targets: Sequence[str]) -> dict[str, GraftedKernel]:
    """Builds the graph's `gpu.binary` ops at the insertion point.

    Targets whose kernels agree in name and block size share them.

    Returns:
        The kernel of each target.

    Raises:
        PassFailure: a target has no kernel that can be merged.
    """
    grafted: dict[str, GraftedKernel] = {}
    groups = grouped(targets, (_binary_key(graph.kernel(target)) for target in targets))
    for group, suffix in zip(groups, suffixes(groups), strict=True):
        count = len(graph.kernel(group[0]).objects)
        names = [f"{graph.name}{suffix}" + (f"_{i}" if i else "") for i in range(count)]
        launched = {step.object for step in graph.kernel(group[0]).dispatches}
        for index in sorted(launched):
            _create_binary(graph, names[index], index, group)
        grafted |= {target: GraftedKernel(graph.kernel(target), tuple(names)) for target in group}
    return grafted


def _create_binary(graph: CompiledGraph, name: str, index: int, targets: Sequence[str]) -> None:
    objects = [_object(graph.kernel(target), target, index) for target in targets]
    attributes: dict[str, ir.Attribute] = {
        "sym_name": ir.StringAttr.get(name),
        "objects": ir.ArrayAttr.get(objects),
        "offloadingHandler": ir.Attribute.parse("#gpu.select_object"),
    }
    ir.Operation.create("gpu.binary", attributes=attributes, loc=graph.op.location)


def _object(kernel: Kernel, target: str, index: int) -> ir.Attribute:
    object_format, dialect = _OBJECT_FORMATS[kernel.format]
    chip = ir.Attribute.parse(f'#{dialect}.target<chip = "{target}">')
    return gpu_d.ObjectAttr.get(
        chip, object_format, kernel.objects[index], kernels=_kernel_table(kernel, index)
    )


def _kernel_table(kernel: Kernel, index: int) -> ir.Attribute:
    """Returns the signatures and block sizes of one code object's kernels."""
    launches = {step.kernel: step for step in kernel.dispatches if step.object == index}
    entries = [_kernel_metadata(launches[name]) for name in sorted(launches)]
    return ir.Attribute.parse(f"#gpu.kernel_table<[{', '.join(entries)}]>")


def _kernel_metadata(step: Dispatch) -> str:
    types = ["!llvm.ptr"] * len(step.bindings) + ["i32"] * len(step.constants)
    block = ", ".join(map(str, step.block))
    name = ir.StringAttr.get(step.kernel)
    return (
        f"#gpu.kernel_metadata<{name}, ({', '.join(types)}) -> (), "
        f"metadata = {{workgroup_size = array<i32: {block}>}}>"
    )

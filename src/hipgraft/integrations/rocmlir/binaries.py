"""Builds and reads the `gpu.binary` of a kernel: objects, and the metadata that MIGraphX reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.codegen.kernel import Dispatch
from hipgraft.codegen.objects.code_object import CodeObject
from hipgraft.dialects.migraphx.cursor import split_list
from hipgraft.integrations.rocmlir.export import Exported
from hipgraft.integrations.rocmlir.launches import LaunchMismatch
from hipgraft.ir.bindings import gpu_d, ir

_BINARY = 3  # gpu.object's `bin`
_CHIP = re.compile(r'chip = "([^"]*)"')
_METADATA = re.compile(r'#gpu\.kernel_metadata<"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Binary:
    """The loaded object of a rocMLIR `gpu.binary`.

    Attributes:
        kernels: kernels that its tables name.
        target: target attribute of the object; None if it names no processor.
        properties: properties of the object; None if there are none.
    """

    kernels: tuple[str, ...]
    target: ir.Attribute | None
    properties: ir.DictAttr | None
    _table: str

    def signature(self, kernel: str) -> list[str]:
        """Returns the types of a kernel's arguments; empty if the table lacks them."""
        pattern = (
            rf'#gpu\.kernel_metadata<"{re.escape(kernel)}", '
            r"(?:!llvm\.func<void )?\((.*?)\)(?:>| -> \(\))"
        )
        match = re.search(pattern, self._table)
        return split_list(match[1]) if match else []

    def check_architecture(self, chip: str) -> None:
        """Checks that kernels for `chip` can replace those in the binary.

        Raises:
            LaunchMismatch: the binary is for another processor.
        """
        own = None if self.target is None else _CHIP.search(str(self.target))
        if own is not None and chip and own[1] != chip:
            raise LaunchMismatch(f"its object is for '{own[1]}', its result for '{chip}'")


def read_binary(binary: ir.Operation) -> Binary:
    """Returns the content of a `gpu.binary`."""
    objects = [gpu_d.ObjectAttr(each) for each in ir.ArrayAttr(binary.attributes["objects"])]
    tables = [str(each.kernels) for each in objects if each.kernels is not None]
    names = dict.fromkeys(name for table in tables for name in _METADATA.findall(table))
    loaded = _loaded(binary, objects)
    target = loaded.target if _CHIP.search(str(loaded.target)) else None
    table = "" if loaded.kernels is None else str(loaded.kernels)
    return Binary(tuple(names), target, loaded.properties, table)


def _loaded(binary: ir.Operation, objects: Sequence[gpu_d.ObjectAttr]) -> gpu_d.ObjectAttr:
    """Returns the object that the binary's handler selects by number or target; else the first."""
    name = "offloadingHandler"
    handler = str(binary.attributes[name]) if name in binary.attributes else ""
    for index, each in enumerate(objects):
        if f"<{index} : i" in handler or f"<{each.target}>" in handler:
            return each
    return objects[0]


def object_arrays(
    exported: Exported,
    target: ir.Attribute,
    signature: Sequence[str] = (),
    properties: ir.DictAttr | None = None,
) -> list[ir.Attribute]:
    """Returns the arrays of objects of the kernel's binaries, one for each code object.

    Args:
        exported: the kernel.
        target: target attribute of the objects.
        signature: types of the function's arguments and results, if they are known.
        properties: properties of the objects.
    """
    arrays: list[ir.Attribute] = []
    for index, data in enumerate(exported.kernel.objects):
        table = _table(exported, index, signature)
        made = gpu_d.ObjectAttr.get(target, _BINARY, data, properties, table)
        arrays.append(ir.ArrayAttr.get([made]))
    return arrays


def _table(exported: Exported, index: int, signature: Sequence[str]) -> ir.Attribute:
    code = CodeObject.parse(exported.kernel.objects[index])
    launches = {step.kernel: step for step in exported.kernel.dispatches if step.object == index}
    entries = [
        _metadata(exported, launches[name], code.kernels[name].lds_size, signature)
        for name in sorted(launches)
    ]
    return ir.Attribute.parse(f"#gpu.kernel_table<[{', '.join(entries)}]>")


def _metadata(exported: Exported, step: Dispatch, lds_size: int, signature: Sequence[str]) -> str:
    fields = {
        "block_size": _size(step.block),
        "grid_size": _size(step.grid),
        "lds_size": f"{lds_size} : i64",
        "workgroup_count": _array(step.grid),
        "workgroup_sizes": _array(step.block),
    }
    if exported.function:
        fields["original_func"] = f"@{exported.function}"
    text = ", ".join(f"{name} = {value}" for name, value in fields.items())
    name = ir.StringAttr.get(step.kernel)
    types = ", ".join(_types(exported, step, signature))
    return f"#gpu.kernel_metadata<{name}, ({types}) -> (), metadata = {{{text}}}>"


def _size(extents: Sequence[int]) -> str:
    """Formats a size: `mlirGetKernelAttrs` reads an integer, so only one dimension is possible."""
    return f"{extents[0]} : i32" if tuple(extents[1:]) == (1, 1) else _array(extents)


def _array(extents: Sequence[int]) -> str:
    return f"array<i64: {', '.join(map(str, extents))}>"


def _types(exported: Exported, step: Dispatch, signature: Sequence[str]) -> list[str]:
    """Returns the types of the kernel's own arguments, in order."""
    fits = len(signature) == exported.inputs + exported.results
    types: list[str] = []
    for binding in step.bindings:
        known = fits and binding.buffer < len(signature) and signature[binding.buffer] != "ptr"
        types.append(signature[binding.buffer] if known else "!llvm.ptr")
    return types + ["i32"] * len(step.constants)

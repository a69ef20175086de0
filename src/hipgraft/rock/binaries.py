"""The `gpu.binary` of a kernel function: objects and the metadata that MIGraphX reads."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hipgraft.bindings import gpu_d, ir
from hipgraft.codegen.code_object import CodeObject
from hipgraft.codegen.kernel import Dispatch
from hipgraft.dialects.migraphx.cursor import split_list
from hipgraft.rock.export import Exported

_BINARY = 3  # gpu.object's `bin`
_METADATA = re.compile(r'#gpu\.kernel_metadata<"((?:[^"\\]|\\.)*)"')


def kernel_names(binary: ir.Operation) -> list[str]:
    """Returns the kernels that the tables of a `gpu.binary` name."""
    names: dict[str, None] = {}
    for attribute in ir.ArrayAttr(binary.attributes["objects"]):
        table = gpu_d.ObjectAttr(attribute).kernels
        names |= dict.fromkeys(_METADATA.findall("" if table is None else str(table)))
    return list(names)


def replaced_objects(binary: ir.Operation, exported: Exported) -> list[ir.Attribute]:
    """Returns the objects to put in place of those of `binary`, one array for each code object.

    Target and format are those of the binary's first object.
    """
    old = gpu_d.ObjectAttr(ir.ArrayAttr(binary.attributes["objects"])[0])
    return object_arrays(exported, old.target, _signature(old))


def object_arrays(
    exported: Exported, target: ir.Attribute, signature: Sequence[str] = ()
) -> list[ir.Attribute]:
    """Returns the arrays of objects of the kernel's binaries, one for each code object.

    Args:
        exported: the kernel.
        target: target attribute of the objects.
        signature: types of the function's arguments and results, if they are known.
    """
    arrays: list[ir.Attribute] = []
    for index, data in enumerate(exported.kernel.objects):
        table = _table(exported, index, signature)
        made = gpu_d.ObjectAttr.get(target, _BINARY, data, kernels=table)
        arrays.append(ir.ArrayAttr.get([made]))
    return arrays


def _signature(old: gpu_d.ObjectAttr) -> list[str]:
    """Types of the arguments of the one kernel that rocMLIR made."""
    text = "" if old.kernels is None else str(old.kernels)
    match = re.search(r'", (?:!llvm\.func<void )?\((.*?)\)(?:>| -> \(\))', text)
    return split_list(match[1]) if match else []


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
    """`mlirGetKernelAttrs` reads an integer, which only a launch of one dimension has."""
    return f"{extents[0]} : i32" if tuple(extents[1:]) == (1, 1) else _array(extents)


def _array(extents: Sequence[int]) -> str:
    return f"array<i64: {', '.join(map(str, extents))}>"


def _types(exported: Exported, step: Dispatch, signature: Sequence[str]) -> list[str]:
    """Types of the kernel's own arguments, in its order."""
    fits = len(signature) == exported.inputs + exported.results
    types: list[str] = []
    for binding in step.bindings:
        known = fits and binding.buffer < len(signature) and signature[binding.buffer] != "ptr"
        types.append(signature[binding.buffer] if known else "!llvm.ptr")
    return types + ["i32"] * len(step.constants)

"""The module attribute `iree.export`: compiled kernels, or why there are none.

A kernel function that became a single launch has the prototype's form: an object with the
properties `kernel`, `workgroup_count`, `workgroup_sizes` and `workgroup_memory`. The prototype's
readers ignore the additional properties: `function`, `inputs`, `results`, `arguments` (the
function's argument, inputs first, that each argument of the kernel is), and for several launches
`steps` and `workspace_size` as in a binary of `hipdnn.executable`. Several code objects make an
array of objects, several functions a dictionary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hipgraft.codegen.kernel import Binding, Dispatch, Kernel
from hipgraft.codegen.objects.code_object import CodeObject
from hipgraft.integrations.rocmlir.arch import Architecture
from hipgraft.ir.bindings import gpu_d, ir

NAME = "iree.export"
_ERROR = "[iree-error]: "
_BINARY = 3  # gpu.object's `bin`


@dataclass(frozen=True)
class Exported:
    """A compiled kernel function.

    Attributes:
        function: symbol of the function; empty in the prototype's own results.
        kernel: code objects and steps.
        inputs: number of arguments.
        results: number of results, which follow the arguments in memory.
    """

    function: str
    kernel: Kernel
    inputs: int
    results: int

    @property
    def single(self) -> Dispatch | None:
        """Returns the launch, if it is the only step and has whole arguments."""
        steps = self.kernel.steps
        if len(steps) != 1 or self.kernel.workspace_size or not isinstance(steps[0], Dispatch):
            return None
        whole = all(binding.offset == 0 for binding in steps[0].bindings)
        return steps[0] if whole and not steps[0].constants else None


def target_attribute(architecture: Architecture) -> ir.Attribute:
    """Returns `#rocdl.target` of an architecture."""
    features = f', features = "{architecture.features}"' if architecture.features else ""
    return ir.Attribute.parse(f'#rocdl.target<O = 3, chip = "{architecture.chip}"{features}>')


def write(results: Mapping[str, Exported | str], architecture: Architecture) -> ir.Attribute:
    """Returns the attribute for the results of a module's kernel functions.

    Args:
        results: results by symbol; a text states why there is no kernel.
        architecture: architecture of all of them.
    """
    attributes = {
        name: ir.StringAttr.get(_ERROR + found)
        if isinstance(found, str)
        else _objects(found, architecture)
        for name, found in results.items()
    }
    if len(attributes) == 1:
        return next(iter(attributes.values()))
    return ir.DictAttr.get(attributes)


def _objects(exported: Exported, architecture: Architecture) -> ir.Attribute:
    target = target_attribute(architecture)
    properties = ir.DictAttr.get(_properties(exported))
    first, *others = exported.kernel.objects or (b"",)
    objects = [gpu_d.ObjectAttr.get(target, _BINARY, first, properties)]
    objects += [gpu_d.ObjectAttr.get(target, _BINARY, data) for data in others]
    return objects[0] if len(objects) == 1 else ir.ArrayAttr.get(objects)


def _properties(exported: Exported) -> dict[str, ir.Attribute]:
    properties: dict[str, ir.Attribute] = {
        "function": ir.StringAttr.get(exported.function),
        "inputs": _i64(exported.inputs),
        "results": _i64(exported.results),
    }
    single = exported.single
    if single is not None:
        code = CodeObject.parse(exported.kernel.objects[single.object])
        properties |= {
            "kernel": ir.StringAttr.get(single.kernel),
            "workgroup_count": ir.DenseI64ArrayAttr.get(single.grid),
            "workgroup_sizes": ir.DenseI64ArrayAttr.get(single.block),
            "workgroup_memory": _i64(
                code.kernels[single.kernel].lds_size + single.dynamic_shared_memory
            ),
            "arguments": ir.DenseI64ArrayAttr.get([b.buffer for b in single.bindings]),
        }
        return properties
    binary = exported.kernel.to_attr()
    return properties | {name: binary[name] for name in ("steps", "workspace_size")}


def read(attribute: ir.Attribute) -> list[Exported]:
    """Returns the kernels in the attribute; omits functions without one."""
    if isinstance(attribute, ir.DictAttr):
        named = [attribute[index].attr for index in range(len(attribute))]
        return [found for each in named for found in read(each)]
    objects = list(attribute) if isinstance(attribute, ir.ArrayAttr) else [attribute]
    if not objects or not all(map(_is_object, objects)):
        return []
    return [_read_objects([gpu_d.ObjectAttr(each) for each in objects])]


def architecture(attribute: ir.Attribute) -> Architecture:
    """Returns the architecture of the attribute's kernels, of which there must be one."""
    text = str(next(_objects_in(attribute)).target)
    chip = re.search(r'chip = "([^"]*)"', text)
    features = re.search(r'features = "([^"]*)"', text)
    return Architecture(chip[1] if chip else "", features[1] if features else "")


def _objects_in(attribute: ir.Attribute) -> Iterator[gpu_d.ObjectAttr]:
    if isinstance(attribute, ir.DictAttr):
        for index in range(len(attribute)):
            yield from _objects_in(attribute[index].attr)
    elif isinstance(attribute, ir.ArrayAttr):
        for item in attribute:
            yield from _objects_in(item)
    elif _is_object(attribute):
        yield gpu_d.ObjectAttr(attribute)


def _is_object(attribute: ir.Attribute) -> bool:
    try:
        gpu_d.ObjectAttr(attribute)
    except ValueError:
        return False
    return True


def without_kernels(attribute: ir.Attribute) -> ir.Attribute | None:
    """Returns the attribute without its kernels: the reasons; None if there are none."""
    if isinstance(attribute, ir.DictAttr):
        named = [attribute[index] for index in range(len(attribute))]
        kept = {each.name: each.attr for each in named if failures(each.attr)}
        return ir.DictAttr.get(kept) if kept else None
    return attribute if failures(attribute) else None


def failures(attribute: ir.Attribute) -> list[str]:
    """Returns the reasons that the attribute gives for missing kernels."""
    if isinstance(attribute, ir.DictAttr):
        named = [attribute[index].attr for index in range(len(attribute))]
        return [reason for each in named for reason in failures(each)]
    if isinstance(attribute, ir.StringAttr):
        return [attribute.value.removeprefix(_ERROR)]
    return []


def _read_objects(objects: Sequence[gpu_d.ObjectAttr]) -> Exported:
    properties = objects[0].properties or ir.DictAttr.get({})
    codes = tuple(each.object for each in objects if each.object)
    chip = CodeObject.parse(codes[0]).architecture if codes else ""
    if "steps" in properties:
        kernel = Kernel.from_attr(
            ir.DictAttr.get(
                {
                    "target": ir.StringAttr.get(chip),
                    "format": ir.StringAttr.get("hsaco"),
                    "objects": ir.ArrayAttr.get([ir.StringAttr.get(code) for code in codes]),
                    "workspace_size": properties["workspace_size"],
                    "steps": properties["steps"],
                }
            )
        )
    else:
        kernel = Kernel(chip, "hsaco", codes, steps=(_single_step(properties, codes[0]),))
    function = _text(properties, "function")
    if function:
        return Exported(
            function, kernel, _number(properties, "inputs"), _number(properties, "results")
        )
    return Exported("", kernel, len(kernel.dispatches[0].bindings), 0)


def _single_step(properties: ir.DictAttr, code: bytes) -> Dispatch:
    name = _text(properties, "kernel")
    info = CodeObject.parse(code).kernels[name]
    if "arguments" in properties:
        order = list(ir.DenseI64ArrayAttr(properties["arguments"]))
    else:
        # The prototype assumed the function's order of arguments.
        order = list(range(sum(each.kind == "global_buffer" for each in info.arguments)))
    return Dispatch(
        object=0,
        kernel=name,
        grid=_triple(properties, "workgroup_count"),
        block=_triple(properties, "workgroup_sizes"),
        dynamic_shared_memory=max(0, _number(properties, "workgroup_memory") - info.lds_size),
        bindings=tuple(Binding(buffer, 0, 0, "read_write") for buffer in order),
        constants=(),
    )


def _triple(properties: ir.DictAttr, name: str) -> tuple[int, int, int]:
    x, y, z = ir.DenseI64ArrayAttr(properties[name])
    return x, y, z


def _text(properties: ir.DictAttr, name: str) -> str:
    return ir.StringAttr(properties[name]).value if name in properties else ""


def _number(properties: ir.DictAttr, name: str) -> int:
    return ir.IntegerAttr(properties[name]).value if name in properties else 0


def _i64(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)

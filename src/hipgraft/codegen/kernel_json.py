"""Converts kernels to JSON, with their code objects in separate files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from hipgraft.codegen.kernel import Copy, Dispatch, Fill, Kernel, Step
from hipgraft.codegen.objects.code_object import CodeObject, check_dispatch
from hipgraft.codegen.objects.ptx import parse_ptx
from hipgraft.ir.diagnostics import CodegenError
from hipgraft.ir.foreign_data import convert

_STEPS: dict[str, type[Fill | Copy | Dispatch]] = {
    "fill": Fill,
    "copy": Copy,
    "dispatch": Dispatch,
}
_NAMES = {kind: name for name, kind in _STEPS.items()}
_PARSERS = {"hsaco": CodeObject.parse, "ptx": parse_ptx}
_MOST_BYTES = 1 << 63


@dataclass(frozen=True)
class _Fields:
    """The fields of the JSON; `objects` is the number of code objects."""

    target: str
    format: Literal["hsaco", "ptx", "vmfb"]
    objects: int
    workspace_size: int
    steps: list[dict[str, Any]]
    host: str


def object_name(form: str, index: int) -> str:
    """Returns the file name of a code object, as `SaveTemps` spells it."""
    return "vmfb" if form == "vmfb" else f"{index}.{form}"


def kernel_to_json(kernel: Kernel) -> dict[str, Any]:
    """Returns a kernel as JSON, with the number of its code objects in place of their bytes."""
    return {
        "target": kernel.target,
        "format": kernel.format,
        "objects": len(kernel.objects),
        "workspace_size": kernel.workspace_size,
        "steps": [{"op": _NAMES[type(step)], **asdict(step)} for step in kernel.steps],
        "host": kernel.host,
    }


def kernel_from_json(value: Any, files: dict[str, bytes]) -> Kernel:
    """Reads what `kernel_to_json` wrote, with its code objects among `files`.

    Raises:
        HipgraftError: fields are missing or have another type, or launches and code objects do not
            agree.
    """
    fields = convert(value, _Fields, "kernel", "")
    if not 0 <= fields.objects <= len(files):
        raise CodegenError(f"{fields.objects} code objects among {len(files)} files")
    names = [object_name(fields.format, index) for index in range(fields.objects)]
    if missing := [name for name in names if name not in files]:
        raise CodegenError(f"there is no code object '{missing[0]}'")
    kernel = Kernel(
        target=fields.target,
        format=fields.format,
        objects=tuple(files[name] for name in names),
        workspace_size=fields.workspace_size,
        steps=tuple(_step(step) for step in fields.steps),
        host=fields.host,
    )
    _check(kernel)
    return kernel


def _step(fields: dict[str, Any]) -> Step:
    kind = _STEPS.get(str(fields.get("op")))
    if kind is None:
        raise CodegenError(f"expected a step of {', '.join(_STEPS)}")
    return convert(fields, kind, "step", "")


def _check(kernel: Kernel) -> None:
    """Checks that the code objects hold the launched kernels, and that all numbers are in range."""
    parse = _PARSERS.get(kernel.format)
    objects = [] if parse is None else [parse(data) for data in kernel.objects]
    _check_range("workspace", [kernel.workspace_size])
    for step in kernel.steps:
        if isinstance(step, Dispatch):
            _check_launch(step, objects)
        else:
            _check_range("step", [n for name, n in asdict(step).items() if name != "pattern"])


def _check_launch(dispatch: Dispatch, objects: Sequence[CodeObject]) -> None:
    if not 0 <= dispatch.object < len(objects):
        raise CodegenError(f"no code object {dispatch.object}")
    info = objects[dispatch.object].kernels.get(dispatch.kernel)
    if info is None:
        raise CodegenError(f"code object {dispatch.object} has no kernel '{dispatch.kernel}'")
    _check_range("launch", [dispatch.dynamic_shared_memory, *dispatch.grid, *dispatch.block])
    for binding in dispatch.bindings:
        _check_range("binding", [binding.buffer, binding.offset, binding.length])
    check_dispatch(dispatch, info, 0)


def _check_range(what: str, numbers: Sequence[int]) -> None:
    for number in numbers:
        if not 0 <= number < _MOST_BYTES:
            raise CodegenError(f"{number} in a {what} is out of range")

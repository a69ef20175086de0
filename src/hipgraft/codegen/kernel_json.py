"""Kernels without IR: JSON for the launches, beside the code objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from hipgraft.codegen.kernel import Binding, Copy, Dispatch, Fill, Kernel, Step

_STEP_NAMES: dict[type[Fill | Copy | Dispatch], str] = {
    Fill: "fill",
    Copy: "copy",
    Dispatch: "dispatch",
}


def object_name(form: str, index: int) -> str:
    """Returns the file name of a code object, as `SaveTemps` spells it."""
    return "vmfb" if form == "vmfb" else f"{index}.{form}"


def kernel_to_json(kernel: Kernel) -> dict[str, Any]:
    """Returns all of a kernel but its code objects, of which there is the number."""
    return {
        "target": kernel.target,
        "format": kernel.format,
        "objects": len(kernel.objects),
        "workspace_size": kernel.workspace_size,
        "steps": [{"op": _STEP_NAMES[type(step)], **asdict(step)} for step in kernel.steps],
        "host": kernel.host,
    }


def kernel_from_json(fields: dict[str, Any], objects: Sequence[bytes]) -> Kernel:
    """Reads what `kernel_to_json` wrote."""
    return Kernel(
        target=fields["target"],
        format=fields["format"],
        objects=tuple(objects),
        workspace_size=fields["workspace_size"],
        steps=tuple(_step(step) for step in fields["steps"]),
        host=fields["host"],
    )


def _step(fields: dict[str, Any]) -> Step:
    values = {name: value for name, value in fields.items() if name != "op"}
    if fields["op"] == "fill":
        return Fill(**values)
    if fields["op"] == "copy":
        return Copy(**values)
    values["bindings"] = tuple(Binding(**binding) for binding in values["bindings"])
    for name in ("grid", "block", "constants"):
        values[name] = tuple(values[name])
    return Dispatch(**values)

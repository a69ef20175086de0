"""Reports exceptions of plug-in devices like any other error."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hipgraft.ir.diagnostics import HipgraftError


def tell_failures(device: Any) -> None:
    """Converts exceptions from the calls of a device, which may be of any class, to errors."""
    for name in dir(device):
        call = None if name.startswith("_") else getattr(device, name)
        if callable(call):
            # An exception that cannot be changed is reported as it is.
            with suppress(AttributeError):
                setattr(device, name, _told(name, call))


def _told(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(*arguments: Any, **named: Any) -> Any:
        from hipgraft.runtime.devices.protocols import CallSequence

        try:
            found = call(*arguments, **named)
        except HipgraftError:
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".removesuffix(": ")
            raise HipgraftError(f"the device failed in '{name}': {reason}") from error
        if isinstance(found, CallSequence):
            tell_failures(found)  # its calls are the device's, too
        return found

    return guarded

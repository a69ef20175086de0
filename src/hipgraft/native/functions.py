"""Declares the functions of `hipgraft.h` and `hipgraft_device.h` with types and error checks."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint32, c_void_p
from functools import cache
from typing import Any

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.native import library

STATUSES = (
    "OK",
    "INVALID_ARGUMENT",
    "IO_ERROR",
    "DAMAGED",
    "UNTRUSTED",
    "NOT_APPLICABLE",
    "OUT_OF_MEMORY",
    "DRIVER_ERROR",
    "INTERNAL_ERROR",
)

_POINTER = c_void_p  # also for arrays
# Functions that return a status.
_CALLS = {
    "bundle_open": (c_char_p, c_uint32, _POINTER),
    "bundle_open_memory": (c_char_p, c_size_t, c_uint32, _POINTER),
    "bundle_program": (_POINTER, c_size_t, _POINTER),
    "bundle_find": (_POINTER, c_char_p, _POINTER),
    "program_variant_name": (_POINTER, c_size_t, _POINTER),
    "program_tensor": (_POINTER, c_size_t, c_size_t, _POINTER),
    "program_select": (_POINTER, c_size_t, _POINTER, _POINTER, _POINTER),
    "device_open": (c_char_p, c_char_p, _POINTER),
    "device_open_host": (c_char_p, _POINTER, _POINTER),
    "device_allocate": (_POINTER, c_size_t, _POINTER),
    "device_free": (_POINTER, _POINTER),
    "device_upload": (_POINTER, _POINTER, _POINTER, c_size_t),
    "device_download": (_POINTER, _POINTER, _POINTER, c_size_t),
    "device_synchronize": (_POINTER, _POINTER),
    "executable_create": (_POINTER, _POINTER, c_uint32, _POINTER),
    "enqueue": (_POINTER, c_size_t, _POINTER, _POINTER, c_size_t, _POINTER),
    "stream_create": (_POINTER, _POINTER),
    "stream_destroy": (_POINTER, _POINTER),
    "start_upload": (_POINTER, _POINTER, _POINTER, c_size_t, _POINTER),
    "start_download": (_POINTER, _POINTER, _POINTER, c_size_t, _POINTER),
    "start_copy": (_POINTER, _POINTER, _POINTER, c_size_t, _POINTER),
    "start_fill": (_POINTER, _POINTER, c_char_p, c_size_t, c_size_t, _POINTER),
    "code_load": (_POINTER, c_char_p, c_size_t, _POINTER),
    "code_unload": (_POINTER, _POINTER),
    "code_kernel": (_POINTER, _POINTER, c_char_p, _POINTER),
    "launch": (
        *(_POINTER, _POINTER, _POINTER, _POINTER, c_uint32),
        *(c_char_p, c_size_t, _POINTER),
    ),
    "event_create": (_POINTER, _POINTER),
    "event_destroy": (_POINTER, _POINTER),
    "event_record": (_POINTER, _POINTER, _POINTER, c_int),
    "event_elapsed": (_POINTER, _POINTER, _POINTER, _POINTER),
    "capture_begin": (_POINTER, _POINTER),
    "capture_end": (_POINTER, _POINTER, _POINTER),
    "graph_launch": (_POINTER, _POINTER, _POINTER),
    "graph_free": (_POINTER, _POINTER),
    "sequence_create": (
        *(_POINTER, c_char_p, c_size_t, _POINTER, c_size_t),
        *(_POINTER, c_size_t, c_uint32, _POINTER),
    ),
    "sequence_run": (_POINTER, _POINTER, _POINTER, c_size_t, _POINTER),
    "sequence_call": (_POINTER, c_size_t, _POINTER, _POINTER, c_size_t),
}
# Functions of an object that return another value.
_QUERIES = {
    "bundle_close": None,
    "device_close": None,
    "executable_destroy": None,
    "sequence_destroy": None,
    "bundle_metadata": c_char_p,
    "bundle_program_count": c_size_t,
    "program_architecture": c_char_p,
    "program_variant_count": c_size_t,
    "program_input_count": c_size_t,
    "program_result_count": c_size_t,
    "program_workspace_size": c_size_t,
    "device_architecture": c_char_p,
}


class PlayerError(HipgraftError):
    """An error of the player.

    Attributes:
        status: name of the status in `hipgraft.h`, without the prefix.
    """

    def __init__(self, status: int, text: str):
        super().__init__(text)
        self.status = STATUSES[status]


@cache
def function(name: str) -> Callable[..., Any]:
    """Returns a function by its name, given without the prefix."""
    found = getattr(library(), f"hipgraft_{name}")
    if name in _CALLS:
        found.argtypes, found.restype = _CALLS[name], c_int
    else:
        found.argtypes, found.restype = (_POINTER,), _QUERIES[name]
    return found


def check(status: int) -> None:
    """Raises the error that a status reports.

    Raises:
        PlayerError: the last call of this thread failed.
    """
    if status:
        last_error = library().hipgraft_error
        last_error.restype = c_char_p
        raise PlayerError(status, last_error().decode(errors="backslashreplace"))


def call(name: str, *arguments: Any) -> None:
    """Calls a function that returns a status.

    Raises:
        PlayerError: the function fails.
    """
    check(function(name)(*arguments))


def made(name: str, *arguments: Any) -> c_void_p:
    """Calls a function whose last argument receives a pointer, and returns that pointer.

    Raises:
        PlayerError: the function fails.
    """
    handle = c_void_p()
    call(name, *arguments, byref(handle))
    return handle

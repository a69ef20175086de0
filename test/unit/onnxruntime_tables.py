"""Checks the indices of `onnxruntime/abi.h` against the installed onnxruntime.

The release's own library is loaded, which Python's sessions do not use: its tables are the same.
Each function that checks its arguments is called with null pointers, in a child process: it gives a
status, or a default, but does not crash or call something else's way.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int, c_size_t, c_uint32, c_void_p
from pathlib import Path

import onnxruntime


def main() -> None:
    (path,) = Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so*")
    library = ctypes.CDLL(str(path))
    library.OrtGetApiBase.restype = POINTER(c_void_p)
    base = library.OrtGetApiBase()
    version = CFUNCTYPE(c_char_p)(base[1])()
    minor = int(version.split(b".")[1])
    api = ctypes.cast(CFUNCTYPE(c_void_p, c_uint32)(base[0])(minor), POINTER(c_void_p))
    assert api
    assert minor >= 24

    def function(index: int, result: object, *arguments: object) -> Callable[..., object]:
        return CFUNCTYPE(result, *arguments)(api[index])

    # Statuses: made, read, released.
    status = function(0, c_void_p, c_int, c_char_p)(9, b"some text")
    assert function(1, c_int, c_void_p)(status) == 9
    assert function(2, c_char_p, c_void_p)(status) == b"some text"
    function(93, None, c_void_p)(status)
    # Key-value pairs: made, filled, read, listed, released.
    pairs, keys, values, count = c_void_p(), c_void_p(), c_void_p(), c_size_t()
    function(295, None, c_void_p)(byref(pairs))
    function(296, None, c_void_p, c_char_p, c_char_p)(pairs, b"key", b"value")
    assert function(297, c_char_p, c_void_p, c_char_p)(pairs, b"key") == b"value"
    function(298, None, *[c_void_p] * 4)(pairs, byref(keys), byref(values), byref(count))
    assert count.value == 1
    function(300, None, c_void_p)(pairs)
    # Memory infos.
    info, name = c_void_p(), c_char_p()
    made = function(
        320, c_void_p, c_char_p, c_int, c_uint32, c_int, c_int, c_size_t, c_int, c_void_p
    )
    assert not made(b"name", 1, 0x1002, 3, 5, 0, 0, byref(info))
    assert not function(71, c_void_p, c_void_p, c_void_p)(info, byref(name))
    assert name.value == b"name"
    assert function(321, c_int, c_void_p)(info) == 5
    assert function(322, c_uint32, c_void_p)(info) == 0x1002
    table = ctypes.cast(function(317, c_void_p)(), POINTER(c_void_p))
    device = CFUNCTYPE(c_void_p, c_void_p)(table[6])(info)
    for index, expected in ((9, 1), (10, 5), (11, 0x1002), (12, 3)):
        assert CFUNCTYPE(c_uint32, c_void_p)(table[index])(device) == expected
    function(94, None, c_void_p)(info)
    # A hardware device.
    hardware = c_void_p()
    create = CFUNCTYPE(c_void_p, c_int, c_uint32, c_uint32, c_char_p, c_void_p, c_void_p)(table[16])
    assert not create(1, 0x1002, 7, b"AMD", None, byref(hardware))
    for index, expected in ((307, 1), (308, 0x1002), (310, 7)):
        assert function(index, c_uint32, c_void_p)(hardware) == expected
    CFUNCTYPE(None, c_void_p)(table[17])(hardware)
    # A kernel's definition, its type and its registry.
    built, kind, definition, registry = c_void_p(), c_void_p(), c_void_p(), c_void_p()
    one = CFUNCTYPE(c_void_p, c_void_p)
    text = CFUNCTYPE(c_void_p, c_void_p, c_char_p)
    assert not one(table[21])(ctypes.addressof(built))
    for index, value in ((23, b"MemcpyFromHost"), (24, b""), (26, b"Provider")):
        assert not text(table[index])(built, value)
    assert not CFUNCTYPE(c_void_p, c_void_p, c_int, c_int)(table[25])(built, 1, 1)
    assert not CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_int)(table[27])(built, 0, -2)
    assert not CFUNCTYPE(c_void_p, c_int, c_void_p)(table[40])(1, byref(kind))
    add = CFUNCTYPE(c_void_p, c_void_p, c_char_p, c_void_p, c_size_t)(table[29])
    assert not add(built, b"T", byref(kind), 1)
    assert not CFUNCTYPE(c_void_p, c_void_p, c_void_p)(table[32])(built, byref(definition))
    assert definition
    assert not one(table[18])(ctypes.addressof(registry))
    CFUNCTYPE(None, c_void_p)(table[33])(definition)
    CFUNCTYPE(None, c_void_p)(table[22])(built)
    CFUNCTYPE(None, c_void_p)(table[19])(registry)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # the library is a second copy of onnxruntime

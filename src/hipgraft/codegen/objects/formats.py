"""Reads a kernel's code object in any format."""

from __future__ import annotations

from hipgraft.codegen.objects.code_object import CodeObject
from hipgraft.codegen.objects.ptx import parse_ptx

_ELF_MAGIC = b"\x7fELF"


def read_object(data: bytes) -> CodeObject:
    """Reads the kernels of an AMDGPU ELF or a PTX text.

    Raises:
        CodegenError: `data` is neither of these.
    """
    return CodeObject.parse(data) if data.startswith(_ELF_MAGIC) else parse_ptx(data)

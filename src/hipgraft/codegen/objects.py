"""Reading a kernel's object of any format."""

from __future__ import annotations

from hipgraft.codegen.code_object import CodeObject
from hipgraft.codegen.ptx import parse_ptx

_ELF_MAGIC = b"\x7fELF"


def read_object(data: bytes) -> CodeObject:
    """Reads which kernels an AMDGPU ELF or a PTX text holds.

    Raises:
        CodegenError: it is neither.
    """
    return CodeObject.parse(data) if data.startswith(_ELF_MAGIC) else parse_ptx(data)

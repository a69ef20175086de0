"""Stage contracts: which ops may appear where at each stage of a program."""
from __future__ import annotations

from hipgraft.bindings import ir
from hipgraft.diagnostics import VerifyError


def check(module: ir.Module, name: str, why: str) -> list[VerifyError]:
    return []

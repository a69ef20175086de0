"""The architecture of a module, in the spellings of rocMLIR and MIGraphX."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import PassFailure

_ATTRIBUTES = ("rock.arch", "arch", "mhal.arch")
_TRIPLE = "amdgcn-amd-amdhsa"


@dataclass(frozen=True)
class Architecture:
    """A processor and what is switched on or off of it.

    Attributes:
        chip: as LLVM spells it, `gfx90a`.
        features: as LLVM spells them, `+sramecc,-xnack`; empty for the processor's own.
    """

    chip: str
    features: str = ""

    @classmethod
    def parse(cls, text: str) -> Architecture:
        """Reads `gfx90a`, `gfx90a:sramecc+:xnack-`, or either after a triple."""
        chip, *switches = text.removeprefix(_TRIPLE).lstrip("-").lstrip(":").split(":")
        return cls(chip, ",".join(f"{switch[-1]}{switch[:-1]}" for switch in switches if switch))


def architecture_of(function: ir.Operation, arch: str, features: str) -> Architecture:
    """Returns what to compile a kernel function for.

    Args:
        function: the kernel.
        arch: as an option gives it; empty to take it from the module.
        features: in place of those that `arch` or the module says, if not empty.

    Raises:
        PassFailure: there is no architecture; at the function.
    """
    text = arch or next(_named(function), "")
    if not text:
        raise PassFailure(
            "'func.func' op has no architecture: expected option 'arch', or attribute "
            "'rock.arch' or 'arch' of the function or module",
            function,
        )
    found = Architecture.parse(text)
    return Architecture(found.chip, features or found.features)


def _named(function: ir.Operation) -> Iterator[str]:
    """Architectures that the function and what is around it name, inner ones first."""
    op: ir.Operation | None = function
    while op is not None:
        for name in _ATTRIBUTES:
            if name in op.attributes and isinstance(op.attributes[name], ir.StringAttr):
                text = ir.StringAttr(op.attributes[name]).value
                if text:
                    yield text
        parent = op.parent
        op = None if parent is None else parent.operation

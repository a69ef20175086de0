"""Reads the architecture of a module in the spellings of rocMLIR and MIGraphX."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import PassFailure

_ATTRIBUTES = ("rock.arch", "arch", "mhal.arch")
_TRIPLE = "amdgcn-amd-amdhsa"


@dataclass(frozen=True)
class Architecture:
    """A processor with its enabled and disabled features.

    Attributes:
        chip: processor as LLVM spells it, `gfx90a`.
        features: features as LLVM spells them, `+sramecc,-xnack`; empty for the defaults.
    """

    chip: str
    features: str = ""

    @classmethod
    def parse(cls, text: str) -> Architecture:
        """Reads `gfx90a`, `gfx90a:sramecc+:xnack-`, or either after a triple."""
        chip, *switches = text.removeprefix(_TRIPLE).lstrip("-").lstrip(":").split(":")
        return cls(chip, ",".join(f"{switch[-1]}{switch[:-1]}" for switch in switches if switch))


def architecture_of(function: ir.Operation, arch: str, features: str) -> Architecture:
    """Returns the architecture to compile a kernel function for.

    Args:
        function: the kernel.
        arch: value of an option; empty to read it from the module.
        features: features that replace those in `arch` or the module, if not empty.

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
    """Yields the architectures that the function and its enclosing ops name, innermost first."""
    op: ir.Operation | None = function
    while op is not None:
        for name in _ATTRIBUTES:
            if name in op.attributes and isinstance(op.attributes[name], ir.StringAttr):
                text = ir.StringAttr(op.attributes[name]).value
                if text:
                    yield text
        parent = op.parent
        op = None if parent is None else parent.operation

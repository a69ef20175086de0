"""Imports exported programs of PyTorch."""

from __future__ import annotations

from typing import Any

from hipgraft.ir.bindings import ir


def import_exported(program: Any) -> ir.Module:
    """Imports an exported program; parameters and buffers become constants.

    Args:
        program: `torch.export.ExportedProgram`, which stays as it is.

    Raises:
        HipgraftError: the importer does not know an op or a type, or the program writes its
            inputs or buffers, or draws random numbers.
    """
    # Imported here because PyTorch takes seconds to load.
    from hipgraft.frontends.torch.attention import legalize_attention
    from hipgraft.frontends.torch.complex_parts import split_complex
    from hipgraft.frontends.torch.decompositions import default_decompositions
    from hipgraft.frontends.torch.fx import import_program

    functional = program.run_decompositions(dict(default_decompositions()))
    split_complex(functional)
    legalize_attention(functional.graph_module)
    return import_program(functional)

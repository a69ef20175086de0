"""Checks which tensors the callers of hipDNN's plans can pass to compiled programs."""

from __future__ import annotations

from hipgraft.codegen.iree.pointer_alignment import POINTER_ALIGNMENT
from hipgraft.hipdnn_io.document import GraphDocument
from hipgraft.ir.sizes import MOST_BYTES, spanned_elements, too_large

_PACKED = ("fp4_e2m1", "int4")


def unsupported_interface(document: GraphDocument) -> str | None:
    """Returns why no program can take or return some tensor of the graph, or None.

    Args:
        document: a hipDNN graph.
    """
    for tensor in document.tensors:
        if tensor.uid < 0:
            return f"tensor '{tensor.name}' has the negative uid {tensor.uid}"
        if tensor.alignment < 1:
            return f"tensor '{tensor.name}' has alignment {tensor.alignment}; expected 1 or more"
        if tensor.virtual:
            continue
        if tensor.alignment % POINTER_ALIGNMENT:
            return (
                f"tensor '{tensor.name}' may be at any multiple of {tensor.alignment} bytes; "
                f"kernels need multiples of {POINTER_ALIGNMENT}"
            )
        data_type = document.type_of(tensor)
        if data_type in _PACKED:
            return (
                f"tensor '{tensor.name}' has two elements of type {data_type} in a byte; "
                "programs take and return whole bytes for each element, except for virtual tensors"
            )
        if spanned_elements(tensor.dims, tensor.strides) > MOST_BYTES:
            return too_large(f"tensor '{tensor.name}'")
    return None

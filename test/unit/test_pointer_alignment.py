"""Kernels rely on the alignment that hosts promise, not on that of IREE's runtime."""

from __future__ import annotations

from hipgraft.codegen.iree.pointer_alignment import relax_alignment
from hipgraft.ir.bindings import ir, make_context

SOURCE = """
#layout = #hal.pipeline.layout<bindings = [
  #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>
func.func @kernel() {
  %zero = arith.constant 0 : index
  %0 = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%zero)
    : memref<4xf32>
  %1 = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%zero)
    : memref<4xf32>
  return
}
"""


def test_every_buffer_is_aligned_to_16_bytes() -> None:
    with make_context():
        module = ir.Module.parse(SOURCE)
        relax_alignment(module)
        text = str(module)
    assert text.count("alignment(16)") == 2
    assert "alignment(64)" not in text

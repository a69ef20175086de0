"""Replaces the iree-rocMLIR prototype: puts IREE's kernels into rocMLIR's modules."""

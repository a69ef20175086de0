"""Interprets host programs in MLIR, and reads their shapes, kernels and constants."""

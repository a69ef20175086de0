"""Host programs in MLIR: their interpreter, and readers of their shapes, kernels and constants."""

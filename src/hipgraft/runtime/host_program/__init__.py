"""Host programs of MLIR: interpreted, recorded, and read for what they need."""

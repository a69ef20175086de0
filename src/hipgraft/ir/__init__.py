"""The common layer over MLIR: bindings, types, builders, symbols, diagnostics."""

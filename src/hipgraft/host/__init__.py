"""Lowers host programs to LLVM, and writes object files with C headers or runs a JIT."""

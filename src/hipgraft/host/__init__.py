"""Host programs lowered to LLVM: object files with C headers, and a JIT."""

"""Code objects: reads their metadata notes and the instructions of their kernels."""

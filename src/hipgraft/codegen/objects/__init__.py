"""Reads the metadata of code objects and the instructions of their kernels."""

"""Lowers hipDNN graphs to linalg on tensors, the input of IREE: one package per family of ops."""

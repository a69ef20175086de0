"""Lowers hipDNN graphs to linalg on tensors, IREE's input: one package per family of ops."""

"""Writes the text of linalg on tensors: ops, scalars, tensors and their layouts."""

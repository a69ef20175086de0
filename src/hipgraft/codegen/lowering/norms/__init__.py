"""Lowers norms, forward and backward."""

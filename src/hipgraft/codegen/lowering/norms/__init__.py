"""Norms, forward and backward."""

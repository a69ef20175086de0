"""Lowers reductions."""

"""Lowers pooling and interpolation."""

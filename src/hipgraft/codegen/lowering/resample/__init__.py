"""Pooling and interpolation."""

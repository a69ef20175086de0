"""Transformations that passes consist of."""

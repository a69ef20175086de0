"""Lowers pointwise ops."""

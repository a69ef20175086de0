"""Lowers matrix products."""

"""Generators for maintainers; not installed."""

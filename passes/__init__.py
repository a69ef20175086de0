"""Passes, one per file, found by their file names."""

"""Dialects defined in Python."""

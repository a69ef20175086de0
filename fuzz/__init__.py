"""Searches for inputs that do harm: see `python -m fuzz --help` and docs/trust.md."""

"""Searches for harmful inputs: see `python -m fuzz --help` and docs/trust.md."""

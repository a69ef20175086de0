"""Torch dialect modules: read from text, with their symbolic dimensions."""

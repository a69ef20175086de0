"""Lowers convolutions: forward, data gradients and filter gradients."""

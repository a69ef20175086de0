"""Convolutions: forward, data gradients and filter gradients."""

"""Lowers mixtures of experts."""

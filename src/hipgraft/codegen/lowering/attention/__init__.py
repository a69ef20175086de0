"""Lowers attention, forward and backward."""

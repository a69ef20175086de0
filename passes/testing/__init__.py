"""Passes for tests only."""

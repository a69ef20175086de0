"""Workarounds for faults of the compiler, one file each."""

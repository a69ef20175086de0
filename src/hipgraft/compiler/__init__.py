"""Compiles a model into a program, and reports the results."""

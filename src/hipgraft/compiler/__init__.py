"""Compiles a model into a program, and reports what became of it."""

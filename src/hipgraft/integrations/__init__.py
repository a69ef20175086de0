"""Integrates hipgraft into other compilers."""

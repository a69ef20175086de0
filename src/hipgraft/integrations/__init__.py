"""Compilers that hipgraft is a part of."""

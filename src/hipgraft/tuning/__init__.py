"""Choosing among several ways to lower a graph by the work that their kernels do."""

"""Chooses among several compilation plans for a graph by the cost of their kernels."""

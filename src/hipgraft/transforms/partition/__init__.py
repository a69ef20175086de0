"""Decides which ops of a block share a graph, by the estimated time of the graphs."""

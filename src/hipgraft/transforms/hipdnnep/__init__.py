"""Graphs as hipDNNEP writes them: bodies of ATen ops in `torch.operator "hipdnn.graph"`."""

from hipgraft.transforms.hipdnnep.reader import GraphReader
from hipgraft.transforms.hipdnnep.writer import write_function

__all__ = ["GraphReader", "write_function"]

"""Reads and writes hipDNN's files: graphs as JSON and as FlatBuffers, from and to `hipdnn.graph`.

A file is read into a `GraphDocument`, which is independent of layout and encoding; the importer
converts it to a module. Writing takes the same steps in reverse. The op classes of the dialect
define the fields of nodes; `forms` defines where each kind of node stores them.

A round trip through a module normalises these properties:

* nodes are in topological order, stable otherwise; tensors are in the order of their uids;
* uids stay; new tensors get the next free ones, from 1;
* graph keys of the first generation (`compute_type`, ...) become those of the second;
* absent attributes that have a default are written with it, and enumerations are spelled alike;
* tensors that no node uses are dropped, and reported.

Unset types get the graph's defaults: the compute type for nodes, the intermediate type for virtual
tensors, the I/O type for others; they are written as unset again.

Names, alignments, strides (also of virtual tensors and of extents of 1), ragged offsets, runtime
scalars and unknown fields stay; unknown ones are reported.
"""

from hipgraft.hipdnn_io.document import GraphDocument, NodeDocument, TensorDocument
from hipgraft.hipdnn_io.exporter import export_graph, find_graph
from hipgraft.hipdnn_io.flatbuffer import read_flatbuffer, write_flatbuffer
from hipgraft.hipdnn_io.importer import import_document
from hipgraft.hipdnn_io.json_format import read_json, write_json
from hipgraft.hipdnn_io.templates import SweepCase, expand_template, sweep_cases

__all__ = [
    "GraphDocument",
    "NodeDocument",
    "SweepCase",
    "TensorDocument",
    "expand_template",
    "export_graph",
    "find_graph",
    "import_document",
    "read_flatbuffer",
    "read_json",
    "sweep_cases",
    "write_flatbuffer",
    "write_json",
]

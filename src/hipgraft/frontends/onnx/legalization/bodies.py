"""Copies the nodes of a function or of a body into the graph around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from onnx import AttributeProto, GraphProto, NodeProto

from hipgraft.frontends.onnx.legalization.writer import Writer


class BodyCopier:
    """Copies nodes and gives their values unique names.

    Args:
        writer: writer of the copies.
        attributes: attributes of function calls, which replace references in the functions' bodies;
            later calls hide earlier ones.
    """

    def __init__(self, writer: Writer, attributes: Iterable[AttributeProto] = ()):
        self._writer = writer
        self._attributes = {attribute.name: attribute for attribute in attributes}

    def copy(self, nodes: Iterable[NodeProto], names: Mapping[str, str]) -> dict[str, str]:
        """Copies nodes, and returns the new names of all values by the old ones.

        Args:
            nodes: nodes to copy; values that `names` lacks belong to the surrounding graph.
            names: names of values that the nodes read.
        """
        known = {**names, "": ""}
        for node in nodes:
            self._writer.nodes.append(self._copied(node, known))
        return known

    def copy_graph(self, graph: GraphProto, operands: Iterable[str]) -> list[str]:
        """Copies a body that reads `operands`, and returns the names of its results."""
        names = dict(zip((value.name for value in graph.input), operands, strict=True))
        for tensor in graph.initializer:
            names[tensor.name] = self._writer.constant_tensor(tensor)
        known = self.copy(graph.node, names)
        return [known.get(value.name, value.name) for value in graph.output]

    def _copied(self, node: NodeProto, names: dict[str, str]) -> NodeProto:
        copy = NodeProto()
        copy.CopyFrom(node)
        copy.name = self._writer.node.name
        copy.input[:] = [names.get(name, name) for name in node.input]
        for index, name in enumerate(node.output):
            if name:
                names[name] = self._writer.fresh(node.op_type)
                copy.output[index] = names[name]
        del copy.attribute[:]
        for attribute in node.attribute:
            self._add_attribute(copy, attribute, names)
        return copy

    def _add_attribute(
        self, node: NodeProto, attribute: AttributeProto, names: dict[str, str]
    ) -> None:
        """Adds an attribute; omits a reference to an attribute that the call lacks."""
        value = attribute
        if attribute.ref_attr_name:
            if attribute.ref_attr_name not in self._attributes:
                return
            value = self._attributes[attribute.ref_attr_name]
        added = node.attribute.add()
        added.CopyFrom(value)
        added.name = attribute.name
        if added.HasField("g") and not attribute.ref_attr_name:
            self._rename_graph(added.g, dict(names))

    def _rename_graph(self, graph: GraphProto, names: dict[str, str]) -> None:
        for tensor in graph.initializer:
            names[tensor.name] = tensor.name = self._writer.fresh("constant")
        for value in graph.input:
            names[value.name] = value.name = self._writer.fresh("argument")
        nodes = [self._copied(node, names) for node in graph.node]
        del graph.node[:]
        graph.node.extend(nodes)
        for value in graph.output:
            value.name = names.get(value.name, value.name)

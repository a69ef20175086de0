"""Reads hipDNNEP's graphs: their ops are converted in the function and outlined again."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.dialects import hipdnn
from hipgraft.dialects.hipdnn.container import connected_parts
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined, PassFailure
from hipgraft.ir.torch_dialect import aten_name
from hipgraft.passmanager.base import PassState
from hipgraft.transforms.outlining import Group, Grouping, graph_name, make_graph, outline
from hipgraft.transforms.tensor_builder import Tensor
from hipgraft.transforms.torch_to_hipdnn import CONVERSIONS, Converter
from hipgraft.transforms.torch_to_hipdnn.converter import TorchOp, is_tensor
from hipgraft.transforms.torch_to_hipdnn.functions import check_regions

_GRAPH = "torch.hipdnn.graph"

# Copied beside an op that stays in torch.
_CONSTANTS = ("torch.constant.", "torch.prim.ListConstruct", "torch.vtensor.literal")


class GraphReader:
    """Converts the torch functions of a module, and outlines the ops of each hipDNNEP graph again.

    A `hipdnn.graph` reads views but contains none. So views of a graph's operands move out of the
    graph, as in any outlined graph.
    """

    def __init__(self, state: PassState):
        self._state = state
        self._groups: list[Group] = []
        self._made = 0

    def converter(self) -> Converter:
        """Returns a converter of one function; `form_graphs` follows."""
        return Converter({**CONVERSIONS, _GRAPH: self._convert}, self._state)

    def form_graphs(self, block: ir.Block) -> None:
        """Moves the ops of the graphs that were converted into graphs."""
        *ops, _terminator = [op.operation for op in block.operations]
        group_of = {op: group for group in self._groups for op in group.ops}
        groups = dict.fromkeys(group_of.get(op) or Group([op]) for op in ops)
        self._groups = []

        def make(
            group: Group, number: int, inputs: Sequence[ir.Value], outputs: Sequence[ir.Value]
        ) -> Sequence[ir.Value]:
            self._state.count("graphs")
            return make_graph(group, inputs, outputs, name=graph_name(group, number))

        self._made = outline(block, Grouping.of(list(groups)), make, self._made)

    def _convert(self, converter: Converter, op: TorchOp) -> Sequence[Tensor | None]:
        _check(op.operation)
        check_regions(op.operation.regions[0].blocks[0], converter)
        if not any(map(op.is_used, range(len(op.operation.results)))):
            return [None] * len(op.operation.results)
        results, written = converter.convert_body(op.operation)
        members = [each for each in written if hipdnn.GraphOp.computes(each.name)]
        try:
            _check_members(members, written)
        except Declined as reason:
            self._state.missed(op.operation, reason.name, f"the graph is dissolved: {reason}")
        else:
            self._groups.append(Group(members, outlined=True))
        return results


def _check(operation: ir.Operation) -> None:
    """Checks that the operands are tensors, and that there is a body of one block."""
    values = [*operation.operands, *operation.results]
    if not all(map(is_tensor, values)):
        kinds = ", ".join(str(value.type) for value in values if not is_tensor(value))
        raise PassFailure(f"'hipdnn.graph' op expected value tensors, but found {kinds}", operation)
    blocks = [block for region in operation.regions for block in region.blocks]
    if len(blocks) != 1:
        raise PassFailure(
            f"'hipdnn.graph' op expected a body of one block, but found {len(blocks)}", operation
        )
    arguments, operands = ([v.type for v in vs] for vs in (blocks[0].arguments, operation.operands))
    *_, last = [op.operation for op in blocks[0].operations]
    yielded, results = ([v.type for v in vs] for vs in (last.operands, operation.results))
    if arguments != operands or yielded != results:
        raise PassFailure(
            "'hipdnn.graph' op expected a body typed like its operands and results", operation
        )


def _check_members(members: Sequence[ir.Operation], written: Sequence[ir.Operation]) -> None:
    """Checks that the written ops, except views of outside tensors, can form a graph."""
    if not members:
        raise Declined("no-op", "no hipDNN op is left of it")
    inside = set(members)
    computed: set[ir.Value] = set()
    for op in written:
        if op.name.startswith("torch.") and not op.name.startswith(_CONSTANTS):
            raise Declined("no-hipdnn-op", f"hipDNN has no op for 'torch.{aten_name(op)}'")
        if op.name == "hipdnn.view" and op.operands[0] in computed:
            # A view for a result alone is outside.
            readers = {use.owner.operation for use in op.results[0].uses}
            if not readers.isdisjoint(inside):
                raise Declined("view", "hipDNN's graphs hold no views of what they compute")
        if op in inside:
            computed.update(op.results)
    parts = connected_parts(members)
    if parts > 1:
        raise Declined("parts", f"hipDNN's graphs are connected, but it has {parts} parts")

"""Defines the base of containers, and checks their ops and the connections between them."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.dialects.framework.fields import VariadicOperand, VariadicResult, optional
from hipgraft.dialects.framework.kinds import INTS, LAYOUTS, STRING
from hipgraft.dialects.hipdnn.layouts import check_layouts, check_offsets, types_text
from hipgraft.dialects.hipdnn.op import OPS, ComputeOp, HipdnnOp
from hipgraft.ir.bindings import ir

_YIELD = "hipdnn.yield"
_PRODUCT = "hipdnn.matmul"
_CONSTANTS = ("arith.constant", "torch.constant.", "torch.vtensor.literal")
_CONNECTORS = ("torch_c.", "torch.prim.ListConstruct")


class ContainerOp(HipdnnOp):
    """The base of `graph` and `fallback`.

    It is isolated from above. The types of the body's arguments are those of the operands, and the
    types of `hipdnn.yield`'s operands are those of the results. Values connect all ops inside.
    """

    region_count = 1

    inputs = VariadicOperand("tensors that the body reads")
    outputs = VariadicResult("tensors that the body yields")
    name = optional(STRING, "name for people; no part of the graph's identity")
    arg_strides = optional(LAYOUTS, "strides of each operand in elements; unit means row-major")
    arg_offsets = optional(INTS, "elements from each pointer to the operand's first element")
    result_strides = optional(LAYOUTS, "strides of each result in elements; unit means row-major")

    @property
    def body(self) -> ir.Block:
        """The block that holds the ops."""
        return self.operation.regions[0].blocks[0]

    @property
    def connects_products(self) -> bool:
        """Whether products with a common left factor count as connected."""
        return False

    @classmethod
    def computes(cls, name: str) -> bool:
        """Returns whether an op of this name is one of the container's compute ops."""
        return name in OPS and issubclass(OPS[name], ComputeOp)

    @classmethod
    def allows(cls, name: str) -> bool:
        """Returns whether an op of this name may appear inside."""
        return name == "arith.constant" or cls.computes(name)

    def verify(self) -> None:  # noqa: D102
        inputs = [value.type for value in self.inputs]
        outputs = [value.type for value in self.outputs]
        check_layouts(self, "arg_strides", self.arg_strides, inputs)
        check_layouts(self, "result_strides", self.result_strides, outputs, written=True)
        check_offsets(self, self.arg_offsets, len(inputs))
        self._check_signature(inputs, outputs)
        _check_body(self)

    def _check_signature(self, inputs: list[ir.Type], outputs: list[ir.Type]) -> None:
        blocks = self.operation.regions[0].blocks
        if len(blocks) != 1:
            raise self.error(f"expected one block, but found {len(blocks)}")
        arguments = [argument.type for argument in self.body.arguments]
        if arguments != inputs:
            raise self.error(
                f"expected block arguments ({types_text(inputs)}) like the operands, "
                f"but found ({types_text(arguments)})"
            )


def _check_body(container: ContainerOp) -> None:
    ops = [op.operation for op in container.body.operations]
    if not ops or ops[-1].name != _YIELD:
        raise container.error(f"expected the body to end with '{_YIELD}'")
    _check_kinds(container, ops[:-1])
    _check_definitions(container, ops)
    yielded = [value.type for value in ops[-1].operands]
    expected = [value.type for value in container.outputs]
    if yielded != expected:
        raise container.error(
            f"expected to yield ({types_text(expected)}) like the results, "
            f"but found ({types_text(yielded)})"
        )
    _check_connected(container, ops[:-1])


def _check_kinds(container: ContainerOp, ops: Sequence[ir.Operation]) -> None:
    for op in ops:
        if not container.allows(op.name) or len(op.regions):
            raise container.error(f"holds '{op.name}', which is not allowed in it")
    if not any(container.computes(op.name) for op in ops):
        raise container.error("computes nothing")


def _check_definitions(container: ContainerOp, ops: Sequence[ir.Operation]) -> None:
    # MLIR checks neither isolation nor dominance inside an unregistered op. Definitions before all
    # uses also rule out cycles.
    defined: set[ir.Value] = set(container.body.arguments)
    for op in ops:
        if not defined.issuperset(op.operands):
            raise container.error(
                f"'{op.name}' in it uses a value that is not defined before it in the body"
            )
        defined.update(op.results)


def _check_connected(container: ContainerOp, ops: Sequence[ir.Operation]) -> None:
    parts = connected_parts(ops, by_factor=container.connects_products)
    if parts > 1:
        raise container.error(f"expected connected ops, but found {parts} separate parts")


def connected_parts(ops: Sequence[ir.Operation], *, by_factor: bool = False) -> int:
    """Returns the number of connected components of the ops in a body.

    In hipDNN, a tensor connects its writer with its readers, but does not connect two readers. So
    arguments, constants and values computed only from them do not count.

    Args:
        ops: ops of a body, in order, without the terminator.
        by_factor: whether products with a common left factor count as connected.
    """
    parts: list[set[ir.Value]] = []
    computed: set[ir.Value] = set()
    for op in ops:
        read = computed.intersection(op.operands)
        if op.name.startswith(_CONSTANTS) or (op.name.startswith(_CONNECTORS) and not read):
            continue
        if by_factor and op.name == _PRODUCT:
            read.add(op.operands[0])
        computed.update(op.results)
        joined = [part for part in parts if not part.isdisjoint(read)]
        whole = joined[0] if joined else set[ir.Value]()
        whole.update(op.results, read, *joined[1:])
        parts = [part for part in parts if part not in joined]
        parts.append(whole)
    return len(parts)

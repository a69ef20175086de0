"""Rules about the bodies of containers: what is in them, and how it hangs together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hipgraft.bindings import ir

if TYPE_CHECKING:
    from hipgraft.dialects.hipdnn.ops.containers import ContainerOp

_YIELD = "hipdnn.yield"
_CONSTANTS = ("arith.constant", "torch.constant.", "torch.vtensor.literal")
_CONNECTORS = ("torch_c.", "torch.prim.ListConstruct")


def types_text(types: Sequence[ir.Type]) -> str:
    """Returns types as messages show them."""
    return ", ".join(map(str, types))


def check_body(container: ContainerOp) -> None:
    """Checks the ops inside a container.

    Raises:
        VerifyError: an op that may not be there, a value from outside or from further down, no
            `hipdnn.yield` at the end or one with other types, nothing computed, or two parts
            that have nothing to do with each other.
    """
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
    # MLIR checks neither isolation nor dominance inside of an op that it does not know. With
    # every value defined before it is used there is no cycle either.
    defined: set[ir.Value] = set(container.body.arguments)
    for op in ops:
        if not defined.issuperset(op.operands):
            raise container.error(
                f"'{op.name}' in it uses a value that is not defined before it in the body"
            )
        defined.update(op.results)


def _check_connected(container: ContainerOp, ops: Sequence[ir.Operation]) -> None:
    # hipDNN connects two nodes by a tensor that one writes and the other reads; reading the same
    # tensor is not enough. So arguments, constants and what is only made of them do not count.
    parts: list[set[ir.Value]] = []
    computed: set[ir.Value] = set()
    for op in ops:
        read = computed.intersection(op.operands)
        if op.name.startswith(_CONSTANTS) or (op.name.startswith(_CONNECTORS) and not read):
            continue
        computed.update(op.results)
        joined = read.union(op.results)
        for part in [part for part in parts if not part.isdisjoint(read)]:
            parts.remove(part)
            joined |= part
        parts.append(joined)
    if len(parts) > 1:
        raise container.error(f"expected connected ops, but found {len(parts)} separate parts")

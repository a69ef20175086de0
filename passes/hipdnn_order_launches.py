"""Orders containers so that fewer bytes are live at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.element_types import byte_size
from hipgraft.ir.io import function_blocks, return_of
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.transforms.launch_order import Launch, late_order, most_bytes


class _Program:
    """The launches of a block, each with the views of its results."""

    def __init__(self, block: ir.Block):
        self.end = return_of(block)
        self.launches: list[Launch] = []
        self.ops: list[list[ir.Operation]] = []
        made: dict[ir.Value, int] = {}
        for op in [op.operation for op in block.operations][:-1]:
            reads = frozenset(made[each] for each in op.operands if each in made)
            if op.name == hipdnn.ViewOp.OP_NAME and reads:
                (number,) = reads
                self.ops[number].append(op)
            else:
                number = len(self.ops)
                self.ops.append([op])
                # Constants and arguments, and views of these, are there all the time.
                stores = op.name not in ("arith.constant", hipdnn.ViewOp.OP_NAME)
                size = sum(map(_size, op.results)) if stores else 0
                self.launches.append(Launch(size, reads))
            made |= dict.fromkeys(op.results, number)
        for value in self.end.operands:
            if value in made:
                self.launches[made[value]].held = True

    def reorder(self, order: list[int]) -> None:
        for number in order:
            for op in self.ops[number]:
                op.move_before(self.end)


def _size(value: ir.Value) -> int:
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        return 0
    return byte_size(kind.shape, kind.element_type) or 0


@dataclass(frozen=True)
class HipdnnOrderLaunchesPass(Pass):
    """Moves containers to right before their first reader where that saves memory.

    The results of a container need memory from when it runs until their last reader has run. So a
    container that makes much of little, such as one that selects weights by an index, should run
    as late as possible. A new order is taken only if fewer bytes are live at its worst step.

    Before:
        ```mlir
        %0 = "hipdnn.fallback"(%w, %i) ({...}) : (...) -> tensor<4x1024xf32>
        %1 = "hipdnn.fallback"(%v, %i) ({...}) : (...) -> tensor<4x1024xf32>
        %2 = "hipdnn.graph"(%x, %0) ({...}) : (...) -> tensor<4x8xf32>
        %3 = "hipdnn.graph"(%2, %1) ({...}) : (...) -> tensor<4x8xf32>
        ```

    After:
        ```mlir
        %0 = "hipdnn.fallback"(%w, %i) ({...}) : (...) -> tensor<4x1024xf32>
        %2 = "hipdnn.graph"(%x, %0) ({...}) : (...) -> tensor<4x8xf32>
        %1 = "hipdnn.fallback"(%v, %i) ({...}) : (...) -> tensor<4x1024xf32>
        %3 = "hipdnn.graph"(%2, %1) ({...}) : (...) -> tensor<4x8xf32>
        ```

    Requires:
        Stage `hipdnn-graphs`.

    Ensures:
        Stage `hipdnn-graphs`. The same ops in an order in which each follows its operands. A remark
        says how many bytes are live at once, before and after.

    Errors:
        None.

    Source:
        own.
    """

    name: ClassVar[str] = "hipdnn-order-launches"
    requires: ClassVar[str | None] = "hipdnn-graphs"
    ensures: ClassVar[str | None] = "hipdnn-graphs"

    def run(self, module: ir.Module, state: PassState) -> None:
        """Reorders every function."""
        for block in function_blocks(module):
            program = _Program(block)
            order = late_order(program.launches)
            before = most_bytes(program.launches, range(len(order)))
            after = most_bytes(program.launches, order)
            if after < before:
                program.reorder(order)
                state.count("functions-reordered")
                message = f"{after} bytes of results are live at once, {before} before"
                state.passed(program.end, "reordered", message)

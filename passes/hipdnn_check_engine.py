"""Reports which engines accept each graph and op, and why others do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from hipgraft.dialects.hipdnn import OPS, ComputeOp, GraphOp
from hipgraft.engines import Engine, engine_names, find_engine, graph_of
from hipgraft.engines.registry import check_names
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import node_name
from hipgraft.ir.io import function_blocks
from hipgraft.passmanager.base import Pass, PassState, option


def _candidates(module: ir.Module) -> Iterator[ir.Operation]:
    """Yields the graphs, and the compute ops outside of containers."""
    for block in function_blocks(module):
        for one in block.operations:
            op = one.operation
            if op.name == GraphOp.OP_NAME or (
                op.name in OPS and issubclass(OPS[op.name], ComputeOp)
            ):
                yield op


def _report(op: ir.Operation, engine: Engine, architecture: str, state: PassState) -> bool:
    """Reports whether an engine accepts a graph or op, and returns the answer."""
    failure = engine.check(graph_of(op), architecture)
    culprit = op if failure is None or failure.node is None else failure.node.op.operation
    name = node_name(culprit.location)
    what = f"'{op.name}' op" if op.name != GraphOp.OP_NAME else f"graph '{GraphOp(op).name or ''}'"
    facts = {"engine": engine.name, "node": name}
    if failure is None:
        state.passed(op, "taken", f"{engine.name} takes {what}", **facts)
        return True
    # The location may be a position in a file, without the model's name for the node.
    where = f", at '{name}'" if name else ""
    message = f"{engine.name} does not take {what}{where}: {failure.message}"
    state.missed(culprit, "declined", message, rule=failure.rule, **facts)
    return False


@dataclass(frozen=True)
class HipdnnCheckEnginePass(Pass):
    """Says which engines take each graph and op, and why others do not.

    Each graph, and each compute op that is in no container, is checked as a graph of its own. For
    an engine that does not take it, a missed remark at the op at fault has the first rule that
    fails, by its place in the engine's file; see [engines](engines.md). Show the remarks with
    `--remarks`. The module does not change.

    Before:
        ```mlir
        %0 = "hipdnn.pointwise"(%x) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
        ```

    After:
        the same. A remark for `engines=MIOPEN_ENGINE`: MIOPEN_ENGINE does not take
        'hipdnn.pointwise' op: expected 'pointwise' of mode add, max_op, min_op, mul, relu_bwd,
        relu_fwd, sigmoid_fwd, sub or tanh_fwd, but found 'exp'.

    Requires:
        Any module; only hipDNN graphs and ops are looked at.

    Ensures:
        The module is as before.

    Errors:
        An unknown engine, or a malformed file of one.

    Source:
        own.
    """

    name: ClassVar[str] = "hipdnn-check-engine"

    engines: tuple[str, ...] = option(
        (), "names of engines or paths of their files; all by default"
    )
    arch: str = option(
        "", "architecture to check for; rules about architectures are left out if empty"
    )

    def __post_init__(self) -> None:
        check_names(self.engines)

    def run(self, module: ir.Module, state: PassState) -> None:
        """Checks the graphs and ops of every function."""
        engines: Sequence[Engine] = [find_engine(name) for name in self.engines or engine_names()]
        for op in _candidates(module):
            state.count("checked")
            takers = sum(_report(op, engine, self.arch, state) for engine in engines)
            if takers == 0:
                state.count("declined-by-all")

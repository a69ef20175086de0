"""Lowers every container to linalg on tensors, the input of IREE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from typing import ClassVar, cast

from hipgraft.codegen.canonical import container_key, find_containers
from hipgraft.codegen.lowered import INPUTS, attach_input, name_inputs
from hipgraft.codegen.lowering.all_ops import lower_container
from hipgraft.codegen.plan import Plan
from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import CodegenError, PassFailure
from hipgraft.ir.symbols import symbol_name, symbol_of
from hipgraft.passmanager.base import Pass, PassState, option


def _symbols(module: ir.Module) -> set[str]:
    operations = [op.operation for op in module.body.operations]
    return {symbol_of(op) for op in operations if "sym_name" in op.attributes}


class _Lowering:
    """One run of the pass: the lowered containers by key."""

    def __init__(self, module: ir.Module, targets: Sequence[Target], plan: Plan):
        self._targets = targets
        self._plan = plan
        self._taken = _symbols(module)
        self._names: dict[str, list[str]] = {}

    def lower(self, container: ir.Operation) -> bool:
        """Lowers a container unless an equal one was lowered; returns whether it did."""
        key = container_key(container)
        is_new = key not in self._names
        if is_new:
            self._names[key] = [self._attach(container, target) for target in self._targets]
        name_inputs(container, self._names[key])
        return is_new

    def _attach(self, container: ir.Operation, target: Target) -> str:
        try:
            text = lower_container(container, target, self._plan)
        except CodegenError as error:
            raise PassFailure(error.message, container) from None
        name = cast(hipdnn.ContainerOp, hipdnn.wrap(container)).name or "kernel"
        symbol = symbol_name(f"{name}_{target.name}", self._taken)
        self._taken.add(symbol)
        attach_input(container, symbol, text, target, self._plan)
        return symbol


@dataclass(frozen=True)
class ConvertHipdnnToLinalgPass(Pass):
    """Lowers each container to a module that IREE compiles, beside the container.

    The nested module can be read, edited and compiled: `hipdnn-compile` compiles it unchanged, and
    keeps the container for information that the module lacks, such as how to split it. Equal
    containers share one. Without this pass, `hipdnn-compile` lowers the containers that are not in
    its cache in the same way.

    Before:
        ```mlir
        %1 = "hipdnn.graph"(%0) ({...}) {name = "relu_fwd_0"} : (tensor<8xf32>) -> tensor<8xf32>
        ```

    After:
        ```mlir
        module @relu_fwd_0_gfx942 attributes {hipdnn.lowered_for = "gfx942",
                                              hipdnn.plan = "default"} {
          func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
            %relu = linalg.generic ...
            return %relu : tensor<8xf32>
          }
        }
        %1 = "hipdnn.graph"(%0) ({...}) {hipdnn.inputs = [@relu_fwd_0_gfx942], name = "relu_fwd_0"}
             : (tensor<8xf32>) -> tensor<8xf32>
        ```

    Requires:
        Stage `hipdnn-graphs`.

    Ensures:
        Stage `hipdnn-linalg`: each container names a nested module for each target. A container
        that names some already is left as it is.

    Errors:
        An unknown target, or a plan that is malformed. An op that has no lowering, or a layout that
        IREE cannot have, at the container.

    Source:
        own
    """

    name: ClassVar[str] = "convert-hipdnn-to-linalg"
    requires: ClassVar[str | None] = "hipdnn-graphs"
    ensures: ClassVar[str | None] = "hipdnn-linalg"

    target: tuple[str, ...] = option(MISSING, "architectures to lower for: gfx942, cpu, ...")
    plan: str = option("default", "lowering alternatives by op, as 'hipdnn.sdpa=padded'")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Lowers the containers that are not lowered yet."""
        targets = [Target.parse(name) for name in dict.fromkeys(self.target)]
        lowering = _Lowering(module, targets, Plan.parse(self.plan))
        for container in find_containers(module):
            if INPUTS in container.attributes:
                state.missed(container, "lowered", "it names its lowered modules already")
            elif lowering.lower(container):
                state.count("lowered")

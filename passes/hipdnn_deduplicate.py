"""Gives identical containers one name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.codegen.canonical import container_key, find_containers
from hipgraft.ir.bindings import ir
from hipgraft.ir.symbols import unique_name
from hipgraft.passmanager.base import Pass, PassState


@dataclass(frozen=True)
class HipdnnDeduplicatePass(Pass):
    """Gives containers the same name exactly if one kernel can serve them.

    Containers are the same if they have the same bodies, types, strides and offsets. Their names,
    locations and operands do not matter.

    Before:
        ```mlir
        %1 = "hipdnn.graph"(%0) ({...}) {name = "relu_fwd_0"} : (tensor<8xf32>) -> tensor<8xf32>
        %2 = "hipdnn.graph"(%1) ({...}) {name = "relu_fwd_1"} : (tensor<8xf32>) -> tensor<8xf32>
        ```

    After:
        ```mlir
        %1 = "hipdnn.graph"(%0) ({...}) {name = "relu_fwd_0"} : (tensor<8xf32>) -> tensor<8xf32>
        %2 = "hipdnn.graph"(%1) ({...}) {name = "relu_fwd_0"} : (tensor<8xf32>) -> tensor<8xf32>
        ```

    Requires:
        Stage `hipdnn-graphs`.

    Ensures:
        Two containers have the same name if and only if they are the same. The ops that run do
        not change.

    Errors:
        None.

    Source:
        own.
    """

    name: ClassVar[str] = "hipdnn-deduplicate"
    requires: ClassVar[str | None] = "hipdnn-graphs"
    ensures: ClassVar[str | None] = "hipdnn-graphs"

    def run(self, module: ir.Module, state: PassState) -> None:
        """Renames every container that is the same as an earlier one."""
        names: dict[str, str] = {}
        for op in find_containers(module):
            key = container_key(op)
            if key in names:
                state.count("duplicate-containers")
                state.passed(op, "deduplicated", f"same as '{names[key]}'")
            else:
                names[key] = unique_name(_name(op), set(names.values()))
            op.attributes["name"] = ir.StringAttr.get(names[key])


def _name(op: ir.Operation) -> str:
    if "name" not in op.attributes:
        return op.name.removeprefix("hipdnn.")
    return ir.StringAttr(op.attributes["name"]).value

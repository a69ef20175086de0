"""Gives identical containers one name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.bindings import ir
from hipgraft.codegen.canonical import container_key, find_containers
from hipgraft.naming import unique_name
from hipgraft.pass_base import Pass, PassState


@dataclass(frozen=True)
class HipdnnDeduplicatePass(Pass):
    """Gives containers the same name exactly if one kernel can serve them.

    Containers are the same if their bodies, types, strides and offsets are; their names, which
    values they read and their locations do not count.

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
        Equal names and equal containers are the same thing. Which ops run does not change.

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
